# SPDX-License-Identifier: Apache-2.0
# geosql-operator. `make help` lists the targets; each prints what it does and how far it is.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# One build serves every checkout, the images and the tests: -trimpath, and no C compiler but for the race detector (hack/race).
export GOFLAGS ?= -buildvcs=false -trimpath
export CGO_ENABLED ?= 0

# What a release says of itself.
VERSION ?= dev

include make/*.mk

##@ 1 Begin here
.PHONY: help
help: ## List the targets by purpose.
	@awk 'BEGIN {FS = ":.*## "; group = "9 Others"} FNR == 1 {group = "9 Others"} /^##@ / {group = substr($$0, 5)} \
	  /^[a-z][a-z0-9-]*:.*## / {printf "%s\t%s\t%s\n", group, $$1, $$2}' $(MAKEFILE_LIST) | sort -s -t "$$(printf '\t')" -k 1,1 | \
	  awk -F '\t' '$$1 != group {group = $$1; printf "\n%s\n", substr(group, 3)} {printf "  %-18s %s\n", $$2, $$3}'

.PHONY: build
build: ## Build the two binaries into bin/ (VERSION=0.1.0 for a release).
	@echo "building bin/geosql and bin/kubectl-geosql"
	@CGO_ENABLED=0 go build -trimpath -ldflags '-X geosql.dev/operator/internal/version.version=$(VERSION)' -o bin/ ./cmd/geosql ./cmd/kubectl-geosql
