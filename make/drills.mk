# SPDX-License-Identifier: Apache-2.0
# Drills in their long form.
DRILL_EXAMPLES ?= all
# How many drills are drawn, with which seed, and for how many hours at most.
DRILL_TIMES ?= 200
DRILL_SEED  ?= 1
DRILL_HOURS ?= 10

.PHONY: soak-drills soak-repeated
soak: soak-drills soak-repeated

##@ 6 Long forms
soak-drills: bed load-images install ## Run the drills of examples/drills (DRILL_EXAMPLES: names, or all) on the bed and compare their verdicts.
	@hack/bed/chaos
	@mkdir -p "$(SOAK_RESULTS)"
	@echo "soak: drills ($(DRILL_EXAMPLES)), about an hour for all; reports in $(SOAK_RESULTS)"
	@hack/clear-tests
	@eval "$$(hack/bed/env)" && GEOSQL_DRILL_EXAMPLES="$(DRILL_EXAMPLES)" GEOSQL_TEST_RESULTS="$(SOAK_RESULTS)" \
	  GEOSQL_TEST_FORMAT=standard-verbose hack/gotest soak-drills -tags e2e -count 1 -timeout 2h -run 'TestDrill$$|TestDrillExamples|TestDrillsUnattended|TestDrillsThatMustFail|TestDrillEffects' ./test/e2e/...

soak-repeated: bed load-images install ## Draw DRILL_TIMES drills with DRILL_SEED on the bed, within DRILL_HOURS, and sum them up: a night's work.
	@hack/bed/chaos
	@mkdir -p "$(SOAK_RESULTS)"
	@echo "soak: $(DRILL_TIMES) drills, seed $(DRILL_SEED), at most $(DRILL_HOURS) hours; summary in $(SOAK_RESULTS)/drills-repeated.txt"
	@hack/clear-tests
	@eval "$$(hack/bed/env)" && GEOSQL_DRILL_TIMES=$(DRILL_TIMES) GEOSQL_DRILL_SEED=$(DRILL_SEED) GEOSQL_DRILL_HOURS=$(DRILL_HOURS) \
	  GEOSQL_TEST_RESULTS="$(SOAK_RESULTS)" GEOSQL_TEST_FORMAT=standard-verbose hack/gotest soak-repeated -tags e2e -count 1 \
	  -timeout $$(($(DRILL_HOURS) + 1))h -run 'TestRepeatedDrills$$' ./test/e2e/...
	@cat "$(SOAK_RESULTS)/drills-repeated.txt"
