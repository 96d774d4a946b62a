// SPDX-License-Identifier: Apache-2.0

// Package plugin is `kubectl geosql`, with which people look at topologies, ask engines, join sites, and ask for
// switchovers, failovers, restarts, restores, new copies, moves of publishers and drills.
package plugin

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"geosql.dev/operator/internal/plugin/backup"
	"geosql.dev/operator/internal/plugin/check"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/drill"
	"geosql.dev/operator/internal/plugin/login"
	"geosql.dev/operator/internal/plugin/logs"
	"geosql.dev/operator/internal/plugin/move"
	"geosql.dev/operator/internal/plugin/plan"
	"geosql.dev/operator/internal/plugin/primary"
	"geosql.dev/operator/internal/plugin/reinitialize"
	"geosql.dev/operator/internal/plugin/report"
	"geosql.dev/operator/internal/plugin/restart"
	"geosql.dev/operator/internal/plugin/restore"
	"geosql.dev/operator/internal/plugin/site"
	"geosql.dev/operator/internal/plugin/sql"
	"geosql.dev/operator/internal/plugin/status"
	"geosql.dev/operator/internal/plugin/version"
)

// group is a heading in the plugin's help, with its commands in the order in which people need them.
type group struct {
	id, title string
	commands  []func() *cobra.Command
}

var groups = []group{
	{"look", "Look:", []func() *cobra.Command{
		status.NewCommand, status.NewGraphCommand, plan.NewCommand, sql.NewCommand, logs.NewCommand,
		report.NewCommand, version.NewCommand}},
	{"primary", "Say where a group's primary is:", []func() *cobra.Command{
		primary.NewSwitchoverCommand, primary.NewFailoverCommand, primary.NewPauseCommand, primary.NewResumeCommand}},
	{"former", "After a failover with data loss:",
		[]func() *cobra.Command{primary.NewRejoinCommand, primary.NewReseedCommand}},
	{"rest", "Sites, servers, backups, publishing, logins and drills:", []func() *cobra.Command{
		site.NewCommand, check.NewCommand, restart.NewCommand, restart.NewUpdateCommand, backup.NewCommand,
		restore.NewCommand, reinitialize.NewCommand, login.NewCommand, move.NewCommand, drill.NewCommand}},
}

// newRoot is the plugin with all its commands.
func newRoot() *cobra.Command {
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:   "kubectl-geosql",
		Short: "Look at and operate geo-replicated SQL Server",
		Long: `Looks at and operates geo-replicated SQL Server.

When something is wrong, begin with status: it shows where each group's primary is, which replicas can be promoted and
why the others cannot, and at its end every condition that is not as it should be, with what to do.

  kubectl geosql status -n NAMESPACE                     # the hub answers
  kubectl geosql status -n NAMESPACE --context SITE      # the hub is away: any site that answers

Commands that can lose data or end a copy show what would be lost and ask first.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl geosql"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			c := command()
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	return root
}

// Run runs the command that the process was asked for until it ends or is interrupted, and returns the exit code.
func Run() int {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	root := newRoot()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Another interrupt ends the command at once, whatever it still does about the first.
	context.AfterFunc(ctx, stop)
	return cli.Exit(os.Stderr, root.ExecuteContext(ctx))
}
