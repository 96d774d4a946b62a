# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Images in the nodes, and the project's own images.

IMAGES_ENV=$BED_CACHE/images.env
PROJECT_REPOSITORIES="geosql-operator geosql-standin geosql-standin-next"

image_in_node() { # image_in_node IMAGE: the name containerd gives it
  case $1 in */*) echo "docker.io/$1" ;; *) echo "docker.io/library/$1" ;; esac
}

node_images() { docker exec "$1" ctr -n k8s.io images ls -q </dev/null; }

images_load_site() { # images_load_site SITE IMAGE...: into those of its nodes that lack them
  local site=$1 node image have missing
  shift
  for node in $(node_names "$site"); do
    have=$(node_images "$node")
    missing=()
    for image in "$@"; do
      grep -qxF "$(image_in_node "$image")" <<<"$have" || missing+=("$image")
    done
    [ ${#missing[@]} -gt 0 ] || continue
    echo "$node: ${missing[*]}"
    docker save "${missing[@]}" | docker exec -i "$node" ctr -n k8s.io images import --snapshotter overlayfs - >/dev/null
  done
}

images_prune_site() { # images_prune_site SITE: the project's images that neither the engine has nor the site uses, and what has no tag
  local node repository name kept used
  # Pods that may be restarted, and the controllers that make them, need their image in the node: nothing pulls it.
  used=$(kubectl_at "$1" get pods,statefulsets,deployments,daemonsets,jobs -A -o json --request-timeout=20s |
    jq -r '[.items[] | (.spec.template.spec // .spec) | (.initContainers // [])[], .containers[] | .image] | unique[]')
  for node in $(node_names "$1"); do
    for repository in $PROJECT_REPOSITORIES; do
      kept=$(docker images --format '{{.Repository}}:{{.Tag}}' "$repository")
      node_images "$node" | { grep "^docker.io/library/$repository:" || true; } | while read -r name; do
        grep -qxF "${name#docker.io/library/}" <<<"$kept"$'\n'"$used" || docker exec "$node" ctr -n k8s.io images rm "$name" </dev/null >/dev/null
      done
    done
    images_prune_untagged "$node"
  done
}

# What lost its tag keeps its content and its snapshot under its digest: 60 MB for each build of the operator.
images_prune_untagged() { # images_prune_untagged NODE
  local used
  # Earlier beds imported by digest, too; the kubelet's interface does not find these names.
  node_images "$1" | { grep '^import-' || true; } | xargs -r docker exec "$1" ctr -n k8s.io images rm >/dev/null 2>&1 || true
  used=$(docker exec "$1" crictl ps -a -o json </dev/null 2>/dev/null | jq -r '.containers[] | .imageRef, .image.image')
  docker exec "$1" crictl images -o json </dev/null 2>/dev/null | jq -r '.images[] | select((.repoTags // []) == []) | .id' |
    { grep -vxF "$used" || true; } | xargs -r docker exec "$1" crictl rmi >/dev/null 2>&1 ||
    echo "$1: images without a tag could not be removed; they only take room"
}

# project_image MODULE PACKAGE BINARY-NAME REPOSITORY DOCKERFILE: builds the binary of the module's folder, tags the image
# by its hash and prints the image's name.
project_image() {
  local module=$1 package=$2 binary=$3 repository=$4 dockerfile=$5 dir tag
  dir=$BED_CACHE/images/$repository
  # Folders of the stand-in's image; the builder keeps the modes of those inside the one it copies.
  mkdir -p "$dir/mssql" "$dir/root/tmp"
  chmod 1777 "$dir/root/tmp"
  (cd "$BED_REPO/$module" && CGO_ENABLED=0 GOGC=400 go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$dir/$binary" "$package") >&2
  cp "$dockerfile" "$dir/Dockerfile"
  tag=$repository:$(cat "$dir/$binary" "$dir/Dockerfile" | hash_of)
  image_exists "$tag" || docker_build -t "$tag" "$dir" >&2
  image_prune "$repository" "$tag"
  echo "$tag"
}

# The build that the stand-in's second image calls itself: upgrades go from the one to the other.
STANDIN_NEXT_VERSION=16.0.4135.4

standin_next_image() { # standin_next_image IMAGE: of the image that project_image has just made, the same as another build
  local dir=$BED_CACHE/images/geosql-standin tag
  tag=geosql-standin-next:$(echo "$1 $STANDIN_NEXT_VERSION" | hash_of)
  image_exists "$tag" || { cat "$dir/Dockerfile"; echo "ENV STANDIN_VERSION=$STANDIN_NEXT_VERSION"; } |
    docker_build -t "$tag" -f - "$dir" >&2
  image_prune geosql-standin-next "$tag"
  echo "$tag"
}

# images.env: lines of VARIABLE=IMAGE, for hack/bed/env, for Helm values and for tests.
images_env_get() { sed -n "s/^$1=//p" "$IMAGES_ENV" 2>/dev/null; }
images_env_set() { # images_env_set VARIABLE IMAGE
  { grep -v "^$1=" "$IMAGES_ENV" 2>/dev/null || true; echo "$1=$2"; } | sort >"$IMAGES_ENV.new"
  mv "$IMAGES_ENV.new" "$IMAGES_ENV"
}

project_images() { # project_images NAME...: of operator and standin
  local name image
  for name in "$@"; do
    case $name in
    operator) image=$(project_image . ./cmd/geosql geosql geosql-operator "$BED_REPO/images/operator.Dockerfile") ;;
    standin) image=$(project_image standin ./cmd/standin standin geosql-standin "$BED_REPO/standin/image/Dockerfile") ;;
    esac
    images_env_set "${name^^}_IMAGE" "$image"
    if [ "$name" = standin ]; then images_env_set STANDIN_NEXT_IMAGE "$(standin_next_image "$image")"; fi
  done
}
