// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"geosql.dev/operator/internal/workload/history"
)

func newRecordCommand(o *Options) *cobra.Command {
	r := RecordOptions{}
	var prepare, timeout time.Duration
	var stay bool
	var stages string
	command := &cobra.Command{
		Use:   "record",
		Short: "Write unique rows, write and read registers, and record what came of it, until it is stopped",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Options = *o
			var err error
			if r.Stages, err = ParseStages(stages); err != nil {
				return err
			}
			if err := r.prepare(cmd, prepare); err != nil {
				return err
			}
			ctx, cancel := within(cmd, timeout)
			defer cancel()
			if err := Record(ctx, r); err != nil || !stay {
				return err
			}
			// The histories lie in the pod: it stays until it is deleted.
			<-cmd.Context().Done()
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&r.Client, "client", "", "name of the client in its histories, such as the site's")
	flags.StringVar(&r.Folder, "folder", "/histories", "folder of the histories")
	flags.IntVar(&r.Workers, "workers", 1, "connections that work at the same time")
	flags.StringVar(
		&stages,
		"stages",
		"",
		"workers over time as USERS:DURATION, divided by commas, instead of --workers; the last ones stay",
	)
	flags.StringVar((*string)(&r.Profile), "profile", string(Insert),
		"what they do: insert, bookstore, decisionSupport or append")
	payloadFlags(flags, &r.Payload)
	flags.Int64Var(&r.ListsFrom, "lists-from", 0,
		"number of the first list of the profile append: the same for all clients, and that of no other recording")
	flags.Float64Var(&r.Rate, "rate", 10, "operations of a worker that are due in a second; 0: it thinks between them")
	flags.BoolVar(&r.Fits, "fits", false,
		"operations of a worker that is far from the server are due no more often than every third round trip")
	flags.DurationVar(
		&r.ThinkTime,
		"think-time",
		500*time.Millisecond,
		"how long a worker waits after an operation's end, with --rate 0",
	)
	flags.IntVar(&r.Registers, "registers", 4, "registers that are written and read beside the rows")
	flags.DurationVar(&r.Timeout, "operation-timeout", 2*time.Second, "after which an operation's outcome is unknown")
	flags.DurationVar(&prepare, "prepare-within", 2*time.Minute, "how long to try to create the tables")
	flags.DurationVar(&timeout, "timeout", time.Hour, "after which it stops by itself")
	flags.BoolVar(&stay, "stay", false, "wait for a signal after the end, so that the histories can be fetched")
	if err := command.MarkFlagRequired("client"); err != nil {
		panic(err)
	}
	return command
}

// prepare makes the tables unless the clients were here before. Only one of several that begin at once succeeds at
// first.
func (o RecordOptions) prepare(cmd *cobra.Command, limit time.Duration) error {
	ctx, cancel := within(cmd, limit)
	defer cancel()
	for {
		call, done := context.WithTimeout(ctx, 10*time.Second)
		err := PrepareRecording(call, o)
		done()
		if err == nil {
			return nil
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "prepare:", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// payloadFlags are those of what each row carries.
func payloadFlags(flags *pflag.FlagSet, p *Payload) {
	flags.StringVar((*string)(&p.Table), "payload-table", "",
		"dbo.Article or dbo.Attachment: where each row's payload goes")
	flags.IntVar(&p.Bytes, "payload-bytes", MinPayload, "bytes of a row's payload")
}

func newRowsCommand(o *Options) *cobra.Command {
	var listsFrom int64
	var w Wants
	command := newAnswerCommand("rows", "Print what a server has in the tables that were recorded to", 5*time.Minute,
		func(ctx context.Context) (any, error) { return Recorded(ctx, *o, w, listsFrom) })
	flags := command.Flags()
	flags.StringVar((*string)(&w.Profile), "profile", string(Insert), "what the clients did, as it was recorded")
	payloadFlags(flags, &w.Payload)
	flags.Int64Var(&listsFrom, "lists-from", 0, "number of the first list, after the profile append; 0: none")
	return command
}

// NewHistoryCommand is the subcommand `geosql history`, which needs no server.
func NewHistoryCommand() *cobra.Command {
	command := &cobra.Command{Use: "history", Short: "Fetch and judge what clients have recorded"}
	command.AddCommand(newFetchCommand(), newLatestCommand(), newArrivalsCommand(), newLookedCommand(), newCheckCommand())
	return command
}

func newFetchCommand() *cobra.Command {
	return newFolderCommand(
		"fetch",
		"Write the histories of a folder to standard output, compressed by gzip",
		history.Export,
	)
}

// newFolderCommand writes something of a folder to standard output, and may let those who write there stop first.
func newFolderCommand(use, short string, export func(folder string, w io.Writer) error) *cobra.Command {
	var folder string
	var stop bool
	var timeout time.Duration
	command := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stop {
				ctx, cancel := within(cmd, timeout)
				defer cancel()
				if err := Stop(ctx, folder); err != nil {
					return err
				}
			}
			return export(folder, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&folder, "folder", "/histories", "folder of the histories")
	flags.BoolVar(&stop, "stop", false, "let those who write them stop first")
	flags.DurationVar(&timeout, "timeout", time.Minute, "how long to wait until they have stopped")
	return command
}

func newLatestCommand() *cobra.Command {
	var folder string
	command := &cobra.Command{
		Use:   "latest",
		Short: "Print when the newest acknowledged write of a folder's histories was sent",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			newest, err := history.Latest(folder)
			if err != nil {
				return err
			}
			return say(cmd, newest)
		},
	}
	command.Flags().StringVar(&folder, "folder", "/histories", "folder of the histories")
	return command
}

func newCheckCommand() *cobra.Command {
	var histories, rows []string
	var faults string
	var table bool
	e := history.Evidence{}
	command := &cobra.Command{
		Use:   "check",
		Short: "Judge histories against the rows of every replica; print the verdict, and fail unless it is Passed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := readEvidence(&e, histories, rows, faults); err != nil {
				return err
			}
			verdict := history.Check(e)
			write := func() error { return say(cmd, verdict) }
			if table {
				write = func() error { return verdict.WriteTable(cmd.OutOrStdout()) }
			}
			if err := write(); err != nil {
				return err
			}
			if verdict.Result != history.Passed {
				return fmt.Errorf("the verdict is %s", verdict.Result)
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&histories, "history", nil, "file that fetch wrote; may be repeated")
	flags.StringArrayVar(&rows, "rows", nil, "file that `geosql workload rows` wrote, one for each replica")
	flags.StringVar(&faults, "faults", "", "file with the faults, a JSON array")
	flags.IntVar(&e.AcknowledgedAtLeast, "acknowledged-at-least", 1, "below so many acknowledged rows nothing can be said")
	flags.IntVar(&e.AllowLost, "allow-lost", 0, "acknowledged rows that may be lost")
	flags.DurationVar(
		&e.ClockError,
		"clock-error",
		10*time.Millisecond,
		"bound of the difference of the clocks, where clients ran on several machines",
	)
	percent := flags.Float64("served-percent", 100*history.DefaultServed.Share,
		"part of the operations that has to succeed where clients count as served again")
	flags.DurationVar(&e.Served.For, "served-for", history.DefaultServed.For,
		"for how long it has to; 0: the first acknowledgement is enough")
	command.PreRun = func(*cobra.Command, []string) { e.Served.Share = *percent / 100 }
	flags.BoolVar(&table, "table", false, "print a table instead of JSON")
	return command
}

func readEvidence(e *history.Evidence, histories, rows []string, faults string) error {
	for _, name := range histories {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read the histories: %w", err)
		}
		runs, err := history.Load(file)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		e.Runs = append(e.Runs, runs...)
	}
	for _, name := range rows {
		var r history.Replica
		if err := readJSON(name, &r); err != nil {
			return err
		}
		e.Replicas = append(e.Replicas, r)
	}
	if faults == "" {
		return nil
	}
	return readJSON(faults, &e.Faults)
}

func readJSON(name string, into any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the evidence: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
