# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The kind clusters, one per site. Functions without an argument work on $SITE.

CLUSTERS_DIR=$BED_CACHE/clusters

cluster_config() {
  local i frugal
  # Three control planes share the machine's processors, each of them idle for most of the time: a process that has one
  # processor wakes no second one for a millisecond's work, and memory is there for fewer collections.
  frugal='[{name: GOMAXPROCS, value: "1"}, {name: GOGC, value: "400"}]'
  cat <<YAML
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: $SITE
networking:
  disableDefaultCNI: true
  podSubnet: $(site_pods "$SITE")
  serviceSubnet: $(site_services "$SITE")
containerdConfigPatches:
- |
  # Statistics of every container each second were a third of what an idle node did.
  [plugins."io.containerd.cri.v1.runtime"]
    stats_collect_period = "1m"
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  serializeImagePulls: false
  maxParallelImagePulls: 4
  # Tests kill the same containers over and over; the kubelet's own bound of five minutes is no time of ours to wait for.
  crashLoopBackOff: {maxContainerRestartPeriod: 10s}
$(cluster_cgroup_v1 && printf '  failCgroupV1: false\n  cgroupDriver: cgroupfs\n')
- |
  # One control plane per site: no leader to elect, and a slow disk must not depose it.
  kind: ClusterConfiguration
  apiServer: {extraEnvs: $frugal}
  controllerManager: {extraArgs: [{name: leader-elect, value: "false"}], extraEnvs: $frugal}
  scheduler: {extraArgs: [{name: leader-elect, value: "false"}], extraEnvs: $frugal}
  etcd:
    local:
      extraArgs: [{name: heartbeat-interval, value: "500"}, {name: election-timeout, value: "5000"}]
      extraEnvs: $frugal
nodes:
- role: control-plane
  labels: {topology.kubernetes.io/region: $(site_region "$SITE"), topology.kubernetes.io/zone: $SITE-a}
YAML
  for ((i = 1; i <= $(site_workers "$SITE"); i++)); do
    echo "- role: worker"
    echo "  labels: {topology.kubernetes.io/region: $(site_region "$SITE"), topology.kubernetes.io/zone: $SITE-$([ $((i % 2)) = 1 ] && echo a || echo b)}"
  done
}
cluster_cgroup_v1() { [ ! -e /sys/fs/cgroup/cgroup.controllers ]; }

cluster_containers() { # lines of NAME ID of the site's nodes as the engine has them
  docker ps -a --no-trunc --filter "label=io.x-k8s.kind.cluster=$SITE" --format '{{.Names}} {{.ID}}' | sort
}

# A cluster is complete when the containers are those that were there at the end of its creation; one that was
# interrupted is made anew.
cluster_complete() {
  local now
  now=$(cluster_containers)
  [ -n "$now" ] && [ "$now" = "$(cat "$CLUSTERS_DIR/$SITE" 2>/dev/null)" ]
}

cluster_running() {
  [ "$(docker ps -q --filter "label=io.x-k8s.kind.cluster=$SITE" --filter status=running | wc -l)" = "$(site_nodes "$SITE" | wc -l)" ]
}

cluster_answers() { [ "$(kubectl_at "$SITE" get --raw /readyz --request-timeout=5s 2>/dev/null)" = ok ]; }

cluster_wait() { # cluster_wait SECONDS
  local deadline=$((SECONDS + $1))
  until cluster_answers; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 1
  done
}

cluster_ready() { cluster_complete && cluster_running && cluster_answers; }

# After a restart the API server shows pods and nodes as they were before it until the kubelets report again: what
# counts is a container that started after its node did.
cluster_settled() {
  local started
  started=$(node_names "$SITE" | xargs docker inspect | jq 'map({key: .Name[1:], value: .State.StartedAt[:19]}) | from_entries')
  kubectl_at "$SITE" get pods -A -o json --request-timeout=10s | jq -e --argjson started "$started" '
    [.items[] | select(.metadata.namespace == "kube-system" or .metadata.namespace == "geosql-bed")
      | select(.metadata.deletionTimestamp == null)] as $pods
    | ($pods | length) >= 5 + 2 * ($started | length)
      and all($pods[]; .spec.nodeName as $node
        | (.status.containerStatuses // []) | length > 0 and all(.[]; .ready and .state.running.startedAt[:19] >= $started[$node]))' >/dev/null
}
clusters_settled() {
  for SITE in $(sites); do cluster_settled || return 1; done
}
clusters_settle() {
  local deadline=$((SECONDS + 180))
  for SITE in $(sites); do
    until cluster_settled; do
      [ $SECONDS -lt $deadline ] || {
        kubectl_at "$SITE" get pods -A
        die "the system pods of $SITE are not ready after 180 s"
      }
      sleep 1
    done
  done
}

# Start, else restart, else make anew: only when the API server stayed silent through both.
cluster_ensure() {
  if cluster_complete; then
    echo "starting the nodes of $SITE"
    cluster_each_node docker start
    kind export kubeconfig --name "$SITE" --kubeconfig "$BED_KUBECONFIG" >/dev/null 2>&1 || true
    if cluster_wait 90; then return; fi
    echo "the API server of $SITE is silent 90 s after the start of its nodes; restarting them"
    cluster_each_node docker restart -t 20
    if cluster_wait 90; then return; fi
    echo "still silent: $SITE is made anew"
  fi
  cluster_create
}

# A node that was cordoned and left so, by a test that was killed or by a person, has no room for what the bed installs.
cordoned_nodes() { kubectl_at "$SITE" get nodes --field-selector spec.unschedulable=true -o name; }
clusters_schedulable() {
  for SITE in $(sites); do [ -z "$(cordoned_nodes)" ] || return 1; done
}
clusters_uncordon() {
  for SITE in $(sites); do cordoned_nodes | xargs -r kubectl --context "kind-$SITE" uncordon; done
}

# unready_pods NAMESPACE: what a person would ask for when an installation at $SITE did not come up.
unready_pods() {
  kubectl_at "$SITE" -n "$1" get pods -o wide
  kubectl_at "$SITE" -n "$1" get events --field-selector type=Warning --sort-by .lastTimestamp | tail -n 8
}

cluster_each_node() {
  local node
  node_names "$SITE" | while read -r node; do "$@" "$node"; done
}

cluster_create() {
  mkdir -p "$CLUSTERS_DIR" "$BED_CACHE/shim"
  cluster_delete
  BED_DOCKER=$(command -v docker)
  BED_NODE_ADDRESSES=$(all_nodes)
  export BED_DOCKER BED_NODE_ADDRESSES
  ln -sfn "$BED_DIR/lib/docker-for-kind" "$BED_CACHE/shim/docker"
  cluster_config >"$CLUSTERS_DIR/$SITE.yaml"
  env -u HTTP_PROXY -u HTTPS_PROXY -u http_proxy -u https_proxy PATH="$BED_CACHE/shim:$PATH" KIND_EXPERIMENTAL_DOCKER_NETWORK="$BED_NETWORK" \
    kind create cluster --image "$(node_image)" --config "$CLUSTERS_DIR/$SITE.yaml" --kubeconfig "$BED_KUBECONFIG"
  cluster_wait 60 || die "the API server of $SITE does not answer 60 s after the creation of its cluster"
  dns_apply
  network_cni "$SITE"
  kubectl config use-context "kind-$(site_of_role hub)" >/dev/null 2>&1 || true # kind makes the newest the current one
  cluster_containers >"$CLUSTERS_DIR/$SITE"
}

cluster_delete() {
  rm -f "$CLUSTERS_DIR/$SITE"
  local id
  cluster_containers | while read -r _ id; do docker rm -f -v "$id" >/dev/null; done
  if command -v kubectl >/dev/null && [ -f "$BED_KUBECONFIG" ]; then
    kubectl config delete-context "kind-$SITE" >/dev/null 2>&1 || true
    kubectl config delete-cluster "kind-$SITE" >/dev/null 2>&1 || true
    kubectl config delete-user "kind-$SITE" >/dev/null 2>&1 || true
  fi
}
