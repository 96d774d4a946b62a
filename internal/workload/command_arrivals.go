// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
)

// newArriveCommand reads rows where they arrive.
func newArriveCommand(o *Options) *cobra.Command {
	a := ArrivalOptions{}
	var timeout time.Duration
	var stay bool
	var since string
	command := &cobra.Command{
		Use: "arrive",
		Short: "Look for recorded rows at a secondary or a subscriber, and record when each was first seen, until it is " +
			"stopped",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.Options = *o
			if since != "" {
				var err error
				if a.Since, err = time.Parse(time.RFC3339Nano, since); err != nil {
					return fmt.Errorf("--since: %w", err)
				}
			}
			ctx, cancel := within(cmd, timeout)
			defer cancel()
			if err := RecordArrivals(ctx, a); err != nil && !errors.Is(err, context.DeadlineExceeded) || !stay {
				return err
			}
			// What was recorded lies in the pod: it stays until it is deleted.
			<-cmd.Context().Done()
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&a.Folder, "folder", "/histories", "folder of the record")
	flags.StringVar(
		(*string)(&a.Table),
		"table",
		"",
		"dbo.Article or dbo.Attachment: the table of the rows' payloads; dbo.Recorded unless given",
	)
	flags.Int64Var(&a.After, "after", 0, "greatest Id of dbo.Recorded from before the run")
	flags.StringVar(&since, "since", "", "time before which no payload is the run's (RFC 3339)")
	flags.DurationVar(
		&a.Late,
		"late",
		2*time.Second,
		"how long after its key was made a row may be committed: the clients' --operation-timeout",
	)
	flags.StringVar(&a.Writer.Server, "writer-server", "", "name of the SQLServer where the rows are written, without -0")
	flags.StringVar(
		&a.Writer.Address,
		"writer-address",
		"",
		"host or host:port where they are written, such as a listener",
	)
	flags.StringVar(&a.Writer.Database, "writer-database", "", "database there")
	flags.StringVar(
		&a.Writer.Credentials,
		"writer-credentials",
		"/writer-credentials",
		"folder with the keys of a Login's connection Secret there",
	)
	flags.BoolVar(
		&a.Writer.ListenerCertificate,
		"writer-listener-certificate",
		false,
		"verify that the certificate there has the host name of --writer-address",
	)
	flags.DurationVar(&timeout, "timeout", time.Hour, "after which it stops by itself")
	flags.BoolVar(&stay, "stay", false, "wait for a signal after the end, so that the record can be fetched")
	for _, name := range []string{"writer-server", "writer-database"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return command
}

// newArrivalsCommand fetches what a reader has recorded.
func newArrivalsCommand() *cobra.Command {
	return newFolderCommand(
		"arrivals",
		"Write the arrivals of a folder to standard output, compressed by gzip",
		history.ExportArrivals,
	)
}

// newLookedCommand says how far a reader is.
func newLookedCommand() *cobra.Command {
	var folder string
	command := &cobra.Command{
		Use:   "looked",
		Short: "Print when the reader of a folder has first looked for arrivals with success",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			first, err := history.FirstLook(folder)
			if err != nil {
				return err
			}
			return say(cmd, first)
		},
	}
	command.Flags().StringVar(&folder, "folder", "/histories", "folder of the record")
	return command
}

// check refuses a table that carries no payloads.
func (o ArrivalOptions) check() error {
	if o.Table != "" && o.Table != tsql.ArticlePayload && o.Table != tsql.AttachmentPayload {
		return fmt.Errorf("payloads are in %s or %s, not in %q", tsql.ArticlePayload, tsql.AttachmentPayload, o.Table)
	}
	return nil
}
