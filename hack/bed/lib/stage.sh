# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Stages: named steps that are skipped when their result is there already, timed, and logged to a file each.

BED_STARTED=$(date +%s)
STAGE_CHILD=
declare -A STAGE_AHEAD=() # process of what stage_ahead began, by stage

# The running stage is a process group of its own: an interrupted `up` takes it along, so that nothing goes on
# building behind the caller's back.
stage_interrupt() {
  trap - INT TERM EXIT
  stage_end
  if [ -n "$STAGE_CHILD" ]; then
    echo
    echo "interrupted; run it again to resume" >&2
  fi
  exit 130
}
stage_end() { # what runs, ends
  local one
  for one in "$STAGE_CHILD" "${STAGE_AHEAD[@]}"; do
    [ -z "$one" ] || kill -TERM -- "-$one" 2>/dev/null || true
  done
  rm -f "$BED_CACHE/logs/"*".$$.status"
}
trap stage_interrupt INT TERM

clock() { # clock SECONDS -> 4m05s
  if [ "$1" -lt 60 ]; then printf '%ds' "$1"; else printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); fi
}

stage_estimate() { # stage_estimate NAME DEFAULT_SECONDS: what it took the last time, else the default
  cat "$BED_CACHE/times/$1" 2>/dev/null || echo "$2"
}

stage_status() { # stage_status NAME: where its exit status is left; another command may be at the same stage
  echo "$BED_CACHE/logs/$1.$$.status"
}

# stage_begin NAME RUN: in a process group of its own, whose number is STAGE_BEGUN. Its exit status is left in a file: the
# shell forgets that of a process that ended minutes ago once another one has got its number.
stage_begin() {
  local status
  status=$(stage_status "$1")
  mkdir -p "$BED_CACHE/logs" "$BED_CACHE/times"
  rm -f "$status"
  set -m
  (
    trap - INT TERM
    set +e
    (
      set -euo pipefail
      "$2"
    )
    echo $? >"$status.new"
    mv "$status.new" "$status"
  ) >"$BED_CACHE/logs/$1.log" 2>&1 </dev/null &
  STAGE_BEGUN=$!
  set +m
}

# stage_ahead NAME CHECK RUN: what the stage of that name would do begins now, beside the stages until then.
stage_ahead() {
  if "$2" >/dev/null 2>&1; then return; fi
  stage_begin "$1" "$3"
  STAGE_AHEAD[$1]=$STAGE_BEGUN
}

# stage NAME DEFAULT_SECONDS TITLE CHECK RUN: RUN runs in a shell of its own (errexit holds there, its output goes
# to the stage's log) unless CHECK succeeds. CHECK must be quick and change nothing.
stage() {
  local name=$1 estimate title=$3 check=$4 run=$5 log=$BED_CACHE/logs/$1.log since=$SECONDS rc beat=0
  local status
  status=$(stage_status "$name")
  local at=$(($(date +%s) - BED_STARTED))
  if [ -z "${STAGE_AHEAD[$name]:-}" ] && "$check" >/dev/null 2>&1; then
    printf '[%6s] %-34s up to date\n' "$(clock $at)" "$title"
    return
  fi
  estimate=$(stage_estimate "$name" "$2")
  printf '[%6s] %-34s ... (estimate %s)\n' "$(clock $at)" "$title" "$(clock "$estimate")"
  [ -n "${STAGE_AHEAD[$name]:-}" ] || stage_begin "$name" "$run"
  STAGE_CHILD=${STAGE_AHEAD[$name]:-$STAGE_BEGUN}
  while [ ! -e "$status" ] && kill -0 "$STAGE_CHILD" 2>/dev/null; do
    sleep 0.2
    if [ $((SECONDS - since)) -ge $((beat + 30)) ]; then
      beat=$((SECONDS - since))
      printf '[%6s] %-34s ... %s of about %s: %s\n' "$(clock $((at + beat)))" "$title" "$(clock $beat)" "$(clock "$estimate")" "$(tail -n 1 "$log" | cut -c1-80)"
    fi
  done
  rc=$(cat "$status" 2>/dev/null) || rc=1 # without a status somebody has killed it
  rm -f "$status"
  STAGE_CHILD=
  unset "STAGE_AHEAD[$name]"
  at=$(($(date +%s) - BED_STARTED))
  if [ $rc -ne 0 ]; then
    printf '[%6s] %-34s FAILED after %s; the end of %s:\n' "$(clock $at)" "$title" "$(clock $((SECONDS - since)))" "$log" >&2
    tail -n 25 "$log" | sed 's/^/    /' >&2
    stage_end
    exit 1
  fi
  echo $((SECONDS - since)) >"$BED_CACHE/times/$name"
  printf '[%6s] %-34s done in %s\n' "$(clock $at)" "$title" "$(clock $((SECONDS - since)))"
}

never() { return 1; } # a check for stages that always run
