// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// NewCommand is the subcommand `geosql agent`.
func NewCommand() *cobra.Command {
	options := DefaultOptions()
	command := &cobra.Command{
		Use:   "agent",
		Short: "Run the sidecar of a SQL Server pod: probes, state, metrics",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SilenceUsage = true
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			if err := Conceal(); err != nil {
				return err
			}
			log := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)).With("server", options.ServerName)
			a, err := New(options, log)
			if err != nil {
				return err
			}
			if err := addReaders(a, options); err != nil {
				return err
			}
			if err := addElection(a, options, log); err != nil {
				return err
			}
			if err := addSnapshots(a, options, log); err != nil {
				return err
			}
			if err := addBackups(a, options, log); err != nil {
				return err
			}
			if err := addLinks(a, options, log); err != nil {
				return err
			}
			return a.Run(ctx)
		},
	}
	options.AddFlags(command.Flags())
	command.AddCommand(newCopyCommand())
	return command
}
