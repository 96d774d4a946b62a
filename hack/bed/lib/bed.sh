# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# What every command of the bed starts with: paths, settings, the table of sites.

# A failure inside $(...) is a failure.
shopt -s inherit_errexit

BED_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BED_REPO=$(cd "$BED_DIR/../.." && pwd)
BED_CACHE=${GEOSQL_BED_CACHE:-$HOME/.cache/geosql-bed}
BED_KUBECONFIG=$BED_CACHE/kubeconfig
export BED_DIR BED_CACHE BED_KUBECONFIG

# shellcheck source=../versions.env
. "$BED_DIR/versions.env"
# shellcheck source=../sites.env
. "$BED_DIR/sites.env"
mkdir -p "$BED_CACHE/bin" "$BED_CACHE/store"
export PATH="$BED_CACHE/bin:$PATH:/usr/local/go/bin:/usr/sbin:/sbin"
export KUBECONFIG=$BED_KUBECONFIG

die() {
  echo "bed: $*" >&2
  exit 1
}

# Two commands that change the bed never run at the same time. Daemons they start must close descriptor 9.
bed_lock() {
  exec 9>"$BED_CACHE/lock"
  flock -n 9 || {
    echo "bed: another command is at work on the bed; waiting for it (at most 20 minutes)"
    flock -w 1200 9 || die "gave up waiting for the lock $BED_CACHE/lock"
  }
}

bed_root() {
  [ "$(id -u)" = 0 ] || die "root is needed (docker engine, iptables, root file systems): run it as root"
}

# Columns of the table of sites.
sites() { awk 'NF == 7 {print $1}' <<<"$BED_SITES"; }
site_column() { awk -v s="$1" -v c="$2" '$1 == s {print $c; found = 1} END {exit !found}' <<<"$BED_SITES" || die "no site named '$1'; the sites are: $(sites | xargs)"; }
site_pods() { site_column "$1" 2; }
site_services() { site_column "$1" 3; }
site_workers() { site_column "$1" 4; }
site_of_role() { awk -v r="$1" 'NF == 7 && $5 == r {print $1; exit}' <<<"$BED_SITES"; }
site_region() { site_column "$1" 6; }

site_nodes() { # site_nodes SITE: lines of NODE ADDRESS, the control plane first
  local first i count name
  first=$(site_column "$1" 7)
  count=$(site_workers "$1")
  for ((i = 0; i <= count; i++)); do
    case $i in 0) name=$1-control-plane ;; 1) name=$1-worker ;; *) name=$1-worker$i ;; esac
    echo "$name ${first%.*}.$((${first##*.} + i))"
  done
}
all_nodes() { local s; for s in $(sites); do site_nodes "$s"; done; }
node_names() { site_nodes "$1" | cut -d' ' -f1; }
site_address() { site_nodes "$1" | awk 'NR == 1 {print $2}'; } # of its API server, port 6443

kubectl_at() { # kubectl_at SITE ARGS...
  local site=$1
  shift
  kubectl --context "kind-$site" "$@"
}

# shellcheck source=stage.sh
for _lib in stage store packages engine network binaries rootfs node_image clusters images addons chaos; do . "$BED_DIR/lib/$_lib.sh"; done
unset _lib
