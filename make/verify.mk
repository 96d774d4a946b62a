# SPDX-License-Identifier: Apache-2.0
TOOLS_BIN := $(or $(GEOSQL_BED_CACHE),$(HOME)/.cache/geosql-bed)/tools

.PHONY: verify
verify: verify-generated verify-format verify-versions verify-chart lint ## Check that generated files, formatting, module files and linters agree.
	@echo "verify: all in order"

.PHONY: verify-generated
verify-generated: ## Fail when a generated file differs from what `make generate` writes.
	@hack/verify-generated

.PHONY: verify-format
verify-format: ## Fail on Go files that gofmt would change and on an untidy go.mod.
	@echo "verify: gofmt, go mod tidy"
	@test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	@go mod tidy -diff

.PHONY: verify-versions
verify-versions: ## Fail when the operator and the bed's programs have different versions of a module that they share.
	@hack/verify-versions

.PHONY: verify-chart
verify-chart: ## Fail when the chart with all of its monitoring switched on is not as it should be.
	@hack/verify-chart

.PHONY: lint
lint: ## Run golangci-lint and shellcheck.
	@hack/tool golangci-lint
	@echo "verify: golangci-lint"
	@$(TOOLS_BIN)/golangci-lint run --allow-serial-runners
	@echo "verify: shellcheck"
	@hack/tool shellcheck
	@shellcheck -x --severity=warning $$(git ls-files | xargs grep -lE '^#!.*(bash|/sh)')
