# SPDX-License-Identifier: Apache-2.0
# The bed: three kind clusters with a WAN between them. hack/bed/up --help says more.

.PHONY: bed clean-bed bed-status images load-images chaos

##@ 5 The bed
bed: ## Bring up three kind clusters with a WAN between them (cold about 15 min, then seconds)
	hack/bed/up

clean-bed: ## Remove the bed; CACHE=1 also its built artefacts and images
	hack/bed/down

bed-status: ## Show the bed's clusters, nodes and WAN
	hack/bed/status

images: ## Build the images of operator and stand-in engine, tagged by their contents
	hack/bed/images

load-images: images ## Load the project's images into all clusters
	hack/bed/load

chaos: ## Install Chaos Mesh at every site of the bed (cold about 5 min, then seconds)
	hack/bed/chaos
