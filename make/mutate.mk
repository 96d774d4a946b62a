# SPDX-License-Identifier: Apache-2.0
# Do the tests see a broken rule? Not a part of CI: it takes an hour and more for all packages.

.PHONY: mutate
mutate: ## Change one condition at a time in packages of rules and plans, and fail on a change that no test notices (PACKAGES: some of them).
	@hack/mutate $(PACKAGES)
