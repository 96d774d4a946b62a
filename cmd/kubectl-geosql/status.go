// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/overview"
)

// readTimeout bounds the reading of one snapshot.
const readTimeout = 20 * time.Second

type statusFlags struct {
	hubFlags
	output string
	watch  bool
	every  time.Duration
}

func newStatusCommand() *cobra.Command {
	f := &statusFlags{}
	cmd := &cobra.Command{
		Use:   "status [TOPOLOGY]",
		Short: "Show sites, servers, groups, replication, and what is not as it should be",
		Long: `Shows what the hub knows: where servers run and why, the roles, queues, estimated data loss and recovery time of
groups, agents, pending commands and latency of replication, and every condition that is not as it should be, with what
to do. What is not known is shown as "?" or Unknown. Without a name the objects of all Topologies of the namespace are
shown, and those of none.`,
		Example: `  kubectl geosql status msdn -n web
  kubectl geosql status -A --watch
  kubectl geosql status msdn -n web -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.output != "text" && f.output != "json" {
				return fmt.Errorf("output %q is not known: text and json are", f.output)
			}
			if f.allNamespaces && len(args) > 0 {
				return fmt.Errorf("a Topology is in one namespace: name it, or say --all-namespaces")
			}
			hub, namespace, err := f.open()
			if err != nil {
				return err
			}
			scope := overview.Scope{Namespace: namespace}
			if len(args) > 0 {
				scope.Topology = args[0]
			}
			return f.run(cmd, hub, scope)
		},
	}
	f.add(cmd)
	f.addAllNamespaces(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, or json: the objects that are shown")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "show it again and again until interrupted")
	cmd.Flags().DurationVar(&f.every, "every", 2*time.Second, "how often --watch shows it")
	return cmd
}

func (f *statusFlags) run(cmd *cobra.Command, hub client.Client, scope overview.Scope) error {
	for {
		text, err := f.show(cmd.Context(), hub, scope)
		if !f.watch {
			if err != nil {
				return err
			}
			_, err = text.WriteTo(cmd.OutOrStdout())
			return err
		}
		if err != nil {
			// The hub may answer again.
			text = bytes.NewBufferString("error: " + err.Error() + "\n")
		}
		// Home, and what is behind the text is cleared: less flicker than clearing first.
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\x1b[H%s\x1b[J", bytes.ReplaceAll(text.Bytes(), []byte("\n"), []byte("\x1b[K\n"))); err != nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(f.every):
		}
	}
}

func (f *statusFlags) show(ctx context.Context, hub client.Client, scope overview.Scope) (*bytes.Buffer, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	snapshot, err := overview.Read(ctx, hub, scope)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if f.output == "json" {
		return &text, writeJSON(&text, snapshot)
	}
	snapshot.WriteStatus(&text, time.Now())
	return &text, nil
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
