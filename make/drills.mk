# SPDX-License-Identifier: Apache-2.0
# Drills in their long form.
DRILL_EXAMPLES ?= all

.PHONY: soak-drills
soak: soak-drills

##@ 6 Long forms
soak-drills: bed load-images install ## Run the drills of examples/drills (DRILL_EXAMPLES: names, or all) on the bed and compare their verdicts.
	@hack/bed/chaos
	@mkdir -p "$(SOAK_RESULTS)"
	@echo "soak: drills ($(DRILL_EXAMPLES)), about an hour for all; reports in $(SOAK_RESULTS)"
	@hack/clear-tests
	@eval "$$(hack/bed/env)" && GEOSQL_DRILL_EXAMPLES="$(DRILL_EXAMPLES)" GEOSQL_TEST_RESULTS="$(SOAK_RESULTS)" \
	  GEOSQL_TEST_FORMAT=standard-verbose hack/gotest soak-drills -tags e2e -count 1 -timeout 2h -run 'TestDrill$$|TestDrillExamples|TestDrillsUnattended|TestDrillsThatMustFail|TestDrillEffects' ./test/e2e/...
