// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/overview"
)

type graphFlags struct {
	cli.HubFlags
	output string
	files  []string
}

// NewGraphCommand makes `kubectl geosql graph`.
func NewGraphCommand() *cobra.Command {
	f := &graphFlags{}
	cmd := &cobra.Command{
		Use:   "graph [TOPOLOGY | -f FILE]",
		Short: "Draw servers in their sites, groups, and the flow of replication",
		Long: `Draws a topology as a Mermaid flowchart (or in Graphviz' language): sites with their servers, log from primary
to replicas, replication from publisher through distributor to subscriber, with the round trips between sites as the
Sites declare them. From the hub the present roles and latencies are drawn; from files (-f, which may also have Sites,
and objects of other APIs, which are not drawn) what is declared, and no cluster is asked.`,
		Example: `  kubectl geosql graph msdn -n web
  kubectl geosql graph -f examples/sites.yaml -f examples/msdn.yaml -o dot | dot -Tsvg`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.output != "mermaid" && f.output != "dot" {
				return fmt.Errorf("output %q is not known: mermaid and dot are", f.output)
			}
			if len(args) > 0 && len(f.files) > 0 {
				return fmt.Errorf("name a Topology of the hub or files, not both")
			}
			snapshot, err := f.snapshot(cmd, args)
			if err != nil {
				return err
			}
			text := snapshot.Graph().Mermaid
			if f.output == "dot" {
				text = snapshot.Graph().Dot
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text())
			return err
		},
	}
	f.Add(cmd)
	f.AddAllNamespaces(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "mermaid", "mermaid or dot")
	cmd.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "file with manifests, - for standard input; repeatable")
	return cmd
}

func (f *graphFlags) snapshot(cmd *cobra.Command, args []string) (*overview.Snapshot, error) {
	if len(f.files) > 0 {
		return cli.DecodeFiles(cmd, f.files)
	}
	hub, namespace, err := f.Open()
	if err != nil {
		return nil, err
	}
	scope := overview.Scope{Namespace: namespace}
	if len(args) > 0 {
		scope.Topology = args[0]
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.ReadTimeout)
	defer cancel()
	return overview.Read(ctx, hub, scope)
}
