# SPDX-License-Identifier: Apache-2.0
# What SQL Server does with what the operator sends: hack/certify/run --help says more.
ENGINE_IMAGE ?=
SERVERS      ?=

##@ 6 Long forms
.PHONY: certify
certify: $(if $(ENGINE_IMAGE),bed load-images) ## Ask an engine what docs/certification.md leaves in doubt, and run what the operator relies on: ENGINE_IMAGE on the bed (about 2 hours), SERVERS=name=host:port,... by address, or SERVER=host:port for the contract suite alone.
	@$(if $(ENGINE_IMAGE),hack/certify/run "$(ENGINE_IMAGE)",$(if $(SERVERS),hack/certify/run --servers "$(SERVERS)",standin/hack/certify "$(SERVER)"))
