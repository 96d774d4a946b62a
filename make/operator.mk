# SPDX-License-Identifier: Apache-2.0
# Generated parts of the operator: deep copies, CRDs, the chart's copy of them, the kustomize bases.
CONTROLLER_GEN := $(or $(GEOSQL_BED_CACHE),$(HOME)/.cache/geosql-bed)/tools/controller-gen

##@ 4 Generated files
.PHONY: generate
generate: deepcopy manifests reference ## Write all generated files (deep copies, CRDs, kustomize bases, reference).

.PHONY: deepcopy
deepcopy: ## Write the deep copies of the API types.
	@hack/tool controller-gen
	@echo "generate: deep copies"
	@$(CONTROLLER_GEN) object:headerFile=hack/license.go.txt paths=./api/...

.PHONY: manifests
manifests: ## Write the CRDs and what is made of the chart.
	@hack/tool controller-gen
	@echo "generate: CRDs"
	@$(CONTROLLER_GEN) crd:allowDangerousTypes=false paths=./api/... output:crd:artifacts:config=config/crd/bases
	@hack/manifests

.PHONY: reference
reference: ## Write docs/reference from the API types and the conditions.
	@hack/tool crd-ref-docs
	@echo "generate: reference of kinds and conditions"
	@hack/reference

##@ 2 Tests
.PHONY: envtest
envtest: ## Run the tests that need an API server (a part of `make test`).
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_REQUIRE_APISERVER=1 hack/gotest envtest -tags integration ./internal/sites/... ./internal/admission/... ./controllers/...

##@ 5 The bed
.PHONY: install
install: ## Install the operator in the bed's hub and join the three sites.
	@eval "$$(hack/bed/env)" && hack/install-operator
