# SPDX-License-Identifier: Apache-2.0
TOOLS_BIN := $(or $(GEOSQL_BED_CACHE),$(HOME)/.cache/geosql-bed)/tools

##@ 3 Checks
.PHONY: verify
verify: verify-generated verify-crds verify-format verify-lines verify-versions verify-platforms verify-chart lint verify-vulnerabilities ## Check that generated files, formatting, module files and linters agree, and look for known vulnerabilities.
	@echo "verify: all in order"

.PHONY: verify-generated
verify-generated: ## Fail when a generated file differs from what `make generate` writes.
	@hack/verify-generated

.PHONY: verify-crds
verify-crds: ## Fail when the CRDs refuse, retype or forget something that those of the last release took.
	@hack/verify-crds

.PHONY: release-crds
release-crds: ## Keep the CRDs as they are as those of a release, which verify-crds compares with from then on.
	@rm -rf config/crd/released && mkdir config/crd/released && cp config/crd/bases/*.yaml config/crd/released/
	@rm -rf hack/crds.d
	@echo "release-crds: config/crd/released has $$(ls config/crd/released | wc -l) CRDs; commit them with the release"

.PHONY: verify-format
verify-format: ## Fail on Go files that gofmt would change and on an untidy go.mod.
	@echo "verify: gofmt, go mod tidy"
	@test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	@go mod tidy -diff

.PHONY: verify-lines
verify-lines: ## Fail on Go lines of over 120 columns and on files that ask to be split.
	@hack/verify-lines

.PHONY: verify-versions
verify-versions: ## Fail when the operator and the bed's programs have different versions of a module that they share.
	@hack/verify-versions

# Types, not builds: a build from nothing for another system takes minutes. All of ours that is for a system alone depends on the
# system, not on the processor.
.PHONY: verify-platforms
verify-platforms: ## Fail when a file that is for one system breaks the plugin for macOS or Windows, or both programs for arm64.
	@go run ./hack/platforms windows/amd64:./cmd/kubectl-geosql darwin/arm64:./cmd/kubectl-geosql linux/arm64:./cmd/geosql,./cmd/kubectl-geosql

.PHONY: verify-chart
verify-chart: ## Fail when the chart with all of its monitoring switched on is not as it should be.
	@hack/verify-chart

# Neither module imports the other, and rooms import downward: depguard says so (.golangci.yml).
.PHONY: lint
lint: ## Run golangci-lint on both modules (the stand-in's when it or the rules have changed; AGAIN=1: always), and shellcheck.
	@hack/tool golangci-lint
	@echo "verify: golangci-lint"
	@$(TOOLS_BIN)/golangci-lint run --allow-serial-runners
	@hack/when-changed standin $(MAKE) --no-print-directory -C standin lint RULES=$$(cat .golangci.yml hack/tool | sha256sum | head -c 12)
	@echo "verify: shellcheck"
	@hack/tool shellcheck
	@shellcheck -x --severity=warning $$(git ls-files | xargs grep -lE '^#!.*(bash|/sh)')

.PHONY: verify-vulnerabilities
verify-vulnerabilities: ## Look for known vulnerabilities, where their database can be reached.
	@hack/verify-vulnerabilities
