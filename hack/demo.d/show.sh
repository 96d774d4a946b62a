# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# What hack/demo reads of the hub and prints.

step() { printf '\n== %s  [%d s]\n' "$1" "$SECONDS"; }

# patiently COMMAND...: again for up to a minute, while an API server does not answer.
patiently() {
  local deadline=$((SECONDS + 60))
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 2
  done
}

topology_json() { kubectl --context "$hub" -n "$namespace" get topology "$topology" -o json --request-timeout=20s; }
group_field() { kubectl --context "$hub" -n "$namespace" get availabilitygroup content -o json --request-timeout=20s | jq -r "$1 // empty"; }
site_of() { kubectl --context "$hub" -n "$namespace" get sqlserver "$1" -o 'jsonpath={.spec.site}'; }

# apply_topology applies the example, again for up to 2 minutes while the operator's webhook or the API server is away.
apply_topology() {
  local deadline=$((SECONDS + 120))
  until kubectl --context "$hub" apply -f "$work/topology.yaml" 2>"$work/complaint"; do
    grep -qE 'failed calling webhook|connection to the server|Unable to connect|i/o timeout|handshake timeout|etcdserver' "$work/complaint" && [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 2
  done
}

# Tests on a Topology's JSON on standard input. A status of an older spec says nothing.
group_ready() { jq -e '.status.observedGeneration == .metadata.generation and ([.status.members[]? | select(.kind == "AvailabilityGroup") | .ready == "True"] | length > 0 and all)' >/dev/null; }
all_ready() { jq -e '.status.observedGeneration == .metadata.generation and ([.status.conditions[]? | select(.type == "Ready" and .status == "True")] | length > 0)' >/dev/null; }

members() { jq -r '.status.members[]? | "\(.kind) \(.name): \(if .ready == "True" then "ready" else .reason end)"'; }
members_not_ready() { jq -r '.status.members[]? | select(.ready != "True") | "\(.kind) \(.name): \(.reason): \(.message)"'; }

# wait_for TEST SECONDS: prints each change of a member's state, and how far it is every 30 s.
wait_for() {
  local test=$1 deadline=$((SECONDS + $2)) said=$SECONDS
  : >"$work/seen"
  while true; do
    if topology_json >"$work/topology.json" 2>"$work/complaint"; then
      members <"$work/topology.json" >"$work/now"
      comm -13 <(sort "$work/seen") <(sort "$work/now") | while read -r line; do printf '  %4d s  %s\n' "$SECONDS" "$line"; done
      cmp -s "$work/seen" "$work/now" || said=$SECONDS
      mv "$work/now" "$work/seen"
      "$test" <"$work/topology.json" && return
    elif [ $((SECONDS - said)) -ge 30 ]; then
      sed 's/^/  hub: /' "$work/complaint"
    fi
    if [ $((SECONDS - said)) -ge 30 ]; then
      said=$SECONDS
      printf '  %4d s  %s; waiting for:\n' "$SECONDS" "$(jq -r '.status.summary // "nothing is known yet"' "$work/topology.json")"
      members_not_ready <"$work/topology.json" | cut -c 1-160 | sed 's/^/            /'
    fi
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 2
  done
}

# held_by_members WHAT SECONDS: notes which conditions hold it up, in their own words.
held_by_members() {
  held+=("$1 is not ready after $2 s:")
  local line
  while read -r line; do held+=("  $line"); done < <(members_not_ready <"$work/topology.json")
}

conditions_table() {
  local name
  {
    printf 'KIND\tNAME\tCONDITION\tSTATUS\tREASON\n'
    kubectl --context "$hub" get sites -o json | conditions_of
    for name in topologies sqlservers availabilitygroups distributors publications subscriptions; do
      kubectl --context "$hub" -n "$namespace" get "$name" -o json | conditions_of
    done
  } | column -t -s "$(printf '\t')"
}
conditions_of() { jq -r '.items[] | . as $o | .status.conditions[]? | select(.type != "Reconciling" and .type != "Stalled") | [$o.kind, $o.metadata.name, .type, .status, .reason] | @tsv'; }

placement_table() {
  kubectl --context "$hub" -n "$namespace" get sqlservers -o json |
    jq -r '.items[] | "\(.metadata.name)-0 at \(.spec.site), node \(.status.placement.node // "none")\n    \(.status.placement.reason // "no reason is known")"'
}

# finish prints the last screen and ends. What was ready before the rows were written has a minute to be so at the end too.
finish() {
  if [ ${#held[@]} -eq 0 ]; then
    wait_for 'all_ready' 60 || held_by_members "at the end, the topology" 60
  fi
  step "conditions"
  conditions_table || true
  step "where each pod landed, and why"
  placement_table || true
  if "$plugin" status --help >/dev/null 2>&1; then
    step "kubectl geosql status $topology"
    "$plugin" status "$topology" --context "$hub" -n "$namespace" || true
  fi
  if "$plugin" graph --help >/dev/null 2>&1; then
    step "kubectl geosql graph $topology"
    "$plugin" graph "$topology" --context "$hub" -n "$namespace" || true
  fi
  show_results
  if [ ${#held[@]} -gt 0 ]; then
    step "the demonstration is held up"
    printf '%s\n' "${held[@]}"
    exit 1
  fi
  step "done: everything declared is ready and all copies are equal"
  exit 0
}
