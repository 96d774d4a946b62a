# SPDX-License-Identifier: Apache-2.0
# The long forms of tests: bounded, and each leaves its evidence. A test asks GEOSQL_SOAK_ROUNDS whether it runs in its
# long form; a property test is run with more checks.
SOAK_ROUNDS     ?= 3
SOAK_MINUTES    ?= 60
SOAK_CHECKS     ?= 20000
SOAK_RESULTS    ?= $(or $(GEOSQL_BED_CACHE),$(HOME)/.cache/geosql-bed)/soak
# Schedules of the election take longer than other checks.
SOAK_SCHEDULES  ?= 3000
# Packages whose property tests (pgregory.net/rapid) are worth more checks.
SOAK_PROPERTIES ?= ./internal/history

.PHONY: soak soak-properties soak-interruptions soak-moves soak-replication soak-crash soak-speed soak-bed soak-faults
soak: soak-properties soak-interruptions soak-moves soak-replication soak-crash soak-speed soak-bed ## Run the long forms of all tests: SOAK_ROUNDS of every fault within SOAK_MINUTES, then a table of figures.

soak-properties: ## Run property tests with SOAK_CHECKS checks each.
	@echo "soak: properties, $(SOAK_CHECKS) checks each"
	@hack/gotest soak-properties -count 1 -timeout 30m $(SOAK_PROPERTIES) -rapid.checks=$(SOAK_CHECKS)
	@echo "soak: $(SOAK_SCHEDULES) random schedules of the election"
	@hack/gotest soak-schedules -count 1 -timeout 60m -run 'TestSchedules|TestNothingIsLost' ./internal/election -rapid.checks=$(SOAK_SCHEDULES)

soak-interruptions: ## End the manager at every moment of every statement and write that it makes.
	@echo "soak: the manager dies about 300 times, about 6 minutes"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_SOAK=1 hack/gotest soak-interruptions -count 1 -timeout 30m ./test/interrupted

soak-moves: ## Move publishing to a subscriber, also after a distributor that lives has delivered.
	@echo "soak: moves of a publication, about 2 minutes"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_SOAK=1 hack/gotest soak-moves -count 1 -timeout 30m -run TestPublishing ./controllers/subscription

soak-bed: bed chaos load-images install ## Run the long forms of the end-to-end tests on the bed.
	@mkdir -p "$(SOAK_RESULTS)"
	@echo "soak: $(SOAK_ROUNDS) rounds of faults, at most $(SOAK_MINUTES) minutes; evidence in $(SOAK_RESULTS)"
	@hack/clear-tests
	@eval "$$(hack/bed/env)" && GEOSQL_SOAK_ROUNDS=$(SOAK_ROUNDS) GEOSQL_SOAK_MINUTES=$(SOAK_MINUTES) GEOSQL_TEST_RESULTS="$(SOAK_RESULTS)" \
	  GEOSQL_TEST_FORMAT=standard-verbose hack/gotest soak -tags e2e -count 1 -timeout $$(($(SOAK_MINUTES) + 45))m -run 'TestFaultMatrix|TestFullLog|TestChaos|TestGroupFailover|TestForcedFailover|TestPublishingMoves|Soak' ./test/e2e/...
	@cat "$(SOAK_RESULTS)"/*/verdict.txt

# Names of faultKinds in test/e2e, with commas.
FAULTS ?= engine killed,pod deleted,switchover

soak-faults: bed load-images install ## Do FAULTS alone, SOAK_ROUNDS times each within SOAK_MINUTES, and show the figures.
	@mkdir -p "$(SOAK_RESULTS)"
	@echo "soak: $(SOAK_ROUNDS) rounds of $(FAULTS), at most $(SOAK_MINUTES) minutes; evidence in $(SOAK_RESULTS)"
	@hack/clear-tests
	@eval "$$(hack/bed/env)" && GEOSQL_FAULTS="$(FAULTS)" GEOSQL_SOAK_ROUNDS=$(SOAK_ROUNDS) GEOSQL_SOAK_MINUTES=$(SOAK_MINUTES) GEOSQL_TEST_RESULTS="$(SOAK_RESULTS)" \
	  GEOSQL_TEST_FORMAT=standard-verbose hack/gotest soak-faults -tags e2e -count 1 -timeout $$(($(SOAK_MINUTES) + 15))m -run 'TestFaultMatrix$$' ./test/e2e/...
	@cat "$(SOAK_RESULTS)"/TestFaultMatrix/verdict.txt

# Rounds of crashes in their long form; `make test` has 50.
SOAK_CRASHES ?= 500

soak-crash: ## Kill the engine and cut its power SOAK_CRASHES times each.
	@echo "soak: $(SOAK_CRASHES) crashes of each kind, about 8 minutes"
	@GEOSQL_CRASH_ROUNDS=$(SOAK_CRASHES) hack/gotest soak-crash -count 1 -timeout 90m ./test/crash

# Kills, and transactions that there are at least, of each of the three tests of replication in their long form.
SOAK_REPLICATION_KILLS        ?= 120
SOAK_REPLICATION_TRANSACTIONS ?= 10000

soak-replication: ## Kill publisher, distributor, subscriber and agents SOAK_REPLICATION_KILLS times in each of three tests while they deliver.
	@echo "soak: replication, 3 times $(SOAK_REPLICATION_KILLS) kills and $(SOAK_REPLICATION_TRANSACTIONS) transactions, about 20 minutes"
	@GEOSQL_REPLICATION_ROUNDS=$(SOAK_REPLICATION_KILLS) GEOSQL_TRANSACTIONS=$(SOAK_REPLICATION_TRANSACTIONS) hack/gotest soak-replication -count 1 -timeout 90m \
	  -run 'TestTransactionsArrive' ./standin/contract

soak-speed: ## Measure the stand-in beside its baselines, and redo against log generation for 5 minutes.
	@echo "soak: speed, about 30 minutes; docs/engine.md says what the figures mean"
	@go test ./test/speed -run XXX -bench 'Insert|Start' -benchtime 5x -timeout 30m
	@go test ./test/speed -run XXX -bench Small -benchtime 200000x -timeout 30m
	@go test ./test/speed -run XXX -bench WAN -benchtime 1x -timeout 40m
	@go test ./standin/storage -run XXX -bench Redo -benchtime 20x
	@go test ./standin/hadr/replica -run XXX -bench RedoKeepsUp -benchtime 300s -timeout 30m
