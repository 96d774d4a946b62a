# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The docker network the nodes share, the guard that keeps every packet on the machine, and the routes and pod
# network of each node.

# What comes in from the bed's bridge goes out on it or nowhere. The nodes reject such packets themselves, at once
# (network_node_script); this is the second line. It answers nodes only: an answer to a pod's address would have no
# route but the machine's own way out. The rules name the bridge, so they can be there before the network is.
network_guard_rules() {
  echo "-i $BED_BRIDGE ! -o $BED_BRIDGE -j DROP"
  echo "-i $BED_BRIDGE ! -o $BED_BRIDGE -s $BED_NODE_SUBNET -j REJECT"
}
network_guard() {
  local rule
  iptables -w -n -L DOCKER-USER >/dev/null 2>&1 || iptables -w -N DOCKER-USER
  network_guarded && return
  network_unguard
  # shellcheck disable=SC2086 # a rule is a list of words
  network_guard_rules | while read -r rule; do iptables -w -I DOCKER-USER $rule; done
}
network_guarded() {
  local rule
  # shellcheck disable=SC2086
  while read -r rule; do iptables -w -C DOCKER-USER $rule 2>/dev/null || return 1; done < <(network_guard_rules)
}
network_unguard() {
  local rule
  # shellcheck disable=SC2086
  network_guard_rules | while read -r rule; do
    while iptables -w -C DOCKER-USER $rule 2>/dev/null; do iptables -w -D DOCKER-USER $rule; done
  done
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

network_set_sysctls() {
  local pair
  for pair in $network_wanted_sysctls; do
    [ "$(sysctl -n "${pair%%=*}")" -ge "${pair#*=}" ] || sysctl -qw "$pair"
  done
}

network_make() {
  network_guard
  network_set_sysctls
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
  until table=$(network_site "$1") && [ "$(grep -c . <<<"$table")" = "$(site_nodes "$1" | wc -l)" ]; do
    [ $SECONDS -lt $deadline ] || die "not every node of $1 has a pod range after 90 s: ${table:-none}"
    sleep 0.5
  done
  printf '%s\n' "$table"
}

# The script a node runs at every start, before its kubelet: a route to the pods of each other node, and a reset for
# every connection out of the bed. (An ICMP error would be lost now and then: a socket that is still in its connect
# call takes it for a passing one, and the kernel limits their rate.)
network_node_script() { # network_node_script NODE TABLE
  local node range address
  cat <<SCRIPT
#!/bin/sh
# Written by hack/bed/up.
set -e
iptables -w -N GEOSQL-BED 2>/dev/null || iptables -w -F GEOSQL-BED
SCRIPT
  # The engine's resolver is reached by a translation in OUTPUT: what goes to 127.0.0.11 seems to leave by eth0 yet.
  for range in 127.0.0.0/8 "$BED_NODE_SUBNET" $(cut -d' ' -f2 <<<"$2"); do
    echo "iptables -w -A GEOSQL-BED -d $range -j RETURN"
  done
  cat <<SCRIPT
iptables -w -A GEOSQL-BED -p tcp -j REJECT --reject-with tcp-reset
iptables -w -A GEOSQL-BED -j REJECT
for chain in FORWARD OUTPUT; do
  iptables -w -C \$chain -o eth0 -j GEOSQL-BED 2>/dev/null || iptables -w -I \$chain -o eth0 -j GEOSQL-BED
done
SCRIPT
  # What is sent to a pod that is no more is lost without a word, as with Calico: the harder case for clients.
  while read -r node range address; do
    if [ "$node" = "$1" ]; then echo "ip route replace blackhole $range"; else echo "ip route replace $range via $address"; fi
  done <<<"$2"
}

network_conflist() { # network_conflist POD-CIDR: the node's pod network
  jq -n --arg cidr "$1" '{cniVersion: "1.0.0", name: "ptp", plugins: [
    {type: "ptp", ipMasq: false, mtu: 1500, ipam: {type: "host-local", dataDir: "/run/cni-ipam-state",
      routes: [{dst: "0.0.0.0/0"}], ranges: [[{subnet: $cidr}]]}},
    {type: "portmap", capabilities: {portMappings: true}}]}'
}

network_unit='[Unit]
Description=Routes to the other nodes of the bed, and none out of it
Before=kubelet.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/etc/geosql-bed/network
[Install]
WantedBy=multi-user.target'

network_hash() { { network_node_script "$1" "$2"; declare -f network_node; } | hash_of; }

# network_node NODE POD-CIDR TABLE: files and routes of one node; safe to repeat.
network_node() {
  local script
  script=$(network_node_script "$1" "$3")
  {
    echo "set -e; mkdir -p /etc/geosql-bed"
    printf 'cat >/etc/geosql-bed/network <<"SCRIPT"\n%s\nSCRIPT\n' "$script"
    printf 'cat >/etc/systemd/system/geosql-bed-network.service <<"UNIT"\n%s\nUNIT\n' "$network_unit"
    printf 'cat >/etc/cni/net.d/.10-ptp.new <<"CNI"\n%s\nCNI\n' "$(network_conflist "$2")"
    echo 'cmp -s /etc/cni/net.d/.10-ptp.new /etc/cni/net.d/10-ptp.conflist || cp /etc/cni/net.d/.10-ptp.new /etc/cni/net.d/10-ptp.conflist'
    echo 'chmod 755 /etc/geosql-bed/network; systemctl daemon-reload; systemctl enable -q geosql-bed-network; /etc/geosql-bed/network'
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
  [ "$(grep -c . <<<"$table")" = "$(all_nodes | wc -l)" ] || return 1
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
