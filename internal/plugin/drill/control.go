// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/control"
	"geosql.dev/operator/internal/plugin/cli"
)

func newControlCommand() *cobra.Command {
	f := &cli.HubFlags{}
	var run string
	cmd := &cobra.Command{
		Use:   "control NAME",
		Short: "Plant errors in copies of a drill's evidence, and see whether they are found",
		Long: `Plants errors in copies of the evidence that a drill has kept, one at a time: a row that is gone, or there twice,
a stale read, a clock that was shifted, a client that is never served again, a fault that strikes nothing, and each
anomaly of transactions on lists. Each copy is judged by the code that gives verdicts. It fails if that overlooks one.
What the drill did nothing of is said: that such an error would be found was not shown. Nothing of the drill is changed.`,
		Example: `  kubectl geosql drill control lose-tukwila -n web`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.Ask(cmd, func(ctx context.Context, hub client.Client, namespace string) error {
				key := client.ObjectKey{Namespace: namespace, Name: args[0]}
				return controlDrill(ctx, cmd.OutOrStdout(), hub, key, run)
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&run, "run", "",
		"runID of an earlier run; the one that the Drill's status speaks of unless given")
	return cmd
}

func controlDrill(ctx context.Context, w io.Writer, hub client.Client, key client.ObjectKey, run string) error {
	var d v1alpha1.Drill
	if err := cli.Find(ctx, hub, &d, key.Namespace, key.Name); err != nil {
		return err
	}
	if run == "" {
		run = d.Status.RunID
	}
	kept, err := archive.Read(ctx, hub, archive.Run{Namespace: d.Namespace, Drill: d.Name, UID: string(d.UID), ID: run})
	if err != nil {
		return err
	}
	if run != d.Status.RunID {
		if d, err = earlierRun(d.Status.History, kept); err != nil {
			return err
		}
	}
	evidence, err := control.Archived(&d, kept)
	if err != nil {
		return err
	}
	list := control.Check(evidence)
	if err := writeControls(w, list); err != nil {
		return err
	}
	if missed := control.Missed(list); len(missed) > 0 {
		return fmt.Errorf("planted and not found: %s", strings.Join(missed, "; "))
	}
	return nil
}

func writeControls(w io.Writer, list []v1alpha1.DrillControl) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PLANTED\tRESULT\tEVIDENCE")
	for _, c := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\n", c.Planted, c.Result, c.Evidence)
	}
	return t.Flush()
}
