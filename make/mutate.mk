# SPDX-License-Identifier: Apache-2.0
# Do the tests see a broken rule? Not a part of CI: it takes half an hour and more for all packages.

##@ 6 Long forms
.PHONY: mutate
mutate: ## Change one condition at a time and fail when no test notices (PACKAGES: some packages of rules and plans).
	@hack/mutate $(PACKAGES)
