# SPDX-License-Identifier: Apache-2.0
# The long forms of tests: bounded, and each leaves its evidence. A test asks GEOSQL_SOAK_ROUNDS whether it runs in its
# long form; a property test is run with more checks.
SOAK_ROUNDS     ?= 3
SOAK_MINUTES    ?= 60
SOAK_CHECKS     ?= 20000
SOAK_RESULTS    ?= $(or $(GEOSQL_BED_CACHE),$(HOME)/.cache/geosql-bed)/soak
# Schedules of the election take longer than other checks.
SOAK_SCHEDULES  ?= 3000
# Minutes in which walks begin. The last one takes some more.
SOAK_WALK_MINUTES ?= 120
# Packages whose property tests (pgregory.net/rapid) are worth more checks.
SOAK_PROPERTIES ?= ./internal/workload/history

##@ 6 Long forms
.PHONY: soak soak-properties soak-interruptions soak-walks soak-moves soak-answers soak-standin soak-bed soak-faults bench-backups bench-init
soak: soak-properties soak-interruptions soak-walks soak-moves soak-answers soak-standin soak-bed ## Run the long forms of all tests: SOAK_ROUNDS of every fault within SOAK_MINUTES, then a table of figures.

soak-properties: ## Run property tests with SOAK_CHECKS checks each.
	@echo "soak: properties, $(SOAK_CHECKS) checks each"
	@hack/gotest soak-properties -count 1 -timeout 30m $(SOAK_PROPERTIES) -rapid.checks=$(SOAK_CHECKS)
	@echo "soak: $(SOAK_SCHEDULES) random schedules of the election"
	@hack/gotest soak-schedules -count 1 -timeout 60m -run 'TestSchedules|TestNothingIsLost' ./internal/election/keeper -rapid.checks=$(SOAK_SCHEDULES)

soak-interruptions: ## End the manager at every moment of every statement and write that it makes.
	@echo "soak: the manager dies about 300 times, about 6 minutes"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_SOAK=1 hack/gotest soak-interruptions -tags integration -count 1 -timeout 30m ./test/interrupted

soak-walks: ## Walk a manifest through random edits, for SOAK_WALK_MINUTES.
	@echo "soak: walks of a manifest, $(SOAK_WALK_MINUTES) minutes"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_SOAK=$(SOAK_WALK_MINUTES)m hack/gotest soak-walks -tags integration -count 1 -timeout $$(($(SOAK_WALK_MINUTES) + 30))m ./test/walk

soak-answers: ## Replicate over engines that answer open questions the other way, and elect among them, each by itself.
	@echo "soak: replication and elections over other answers, about 15 minutes"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_SOAK=1 hack/gotest soak-answers -tags integration -count 1 -timeout 45m -run 'TestEnginesThatAnswerTheOtherWay|TestElectionsUnderEveryAnswer' -p 1 ./controllers/subscription ./internal/agent/holder

soak-moves: ## Move publishing to a subscriber, also after a distributor that lives has delivered.
	@echo "soak: moves of a publication, about 2 minutes"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && GEOSQL_SOAK=1 hack/gotest soak-moves -tags integration -count 1 -timeout 30m -run TestPublishing ./controllers/subscription

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

soak-standin: ## Run the long forms of the stand-in's tests, and its benchmarks.
	@$(MAKE) --no-print-directory -C standin soak bench

# MB of the databases of the two benchmarks of backups, and rounds of the first.
BENCH_MB        ?= 100
BENCH_ROUNDS    ?= 3
BENCH_WRITES_MB ?= 1000

bench-backups: ## Measure backups and restores in all forms, and writes during a backup: two tables. The machine does nothing else meanwhile.
	@echo "bench: backups of $(BENCH_MB) MB, then writes during those of $(BENCH_WRITES_MB) MB; engine, agent and store on this machine"
	@hack/tool versitygw
	@standin=$$(hack/program standin) && export GEOSQL_STANDIN="$$standin" && \
	  GEOSQL_BENCH_MB=$(BENCH_MB) go test -vet=off -tags integration -run '^$$' -bench 'Backups$$' -benchtime $(BENCH_ROUNDS)x -timeout 30m ./internal/agent/backups && \
	  GEOSQL_BENCH_MB=$(BENCH_WRITES_MB) go test -vet=off -tags integration -run '^$$' -bench WritesDuringABackup -benchtime 1x -timeout 30m ./internal/agent/backups

# Where reports of benchmarks are written; which parts of bench-init are measured (all, unless given: ways,spokes), and with
# how many percent of the bytes.
BENCH_RESULTS ?= $(or $(GEOSQL_BED_CACHE),$(HOME)/.cache/geosql-bed)/bench
BENCH_PARTS   ?=
BENCH_PERCENT ?= 100

bench-init: ## Measure how a far subscriber begins, beside what link and machine allow, as root, within an hour: tables, also in BENCH_RESULTS. The machine does nothing else meanwhile.
	@echo "bench: first copies over emulated links, three quarters of an hour; the report is written to $(BENCH_RESULTS)/first-copies.md"
	@hack/bed/up --only binaries
	@eval "$$(hack/bed/env)" && standin=$$(hack/program standin) && netem=$$(hack/program netem) && \
	  GEOSQL_STANDIN="$$standin" GEOSQL_NETEM="$$netem" GEOSQL_REQUIRE_APISERVER=1 GEOSQL_BENCH_RESULTS="$(BENCH_RESULTS)" GEOSQL_BENCH_PARTS="$(BENCH_PARTS)" GEOSQL_BENCH_PERCENT="$(BENCH_PERCENT)" \
	  go test -vet=off -tags integration -run '^$$' -bench FirstCopies -benchtime 1x -timeout 60m ./test/initial
