# SPDX-License-Identifier: Apache-2.0
# The drill report's page is looked at in a real browser, and Argo CD's health checks are run by the Lua that it embeds.

.PHONY: chromium lua test-report
chromium:
	@command -v chromium >/dev/null || { echo "test-report: installing Chromium (Debian package chromium, about 100 MB)"; apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

lua:
	@command -v lua5.1 >/dev/null || { echo "test-report: installing Lua (Debian package lua5.1, for Argo CD's health checks)"; apt-get update -qq && apt-get install -y -qq --no-install-recommends lua5.1 >/dev/null; }

test-report: chromium lua ## Look at a drill report in Debian's Chromium: on a phone, on a desktop, in print; GEOSQL_SCREENSHOTS keeps the pictures.
	@echo "test-report: the page in a browser, about half a minute"
	@GEOSQL_REQUIRE_CHROMIUM=1 GEOSQL_REQUIRE_LUA=1 hack/gotest report -count 1 -timeout 15m -run 'InABrowser|FromThePage|IsPrinted|ArgoCD' ./internal/drill/report ./examples/gitops
