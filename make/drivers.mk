# SPDX-License-Identifier: Apache-2.0
# Clients that others wrote against the stand-in (docs/drivers.md), and fuzzing of what strangers may send.
FUZZ_TIME ?= 30s

.PHONY: test-drivers
test-drivers: ## Install database drivers in five languages, run them against the stand-in and check docs/drivers.md (about 10 minutes cold).
	@dir=$$(hack/drivers) && GEOSQL_DRIVERS="$$dir" hack/gotest drivers -tags drivers -count 1 -timeout 60m ./test/drivers

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZ_TIME; what fails is left under testdata/fuzz.
	@hack/fuzz "$(FUZZ_TIME)"
