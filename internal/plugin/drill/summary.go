// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/repeated"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/workload/history"
)

func newSummaryCommand() *cobra.Command {
	f := &cli.HubFlags{}
	cmd := &cobra.Command{
		Use:   "summary SCHEDULE",
		Short: "Sum up the drills of a schedule: how sure they are of losses, and times without service",
		Long: `Sums up the drills of a DrillSchedule that are kept: their verdicts, in how many of them acknowledged rows were
lost, how often that may be by what so many runs can tell (at 95 %: 0 of 100 is at most 3 %), and how long clients went
without service in the worst of each run. Drills that the schedule's history limits have deleted are not in it. Of a
schedule that repeats it has the seed, and the drills that did not pass.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.Ask(cmd, func(ctx context.Context, hub client.Client, namespace string) error {
				return summarize(ctx, cmd.OutOrStdout(), hub, client.ObjectKey{Namespace: namespace, Name: args[0]})
			})
		},
	}
	f.Add(cmd)
	return cmd
}

// drawnWith says how the drills of a schedule that repeats were drawn, which did not pass, and how to make one again.
func drawnWith(w io.Writer, s v1alpha1.DrillSchedule, r v1alpha1.RepeatedDrills, drills []v1alpha1.Drill) {
	repeat := *s.Spec.Repeat
	fmt.Fprintf(w, "drawn: %d of %d made, seed %d; one of them alone again: another schedule with the same template and "+
		"repeat: {times: 1, first: NUMBER, seed: %d}\n", r.Made, repeat.Times, r.Seed, r.Seed)
	for _, d := range drills {
		if v := d.Status.Verdict; v != "" && v != v1alpha1.VerdictPassed {
			fmt.Fprintf(w, "%s of %s, seed and number %s: %s\n", v, d.Name, d.Annotations[v1alpha1.AnnotationDrillSeed],
				d.Status.Message)
		}
	}
	if r.Deleted > 0 {
		fmt.Fprintf(w, "%d of the drills were deleted: shares of what is left are no rates\n", r.Deleted)
	}
	if r.Stopped != "" {
		fmt.Fprintf(w, "stopped: %s\n", r.Stopped)
	}
}

func summarize(ctx context.Context, w io.Writer, hub client.Client, key client.ObjectKey) error {
	var schedule v1alpha1.DrillSchedule
	if err := cli.Find(ctx, hub, &schedule, key.Namespace, key.Name); err != nil {
		return err
	}
	var list v1alpha1.DrillList
	if err := hub.List(ctx, &list, client.InNamespace(key.Namespace),
		client.MatchingLabels{v1alpha1.LabelDrillSchedule: key.Name}); err != nil {
		return fmt.Errorf("list the drills of DrillSchedule %s: %w", key, err)
	}
	s := repeated.Summarize(list.Items)
	if r := schedule.Status.Repeated; schedule.Spec.Repeat != nil && r != nil {
		drawnWith(w, schedule, *r, list.Items)
	}
	passed, others := ptr.Deref(schedule.Spec.PassedHistoryLimit, 3), ptr.Deref(schedule.Spec.OtherHistoryLimit, 10)
	if schedule.Spec.Repeat == nil && (s.Passed >= int(passed) || s.Failed+s.Inconclusive >= int(others)) {
		fmt.Fprintf(w, "The schedule keeps %d drills that passed and %d others, and deletes older ones: shares of what it "+
			"keeps are no rates. Raise passedHistoryLimit and otherHistoryLimit.\n", passed, others)
	}
	fmt.Fprintf(w, "runs: %d over; %d passed, %d failed, %d inconclusive\n", s.Runs, s.Passed, s.Failed, s.Inconclusive)
	if s.Told == 0 {
		fmt.Fprintln(w, "losses: no run tells")
	} else {
		fmt.Fprintf(w, "losses: in %d of %d runs that tell; at most %.2g %% of runs lose rows (%g %% confidence, runs taken "+
			"for independent and alike)\n", s.Lost, s.Told, 100*s.AtMost, 100*repeated.Confidence)
	}
	if len(s.RTO) == 0 {
		fmt.Fprintln(w, "without service: not measured")
		return nil
	}
	at := func(share float64) time.Duration { return history.Percentile(s.RTO, share).Round(time.Millisecond) }
	fmt.Fprintf(w, "without service, the worst of each of %d runs: %s at least, %s at the median, %s at the 95th of 100, "+
		"%s at most\n", len(s.RTO), at(0), at(0.5), at(0.95), at(1))
	return nil
}
