// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/mssql/credentials"
)

// NewCommand is the subcommand `geosql workload`, whose parts run as Jobs in the operator's image.
func NewCommand() *cobra.Command {
	o := &Options{}
	command := &cobra.Command{
		Use:   "workload",
		Short: "Write rows, watch them arrive, compare copies (for demonstrations and drills)",
	}
	flags := command.PersistentFlags()
	flags.StringVar(&o.Server, "server", "", "name of the SQLServer that answers, without -0")
	flags.StringVar(
		&o.Address,
		"address",
		"",
		"host or host:port to connect to, such as a listener; the server's name unless given",
	)
	flags.StringVar(&o.Database, "database", "", "database with the tables dbo.Article and dbo.Attachment")
	flags.StringVar(
		&o.Credentials,
		"credentials",
		"/credentials",
		"folder with sa-password and ca.crt of the server, or the keys of a Login's connection Secret",
	)
	flags.StringVar(
		(*string)(&o.Role),
		"role",
		string(credentials.RoleSA),
		"whose login is used: sa, or NAME for login geosql_NAME; its password is NAME-password among the credentials",
	)
	flags.BoolVar(
		&o.ListenerCertificate,
		"listener-certificate",
		false,
		"verify that the certificate has the host name of --address, as a listener's has, instead of the server's",
	)
	for _, name := range []string{"server", "database"} {
		if err := command.MarkPersistentFlagRequired(name); err != nil {
			panic(err)
		}
	}
	command.AddCommand(newPrepareCommand(o), newWriteCommand(o), newWatchCommand(o), newVerifyCommand(o),
		newRecordCommand(o), newRowsCommand(o), newArriveCommand(o))
	return command
}

// say prints one JSON value on a line of its own: the last line of a part's output is its result.
func say(cmd *cobra.Command, value any) error {
	return json.NewEncoder(cmd.OutOrStdout()).Encode(value)
}

// progress prints a line for people on standard error.
func progress(cmd *cobra.Command, what string, of int) func(int) {
	return func(rows int) { fmt.Fprintf(cmd.ErrOrStderr(), "%s %d of %d rows\n", what, rows, of) }
}

func within(cmd *cobra.Command, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(cmd.Context(), timeout)
}

// newAnswerCommand is a subcommand that asks a server once and prints the answer, or fails.
func newAnswerCommand(use, short string, timeout time.Duration, ask func(context.Context) (any, error)) *cobra.Command {
	command := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := within(cmd, timeout)
			defer cancel()
			answer, err := ask(ctx)
			if err != nil {
				return err
			}
			return say(cmd, answer)
		},
	}
	command.Flags().DurationVar(&timeout, "timeout", timeout, "how long to try")
	return command
}

func newPrepareCommand(o *Options) *cobra.Command {
	return newAnswerCommand("prepare", "Create the tables unless they exist; print the base of the next run", time.Minute,
		func(ctx context.Context) (any, error) {
			base, err := Prepare(ctx, *o)
			return map[string]int64{"base": base}, err
		})
}

func runFlags(command *cobra.Command, r *Run) {
	command.Flags().Int64Var(&r.Base, "base", 0, "base of the run, as prepare printed it")
	command.Flags().IntVar(&r.Rows, "rows", 10_000, "rows of dbo.Article")
	command.Flags().IntVar(&r.Writers, "writers", 4, "connections that write at the same time")
}

func newWriteCommand(o *Options) *cobra.Command {
	w := WriteOptions{}
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "write",
		Short: "Write rows, each in a transaction of its own, until all are acknowledged",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := within(cmd, timeout)
			defer cancel()
			w.Options, w.Progress = *o, progress(cmd, "written", w.Rows)
			result, err := Write(ctx, w)
			if said := say(cmd, result); said != nil {
				return said
			}
			return err
		},
	}
	runFlags(command, &w.Run)
	flags := command.Flags()
	flags.IntVar(&w.RowBytes, "row-bytes", 1024, "characters of an article's Body, at most 1024")
	flags.IntVar(&w.Attachments, "attachments", 0, "rows of dbo.Attachment")
	flags.IntVar(&w.AttachmentBytes, "attachment-bytes", 100_000, "bytes of an attachment's Content")
	flags.DurationVar(&timeout, "timeout", 10*time.Minute, "how long to try")
	return command
}

func newWatchCommand(o *Options) *cobra.Command {
	w := WatchOptions{}
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "watch",
		Short: "Watch the rows of a run arrive; print how long each took",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := within(cmd, timeout)
			defer cancel()
			w.Options, w.Progress = *o, progress(cmd, "arrived", w.Rows)
			w.Begun = func() { fmt.Fprintln(cmd.ErrOrStderr(), "watching") }
			result, err := Watch(ctx, w)
			if said := say(cmd, result); said != nil {
				return said
			}
			return err
		},
	}
	runFlags(command, &w.Run)
	command.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for the last row")
	return command
}

func newVerifyCommand(o *Options) *cobra.Command {
	return newAnswerCommand("verify", "Read every row; print counts and checksums", 5*time.Minute,
		func(ctx context.Context) (any, error) { return Verify(ctx, *o) })
}
