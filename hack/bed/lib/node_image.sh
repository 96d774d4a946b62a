# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The image of a kind node. Built: from the Debian root file system, the files that the kind module carries and the
# binaries of binaries.sh. Published: kindest/node as it is pulled (not verified: it could not be tried where the
# bed was written).

BASE_REPOSITORY=geosql-bed/base
NODE_REPOSITORY=geosql-bed/node

kind_module() { # the folder of the kind module's sources
  (
    go_build_env
    cd "$BED_TOOLS" && go list -m -f '{{.Dir}}' sigs.k8s.io/kind
  )
}

# --- which source

bed_source() { # built or published
  case ${BED_SOURCE:-auto} in
  auto)
    # A node image that is here already is used; nothing is asked of a network that may not be there.
    if image_exists "$PUBLISHED_NODE_IMAGE"; then echo published; else echo built; fi
    ;;
  *) echo "$BED_SOURCE" ;;
  esac
}

node_image() {
  if [ "$(bed_source)" = published ]; then echo "$PUBLISHED_NODE_IMAGE"; else echo "$NODE_REPOSITORY:$(node_image_hash)"; fi
}
node_image_ready() { image_exists "$(node_image)"; }

node_image_make() {
  if [ "$(bed_source)" = published ]; then
    timeout 900 docker pull "$PUBLISHED_NODE_IMAGE" || die "cannot pull $PUBLISHED_NODE_IMAGE; BED_SOURCE=built needs no registry"
  else
    node_image_build
  fi
}

# --- base image

base_image() { echo "$BASE_REPOSITORY:$(rootfs_hash)"; }
base_image_ready() { image_exists "$(base_image)"; }
base_image_make() {
  docker import "$(rootfs_tar)" "$(base_image)" >/dev/null
  image_prune "$BASE_REPOSITORY"
}

# --- images inside the node image

node_image_hash() {
  {
    rootfs_hash
    local tool
    for tool in kube kind containerd cni crictl coredns; do tool_hash "$tool"; done
    declare -f kube_images_save node_root node_image_build
  } | hash_of
}

pause_build() { # pause_build FILE: the process that holds a pod's namespaces
  printf '%s\n' '#include <signal.h>' '#include <unistd.h>' 'static void down(int s) { _exit(0); }' \
    'int main(void) { signal(SIGINT, down); signal(SIGTERM, down); signal(SIGCHLD, SIG_IGN); for (;;) pause(); }' |
    gcc -static -Os -s -x c -o "$1" -
}

kube_images_save() { # kube_images_save FILE: the images kubeadm asks for, under the names it asks for
  local dir image tags=() target
  dir=$(mktemp -d "$BED_CACHE/images.XXXXXX")
  cp "$(tool_path kube)/kube" "$(tool_path coredns)/coredns" "$dir/"
  pause_build "$dir/pause"
  cat >"$dir/Dockerfile" <<DOCKERFILE
FROM $(base_image) AS kube
COPY kube /usr/local/bin/
RUN cd /usr/local/bin && for name in $kube_names; do ln -s kube \$name; done
FROM scratch AS coredns
COPY coredns /coredns
ENTRYPOINT ["/coredns"]
FROM scratch AS pause
COPY pause /pause
USER 65535:65535
ENTRYPOINT ["/pause"]
DOCKERFILE
  for target in kube coredns pause; do docker_build --target "$target" -t "geosql-bed/part-$target" "$dir"; done
  for image in $("$(tool_path kube)/kubeadm" config images list --kubernetes-version "$KUBERNETES_VERSION") registry.k8s.io/pause:3.10; do
    case $image in */coredns:*) target=coredns ;; */pause:*) target=pause ;; *) target=kube ;; esac
    docker tag "geosql-bed/part-$target" "$image"
    tags+=("$image")
  done
  docker save "${tags[@]}" -o "$1"
  # Only the saved file is wanted: these names belong to a registry.
  docker image rm "${tags[@]}" geosql-bed/part-{kube,coredns,pause} >/dev/null
  rm -rf "$dir"
}

node_root() { # node_root FOLDER: the node's root file system, as the Dockerfile of the kind module makes it
  local root=$1 files name
  files=$(kind_module)/images/base/files
  tar -C "$root" -xf "$(rootfs_tar)"
  cp -r --no-preserve=mode,ownership "$files/kind" "$root/"
  cp -r --no-preserve=mode,ownership "$files/etc/." "$root/etc/"
  cp --no-preserve=mode,ownership "$files/usr/local/bin/"* "$root/usr/local/bin/"
  chmod 755 "$root"/usr/local/bin/* "$root/kind" "$root/kind/bin" "$root"/kind/bin/*
  mkdir -p "$root/opt/cni/bin" "$root/etc/kubernetes/manifests"
  cp "$(tool_path cni)"/* "$root/opt/cni/bin/"
  cp "$(tool_path containerd)"/* "$(tool_path crictl)/crictl" "$root/usr/local/bin/"
  cp "$(tool_path kube)/kube" "$root/usr/bin/kube"
  for name in kubeadm kubelet kubectl; do ln -s kube "$root/usr/bin/$name"; done
  echo "$KUBERNETES_VERSION" >"$root/kind/version"
  # Without CAP_SYS_RESOURCE containerd could not lower a score below its own.
  sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' "$root/etc/containerd/config.toml"
  find "$root/lib/systemd/system/sysinit.target.wants/" -name systemd-tmpfiles-setup.service -delete
  (
    cd "$root" || exit
    rm -f lib/systemd/system/multi-user.target.wants/* etc/systemd/system/*.wants/* lib/systemd/system/local-fs.target.wants/* \
      lib/systemd/system/sockets.target.wants/*udev* lib/systemd/system/sockets.target.wants/*initctl* \
      lib/systemd/system/basic.target.wants/* etc/machine-id
  )
  printf 'ReadKMsg=no\nSystemMaxUse=64M\n' >>"$root/etc/systemd/journald.conf"
  ln -sf /usr/lib/systemd/systemd "$root/sbin/init"
  chroot "$root" systemctl enable kubelet.service containerd.service undo-mount-hacks.service
  chroot "$root" systemctl mask systemd-binfmt.service
  # Without the hook that gives every container of a node the same product UUID: nothing here asks for one, and it is two
  # processes for each start of a container.
  chroot "$root" /usr/local/bin/ctr oci spec | jq 'del(.process.rlimits)' >"$root/etc/containerd/cri-base.json"
  # As the control plane's processes (clusters.sh).
  for name in kubelet containerd; do
    mkdir -p "$root/etc/systemd/system/$name.service.d"
    printf '[Service]\nEnvironment=GOMAXPROCS=1 GOGC=400\n' >"$root/etc/systemd/system/$name.service.d/20-frugal.conf"
  done
}

node_image_build() {
  local dir builder=geosql-bed-node-build image
  image=$NODE_REPOSITORY:$(node_image_hash)
  dir=$(mktemp -d "$BED_CACHE/node.XXXXXX")
  mkdir "$dir/root"
  echo "root file system"
  node_root "$dir/root"
  tar -C "$dir/root" -c . | docker import - geosql-bed/part-node >/dev/null
  rm -rf "$dir/root"
  echo "images for kubeadm"
  kube_images_save "$dir/images.tar"
  echo "importing them into the node"
  docker rm -f "$builder" >/dev/null 2>&1 || true
  docker run -d --name "$builder" --stop-signal SIGRTMIN+3 --network none --privileged --entrypoint sleep geosql-bed/part-node infinity >/dev/null
  docker exec "$builder" bash -c 'nohup containerd >/tmp/containerd.log 2>&1 & for i in $(seq 150); do ctr version >/dev/null 2>&1 && exit; sleep 0.2; done; cat /tmp/containerd.log; exit 1'
  docker exec -i "$builder" ctr --namespace=k8s.io images import --label=io.cri-containerd.pinned=pinned \
    --all-platforms --no-unpack --digests - <"$dir/images.tar"
  docker exec "$builder" bash -c 'kill "$(pidof containerd)"; while pidof containerd >/dev/null; do sleep 0.1; done; rm /tmp/containerd.log'
  docker commit --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' --change 'ENV container=docker' \
    "$builder" "$image" >/dev/null
  docker rm -f "$builder" >/dev/null
  docker image rm geosql-bed/part-node >/dev/null
  rm -rf "$dir"
  image_prune "$NODE_REPOSITORY"
}
