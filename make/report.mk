# SPDX-License-Identifier: Apache-2.0
# The drill report's page is looked at in a real browser.

.PHONY: chromium test-report
chromium:
	@command -v chromium >/dev/null || { echo "test-report: installing Chromium (Debian package chromium, about 100 MB)"; apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

test-report: chromium ## Look at a drill report in Debian's Chromium: on a phone, on a desktop, in print; GEOSQL_SCREENSHOTS keeps the pictures.
	@echo "test-report: the page in a browser, about half a minute"
	@GEOSQL_REQUIRE_CHROMIUM=1 hack/gotest report -count 1 -timeout 15m -run 'InABrowser|FromThePage|IsPrinted' ./internal/drill/report
