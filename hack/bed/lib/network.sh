# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The docker network the nodes share, the guard that keeps every packet on the machine, and the routes and pod
# network of each node.

# What comes in from the bed's bridge goes out on it or is rejected at once. The rule names the bridge, so it can
# be there before the network is.
network_guard() {
  iptables -w -n -L DOCKER-USER >/dev/null 2>&1 || iptables -w -N DOCKER-USER
  network_guarded || iptables -w -I DOCKER-USER -i "$BED_BRIDGE" ! -o "$BED_BRIDGE" -j REJECT
}
network_guarded() { iptables -w -C DOCKER-USER -i "$BED_BRIDGE" ! -o "$BED_BRIDGE" -j REJECT 2>/dev/null; }
network_unguard() {
  while network_guarded; do iptables -w -D DOCKER-USER -i "$BED_BRIDGE" ! -o "$BED_BRIDGE" -j REJECT; done
}

network_wanted_sysctls="fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=524288"

network_sysctls_set() {
  local pair
  for pair in $network_wanted_sysctls; do
    [ "$(sysctl -n "${pair%%=*}")" -ge "${pair#*=}" ] || return 1
  done
}

# FORWARD must lead to DOCKER-USER: the engine sees to it at its start, and again when a network is made.
network_ready() {
  network_guarded && iptables -w -C FORWARD -j DOCKER-USER && network_sysctls_set &&
    [ "$(docker network inspect "$BED_NETWORK" -f '{{(index .IPAM.Config 0).Subnet}}')" = "$BED_NODE_SUBNET" ]
}

network_make() {
  network_guard
  local pair
  for pair in $network_wanted_sysctls; do
    [ "$(sysctl -n "${pair%%=*}")" -ge "${pair#*=}" ] || sysctl -qw "$pair"
  done
  docker network inspect "$BED_NETWORK" >/dev/null 2>&1 || docker network create "$BED_NETWORK" \
    --subnet "$BED_NODE_SUBNET" --gateway "$BED_GATEWAY" \
    -o com.docker.network.bridge.name="$BED_BRIDGE" \
    -o com.docker.network.bridge.enable_ip_masquerade=false >/dev/null
  iptables -w -C FORWARD -j DOCKER-USER 2>/dev/null || iptables -w -I FORWARD -j DOCKER-USER
  network_ready || die "the docker network $BED_NETWORK is not what sites.env asks for; hack/bed/down removes it"
}

# network_site SITE: lines of NODE POD-CIDR ADDRESS, from what the cluster itself says; a range is given to a node
# some seconds after it joined.
network_site() {
  kubectl_at "$1" get nodes --request-timeout=20s \
    -o jsonpath='{range .items[*]}{.metadata.name} {.spec.podCIDR} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}' | awk 'NF == 3'
}
network_site_wait() { # network_site_wait SITE: the same once all its nodes have a range
  local deadline=$((SECONDS + 90)) table
  until table=$(network_site "$1") && [ "$(wc -l <<<"$table")" = "$(site_nodes "$1" | wc -l)" ]; do
    [ $SECONDS -lt $deadline ] || die "not every node of $1 has a pod range after 90 s: ${table:-none}"
    sleep 0.5
  done
  printf '%s\n' "$table"
}

# The script a node runs at every start, before its kubelet: a route to the pods of each other node, and no way out.
network_routes_script() { # network_routes_script NODE TABLE
  local node range address
  echo '#!/bin/sh'
  echo '# Written by hack/bed/up. "unreachable" answers at once what would otherwise leave by the default route.'
  while read -r node range address; do
    [ "$node" = "$1" ] || echo "ip route replace $range via $address"
  done <<<"$2"
  echo 'ip route del default 2>/dev/null'
  echo 'ip route replace unreachable default'
}

network_conflist() { # network_conflist POD-CIDR: the node's pod network
  jq -n --arg cidr "$1" '{cniVersion: "1.0.0", name: "ptp", plugins: [
    {type: "ptp", ipMasq: false, mtu: 1500, ipam: {type: "host-local", dataDir: "/run/cni-ipam-state",
      routes: [{dst: "0.0.0.0/0"}], ranges: [[{subnet: $cidr}]]}},
    {type: "portmap", capabilities: {portMappings: true}}]}'
}

network_unit='[Unit]
Description=Routes to the other nodes of the bed
Before=kubelet.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/etc/geosql-bed/routes
[Install]
WantedBy=multi-user.target'

network_hash() { { network_routes_script "$1" "$2"; declare -f network_node; } | hash_of; }

# network_node NODE POD-CIDR TABLE: files and routes of one node; safe to repeat.
network_node() {
  local script
  script=$(network_routes_script "$1" "$3")
  {
    echo "set -e; mkdir -p /etc/geosql-bed"
    printf 'cat >/etc/geosql-bed/routes <<"ROUTES"\n%s\nROUTES\n' "$script"
    printf 'cat >/etc/systemd/system/geosql-bed-routes.service <<"UNIT"\n%s\nUNIT\n' "$network_unit"
    printf 'cat >/etc/cni/net.d/.10-ptp.new <<"CNI"\n%s\nCNI\n' "$(network_conflist "$2")"
    echo 'cmp -s /etc/cni/net.d/.10-ptp.new /etc/cni/net.d/10-ptp.conflist || cp /etc/cni/net.d/.10-ptp.new /etc/cni/net.d/10-ptp.conflist'
    echo 'chmod 755 /etc/geosql-bed/routes; systemctl daemon-reload; systemctl enable -q geosql-bed-routes; /etc/geosql-bed/routes'
    echo "echo $(network_hash "$1" "$3") >/run/geosql-bed-network"
  } | docker exec -i "$1" bash
}

# network_cni SITE: pods of a new cluster can start before the sites are joined.
network_cni() {
  local table node range _
  table=$(network_site_wait "$1")
  while read -r node range _; do
    network_conflist "$range" | docker exec -i "$node" tee /etc/cni/net.d/10-ptp.conflist >/dev/null
  done <<<"$table"
}

network_joined() {
  local table site node range _
  table=$(for site in $(sites); do network_site "$site"; done)
  [ "$(wc -l <<<"$table")" = "$(all_nodes | wc -l)" ] || return 1
  while read -r node range _; do
    [ "$(docker exec "$node" cat /run/geosql-bed-network </dev/null)" = "$(network_hash "$node" "$table")" ] || return 1
  done <<<"$table"
}

network_join() {
  local table site node range _
  table=$(for site in $(sites); do network_site_wait "$site"; done)
  while read -r node range _; do
    network_node "$node" "$range" "$table"
  done <<<"$table"
  for site in $(sites); do kubectl_at "$site" wait --for=condition=Ready nodes --all --timeout=120s; done
}
