# SPDX-License-Identifier: Apache-2.0
# The model of the election: model/README.md.

.PHONY: model-tools
model-tools:
	@command -v spin >/dev/null && command -v gcc >/dev/null || { echo "model: installing spin and gcc (Debian)"; apt-get update -qq && apt-get install -y -qq spin gcc libc6-dev >/dev/null; }

.PHONY: model
model: model-tools ## Check the model of the election with spin, its mutations too (about 4 min of CPU, 4 GB).
	@model/run.sh all

.PHONY: model-quick
model-quick: model-tools ## Check the small configurations of the model (under a minute).
	@model/run.sh quick
