# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# What the machine itself must have, from Debian's or Ubuntu's own archive.

# command:package, for everything the bed calls on the host.
PACKAGES_BED="dockerd:docker.io iptables:iptables ip:iproute2 jq:jq mmdebstrap:mmdebstrap gcc:gcc runc:runc flock:util-linux"

packages_missing() { # packages_missing LIST: the packages whose commands are not there
  local pair
  for pair in $1; do
    command -v "${pair%%:*}" >/dev/null || echo "${pair#*:}"
  done
  # gcc without the C library's headers and archive cannot link the pause binary.
  if [ "$1" = "$PACKAGES_BED" ]; then
    [ -e /usr/include/stdlib.h ] || echo libc6-dev
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
    # Newer releases ship the client apart from the engine.
    command -v docker >/dev/null || ! apt-cache show docker-cli >/dev/null 2>&1 || echo docker-cli
  fi
}

packages_ready() { command -v go && [ -z "$(packages_missing "$PACKAGES_BED")" ]; }

packages_install() {
  command -v go >/dev/null || die "Go is needed (the version in go.mod or newer): put it in PATH or /usr/local/go"
  local missing
  mapfile -t missing < <(packages_missing "$PACKAGES_BED")
  [ ${#missing[@]} -gt 0 ] || return 0
  "$BED_DIR/../debian" "${missing[@]}"
}
