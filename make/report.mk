# SPDX-License-Identifier: Apache-2.0
# The drill report's page is looked at in a real browser, and Argo CD's health checks are run by the Lua that it embeds:
# a part of `make test`.

##@ 2 Tests
.PHONY: test-report
test-report: ## Look at a drill report in Debian's Chromium: on a phone, on a desktop, in print (a part of `make test`); GEOSQL_SCREENSHOTS keeps the pictures.
	@hack/debian chromium:chromium lua5.1:lua5.1
	@echo "test-report: the page in a browser, about half a minute"
	@GEOSQL_REQUIRE_CHROMIUM=1 GEOSQL_REQUIRE_LUA=1 hack/gotest report -count 1 -timeout 15m -run 'InABrowser|FromThePage|IsPrinted|ArgoCD' ./internal/drill/report ./examples/gitops
