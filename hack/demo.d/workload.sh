# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The workload of hack/demo: `geosql workload` as Jobs in the operator's image, each at a site.

operator_image= # that of the manager, found when the first Job is made

# job_start NAME SITE SERVER PART ARGUMENTS...: a Job with the server's own Secrets, which its site has. It is begun again
# where the site's API server does not answer: no part does harm when it is done twice.
job_start() {
  local name=demo-$1 site=$2 server=$3
  shift 3
  : "${operator_image:=$(patiently kubectl --context "$hub" -n geosql-system get deploy geosql-operator -o 'jsonpath={.spec.template.spec.containers[0].image}')}"
  jq -n --arg name "$name" --arg image "$operator_image" --arg server "$server" --args '{
    apiVersion: "batch/v1", kind: "Job", metadata: {name: $name, labels: {"app.kubernetes.io/part-of": "geosql-demo"}},
    spec: {backoffLimit: 0, ttlSecondsAfterFinished: 3600, template: {
      metadata: {labels: {"app.kubernetes.io/part-of": "geosql-demo"}},
      spec: {restartPolicy: "Never", automountServiceAccountToken: false,
        securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: "RuntimeDefault"}},
        containers: [{name: "workload", image: $image, args: (["workload"] + $ARGS.positional + ["--server", $server, "--database", "Content"]),
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: ["ALL"]}},
          volumeMounts: [{name: "credentials", mountPath: "/credentials", readOnly: true}]}],
        volumes: [{name: "credentials", projected: {defaultMode: 288, sources: [
          {secret: {name: ($server + "-credentials"), items: [{key: "sa-password", path: "sa-password"}]}},
          {secret: {name: ($server + "-tls"), items: [{key: "ca.crt", path: "ca.crt"}]}}]}}]}}}}' -- "$@" >"$work/$name.manifest"
  patiently replace_job "$name" "$site"
}
replace_job() {
  kubectl --context "kind-$2" -n "$namespace" delete job "$1" --ignore-not-found --wait --timeout=60s >/dev/null &&
    kubectl --context "kind-$2" -n "$namespace" create -f "$work/$1.manifest" >/dev/null
}
job_logs() { kubectl --context "kind-$2" -n "$namespace" logs "job/demo-$1" --request-timeout=20s "${@:3}" 2>/dev/null; }
last_line() { job_logs "$1" "$2" --tail=1 || true; }
last_json() { job_logs "$1" "$2" | grep '^{' | tail -n 1; }

# job_state NAME SITE: running, Complete or Failed; unknown where the site's API server does not answer, which ends nothing.
job_state() {
  kubectl --context "kind-$2" -n "$namespace" get job "demo-$1" -o json --request-timeout=20s 2>/dev/null |
    jq -er '[.status.conditions[]? | select(.status == "True" and (.type == "Complete" or .type == "Failed")) | .type][0] // "running"' || echo unknown
}
job_ended() { [[ $(job_state "$1" "$2") =~ ^(Complete|Failed)$ ]]; }

# job_result NAME SITE SECONDS: waits for the end and prints the result, the last line of JSON.
job_result() {
  local state deadline=$((SECONDS + $3))
  until state=$(job_state "$1" "$2") && [[ $state =~ ^(Complete|Failed)$ ]]; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      echo "workload $1 at $2 did not end within $3 s; its pod: $(kubectl --context "kind-$2" -n "$namespace" get pods -l "job-name=demo-$1" --no-headers 2>&1)" >&2
      return 1
    fi
    sleep 1
  done
  if [ "$state" = Failed ]; then
    last_json "$1" "$2" || true
    echo "workload $1 at $2: $(patiently job_logs "$1" "$2" --tail=1)" >&2
    return 1
  fi
  patiently last_json "$1" "$2"
}

# workload NAME SITE SERVER PART ARGUMENTS...
workload() {
  job_start "$@"
  job_result "$1" "$2" 300
}

# write_and_watch writes through the listener at the primary's site, while Dublin looks for the rows.
write_and_watch() {
  local seconds=900
  if [ "$replicated" = yes ]; then
    step "Dublin watches for the rows"
    job_start watch dublin dubsub watch --base "$base" --rows "$rows" --timeout "${seconds}s"
    local deadline=$((SECONDS + 120))
    until { job_logs watch dublin || true; } | grep -q '^watching'; do
      [ "$SECONDS" -lt "$deadline" ] && ! job_ended watch dublin || { echo "the watcher does not see the table yet: $(last_line watch dublin)" && break; }
      sleep 1
    done
  fi
  step "$rows rows of 1 KB and $attachments of 100 KB, written at $primary_site through the listener content"
  job_start write "$primary_site" "$primary" write --address content --base "$base" --rows "$rows" --attachments "$attachments" --timeout "${seconds}s"
  local over=$((SECONDS + seconds + 60))
  until job_ended write "$primary_site" || [ "$SECONDS" -ge "$over" ]; do
    sleep 3
    printf '  %4d s  %s' "$SECONDS" "$(last_line write "$primary_site")"
    [ "$replicated" = no ] || printf '; %s' "$(last_line watch dublin)"
    printf '\n'
  done
  job_result write "$primary_site" 30 >"$work/written.json" || held+=("not every row was acknowledged")
  cat "$work/written.json"
  [ "$replicated" = yes ] || return 0
  job_result watch dublin "$seconds" >"$work/arrived.json" || held+=("not every row arrived in Dublin")
  cat "$work/arrived.json"
}

# compare_copies reads every row of every copy, until all were read and are equal or three minutes have gone.
compare_copies() {
  step "every row of every copy"
  local server copies=() unread=() deadline=$((SECONDS + 180)) equal
  # Whoever is primary: every replica with data can be read.
  for server in $(patiently group_field '[.spec.replicas[] | select(.availabilityMode != "ConfigurationOnly" and .readable == true) | .server] | join(" ")'); do copies+=("$server"); done
  [ ${#copies[@]} -gt 1 ] || held+=("the group has fewer than two readable replicas: set readable in examples/msdn.yaml")
  [ "$replicated" = no ] || copies+=(dubsub)
  while true; do
    : >"$work/copies.json"
    unread=()
    for server in "${copies[@]}"; do
      job_start "verify-$server" "$(patiently site_of "$server")" "$server" verify
    done
    for server in "${copies[@]}"; do
      job_result "verify-$server" "$(patiently site_of "$server")" 300 >>"$work/copies.json" || unread+=("the copy on $server could not be read")
    done
    equal=$(jq -s '[.[] | del(.server)] | unique | length == 1 and .[0].article.damaged == 0 and .[0].attachment.damaged == 0' "$work/copies.json")
    [ ${#unread[@]} -gt 0 ] || [ "$equal" != true ] || break
    [ "$SECONDS" -lt "$deadline" ] || break
    sleep 3
  done
  held+=("${unread[@]}")
  [ ${#unread[@]} -gt 0 ] || [ "$equal" = true ] || held+=("the copies differ")
}

show_results() {
  if [ -s "$work/copies.json" ]; then
    step "copies: rows and SHA-256 over all columns of all rows"
    { printf 'SERVER\tTABLE\tROWS\tBYTES\tDAMAGED\tSHA256\n' && jq -r '. as $c | ([["article", "dbo.Article"], ["attachment", "dbo.Attachment"]][]) as [$k, $t] | [$c.server, $t, $c[$k].rows, $c[$k].bytes, $c[$k].damaged, $c[$k].sha256[0:32]] | @tsv' "$work/copies.json"; } |
      column -t -s "$(printf '\t')"
  fi
  if [ -s "$work/written.json" ]; then
    step "times"
    jq -r '"written: \(.rows) rows in \(.seconds | round) s, each its own transaction; a synchronous commit took p50 \(.commit.p50Ms) ms, p99 \(.commit.p99Ms) ms"' "$work/written.json"
  fi
  if [ -s "$work/arrived.json" ]; then
    jq -r '"arrived in Dublin: \(.rows) of \(.expected) rows; from just before the INSERT to being seen: p50 \(.arrival.p50Ms) ms, p90 \(.arrival.p90Ms) ms, p99 \(.arrival.p99Ms) ms, max \(.arrival.maxMs) ms" + (if .early > 0 then " (without \(.early) that were there at the first look)" else "" end)' "$work/arrived.json"
    echo "the link from Quincy, where the distributor is, to Dublin has a round trip of 146 ms"
  fi
}
