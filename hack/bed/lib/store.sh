# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The store: built artefacts in $BED_CACHE/store/NAME-HASH, HASH over everything that goes into them.

hash_of() { # hash_of: of standard input, twelve characters
  sha256sum | cut -c1-12
}

# An artefact is complete when its folder exists: it is filled under another name first.
store_path() { echo "$BED_CACHE/store/$1-$2"; } # store_path NAME HASH
store_has() { [ -d "$(store_path "$1" "$2")" ]; }

store_begin() { # store_begin NAME HASH: an empty folder to fill
  local dir
  dir=$(store_path "$1" "$2").partial
  rm -rf "$dir"
  mkdir -p "$dir"
  echo "$dir"
}

store_commit() { # store_commit NAME HASH: the partial folder becomes the artefact; all but the last two go
  local dir old
  dir=$(store_path "$1" "$2")
  rm -rf "$dir"
  mv "$dir.partial" "$dir"
  # Names are prefixes of each other (kube, kube-images): a hash is twelve hexadecimal digits.
  find "$BED_CACHE/store" -mindepth 1 -maxdepth 1 -regextype posix-extended -regex ".*/$1-[0-9a-f]{12}" -printf '%T@ %p\n' |
    sort -rn | awk 'NR > 2 {print $2}' | while read -r old; do rm -rf "$old"; done
}
