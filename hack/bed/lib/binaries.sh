# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Binaries built from Go modules, each group in a scratch module of its own (their replace directives conflict).
# The modules are checked against the public checksum database as with any other Go build.

# name|module version|extra build flags|packages; versions are those of versions.env.
binary_groups() {
  local containerd=github.com/containerd/containerd/v2 plugins=github.com/containernetworking/plugins
  cat <<TABLE
kind|sigs.k8s.io/kind $KIND_VERSION||sigs.k8s.io/kind
helm|helm.sh/helm/v3 $HELM_VERSION||helm.sh/helm/v3/cmd/helm
containerd|$containerd $CONTAINERD_VERSION|-tags no_btrfs,no_devmapper,no_zfs|$containerd/cmd/containerd $containerd/cmd/ctr $containerd/cmd/containerd-shim-runc-v2
cni|$plugins $CNI_PLUGINS_VERSION||$plugins/plugins/ipam/host-local $plugins/plugins/main/loopback $plugins/plugins/main/ptp $plugins/plugins/meta/portmap
crictl|sigs.k8s.io/cri-tools $CRI_TOOLS_VERSION||sigs.k8s.io/cri-tools/cmd/crictl
coredns|github.com/coredns/coredns $COREDNS_VERSION||github.com/coredns/coredns
TABLE
}
binary_group() { binary_groups | awk -F'|' -v name="$1" '$1 == name'; }

go_build_env() { # the caller's Go settings must not leak into these builds; proxies and caches may
  export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0 GO111MODULE=on
}

# --- every group but Kubernetes

tool_hash() { { binary_group "$1"; declare -f tool_build; go version; } | hash_of; }
tool_path() { store_path "$1" "$(tool_hash "$1")"; }
tool_ready() { store_has "$1" "$(tool_hash "$1")"; }

tool_build() { # tool_build NAME
  local name=$1 module flags packages out hash scratch
  IFS='|' read -r _ module flags packages < <(binary_group "$name")
  hash=$(tool_hash "$name")
  scratch=$BED_CACHE/modules/$name
  out=$(store_begin "$name" "$hash")
  mkdir -p "$scratch"
  printf 'module geosql.dev/bed/%s\n\ngo 1.26.0\n\nrequire %s\n' "$name" "$module" >"$scratch/go.mod"
  go_build_env
  # shellcheck disable=SC2086 # flags and packages are lists
  (cd "$scratch" && go build -trimpath -ldflags "-s -w" $flags -o "$out/" $packages)
  store_commit "$name" "$hash"
}

# --- Kubernetes

kube_names="kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubeadm kubectl etcd"

kube_hash() {
  {
    echo "$KUBERNETES_VERSION $KUBERNETES_STAGING_VERSION $KUBERNETES_BUILD_DATE"
    cat "$BED_DIR/kube/main.go"
    declare -f kube_build kube_module
    go version
  } | hash_of
}
kube_path() { store_path kube "$(kube_hash)"; }
kube_ready() { store_has kube "$(kube_hash)"; }

# Kubernetes' own requirements, with its staging folders replaced by the published modules of the same release.
kube_module() { # kube_module SCRATCH
  local gomod
  printf 'module geosql.dev/bed/kube\n\ngo 1.26.0\n' >"$1/go.mod"
  gomod=$(cd "$1" && go mod download -json "k8s.io/kubernetes@$KUBERNETES_VERSION" | sed -n 's/^\s*"GoMod": "\(.*\)",\?$/\1/p')
  {
    printf 'module geosql.dev/bed/kube\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes %s\n' "$KUBERNETES_VERSION"
    grep -oE "k8s.io/[a-z0-9-]+ => ./staging" "$gomod" | awk -v v="$KUBERNETES_STAGING_VERSION" '{print "replace " $1 " => " $1 " " v}' | sort -u
    sed -n '/^require (/,/^)/p' "$gomod" | grep -E "^\s" | grep -v "k8s.io/[a-z0-9-]* v0.0.0" | sed 's/^\s*/require /; s# //.*##'
  } >"$1/go.mod.new"
  mv "$1/go.mod.new" "$1/go.mod"
}

kube_build() {
  local hash out scratch=$BED_CACHE/modules/kube name flags version=k8s.io/component-base/version client=k8s.io/client-go/pkg/version
  hash=$(kube_hash)
  out=$(store_begin kube "$hash")
  mkdir -p "$scratch"
  sed '/^\/\/go:build ignore$/d' "$BED_DIR/kube/main.go" >"$scratch/main.go"
  go_build_env
  kube_module "$scratch"
  flags="-s -w"
  for name in $version $client; do
    flags+=" -X $name.gitVersion=$KUBERNETES_VERSION -X $name.gitMajor=1 -X $name.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")"
    flags+=" -X $name.gitTreeState=clean -X $name.buildDate=$KUBERNETES_BUILD_DATE"
  done
  (cd "$scratch" && go build -trimpath -ldflags "$flags" -o "$out/kube" .)
  for name in $kube_names; do ln -s kube "$out/$name"; done
  store_commit kube "$hash"
}

# --- what gives claims their folders

volumes_hash() {
  {
    echo "$PROVISIONER_LIBRARY_VERSION $PROVISIONER_CLIENT_VERSION"
    cat "$BED_DIR/volumes/main.go"
    declare -f volumes_build
    go version
  } | hash_of
}
volumes_path() { store_path volumes "$(volumes_hash)"; }
volumes_ready() { store_has volumes "$(volumes_hash)"; }

volumes_build() {
  local hash out scratch=$BED_CACHE/modules/volumes
  hash=$(volumes_hash)
  out=$(store_begin volumes "$hash")
  mkdir -p "$scratch"
  sed '/^\/\/go:build ignore$/d' "$BED_DIR/volumes/main.go" >"$scratch/main.go"
  printf 'module geosql.dev/bed/volumes\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/client-go %s\n\tsigs.k8s.io/sig-storage-lib-external-provisioner/v13 %s\n)\n' \
    "$PROVISIONER_CLIENT_VERSION" "$PROVISIONER_LIBRARY_VERSION" >"$scratch/go.mod"
  go_build_env
  (cd "$scratch" && go build -trimpath -ldflags "-s -w" -o "$out/volumes" .)
  store_commit volumes "$hash"
}

# --- the folder in PATH

# Links to the newest artefacts, so that PATH stays the same over versions.
binaries_link() {
  local dir=$BED_CACHE/bin name
  for name in kubectl etcd kube-apiserver kubeadm; do ln -sfn "$(kube_path)/kube" "$dir/$name"; done
  for name in kind helm; do
    ! tool_ready "$name" || ln -sfn "$(tool_path "$name")/$name" "$dir/$name"
  done
}
binaries_linked() {
  [ "$(readlink "$BED_CACHE/bin/kubectl")" = "$(kube_path)/kube" ] || return 1
  ! tool_ready kind || [ "$(readlink "$BED_CACHE/bin/kind")" = "$(tool_path kind)/kind" ] || return 1
  ! tool_ready helm || [ "$(readlink "$BED_CACHE/bin/helm")" = "$(tool_path helm)/helm" ]
}
