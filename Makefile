# SPDX-License-Identifier: Apache-2.0
# geosql-operator. `make help` lists the targets; each prints what it does and how far it is.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# One build serves every checkout, the images and the tests: -trimpath, and no C compiler anywhere.
export GOFLAGS ?= -buildvcs=false -trimpath
export CGO_ENABLED ?= 0

# What a release says of itself.
VERSION ?= dev

include make/*.mk

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z0-9-]*:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST) | sort

.PHONY: build
build: ## Build the two binaries into bin/ (VERSION=0.1.0 for a release).
	@echo "building bin/geosql and bin/kubectl-geosql"
	@CGO_ENABLED=0 go build -trimpath -ldflags '-X geosql.dev/operator/internal/version.version=$(VERSION)' -o bin/ ./cmd/geosql ./cmd/kubectl-geosql
