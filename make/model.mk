# SPDX-License-Identifier: Apache-2.0
# The model of the election: model/README.md.

.PHONY: model-tools
model-tools:
	@hack/debian spin:spin gcc:gcc gcc:libc6-dev

##@ 7 The model of the election
.PHONY: model
model: model-tools ## Check the model of the election with spin, its mutations too (about 15 min of CPU, 4 GB).
	@model/run.sh all

.PHONY: model-quick
model-quick: model-tools ## Check the small configurations of the model (under a minute).
	@model/run.sh quick
