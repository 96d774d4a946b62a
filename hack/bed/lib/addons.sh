# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# What each cluster gets beyond Kubernetes itself: CoreDNS that asks nobody, storage classes, a firewall that enforces
# NetworkPolicies, the bed's own images.

VOLUMES_REPOSITORY=geosql-bed/volumes
FIREWALL_REPOSITORY=geosql-bed/firewall
SHELL_REPOSITORY=geosql-bed-shell

volumes_image() { echo "$VOLUMES_REPOSITORY:$(tool_hash volumes)"; }
firewall_image() { # its restore is the operator's module's, so that its tests run with the others
  echo "$FIREWALL_REPOSITORY:$({ echo "$(tool_hash firewall) $(rootfs_hash)"; cat "$BED_DIR"/firewall-restore/main.go; } | hash_of)"
}
shell_image() { echo "$SHELL_REPOSITORY:$(rootfs_hash)"; }

addon_images_ready() {
  image_exists "$(volumes_image)" && image_exists "$(firewall_image)" && image_exists "$(shell_image)" &&
    [ "$(images_env_get SHELL_IMAGE)" = "$(shell_image)" ]
}
addon_images_make() {
  local dir
  dir=$(mktemp -d "$BED_CACHE/addons.XXXXXX")
  cp "$(tool_path volumes)/volumes" "$(tool_path firewall)/firewall" "$dir/"
  (cd "$BED_REPO" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$dir/firewall-restore" ./hack/bed/firewall-restore)
  cat >"$dir/Dockerfile" <<DOCKERFILE
FROM $(base_image) AS shell
CMD ["sleep", "infinity"]
FROM scratch AS volumes
COPY volumes /usr/bin/volumes
ENTRYPOINT ["/usr/bin/volumes"]
FROM $(base_image) AS firewall
COPY firewall firewall-restore /usr/bin/
ENTRYPOINT ["/usr/bin/firewall"]
DOCKERFILE
  docker_build --target shell -t "$(shell_image)" "$dir"
  docker_build --target volumes -t "$(volumes_image)" "$dir"
  docker_build --target firewall -t "$(firewall_image)" "$dir"
  rm -rf "$dir"
  image_prune "$VOLUMES_REPOSITORY"
  image_prune "$FIREWALL_REPOSITORY"
  image_prune "$SHELL_REPOSITORY"
  images_env_set SHELL_IMAGE "$(shell_image)"
}

# storage_classes: lines of CLASS NODE,NODE... for $SITE. In tukwila no node has both `fast` and `archive`: a server
# that wants both can land nowhere.
storage_classes() {
  case $SITE in
  tukwila)
    echo "fast tukwila-worker"
    echo "capacity tukwila-worker,tukwila-worker2"
    echo "archive tukwila-worker2"
    ;;
  *)
    echo "fast $SITE-control-plane"
    echo "capacity $SITE-control-plane"
    ;;
  esac
}

storage_class_yaml() { # storage_class_yaml CLASS NODES
  cat <<YAML
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $1}
provisioner: bed.geosql.dev/folders
volumeBindingMode: WaitForFirstConsumer
reclaimPolicy: Delete
allowedTopologies:
- matchLabelExpressions:
  - {key: kubernetes.io/hostname, values: [$2]}
YAML
}

addons_yaml() {
  local class nodes
  sed -e "s#@VOLUMES_IMAGE@#$(volumes_image)#" "$BED_DIR/addons/storage.yaml"
  storage_classes | while read -r class nodes; do storage_class_yaml "$class" "$nodes"; done
  echo ---
  sed -e "s#@FIREWALL_IMAGE@#$(firewall_image)#; s#@SERVICES@#$(site_services "$SITE")#" "$BED_DIR/addons/firewall.yaml"
  echo ---
  cat "$BED_DIR/addons/dns.yaml"
}

addons_hash() { { addons_yaml; declare -f addons_apply dns_apply proxy_apply; } | hash_of; }

addons_ready() {
  [ "$(kubectl_at "$SITE" -n kube-system get configmap geosql-bed -o jsonpath='{.data.addons}' --request-timeout=5s)" = "$(addons_hash)" ]
}

# CoreDNS does not start before there is a pod network: applied before that, its Corefile is the first it reads.
dns_apply() {
  local outcome
  outcome=$(kubectl_at "$SITE" apply -f "$BED_DIR/addons/dns.yaml" 2>&1)
  echo "$outcome"
  kubectl_at "$SITE" -n kube-system scale deployment coredns --replicas=1
  case $outcome in *unchanged*) ;; *) kubectl_at "$SITE" -n kube-system rollout restart deployment coredns ;; esac
}

# A failover changes a listener twice within a second: away from the old primary, and to the new one. By default kube-proxy waits
# for a second after each change that it makes.
proxy_apply() {
  local now wanted
  now=$(kubectl_at "$SITE" -n kube-system get configmap kube-proxy -o json)
  wanted=$(jq '.data["config.conf"] |= sub("minSyncPeriod: 1s"; "minSyncPeriod: 100ms")' <<<"$now")
  [ "$(jq -S .data <<<"$now")" != "$(jq -S .data <<<"$wanted")" ] || return 0
  kubectl_at "$SITE" apply --server-side --force-conflicts --field-manager geosql-bed -f - <<<"$(jq 'del(.metadata.managedFields)' <<<"$wanted")"
  kubectl_at "$SITE" -n kube-system rollout restart daemonset kube-proxy
  kubectl_at "$SITE" -n kube-system rollout status daemonset kube-proxy --timeout=120s
}

addons_apply() {
  dns_apply
  proxy_apply
  images_load_site "$SITE" "$(volumes_image)" "$(firewall_image)" "$(shell_image)"
  kubectl_at "$SITE" delete storageclass standard --ignore-not-found
  # A provisioner and an allowed topology cannot be changed in place.
  addons_yaml | kubectl_at "$SITE" apply -f - || {
    kubectl_at "$SITE" delete storageclass fast capacity archive --ignore-not-found
    addons_yaml | kubectl_at "$SITE" apply -f -
  }
  kubectl_at "$SITE" -n kube-system rollout status deployment coredns --timeout=120s
  kubectl_at "$SITE" -n geosql-bed rollout status daemonset volumes --timeout=120s
  kubectl_at "$SITE" -n geosql-bed rollout status daemonset firewall --timeout=120s
  kubectl_at "$SITE" -n kube-system create configmap geosql-bed --from-literal=addons="$(addons_hash)" --dry-run=client -o yaml |
    kubectl_at "$SITE" apply -f -
}
