# SPDX-License-Identifier: Apache-2.0

# What takes longest begins first. Tests of processes wait more than they compute: more packages at once than there are
# processors.
LONGEST := ./controllers/subscription ./standin/contract ./controllers/drill ./internal/agent/holder ./test/interrupted ./internal/sites

.PHONY: test
test: ## Set up what is missing and run the unit, API server and stand-in tests (no clusters needed).
	@hack/debian tsql:freetds-bin
	@echo "test: Kubernetes binaries for the API server tests, built from Go modules the first time (about 5 minutes)"
	@hack/bed/up --only binaries
	@hack/tool prometheus
	@eval "$$(hack/bed/env)" && standin=$$(hack/standin) && \
	  GEOSQL_STANDIN="$$standin" GEOSQL_REQUIRE_TSQL=1 GEOSQL_REQUIRE_PROMETHEUS=1 hack/gotest test -p 3 -timeout 20m $(LONGEST) ./...

.PHONY: monitoring
monitoring: ## Check alerts and dashboard with promtool and a Prometheus (a part of `make test`).
	@hack/tool prometheus
	@GEOSQL_REQUIRE_PROMETHEUS=1 hack/gotest monitoring ./test/monitoring

.PHONY: certify
certify: ## Run the contract suite on a real server beside the stand-in and report where they differ: SERVER=host:port, GEOSQL_CONTRACT_USER, GEOSQL_CONTRACT_PASSWORD.
	@hack/certify "$(SERVER)"

# So many of the tests that share the bed are at work at once. Making groups is what takes processors, and then votes are not renewed in
# time: tests use the same groups one after another. Which share what, and when, is in test/e2e/bed/turns.go and
# test/e2e/shared_test.go.
E2E = eval "$$(hack/bed/env)" && GEOSQL_REQUIRE_PROMETHEUS=1 GEOSQL_TEST_FORMAT=standard-verbose hack/gotest $@ -tags e2e -count 1 -parallel 4

.PHONY: e2e
e2e: test-report bed chaos load-images install ## Bring up the bed and run the end-to-end tests on real kind clusters.
	@hack/tool prometheus
	@hack/clear-tests
	@$(E2E) -timeout 75m ./test/e2e/...

.PHONY: e2e-all
e2e-all: test-report bed chaos load-images install ## Run the end-to-end tests with those of their cases and forms that differ little from others, or take longer.
	@hack/tool prometheus
	@hack/clear-tests
	@GEOSQL_E2E_ALL=yes && export GEOSQL_E2E_ALL && $(E2E) -timeout 120m ./test/e2e/...

.PHONY: demo
demo: bed load-images ## Bring up the bed and show a three-site topology: rows written in Tukwila arrive in Dublin.
	@hack/demo
