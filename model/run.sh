#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the model of the election with spin: every configuration of ./configurations must be free of errors, every one
# of ./mutations must not be. Usage: model/run.sh [quick|all|NAME...]
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
work=${MODEL_WORK:-$(mktemp -d)}
[ -n "${MODEL_WORK:-}" ] || trap 'rm -rf "$work"' EXIT
limit=${MODEL_SECONDS:-1200} # for one search
want=("$@")
[ $# -gt 0 ] || want=(all)

wanted() { # set name
  local w
  for w in "${want[@]}"; do
    [[ $w == all || $w == "$2" || ($w == quick && $1 == quick) ]] && return 0
  done
  return 1
}

# search NAME FILE STORE DEFINES: compiles and runs one search; its output is $work/NAME/out.
search() {
  local name=$1 file=$2 store=$3 defines=$4 dir=$work/$1 flags=(-DSAFETY -DNOREDUCE -DNOFAIR -DMEMLIM=1900) run=(-E -m2000000 -w22)
  mkdir -p "$dir"
  case $store in
  exhaustive) flags+=(-O1 -DCOLLAPSE) ;;
  compact) flags+=(-O1 -DHC4) run=(-E -m2000000 -w24) ;;
  bitstate) flags+=(-O1 -DBITSTATE) run=(-E -m2000000 -w31 -k3) ;;
  mutation) flags+=(-O0 -DHC4) run=(-E -m2000000 -w24) ;;
  esac
  (
    cd "$dir"
    # shellcheck disable=SC2086
    spin -a $defines "$here/$file" >spin.log 2>&1 || { cat spin.log >&2; exit 1; }
    nice -n 15 gcc -w "${flags[@]}" -o pan pan.c
    timeout "$limit" nice -n 15 ./pan "${run[@]}" >out 2>&1 || true
  )
}

of() { sed -nE "$2" "$work/$1/out" 2>/dev/null | tail -1; }
states() { of "$1" 's/^ *([0-9.e+]+) states, stored.*/\1/p'; }
errors() { of "$1" 's/.*errors: ([0-9]+).*/\1/p'; }
seconds() { of "$1" 's/.*elapsed time ([0-9.e+-]+) seconds.*/\1/p'; }
memory() { of "$1" 's/^ *([0-9.]+).*total actual memory usage.*/\1/p'; }
why() { sed -nE 's/^pan:[0-9]+: (assertion violated.*)/\1/p; s/^pan: (reached .*|out of memory.*)/\1/p; s/^error: (max search depth too small)/\1/p' "$work/$1/out" 2>/dev/null | head -1 | cut -c1-90; }
complete() { [ -f "$work/$1/out" ] && ! grep -qE 'max search depth too small|out of memory|Search not completed' "$work/$1/out" && [ -n "$(errors "$1")" ]; }

# rows FILE: the wanted lines, their fields separated by | alone.
rows() {
  local set name rest
  sed -E 's/ *\| */|/g' "$1" | while IFS='|' read -r set name rest; do
    [[ $set == quick || $set == full ]] && wanted "$set" "$name" && echo "$name|$rest"
  done || true
}

mkdir -p "$work"
jobs=${MODEL_JOBS:-2}
rows configurations >"$work/configurations"
rows mutations >"$work/mutations"
echo "model: $(cat "$work/configurations" "$work/mutations" | wc -l) searches, $jobs at a time"
started=$(date +%s)
while IFS='|' read -r name file store defines _; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  search "$name" "$file" "$store" "$defines" &
done < <(cat "$work/configurations"; sed -E 's/^([^|]*\|[^|]*)\|/\1|mutation|/' "$work/mutations")
wait

failed=0
printf '%-22s %-11s %12s %9s %8s  %s\n' configuration search states MB seconds 'properties (no error may be found)'
while IFS='|' read -r name file store defines what; do
  verdict=$what
  if ! complete "$name" || [ "$(errors "$name")" != 0 ]; then
    verdict="FAILED: $(why "$name"): ${what}" failed=1
  fi
  printf '%-22s %-11s %12s %9s %8s  %s\n' "$name" "$store" "$(states "$name")" "$(memory "$name")" "$(seconds "$name")" "$verdict"
done <"$work/configurations"
printf '%-24s %10s %8s  %s\n' mutation states seconds 'caught by (each must be caught)'
while IFS='|' read -r name file defines what; do
  verdict=$what
  if [ "$(errors "$name")" != 1 ] || [[ $(why "$name") != assertion* ]]; then
    verdict="NOT CAUGHT: $what" failed=1
  fi
  printf '%-24s %10s %8s  %s\n' "$name" "$(states "$name")" "$(seconds "$name")" "$verdict"
done <"$work/mutations"

echo "model: $(($(date +%s) - started)) s"
[ "$failed" = 0 ] || { echo "model: FAILED" >&2; exit 1; }
echo "model: every property holds, every mutation is caught"
