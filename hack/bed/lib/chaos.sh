# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Chaos Mesh: built from its Go modules, installed from the chart that its module carries. The helpers that it ships
# as ready-made binaries are the bed's own (hack/bed/chaos-helpers, and hack/bed/netem as tc).

CHAOS_MANAGER_REPOSITORY=geosql-bed/chaos-mesh
CHAOS_DAEMON_REPOSITORY=geosql-bed/chaos-daemon
CHAOS_MODULE=github.com/chaos-mesh/chaos-mesh
CHAOS_NAMESPACE=chaos-mesh

# --- binaries and chart

chaos_hash() { { echo "$CHAOS_MESH_VERSION $CHAOS_MESH_API_VERSION"; declare -f chaos_build chaos_sources chaos_without; go version; } | hash_of; }
chaos_path() { store_path chaos "$(chaos_hash)"; }
chaos_ready() { store_has chaos "$(chaos_hash)"; }

# chaos_without FILE PACKAGE...: leaves out controllers, as the manager's setting ENABLED_CONTROLLERS would, but before
# they are compiled. Their CRDs stay; an object of such a kind stays as it is.
chaos_without() {
  local file=$1 name
  shift
  for name in "$@"; do
    grep -q "/$name\"" "$file" || die "$CHAOS_MODULE $CHAOS_MESH_VERSION has no controller $name to leave out of $file"
    sed -i -E "/\/$name\"\$/d; /^\s*(fx\.Invoke\()?$name\.(Module|Bootstrap)\)?,/d" "$file"
  done
}

# chaos_sources FOLDER: a copy of the module, because it embeds object files that it does not carry (the clocks of
# TimeChaos, compiled as its Makefile does), and because its api module is a folder beside it in the repository: it is
# replaced by the same commit, else the webhook refuses the manager's own updates.
chaos_sources() {
  local module name
  module=$(go mod download -json "$CHAOS_MODULE@$CHAOS_MESH_VERSION" | jq -r .Dir)
  rm -rf "$1"
  mkdir -p "$1"
  cp -r --no-preserve=mode "$module"/{cmd,controllers,pkg,helm,hack,go.mod,go.sum} "$1/"
  sed -i "s#=> \./api\$#=> $CHAOS_MODULE/api $CHAOS_MESH_API_VERSION#; /^tool /d" "$1/go.mod"
  grep -qF "$CHAOS_MODULE/api $CHAOS_MESH_API_VERSION" "$1/go.mod" || die "go.mod of $CHAOS_MODULE $CHAOS_MESH_VERSION does not replace its api module as expected"
  for name in fake_clock_gettime fake_gettimeofday; do
    gcc -c -fPIE -O2 -o "$1/pkg/time/fakeclock/$name.o" "$1/pkg/time/fakeclock/$name.c"
  done
  # What they need, the SDKs of three clouds and Helm, is two thirds of all that would be compiled.
  chaos_without "$1/controllers/chaosimpl/fx.go" awschaos azurechaos gcpchaos
  chaos_without "$1/controllers/fx.go" remotecluster
}

chaos_build() {
  local hash out scratch=$BED_CACHE/modules/chaos
  hash=$(chaos_hash)
  out=$(store_begin chaos "$hash")
  go_build_env
  chaos_sources "$scratch"
  # The daemon's ptrace (TimeChaos) needs cgo. Without these tags net and os/user would use it too, and everything
  # above them be compiled once more.
  (cd "$scratch" && CGO_ENABLED=1 go build -trimpath -tags netgo,osusergo -ldflags "-s -w" -o "$out/" \
    ./cmd/chaos-controller-manager ./cmd/chaos-daemon ./cmd/chaos-daemon-helper)
  gcc -static -Os -s -o "$out/pause" "$scratch/hack/pause.c"
  cp -r "$scratch/helm/chaos-mesh" "$out/chart"
  store_commit chaos "$hash"
}

# --- images

# chaos_bed_binary FOLDER FILE: one of the bed's own helpers.
chaos_bed_binary() {
  (cd "$BED_REPO" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$2" "./hack/bed/$1")
}

# The build of the two helpers is quick and decides about the images' tags.
chaos_bed_binaries() {
  mkdir -p "$BED_CACHE/images/chaos"
  chaos_bed_binary netem "$BED_CACHE/images/chaos/netem"
  chaos_bed_binary chaos-helpers "$BED_CACHE/images/chaos/chaos-helpers"
}

chaos_daemon_image() {
  echo "$CHAOS_DAEMON_REPOSITORY:$({ echo "$(chaos_hash) $(rootfs_hash)"; cat "$BED_CACHE/images/chaos"/{netem,chaos-helpers} "$BED_REPO/images/chaos-daemon.Dockerfile"; } | hash_of)"
}
chaos_manager_image() {
  echo "$CHAOS_MANAGER_REPOSITORY:$({ chaos_hash; cat "$BED_REPO/images/chaos-mesh.Dockerfile"; } | hash_of)"
}
chaos_images_ready() {
  image_exists "$(chaos_daemon_image)" && image_exists "$(chaos_manager_image)"
}
chaos_images_make() {
  local dir=$BED_CACHE/images/chaos
  cp "$(chaos_path)"/{chaos-controller-manager,chaos-daemon,chaos-daemon-helper,pause} "$dir/"
  cp "$BED_REPO"/images/chaos-{mesh,daemon}.Dockerfile "$dir/"
  docker_build -f "$dir/chaos-mesh.Dockerfile" -t "$(chaos_manager_image)" "$dir"
  docker_build -f "$dir/chaos-daemon.Dockerfile" --build-arg "BASE=$(base_image)" -t "$(chaos_daemon_image)" "$dir"
  rm -f "$dir"/chaos-controller-manager "$dir"/chaos-daemon "$dir"/chaos-daemon-helper "$dir"/pause
  image_prune "$CHAOS_MANAGER_REPOSITORY" "$(chaos_manager_image)"
  image_prune "$CHAOS_DAEMON_REPOSITORY" "$(chaos_daemon_image)"
}

# --- one site's installation; functions work on $SITE

chaos_values() {
  local manager daemon
  manager=$(chaos_manager_image) daemon=$(chaos_daemon_image)
  cat <<YAML
images: {registry: docker.io}
# One manager per site: no leader to elect.
controllerManager:
  replicaCount: 1
  leaderElection: {enabled: false}
  image: {repository: ${manager%:*}, tag: "${manager##*:}"}
  # In every node, as kubeadm wants it; what a failed pod's containers become.
  podChaos: {podFailure: {pauseImage: "registry.k8s.io/pause:3.10"}}
  resources: {requests: {cpu: 10m, memory: 64Mi}}
chaosDaemon:
  image: {repository: ${daemon%:*}, tag: "${daemon##*:}"}
  runtime: containerd
  socketPath: /run/containerd/containerd.sock
  # Control planes too, where a site has no other node.
  tolerations: [{operator: Exists}]
dashboard: {create: false}
dnsServer: {create: false}
enableProfiling: false
YAML
}

chaos_installed_hash() { { chaos_values; chaos_hash; declare -f chaos_install; } | hash_of; }

# What is recorded after an installation, and pods that are ready: a helm that was interrupted leaves no record.
chaos_installed() {
  [ "$(kubectl_at "$SITE" -n "$CHAOS_NAMESPACE" get configmap geosql-bed -o jsonpath='{.data.chaos}' --request-timeout=10s)" = "$(chaos_installed_hash)" ] &&
    [ "$(kubectl_at "$SITE" -n "$CHAOS_NAMESPACE" get deployment chaos-controller-manager -o jsonpath='{.status.readyReplicas}' --request-timeout=10s)" = 1 ] &&
    kubectl_at "$SITE" -n "$CHAOS_NAMESPACE" get daemonset chaos-daemon -o json --request-timeout=10s |
    jq -e '.status.numberReady > 0 and .status.numberReady == .status.desiredNumberScheduled' >/dev/null
}

chaos_helm() { helm --kube-context "kind-$SITE" -n "$CHAOS_NAMESPACE" "$@"; }

chaos_install() {
  images_load_site "$SITE" "$(chaos_manager_image)" "$(chaos_daemon_image)"
  # Helm refuses to work on a release that an interrupted helm left pending.
  case $(chaos_helm list --all --filter '^chaos-mesh$' -o json | jq -r '.[].status') in
  pending-* | uninstalling) chaos_helm uninstall chaos-mesh --wait --timeout 120s ;;
  esac
  chaos_values | chaos_helm upgrade --install chaos-mesh "$(chaos_path)/chart" --create-namespace --wait --timeout 300s -f -
  kubectl_at "$SITE" -n "$CHAOS_NAMESPACE" create configmap geosql-bed --from-literal=chaos="$(chaos_installed_hash)" --dry-run=client -o yaml |
    kubectl_at "$SITE" apply -f -
}

# chaos_crds: the CRDs of Chaos Mesh at the site.
chaos_crds() { kubectl_at "$SITE" get crd -o name | { grep '\.chaos-mesh\.org$' || true; }; }

# Faults go first, while there is somebody to take them back.
chaos_remove() {
  local crd
  for crd in $(chaos_crds); do
    kubectl_at "$SITE" delete "${crd#*/}" --all -A --timeout=120s
  done
  chaos_helm uninstall chaos-mesh --wait --timeout 120s --ignore-not-found
  chaos_crds | xargs -r kubectl --context "kind-$SITE" delete
  kubectl_at "$SITE" delete namespace "$CHAOS_NAMESPACE" --ignore-not-found --timeout=120s
}
