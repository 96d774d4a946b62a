// SPDX-License-Identifier: Apache-2.0

// Command kubectl-geosql is a kubectl plugin: kubectl geosql site join, and what else people ask of a topology.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// commands of the plugin, by those who know what they do.
var commands = []func() *cobra.Command{
	newSiteCommand,
	newStatusCommand,
	newGraphCommand,
	newPlanCommand,
	newSwitchoverCommand,
	newFailoverCommand,
	newPauseCommand,
	newResumeCommand,
	newRejoinCommand,
	newReseedCommand,
	newMovePublisherCommand,
	newDrillCommand,
}

func main() {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	root := &cobra.Command{
		Use:           "kubectl-geosql",
		Short:         "Geo-replicated SQL Server topologies",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl geosql"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, command := range commands {
		root.AddCommand(command())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(1)
	}
}
