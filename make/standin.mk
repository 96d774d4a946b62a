# SPDX-License-Identifier: Apache-2.0
# The stand-in is a module with targets of its own (make -C standin help); these are the ones that people ask for here.

##@ 8 The stand-in (more: make -C standin help)
.PHONY: test-standin test-drivers fuzz
test-standin: ## Run the stand-in's own tests (a part of `make test`).
	@$(MAKE) --no-print-directory -C standin test

test-drivers: ## Run clients that others wrote against the stand-in (about 10 minutes cold).
	@$(MAKE) --no-print-directory -C standin test-drivers

fuzz: ## Fuzz each target of the stand-in for FUZZ_TIME (30s); what fails is left under testdata/fuzz.
	@$(MAKE) --no-print-directory -C standin fuzz
