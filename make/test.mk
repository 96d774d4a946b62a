# SPDX-License-Identifier: Apache-2.0

# Tests that need a real API server or an engine have the build tag `integration`.

# What takes longest begins first. Tests of processes wait more than they compute: more packages at once than there are
# processors.
LONGEST := ./controllers/subscription ./test/walk ./controllers/restore ./internal/agent/holder ./test/interrupted \
  ./internal/agent/restores ./internal/agent/backups ./controllers/drill ./internal/sites \
  ./controllers/sqlserver ./controllers/names ./internal/election/keeper ./cmd/geosql ./controllers/login ./internal/admission ./test/initial

##@ 1 Begin here
.PHONY: test
test: test-operator ## Set up what is missing and run all tests that need no clusters; the stand-in's when it has changed (AGAIN=1: always).
	@hack/when-changed standin $(MAKE) --no-print-directory -C standin test

##@ 2 Tests
.PHONY: test-operator
test-operator: ## Run the operator's tests, also those that need API servers and engines (a part of `make test`).
	@echo "test: Kubernetes binaries for the API server tests, built from Go modules the first time (about 5 minutes)"
	@hack/bed/up --only binaries
	@hack/tool prometheus
	@hack/tool versitygw
	@hack/tool crdify
	@hack/debian chromium:chromium lua5.1:lua5.1
	@eval "$$(hack/bed/env)" && standin=$$(hack/program standin) && netem=$$(hack/program netem) && \
	  GEOSQL_STANDIN="$$standin" GEOSQL_NETEM="$$netem" GEOSQL_REQUIRE_APISERVER=1 GEOSQL_REQUIRE_PROMETHEUS=1 \
	  GEOSQL_REQUIRE_CHROMIUM=1 GEOSQL_REQUIRE_LUA=1 hack/gotest test -tags integration -p 4 -timeout 30m $(LONGEST) ./...
	@$(MAKE) --no-print-directory test-race-short

# Under the race detector: the core, with engines that have the detector as well. The stand-in has a target of its own.
RACE := ./internal/election/... ./internal/agent/... ./internal/sites/... ./internal/mssql ./internal/workload ./internal/reconcile ./controllers/...
# A part of `make test`: what votes, connections and the frame of all controllers share between goroutines, in packages that need
# few engines. internal/agent/holder is worth it as well and takes minutes. Searches at random are left out: they run the same
# code again, on a clock of their own, for minutes.
RACE_SHORT := ./internal/election/... ./internal/mssql ./internal/reconcile
RACE_SEARCHES := ^TestSchedules|^TestNothingIsLost|^TestBrokenOnPurpose

.PHONY: test-race
test-race: ## Run the tests of the core of both modules, and the engines that they start, with Go's race detector.
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_REQUIRE_APISERVER=1 hack/race race -tags integration -p 1 -timeout 40m $(RACE)
	@$(MAKE) --no-print-directory -C standin test-race

.PHONY: test-race-short
test-race-short: ## Run those tests of test-race that are a part of `make test`.
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_REQUIRE_APISERVER=1 hack/race race-short -tags integration -p 2 -timeout 10m -skip '$(RACE_SEARCHES)' $(RACE_SHORT)

.PHONY: unit
unit: ## Run the pure tests: plans, placement, T-SQL, the election's schedules. No root, no packages, no API servers, no engines.
	@go test ./...

.PHONY: monitoring
monitoring: ## Check alerts and dashboard with promtool and a Prometheus (a part of `make test`).
	@hack/tool prometheus
	@GEOSQL_REQUIRE_APISERVER=1 GEOSQL_REQUIRE_PROMETHEUS=1 hack/gotest monitoring -tags integration ./test/monitoring

# So many of the tests that share the bed are at work at once. Making groups is what takes processors, and then votes are not renewed in
# time: tests use the same groups one after another. Which share what, and when, is in test/e2e/bed/turns.go and
# test/e2e/shared_test.go.
E2E = eval "$$(hack/bed/env)" && GEOSQL_REQUIRE_PROMETHEUS=1 GEOSQL_TEST_FORMAT=standard-verbose hack/gotest $@ -tags e2e -count 1 -parallel 4

##@ 1 Begin here
.PHONY: e2e
e2e: bed chaos load-images install ## Bring up the bed and run the end-to-end tests on real kind clusters.
	@hack/tool prometheus
	@hack/tool versitygw
	@hack/clear-tests
	@$(E2E) -timeout 75m ./test/e2e/...

.PHONY: e2e-all
e2e-all: bed chaos load-images install ## Run the end-to-end tests with those of their cases and forms that differ little from others, or take longer.
	@hack/tool prometheus
	@hack/tool versitygw
	@hack/clear-tests
	@GEOSQL_E2E_ALL=yes && export GEOSQL_E2E_ALL && $(E2E) -timeout 120m ./test/e2e/...
	@CERTIFY_SCENES= CERTIFY_CONTRACT=TestDocumentedReplicationOnLinux hack/certify/run standin

.PHONY: demo
demo: bed load-images ## Bring up the bed and show a three-site topology: rows written in Tukwila arrive in Dublin.
	@hack/demo
