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
	@$(MAKE) --no-print-directory test-race-short

# Under the race detector: the core of the operator, and that of the stand-in, whose engines run with the detector in the tests
# of the former as well.
RACE_OPERATOR := ./internal/election ./internal/agent/... ./internal/sites/... ./internal/mssql ./internal/workload ./internal/reconcile \
  ./internal/orders ./internal/requests ./controllers/...
RACE_STANDIN := ./standin/hadr/... ./standin/repl ./standin/storage/... ./standin/tds ./standin/engine
# A part of `make test`, 70 s of CPU with warm caches: what votes, connections, log and the frame of all controllers share between
# goroutines, in packages that need few engines. internal/agent/holder is worth it as well and takes minutes. Searches at random
# are left out: they run the same code again, on a clock of their own, for minutes.
RACE_SHORT_OPERATOR := ./internal/election ./internal/mssql ./internal/reconcile
RACE_SHORT_STANDIN := ./standin/storage/... ./standin/tds ./standin/hadr/endpoint
RACE_SEARCHES := ^TestSchedules|^TestNothingIsLost|^TestBrokenOnPurpose

.PHONY: test-race
test-race: ## Run the tests of the core, and the engines that they start, with Go's race detector.
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && hack/race race -p 1 -timeout 40m $(RACE_OPERATOR) $(RACE_STANDIN)

.PHONY: test-race-short
test-race-short: ## Run those tests of test-race that are a part of `make test`.
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && hack/race race-short -p 2 -timeout 10m -skip '$(RACE_SEARCHES)' $(RACE_SHORT_OPERATOR) $(RACE_SHORT_STANDIN)

.PHONY: monitoring
monitoring: ## Check alerts and dashboard with promtool and a Prometheus (a part of `make test`).
	@hack/tool prometheus
	@GEOSQL_REQUIRE_PROMETHEUS=1 hack/gotest monitoring ./test/monitoring

.PHONY: certify
certify: ## Run the contract suite on a real server beside the stand-in and report where they differ: SERVER=host:port, GEOSQL_CONTRACT_USER, GEOSQL_CONTRACT_PASSWORD.
	@hack/certify "$(SERVER)"

# Two of the tests that share the bed at once: three had its two processors fully taken, and then votes are not renewed in time.
# Which tests share it, and when, is in test/e2e/bed/turns.go.
.PHONY: e2e
e2e: test-report bed chaos load-images install ## Bring up the bed and run the end-to-end tests on real kind clusters.
	@hack/tool prometheus
	@hack/clear-tests
	@eval "$$(hack/bed/env)" && GEOSQL_REQUIRE_PROMETHEUS=1 GEOSQL_TEST_FORMAT=standard-verbose hack/gotest e2e -tags e2e -count 1 -parallel 3 -timeout 75m ./test/e2e/...

.PHONY: demo
demo: bed load-images ## Bring up the bed and show a three-site topology: rows written in Tukwila arrive in Dublin.
	@hack/demo
