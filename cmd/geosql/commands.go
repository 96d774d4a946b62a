// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/drill/probe"
	"geosql.dev/operator/internal/sites/reach"
	"geosql.dev/operator/internal/workload"
)

// commands of the program; each process of the operator is one of them.
var commands = []func() *cobra.Command{
	newManagerCommand,
	newSiteCommand,
	newRemovableCommand,
	agent.NewCommand,
	workload.NewCommand,
	workload.NewHistoryCommand,
	probe.NewCommand,
	reach.NewCommand,
}
