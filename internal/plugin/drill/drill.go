// SPDX-License-Identifier: Apache-2.0

// Package drill has the commands that run drills, show them and write their reports.
package drill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

// NewCommand makes `kubectl geosql drill`.
func NewCommand() *cobra.Command {
	command := &cobra.Command{Use: "drill", Short: "Break a target on purpose and read the verdict"}
	command.AddCommand(newRunCommand(), newListCommand(), newDescribeCommand(), newAbortCommand(), newReportCommand())
	return command
}

// runFlags are those of `drill run`.
type runFlags struct {
	cli.HubFlags
	file, runID  string
	dryRun, wait bool
	timeout      time.Duration
}

func newRunCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run -f FILE | NAME",
		Short: "Run a drill from a manifest, or one that is declared once more",
		Long: `Runs a drill: the one in the manifest, or the one of that name. A drill runs once for each spec.runID; without
--run-id a new one is made of the time, unless the drill is new and its manifest has one. With --dry-run nothing is broken:
every object that the drill would create now is printed. With --wait the command ends with the verdict: 0 for Passed, 1 for Failed or Inconclusive.`,
		Example: `  kubectl geosql drill run -f examples/drills/lose-the-primary.yaml --wait
  kubectl geosql drill run lose-the-primary -n web --wait
  kubectl geosql drill run -f examples/drills/lose-the-primary.yaml --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (f.file == "") == (len(args) == 0) {
				return errors.New("name a drill, or a manifest with -f")
			}
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			d, err := f.take(cmd, hub, namespace, args)
			if err != nil {
				return err
			}
			if !f.wait && !f.dryRun {
				return nil
			}
			return f.follow(cmd, hub, d)
		},
	}
	f.Add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "manifest with one Drill, - for standard input")
	flags.StringVar(&f.runID, "run-id", "",
		"spec.runID; unless given that of the manifest for a new drill, else made of the time")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print every object that would be created, and create none")
	flags.BoolVar(&f.wait, "wait", false, "wait for the verdict")
	flags.DurationVar(&f.timeout, "timeout", time.Hour, "how long to wait")
	return cmd
}

// take declares the run that is asked for.
func (f *runFlags) take(cmd *cobra.Command, hub client.Client, namespace string, args []string,
) (*v1alpha1.Drill, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.ReadTimeout)
	defer cancel()
	runID := f.runID
	if runID == "" {
		runID = time.Now().UTC().Format("20060102-150405")
	}
	d := &v1alpha1.Drill{}
	if len(args) == 1 {
		key := client.ObjectKey{Namespace: namespace, Name: args[0]}
		if err := hub.Get(ctx, key, d); err != nil {
			return nil, fmt.Errorf("read Drill %s: %w", key, err)
		}
		d.Spec.RunID, d.Spec.DryRun, d.Spec.Abort = runID, f.dryRun, false
		if err := hub.Update(ctx, d); err != nil {
			return nil, unsureDrill(fmt.Errorf("run Drill %s: %w", key, err), d)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "drill.geosql.dev/%s runs: %s\n", d.Name, runID)
		return d, nil
	}
	wanted, err := readDrill(cmd, f.file)
	if err != nil {
		return nil, err
	}
	if wanted.Namespace == "" || f.Namespace != "" {
		wanted.Namespace = namespace
	}
	wanted.Spec.DryRun = wanted.Spec.DryRun || f.dryRun
	err = hub.Get(ctx, client.ObjectKeyFromObject(wanted), d)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("read Drill %s/%s: %w", wanted.Namespace, wanted.Name, err)
	case err != nil:
		if f.runID != "" {
			wanted.Spec.RunID = f.runID
		}
		if err := hub.Create(ctx, wanted); err != nil {
			return nil, unsureDrill(fmt.Errorf("create Drill %s/%s: %w", wanted.Namespace, wanted.Name, err), wanted)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "drill.geosql.dev/%s created: run %s\n", wanted.Name, wanted.Spec.RunID)
		return wanted, nil
	}
	d.Spec = wanted.Spec
	d.Spec.RunID = runID
	if err := hub.Update(ctx, d); err != nil {
		return nil, unsureDrill(fmt.Errorf("run Drill %s/%s: %w", d.Namespace, d.Name, err), d)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "drill.geosql.dev/%s runs: %s\n", d.Name, runID)
	return d, nil
}

// unsureDrill is unsure of a Drill, which may run.
func unsureDrill(err error, d *v1alpha1.Drill) error {
	return cli.Unsure(err, fmt.Sprintf("kubectl geosql drill describe %s -n %s", d.Name, d.Namespace))
}

// readDrill reads a manifest with one Drill. Fields that a Drill does not have are refused.
func readDrill(cmd *cobra.Command, name string) (*v1alpha1.Drill, error) {
	file, err := cli.OpenFile(cmd, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	d := &v1alpha1.Drill{}
	if err := yaml.UnmarshalStrict(data, d); err != nil {
		return nil, fmt.Errorf("%s is no manifest of one Drill: %w", name, err)
	}
	if d.Kind != "Drill" || d.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("%s has a %s of %s, not a Drill of %s", name, d.Kind, d.APIVersion, v1alpha1.GroupVersion)
	}
	return d, nil
}

// follow says what is new until the run is over.
func (f *runFlags) follow(cmd *cobra.Command, hub client.Client, d *v1alpha1.Drill) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	runID, said := d.Spec.RunID, ""
	for {
		err := cli.Look(ctx, hub, d)
		s := d.Status
		text := fmt.Sprintf("%s (%s): %s", s.Phase, s.Reason, s.Message)
		switch {
		case err != nil && ctx.Err() == nil:
			text = "the hub does not answer: " + err.Error()
		case s.RunID != runID:
			text = "waiting for the operator"
		case s.Phase == v1alpha1.DrillCompleted:
			return finish(cmd.OutOrStdout(), d)
		}
		if text != said {
			fmt.Fprintln(cmd.ErrOrStderr(), text)
			said = text
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("drill %s has not ended %s; it goes on: kubectl geosql drill describe %s -n %s", d.Name,
				cli.Overdue(ctx, f.timeout), d.Name, d.Namespace)
		case <-time.After(cli.PollEvery):
		}
	}
}

// finish prints the end of a run. Anything but Passed is an error, so that scripts can ask.
func finish(w io.Writer, d *v1alpha1.Drill) error {
	s := d.Status
	if s.Verdict == "" {
		for _, o := range s.Plan {
			place := o.Site
			if place == "" {
				place = "the hub"
			}
			fmt.Fprintf(w, "---\n# at %s", place)
			if o.Fault != "" {
				fmt.Fprintf(w, ", fault %s, %s after the baseline", o.Fault, o.At.Duration)
			}
			fmt.Fprintf(w, "\n%s", o.Manifest)
		}
		fmt.Fprintf(w, "# %s\n", s.Message)
		return nil
	}
	if err := describeDrill(w, d); err != nil {
		return err
	}
	if s.Verdict != v1alpha1.VerdictPassed {
		return fmt.Errorf("%s: %s", s.Verdict, s.Message)
	}
	return nil
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
				if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: args[0]}, d); err != nil {
					return fmt.Errorf("read Drill %s/%s: %w", namespace, args[0], err)
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
			"phantom, %d duplicated, %d diverging\n",
			c.Attempted, c.Acknowledged, c.Lost, c.Failed, c.Unknown, c.UnknownPresent, c.Phantom, c.Duplicated, c.Diverging)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(s.Objectives) > 0 {
		fmt.Fprintln(t, "\nOBJECTIVE\tVERDICT\tGOAL\tMEASURED\tEVIDENCE")
	}
	for _, o := range s.Objectives {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", o.Name, o.Verdict, o.Goal, cmp.Or(o.Measured, "-"), o.Evidence)
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
	if err := hub.Get(ctx, key, d); err != nil {
		return fmt.Errorf("read Drill %s: %w", key, err)
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
