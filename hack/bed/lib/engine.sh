# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# The docker engine: used as it is when one answers, else started and, by `down`, stopped again.

ENGINE_DIR=$BED_CACHE/engine
ENGINE_PIDFILE=$ENGINE_DIR/dockerd.pid

engine_answers() { timeout 20 docker info >/dev/null 2>&1; }

# process_is PID NAME: PID lives and runs NAME. A pid file may outlive a reboot, and a killed process whose parent does
# not ask after it stays as a zombie.
process_is() {
  [ -n "$1" ] && [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ] && ! grep -q '^State:\s*Z' "/proc/$1/status" 2>/dev/null
}

engine_ready() { engine_answers; }

engine_start() {
  mkdir -p "$ENGINE_DIR"
  if [ -d /run/systemd/system ]; then
    systemctl start docker
  else
    # Nodes may start with the engine: limits and rules are there before it, and it keeps rules that it finds.
    network_set_sysctls
    network_guard
    engine_forget_stale
    engine_configure
    setsid dockerd --config-file "$ENGINE_DIR/daemon.json" --pidfile "$ENGINE_PIDFILE" \
      >>"$ENGINE_DIR/dockerd.log" 2>&1 </dev/null 9>&- &
  fi
  local deadline=$((SECONDS + 90))
  until engine_answers; do
    if [ $SECONDS -ge $deadline ] || grep -qs '^failed to start' "$ENGINE_DIR/dockerd.log"; then
      tail -n 20 "$ENGINE_DIR/dockerd.log" || true
      die "the docker engine does not answer; its log is $ENGINE_DIR/dockerd.log (or journalctl -u docker)"
    fi
    sleep 0.5
  done
}

# A pid file left by a reboot may name a process that has nothing to do with docker; dockerd and its containerd
# would believe themselves running.
engine_forget_stale() {
  local pid
  pid=$(cat "$ENGINE_PIDFILE" 2>/dev/null || true)
  process_is "$pid" dockerd || rm -f "$ENGINE_PIDFILE"
  pid=$(cat /run/docker/containerd/containerd.pid 2>/dev/null || true)
  process_is "$pid" containerd || rm -f /run/docker/containerd/containerd.pid
  [ ! -f "$ENGINE_DIR/dockerd.log" ] || tail -c 1000000 "$ENGINE_DIR/dockerd.log" >"$ENGINE_DIR/dockerd.log.1"
  : >"$ENGINE_DIR/dockerd.log"
}

engine_configure() {
  local runtime='{}'
  if ! engine_has_cap_sys_resource; then
    install -m 755 "$BED_DIR/lib/runc-bounded" "$ENGINE_DIR/runc-bounded"
    runtime=$(jq -n --arg path "$ENGINE_DIR/runc-bounded" '{runtimes: {bounded: {path: $path}}, "default-runtime": "bounded"}')
  fi
  jq -n --argjson runtime "$runtime" '$runtime + {"log-opts": {"max-size": "10m", "max-file": "2"}}' >"$ENGINE_DIR/daemon.json"
}

# Some sandboxes run root without CAP_SYS_RESOURCE (bit 24); privileged containers then fail to start.
engine_has_cap_sys_resource() {
  local bounding
  bounding=$(awk '$1 == "CapBnd:" {print $2}' /proc/self/status)
  [ $((0x$bounding >> 24 & 1)) = 1 ]
}

engine_stop() { # only the engine that engine_start started
  local pid
  pid=$(cat "$ENGINE_PIDFILE" 2>/dev/null || true)
  process_is "$pid" dockerd || return 0
  kill -TERM "$pid"
  local deadline=$((SECONDS + 60))
  while process_is "$pid" dockerd; do
    [ $SECONDS -lt $deadline ] || die "the docker engine (pid $pid) is still there 60 s after SIGTERM"
    sleep 0.2
  done
}

docker_build() { # docker_build ARGS...: with whichever builder this docker has, without any network
  if docker buildx version >/dev/null 2>&1; then
    docker buildx build --load --network none -q "$@"
  else
    DOCKER_BUILDKIT=0 docker build --network none -q "$@"
  fi
}

image_exists() { docker image inspect "$1" >/dev/null 2>&1; }

image_prune() { # image_prune REPOSITORY [KEEP]: all but KEEP and the two newest tags; those in use stay
  docker images --format '{{.CreatedAt}}|{{.Repository}}:{{.Tag}}' "$1" | sort -r | awk -F'|' -v keep="${2:-}" 'NR > 2 && $2 != keep {print $2}' |
    while read -r old; do docker image rm "$old" >/dev/null 2>&1 || true; done
}
