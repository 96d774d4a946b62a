// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// Flags of the commands.
const (
	flagRun      = "run"
	flagPort     = "port"
	flagTo       = "to"
	flagClosed   = "closed"
	flagName     = "name"
	flagConnect  = "connect"
	flagTimeout  = "timeout"
	flagPatience = "patience"
)

// NewCommand is the subcommand `geosql probe`, which runs in the pods of `kubectl geosql check --probe`.
func NewCommand() *cobra.Command {
	command := &cobra.Command{Use: "probe",
		Short: "Answer a pod of another site, or ask one how it is reached (run by kubectl geosql check --probe)"}
	command.AddCommand(newServeCommand(), newAskCommand())
	return command
}

var errNoRun = errors.New("say with --run which probe this is")

func newServeCommand() *cobra.Command {
	var run string
	var ports []int
	command := &cobra.Command{
		Use: "serve", Short: "Answer who knows the run, until the process is ended", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if run == "" {
				return errNoRun
			}
			return Serve(cmd.Context(), run, ports)
		},
	}
	command.Flags().StringVar(&run, flagRun, "", "name of the run, which the other side must know")
	command.Flags().IntSliceVar(&ports, flagPort, nil, "port to listen at; may be repeated")
	return command
}

func newAskCommand() *cobra.Command {
	var o Options
	command := &cobra.Command{
		Use: "ask", Short: "Resolve, connect, send and receive; print as JSON what became of it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Run == "" {
				return errNoRun
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(Ask(cmd.Context(), o))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Run, flagRun, "", "name of the run, which the other side must know")
	flags.StringArrayVar(&o.To, flagTo, nil, "address of the other side, host:port; may be repeated")
	flags.StringArrayVar(&o.Closed, flagClosed, nil, "address of the other side that policies shut; may be repeated")
	flags.StringArrayVar(&o.Names, flagName, nil, "name to resolve; may be repeated")
	flags.StringArrayVar(&o.Connect, flagConnect, nil, "address of something else to connect to; may be repeated")
	flags.IntVar(&o.Bytes, "bytes", DefaultBytes, "how much is sent each way")
	flags.IntVar(&o.Count, "count", DefaultCount, "how many connections are timed")
	flags.DurationVar(&o.Timeout, flagTimeout, 10*time.Second, "how long a connection or a transfer may take")
	flags.DurationVar(&o.Patience, flagPatience, 10*time.Second, "how long an address may take until it answers at first")
	return command
}
