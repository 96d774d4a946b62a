# SPDX-License-Identifier: Apache-2.0
# geosql-operator. `make help` lists the targets; each prints what it does and how far it is.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# One build serves every checkout, the images and the tests: -trimpath, and no C compiler but for the race detector (hack/race).
export GOFLAGS ?= -buildvcs=false -trimpath
export CGO_ENABLED ?= 0

include make/*.mk

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z0-9-]*:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST) | sort

.PHONY: build
build: ## Build the three binaries into bin/.
	@echo "building bin/geosql, bin/kubectl-geosql and bin/standin"
	@CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/geosql ./cmd/kubectl-geosql ./cmd/standin
