# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Chaos Mesh: built from its Go modules, installed from the chart that its module carries. The helpers that it ships
# as ready-made binaries are the bed's own (hack/bed/chaos-helpers, and hack/bed/netem as tc).

CHAOS_MANAGER_REPOSITORY=geosql-bed/chaos-mesh
CHAOS_DAEMON_REPOSITORY=geosql-bed/chaos-daemon
CHAOS_MODULE=github.com/chaos-mesh/chaos-mesh
CHAOS_NAMESPACE=chaos-mesh

# --- binaries and chart

chaos_hash() {
  {
    echo "$CHAOS_MESH_VERSION $CHAOS_MESH_API_VERSION"
    cat "$BED_TOOLS/go.mod"
    controller_runtime_version
    declare -f chaos_build chaos_sources chaos_versions chaos_controller_runtime chaos_ptrace chaos_without
    go version
  } | hash_of
}
chaos_path() { store_path chaos "$(chaos_hash)"; }
chaos_ready() { store_has chaos "$(chaos_hash)"; }

# chaos_without FILE PACKAGE...: leaves out controllers. (The manager's setting ENABLED_CONTROLLERS does not do: at the
# first kind that is not enabled it stops setting up the others.) The CRDs stay; an object of such a kind gets no status.
chaos_without() {
  local file=$1 name
  shift
  for name in "$@"; do
    grep -q "/$name\"" "$file" || die "$CHAOS_MODULE $CHAOS_MESH_VERSION has no controller $name to leave out of $file"
    sed -i -E "/\/$name\"\$/d; /^\s*(fx\.Invoke\()?$name\.(Module|Bootstrap)\)?,/d" "$file"
  done
}

# chaos_versions GO.MOD: the versions that the bed's programs have of what both need, so that it is compiled already.
chaos_versions() {
  awk 'FNR == 1 {file++} /^require \(/ {required = 1} /^\)/ {required = 0}
    file == 1 && required && NF > 1 {version[$1] = $2}
    file == 1 && $2 == "=>" {replaced[$1] = 1}
    file == 1 {next}
    $2 == "=>" && ($1 in replaced) {next}
    required && ($1 in version) {$2 = version[$1]}
    {print}' "$BED_TOOLS/go.mod" "$1" >"$1.new"
  sed -n '/^replace (/,/^)/p; /^exclude (/,/^)/p' "$BED_TOOLS/go.mod" >>"$1.new"
  mv "$1.new" "$1"
}

controller_runtime_version() { awk '$1 == "sigs.k8s.io/controller-runtime" {print $2}' "$BED_REPO/go.mod"; } # the operator's

# chaos_controller_runtime FOLDER: Chaos Mesh with the operator's controller-runtime, which goes with the bed's version of client-go.
chaos_controller_runtime() {
  sed -i -E "s#^(\ssigs.k8s.io/controller-runtime) v.*#\1 $(controller_runtime_version)#" "$1/go.mod"
  sed -i -z -E 's/NewWebhookManagedBy\(mgr\)\.\n\s*For\(([^\n]*)\)\./NewWebhookManagedBy(mgr, \1)./g; s/\.With(Validator|Defaulter)\(/.WithCustom\1(/g; s/\.\n(\s*)With(Validator|Defaulter)\(/.\n\1WithCustom\2(/g' \
    "$1/cmd/chaos-controller-manager/main.go"
  cat >"$1/cmd/chaos-controller-manager/provider/apply.go" <<'GO'
package provider

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (c *UpdatedClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.client.Apply(ctx, obj, opts...)
}

func (c *UpdatedStatusWriter) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return c.statusWriter.Apply(ctx, obj, opts...)
}
GO
}

# chaos_ptrace FOLDER: TimeChaos without a C compiler. Its package calls waitpid and has a structure from C; with cgo the package net, and
# with it nearly everything, would be compiled once more.
chaos_ptrace() {
  rm "$1/cwrapper_linux.go" "$1/ptrace_nocgo.go"
  sed -i -E '/^\/\/go:build cgo$/d; /^\/\*$/,/^import "C"$/d; s/C\.struct_iovec\{/iovec{/; s/C\.long\(/uintptr(/; s/C\.ulong\(/uint64(/' "$1"/ptrace_linux*.go
  cat >"$1/nocgo_linux.go" <<'GO'
package ptrace

import "syscall"

// iovec is struct iovec of readv(2).
type iovec struct {
	iov_base uintptr
	iov_len  uint64
}

// waitpid waits for a process or a thread; -1 is a failure.
func waitpid(pid int) int {
	waited, err := syscall.Wait4(pid, nil, syscall.WALL, nil)
	if err != nil {
		return -1
	}
	return waited
}
GO
  ! grep -nE '\bC\.|import "C"' "$1"/*_linux*.go || die "$CHAOS_MODULE $CHAOS_MESH_VERSION needs more of C than expected"
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
  chaos_versions "$1/go.mod"
  chaos_controller_runtime "$1"
  grep -qF "$CHAOS_MODULE/api $CHAOS_MESH_API_VERSION" "$1/go.mod" || die "go.mod of $CHAOS_MODULE $CHAOS_MESH_VERSION does not replace its api module as expected"
  for name in fake_clock_gettime fake_gettimeofday; do
    gcc -c -fPIE -O2 -o "$1/pkg/time/fakeclock/$name.o" "$1/pkg/time/fakeclock/$name.c"
  done
  # What these need, the SDKs of three clouds and Helm, is two thirds of all that would be compiled.
  chaos_without "$1/controllers/chaosimpl/fx.go" awschaos azurechaos gcpchaos
  chaos_without "$1/controllers/fx.go" remotecluster
  # The daemon has no helper for these. With a controller such an object could not even be deleted: taking a fault back
  # that could not be injected fails, too.
  chaos_without "$1/controllers/chaosimpl/fx.go" iochaos httpchaos jvmchaos dnschaos kernelchaos blockchaos
  # The daemon's client of a kernel module for BlockChaos needs cgo; without it the daemon has what it has elsewhere: nothing.
  mv "$1/pkg/chaosdaemon/blockchaos_server_darwin.go" "$1/pkg/chaosdaemon/blockchaos_server_none.go"
  rm "$1/pkg/chaosdaemon/blockchaos_server_linux.go"
  chaos_ptrace "$1/pkg/ptrace"
}

chaos_build() {
  local hash out scratch=$BED_CACHE/modules/chaos
  hash=$(chaos_hash)
  out=$(store_begin chaos "$hash")
  go_build_env
  chaos_sources "$scratch"
  (cd "$scratch" && GOFLAGS=-mod=mod go build -v -buildvcs=false -trimpath -ldflags "-s -w" -o "$out/" \
    ./cmd/chaos-controller-manager ./cmd/chaos-daemon ./cmd/chaos-daemon-helper)
  gcc -static -Os -s -o "$out/pause" "$scratch/hack/pause.c"
  cp -r "$scratch/helm/chaos-mesh" "$out/chart"
  store_commit chaos "$hash"
}

# --- images

# chaos_bed_binary FOLDER FILE: one of the bed's own helpers. The file is whole at any time: its hash is in the name of
# the image, and images of other names are removed.
chaos_bed_binary() {
  (cd "$BED_REPO" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$2.$$" "./hack/bed/$1")
  mv "$2.$$" "$2"
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
  echo "$CHAOS_MANAGER_REPOSITORY:$({ echo "$(chaos_hash) $(rootfs_hash)"; cat "$BED_REPO/images/chaos-mesh.Dockerfile"; } | hash_of)"
}
chaos_images_ready() {
  image_exists "$(chaos_daemon_image)" && image_exists "$(chaos_manager_image)"
}
chaos_images_make() {
  local dir=$BED_CACHE/images/chaos
  cp "$(chaos_path)"/{chaos-controller-manager,chaos-daemon,chaos-daemon-helper,pause} "$dir/"
  cp "$BED_REPO"/images/chaos-{mesh,daemon}.Dockerfile "$dir/"
  docker_build -f "$dir/chaos-mesh.Dockerfile" --build-arg "BASE=$(base_image)" -t "$(chaos_manager_image)" "$dir"
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

# chaos_answers: the manager's webhook judges an object, which none is made of.
chaos_answers() {
  kubectl_at "$SITE" create --dry-run=server --request-timeout=10s -o name -f - <<YAML
apiVersion: chaos-mesh.org/v1alpha1
kind: PodChaos
metadata: {name: geosql-bed, namespace: $CHAOS_NAMESPACE}
spec: {action: pod-kill, mode: all, selector: {namespaces: [$CHAOS_NAMESPACE], labelSelectors: {app: none}}}
YAML
}

# What is recorded after an installation (a helm that was interrupted leaves no record), a manager that answers, and a
# daemon on every node.
chaos_installed() {
  [ "$(kubectl_at "$SITE" -n "$CHAOS_NAMESPACE" get configmap geosql-bed -o jsonpath='{.data.chaos}' --request-timeout=10s)" = "$(chaos_installed_hash)" ] &&
    chaos_groups_clean && chaos_answers &&
    kubectl_at "$SITE" -n "$CHAOS_NAMESPACE" get daemonset chaos-daemon -o json --request-timeout=10s |
    jq -e '.status.numberReady > 0 and .status.numberReady == .status.desiredNumberScheduled' >/dev/null
}

# With control groups of version 1 the nodes have folders and links of hierarchies that are not mounted; Chaos Mesh
# takes them for hierarchies, and StressChaos fails with "controller is not supported". A restarted node has them again.
chaos_stray_groups() { # chaos_stray_groups NODE [remove]
  docker exec "$1" sh -c '
    remove=$1 found=
    [ ! -e /sys/fs/cgroup/cgroup.controllers ] || exit 1
    [ -z "$remove" ] || mount -o remount,rw /sys/fs/cgroup
    for entry in /sys/fs/cgroup/*; do
      if mountpoint -q "$entry"; then continue; fi
      if [ -L "$entry" ] && mountpoint -q "$(readlink -f "$entry")"; then continue; fi
      found=$entry
      if [ -n "$remove" ]; then rm -d "$entry"; fi
    done
    [ -z "$remove" ] || mount -o remount,ro /sys/fs/cgroup
    [ -n "$found" ]' sh "${2:-}" </dev/null
}
chaos_groups_clean() {
  local node
  for node in $(node_names "$SITE"); do
    if chaos_stray_groups "$node"; then return 1; fi
  done
}

chaos_helm() { helm --kube-context "kind-$SITE" -n "$CHAOS_NAMESPACE" "$@"; }

chaos_install() {
  local node
  for node in $(node_names "$SITE"); do
    if chaos_stray_groups "$node" remove; then echo "$node: control groups that are not mounted are gone"; fi
  done
  images_load_site "$SITE" "$(chaos_manager_image)" "$(chaos_daemon_image)"
  # Helm refuses to work on a release that an interrupted helm left pending.
  case $(chaos_helm list --all --filter '^chaos-mesh$' -o json | jq -r '.[].status') in
  pending-* | uninstalling) chaos_helm uninstall chaos-mesh --wait --timeout 120s ;;
  esac
  chaos_values | chaos_helm upgrade --install chaos-mesh "$(chaos_path)/chart" --create-namespace --wait --timeout 300s -f - || {
    unready_pods "$CHAOS_NAMESPACE"
    die "Chaos Mesh in $SITE is not ready after 300 s"
  }
  # The chart's manager is ready as soon as its process is there.
  local deadline=$((SECONDS + 120))
  until chaos_answers; do
    [ $SECONDS -lt $deadline ] || die "the webhook of Chaos Mesh in $SITE does not answer after 120 s: kubectl --context kind-$SITE -n $CHAOS_NAMESPACE logs deployment/chaos-controller-manager"
    sleep 1
  done
  chaos_images_prune
  kubectl_at "$SITE" -n "$CHAOS_NAMESPACE" create configmap geosql-bed --from-literal=chaos="$(chaos_installed_hash)" --dry-run=client -o yaml |
    kubectl_at "$SITE" apply -f -
}

# chaos_images_prune: other versions' images out of the site's nodes.
chaos_images_prune() {
  local node repository name
  for node in $(node_names "$SITE"); do
    for repository in "$CHAOS_MANAGER_REPOSITORY" "$CHAOS_DAEMON_REPOSITORY"; do
      node_images "$node" | { grep "^docker.io/$repository:" || true; } | while read -r name; do
        case $name in */"$(chaos_manager_image)" | */"$(chaos_daemon_image)") ;; *) docker exec "$node" ctr -n k8s.io images rm "$name" </dev/null ;; esac
      done
    done
  done
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
