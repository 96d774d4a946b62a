// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"
)

// procFolder is where the kernel shows processes.
const procFolder = "/proc"

// NewCommand is the subcommand `geosql drill`, whose parts a drill runs in the pods of servers.
func NewCommand() *cobra.Command {
	command := &cobra.Command{Use: "drill", Short: "Probe the network of a pod, freeze its engine (run by drills)"}
	command.AddCommand(
		newProbeCommand(),
		newSendCommand(),
		newUsageCommand(),
		newStateCommand(),
		newFreezeCommand(),
		newThawCommand(),
	)
	return command
}

func say(cmd *cobra.Command, value any) error {
	return json.NewEncoder(cmd.OutOrStdout()).Encode(value)
}

func newProbeCommand() *cobra.Command {
	var o Options
	command := &cobra.Command{
		Use: "probe", Short: "Open TCP connections; print how long that took", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return say(cmd, Run(cmd.Context(), o)) },
	}
	flags := command.Flags()
	flags.StringArrayVar(&o.To, "to", nil, "address, host:port; may be repeated")
	flags.IntVar(&o.Count, "count", 5, "attempts for each address")
	flags.DurationVar(&o.Timeout, "timeout", 2*time.Second, "how long one attempt may take")
	flags.DurationVar(&o.Pause, "pause", 50*time.Millisecond, "time between attempts")
	return command
}

func newSendCommand() *cobra.Command {
	var o SendOptions
	command := &cobra.Command{
		Use: "send", Short: "Send data to HTTPS servers that throw it away; print what became of it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return say(cmd, Send(cmd.Context(), o)) },
	}
	flags := command.Flags()
	flags.StringArrayVar(&o.To, "to", nil, "address, host:port; may be repeated")
	flags.IntVar(&o.Bytes, "bytes", 1<<20, "the most that is sent to each")
	flags.DurationVar(&o.For, "for", 2*time.Second, "how long")
	return command
}

func newUsageCommand() *cobra.Command {
	var lasts time.Duration
	command := &cobra.Command{
		Use: "usage", Short: "Print what processes take that are neither the engine's nor the agent's", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := MeasureUsage(cmd.Context(), procFolder, lasts)
			if err != nil {
				return err
			}
			return say(cmd, u)
		},
	}
	command.Flags().DurationVar(&lasts, "for", time.Second, "how long to look")
	return command
}

func newStateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "state", Short: "Print the engine's processes, and which of them are stopped", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := State(procFolder)
			if err != nil {
				return err
			}
			return say(cmd, f)
		},
	}
}

func newFreezeCommand() *cobra.Command {
	var lasts time.Duration
	var once Once
	command := &cobra.Command{
		Use: "freeze", Short: "Stop the engine's process for some time", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			f, err := Freeze(ctx, procFolder, lasts, once)
			if err != nil {
				return err
			}
			return say(cmd, f)
		},
	}
	flags := command.Flags()
	flags.DurationVar(&lasts, "for", 10*time.Second, "how long")
	flags.StringVar(&once.Mark, flagMark, "", "name of this freeze, which is done once while its mark is there")
	flags.DurationVar(&once.Keep, "keep", 0, "how long its mark is there")
	return command
}

func newThawCommand() *cobra.Command {
	var after, keep time.Duration
	var processes []int
	var mark string
	var began int64
	command := &cobra.Command{
		Use: "thaw", Short: "Let the engine's process go on", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(processes) == 0 {
				f, err := State(procFolder)
				if err != nil {
					return err
				}
				processes = f.Processes
			}
			err := Thaw(cmd.Context(), after, processes)
			select {
			case <-cmd.Context().Done():
			case <-time.After(keep - after):
			}
			return err
		},
	}
	flags := command.Flags()
	flags.DurationVar(&after, "after", 0, "when")
	flags.IntSliceVar(&processes, "process", nil, "process; all of the engine's unless given")
	flags.StringVar(&mark, flagMark, "", "name of the freeze that this ends: its mark is this process")
	flags.Int64Var(&began, flagBegan, 0, "when that was begun, in nanoseconds of CLOCK_BOOTTIME")
	flags.DurationVar(&keep, "keep", 0, "how long after its beginning the mark is there")
	return command
}
