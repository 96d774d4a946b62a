# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The Debian root file system under every image the bed builds.

ROOTFS_PACKAGES=systemd,dbus,conntrack,iptables,nftables,iproute2,ethtool,util-linux,mount,kmod,libseccomp2,pigz,e2fsprogs,bash,ca-certificates,curl,jq,procps,hostname,ipset,runc,socat,iperf3,iputils-ping

rootfs_hash() { { echo "$DEBIAN_SUITE $ROOTFS_PACKAGES"; declare -f rootfs_build; } | hash_of; }
rootfs_tar() { echo "$(store_path rootfs "$(rootfs_hash)")/root.tar"; }
rootfs_ready() { store_has rootfs "$(rootfs_hash)"; }

rootfs_build() {
  local hash out kind
  hash=$(rootfs_hash)
  out=$(store_begin rootfs "$hash")
  local exclude=()
  for kind in man doc locale info; do exclude+=(--dpkgopt="path-exclude=/usr/share/$kind/*"); done
  mmdebstrap --quiet --variant=minbase --mode=root --include="$ROOTFS_PACKAGES" --aptopt='Acquire::Languages "none"' \
    "${exclude[@]}" --components=main "$DEBIAN_SUITE" "$out/root.tar" \
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $DEBIAN_MIRROR $DEBIAN_SUITE main"
  store_commit rootfs "$hash"
}
