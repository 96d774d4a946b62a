# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The programs of the bed, built from Go modules. They are in one module (tools/) and so agree on the versions of what
# they share: it is compiled once. tools/go.sum pins the modules' contents.

BED_TOOLS=$BED_DIR/tools

# name|packages
binary_groups() {
  local containerd=github.com/containerd/containerd/v2/cmd plugins=github.com/containernetworking/plugins/plugins
  cat <<TABLE
kube|./kube
kind|sigs.k8s.io/kind
helm|helm.sh/helm/v3/cmd/helm
volumes|./volumes
firewall|./firewall
containerd|$containerd/containerd $containerd/ctr $containerd/containerd-shim-runc-v2
cni|$plugins/ipam/host-local $plugins/main/loopback $plugins/main/ptp $plugins/meta/portmap
crictl|sigs.k8s.io/cri-tools/cmd/crictl
coredns|./coredns
TABLE
}
binary_tags=no_btrfs,no_devmapper,no_zfs # of containerd; no other program knows them
binary_group() { binary_groups | awk -F'|' -v name="$1" '$1 == name {print $2}'; }
binary_names() { binary_groups | cut -d'|' -f1; }

go_build_env() { # the caller's Go settings must not leak into these builds; proxies and caches may
  export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 GO111MODULE=on
  # For the compiler: a quarter less of its time goes to collecting garbage.
  export GOGC=400
}

tool_hash() { # tool_hash NAME
  {
    echo "$KUBERNETES_BUILD_DATE"
    echo "$binary_tags"
    binary_group "$1"
    cat "$BED_TOOLS/go.mod" "$BED_TOOLS/go.sum"
    [ ! -d "$BED_TOOLS/$1" ] || cat "$BED_TOOLS/$1"/*.go
    declare -f tools_build tools_flags tool_commit
    go version
  } | hash_of
}
tool_path() { store_path "$1" "$(tool_hash "$1")"; }
tool_ready() { store_has "$1" "$(tool_hash "$1")"; }
tools_ready() { # tools_ready NAME...
  local name
  for name in "$@"; do tool_ready "$name" || return 1; done
}

# What the version commands of Kubernetes' programs say.
tools_flags() {
  local name flags="-s -w"
  for name in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $name.gitVersion=$KUBERNETES_VERSION -X $name.gitMajor=1 -X $name.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")"
    flags+=" -X $name.gitTreeState=clean -X $name.buildDate=$KUBERNETES_BUILD_DATE"
  done
  echo "$flags"
}

# tools_build NAME...: those of them that are not there, in one go: while one is linked, which takes one processor, others are
# compiled. What go build -v prints is the progress in the stage's log.
tools_build() {
  local name packages='' missing=() out
  for name in "$@"; do
    tool_ready "$name" || missing+=("$name")
  done
  for name in "${missing[@]}"; do packages+=" $(binary_group "$name")"; done
  out=$BED_CACHE/tools.partial
  rm -rf "$out"
  mkdir -p "$out"
  go_build_env
  # shellcheck disable=SC2086 # packages is a list
  (cd "$BED_TOOLS" && go build -v -buildvcs=false -trimpath -tags "$binary_tags" -ldflags "$(tools_flags)" -o "$out/" $packages)
  for name in "${missing[@]}"; do tool_commit "$name" "$out"; done
  rm -rf "$out"
}

kube_names="kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubeadm kubectl etcd"

tool_commit() { # tool_commit NAME FOLDER: the programs of a group out of the folder that all are in
  local hash to package name
  hash=$(tool_hash "$1")
  to=$(store_begin "$1" "$hash")
  for package in $(binary_group "$1"); do mv "$2/${package##*/}" "$to/"; done
  [ "$1" != kube ] || for name in $kube_names; do ln -s kube "$to/$name"; done
  store_commit "$1" "$hash"
}

# --- the folder in PATH

# bin_links: lines of NAME FILE. PATH stays the same over versions.
bin_links() {
  local name
  for name in kubectl etcd kube-apiserver kubeadm; do echo "$name $(tool_path kube)/kube"; done
  for name in kind helm; do
    ! tool_ready "$name" || echo "$name $(tool_path "$name")/$name"
  done
}
binaries_link() {
  local name file
  bin_links | while read -r name file; do ln -sfn "$file" "$BED_CACHE/bin/$name"; done
}
binaries_linked() {
  local name file
  bin_links | while read -r name file; do [ "$(readlink "$BED_CACHE/bin/$name")" = "$file" ] || exit 1; done
}
