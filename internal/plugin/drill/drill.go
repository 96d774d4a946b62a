// SPDX-License-Identifier: Apache-2.0

// Package drill has the commands that run drills, show them and write their reports.
package drill

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

// NewCommand makes `kubectl geosql drill`.
func NewCommand() *cobra.Command {
	command := cli.Family(&cobra.Command{Use: "drill", Short: "Break a target on purpose and read the verdict"})
	command.AddCommand(newRunCommand(), newListCommand(), newDescribeCommand(), newAbortCommand(), newReportCommand(),
		newControlCommand(), newSummaryCommand())
	return command
}

func newListCommand() *cobra.Command {
	f := &cli.HubFlags{}
	cmd := &cobra.Command{
		Use: "list", Short: "List drills with their verdicts", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.Ask(cmd, func(ctx context.Context, hub client.Client, namespace string) error {
				var list v1alpha1.DrillList
				if err := hub.List(ctx, &list, client.InNamespace(namespace)); err != nil {
					return fmt.Errorf("list the drills: %w", err)
				}
				return listDrills(cmd.OutOrStdout(), list.Items)
			})
		},
	}
	f.Add(cmd)
	f.AddAllNamespaces(cmd)
	return cmd
}

func listDrills(w io.Writer, drills []v1alpha1.Drill) error {
	slices.SortFunc(drills, func(a, b v1alpha1.Drill) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAMESPACE\tNAME\tTARGET\tRUN\tPHASE\tVERDICT\tACKNOWLEDGED\tLOST\tCOMPLETED")
	for _, d := range drills {
		s := d.Status
		acknowledged, lost, completed := "-", "-", "-"
		if s.Counts != nil {
			acknowledged, lost = fmt.Sprint(s.Counts.Acknowledged), fmt.Sprint(s.Counts.Lost)
		}
		if s.Completed != nil {
			completed = s.Completed.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Namespace, d.Name, targetOf(d.Spec.Target), s.RunID, s.Phase,
			cmp.Or(string(s.Verdict), "-"), acknowledged, lost, completed)
	}
	return t.Flush()
}

func targetOf(t v1alpha1.DrillTarget) string {
	switch {
	case t.AvailabilityGroup != "":
		return "availabilitygroup/" + string(t.AvailabilityGroup)
	case t.Subscription != "":
		return "subscription/" + string(t.Subscription)
	}
	return "topology/" + string(t.Topology)
}

func newDescribeCommand() *cobra.Command {
	f := &cli.HubFlags{}
	cmd := &cobra.Command{
		Use: "describe NAME", Short: "Show a drill: verdict, objectives, faults, timeline", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.Ask(cmd, func(ctx context.Context, hub client.Client, namespace string) error {
				d := &v1alpha1.Drill{}
				if err := cli.Find(ctx, hub, d, namespace, args[0]); err != nil {
					return err
				}
				return describeDrill(cmd.OutOrStdout(), d)
			})
		},
	}
	f.Add(cmd)
	return cmd
}

func describeDrill(w io.Writer, d *v1alpha1.Drill) error {
	s := d.Status
	var b strings.Builder
	fmt.Fprintf(&b, "drill %s/%s, run %s on %s\n", d.Namespace, d.Name, s.RunID, targetOf(d.Spec.Target))
	fmt.Fprintf(&b, "%s %s (%s): %s\n", s.Phase, s.Verdict, s.Reason, s.Message)
	if c := s.Counts; c != nil {
		fmt.Fprintf(&b, "rows: %d attempted, %d acknowledged, %d lost; %d failed, %d unknown, %d of them there; %d "+
			"phantom, %d duplicated, %d diverging, %d altered, %d torn\n",
			c.Attempted, c.Acknowledged, c.Lost, c.Failed, c.Unknown, c.UnknownPresent, c.Phantom, c.Duplicated, c.Diverging,
			c.Altered, c.Torn)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(s.Objectives) > 0 {
		fmt.Fprintln(t, "\nOBJECTIVE\tVERDICT\tGOAL\tMEASURED\tEVIDENCE")
	}
	for _, o := range s.Objectives {
		measured := cmp.Or(o.Measured, "-")
		if o.Bound != nil {
			measured += " ± " + o.Bound.Round(time.Millisecond).String()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", o.Name, o.Verdict, o.Goal, measured, o.Evidence)
	}
	if len(s.Faults) > 0 {
		fmt.Fprintln(t, "\nFAULT\tKIND\tSTATE\tTARGETS\tEFFECT\tSEEN")
	}
	for _, f := range s.Faults {
		effect, seen := "-", f.Message
		if f.Effect != nil {
			effect = string(f.Effect.Status)
			if f.Effect.Seen != "" {
				seen = f.Effect.Seen
			}
			if f.Effect.Operator != "" {
				seen = strings.TrimPrefix(seen+"; the operator says: "+f.Effect.Operator, "; ")
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, f.Kind, f.State, strings.Join(f.Targets, ","), effect, seen)
	}
	if len(s.Timeline) > 0 {
		fmt.Fprintln(t, "\nTIME\tEVENT\tFAULT\tMESSAGE")
	}
	for _, e := range s.Timeline {
		when := "-"
		if s.Started != nil {
			when = fmt.Sprintf("%+.3f s", e.Time.Sub(s.Started.Time).Seconds())
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", when, e.Event, cmp.Or(e.Fault, "-"), e.Message)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newAbortCommand() *cobra.Command {
	f := &cli.HubFlags{}
	cmd := &cobra.Command{
		Use: "abort NAME", Short: "End a drill: take back every fault", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.Ask(cmd, func(ctx context.Context, hub client.Client, namespace string) error {
				return abortDrill(ctx, cmd.OutOrStdout(), hub, client.ObjectKey{Namespace: namespace, Name: args[0]})
			})
		},
	}
	f.Add(cmd)
	return cmd
}

// abortDrill asks for the end of a drill, unless its run is over.
func abortDrill(ctx context.Context, w io.Writer, hub client.Client, key client.ObjectKey) error {
	d := &v1alpha1.Drill{}
	if err := cli.Find(ctx, hub, d, key.Namespace, key.Name); err != nil {
		return err
	}
	if d.Status.Phase == v1alpha1.DrillCompleted && d.Status.RunID == d.Spec.RunID {
		fmt.Fprintf(w, "drill.geosql.dev/%s: run %s is over, nothing was changed\n", d.Name, d.Status.RunID)
		return nil
	}
	if err := hub.Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"abort":true}}`))); err != nil {
		return fmt.Errorf("abort Drill %s: %w", key, err)
	}
	fmt.Fprintf(w, "drill.geosql.dev/%s is told to end, and takes its faults back: see kubectl geosql drill describe "+
		"%s -n %s\n", d.Name, d.Name, d.Namespace)
	return nil
}
