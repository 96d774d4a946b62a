# SPDX-License-Identifier: Apache-2.0
# What a release consists of (hack/release). CONTRIBUTING.md says how one is made.
# Where the image is pushed and pulled from, and where the plugin's archives will be served.
REGISTRY  ?=
DOWNLOADS ?=
# Platforms of image and plugin, with commas: all unless given.
IMAGE_PLATFORMS  ?=
PLUGIN_PLATFORMS ?=
RELEASE_CACHE := $(or $(GEOSQL_BED_CACHE),$(HOME)/.cache/geosql-bed)
# The bed's helm, or one of the same version.
RELEASE_HELM  := helm=$(RELEASE_CACHE)/bin/helm; [ -x "$$helm" ] || { hack/tool helm; helm=$(RELEASE_CACHE)/tools/helm; }

##@ 9 Releases
.PHONY: release
release: ## Make dist/VERSION of the commit that is checked out (VERSION=0.2.0): image, chart, manifest, plugins, checksums; push the image where REGISTRY says.
	@$(RELEASE_HELM); go -C hack/release build -o "$(RELEASE_CACHE)/bin-project/release" . && \
	  "$(RELEASE_CACHE)/bin-project/release" -root . -out dist -helm "$$helm" -version "$(VERSION)" -registry "$(REGISTRY)" -downloads "$(DOWNLOADS)" \
	  $(if $(IMAGE_PLATFORMS),-images "$(IMAGE_PLATFORMS)") $(if $(PLUGIN_PLATFORMS),-plugins "$(PLUGIN_PLATFORMS)")

.PHONY: test-release
test-release: ## Make a release of the commit twice, from two paths, the second with an empty build cache; compare, push, pull, run it (about 10 minutes).
	@$(RELEASE_HELM); go -C hack/release test -count 1 -timeout 60m . -helm "$$helm"
