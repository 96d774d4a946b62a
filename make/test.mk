# SPDX-License-Identifier: Apache-2.0

.PHONY: test
test: ## Set up what is missing and run the unit, API server and stand-in tests (no clusters needed).
	@echo "test: Kubernetes binaries for the API server tests, built from Go modules the first time (about 5 minutes)"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && hack/gotest test ./...

.PHONY: e2e
e2e: bed load-images ## Bring up the bed and run the end-to-end tests on real kind clusters.
	@eval "$$(hack/bed/env)" && GEOSQL_TEST_FORMAT=standard-verbose hack/gotest e2e -tags e2e -count 1 -timeout 60m ./test/e2e/...

.PHONY: demo
demo: bed load-images ## Bring up the bed and show a three-site topology: rows written in Tukwila arrive in Dublin.
	@hack/demo
