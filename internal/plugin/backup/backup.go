// SPDX-License-Identifier: Apache-2.0

// Package backup has the commands that look at backups: what there is, whether it is as it was written, and what the
// retention has no need of.
package backup

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

// NewCommand makes `kubectl geosql backup`.
func NewCommand() *cobra.Command {
	cmd := cli.Family(&cobra.Command{
		Use:   "backup",
		Short: "Show backups, have them read back, and remove what the retention has no need of",
		Args:  cobra.ArbitraryArgs,
	})
	cmd.AddCommand(newListCommand(), newVerifyCommand(), newPruneCommand())
	return cmd
}

// look is one look at backups on its way.
type look struct {
	cmd       *cobra.Command
	hub       client.Client
	namespace string
}

func (l look) say(format string, args ...any) {
	fmt.Fprintf(l.cmd.OutOrStdout(), format+"\n", args...)
}

// table writes rows below a heading, their cells in columns.
func (l look) table(heading []any, rows [][]any) {
	out := tabwriter.NewWriter(l.cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, row := range append([][]any{heading}, rows...) {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(out, "\t")
			}
			fmt.Fprint(out, cell)
		}
		fmt.Fprintln(out)
	}
	_ = out.Flush()
}

func (l look) json(value any) error {
	encoder := json.NewEncoder(l.cmd.OutOrStdout())
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// policy is the BackupPolicy that a person has named.
func (l look) policy(text string) (*v1alpha1.BackupPolicy, error) {
	name, err := cli.ObjectName(text, "BackupPolicy")
	if err != nil {
		return nil, err
	}
	p := &v1alpha1.BackupPolicy{}
	return p, cli.Find(l.cmd.Context(), l.hub, p, l.namespace, name)
}

// target is whose databases a policy is about, as in the descriptions of sets.
func target(p *v1alpha1.BackupPolicy) string {
	if group := p.Spec.Target.AvailabilityGroup; group != "" {
		return "group/" + string(group)
	}
	return "server/" + string(p.Spec.Target.Server)
}

// size is a number of bytes for people.
func size(bytes int64) string { return cli.Bytes(bytes) }

// known says whether an output is one that the commands have.
func known(output string) error {
	if output != "text" && output != "json" {
		return fmt.Errorf("output %q is not known: text and json are", output)
	}
	return nil
}
