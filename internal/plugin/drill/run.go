// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/plugin/cli"
)

// runFlags are those of `drill run`.
type runFlags struct {
	cli.HubFlags
	file, runID  string
	dryRun, plan bool
	wait         bool
	timeout      time.Duration
}

func newRunCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run -f FILE | NAME",
		Short: "Run a drill from a manifest, or one that is declared once more",
		Long: `Runs a drill: the one in the manifest, or the one of that name. A drill runs once for each spec.runID; without
--run-id a new one is made of the time, unless the drill is new and its manifest has one. One that runs is not begun
anew. With --wait the command ends with the verdict: 0 for Passed, 1 for Failed or Inconclusive.

With --dry-run nothing is written anywhere: the API server is asked to check the drill without keeping it, and what
would be done when is printed. With --plan nothing is broken: the operator is asked, by a Drill with dryRun that is
deleted at the end, for every object that the drill would create now.`,
		Example: `  kubectl geosql drill run -f examples/drills/lose-the-primary.yaml --wait
  kubectl geosql drill run lose-the-primary -n web --wait
  kubectl geosql drill run -f examples/drills/lose-the-primary.yaml --dry-run
  kubectl geosql drill run -f examples/drills/lose-the-primary.yaml --plan`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (f.file == "") == (len(args) == 0) {
				return errors.New("name a drill, or a manifest with -f")
			}
			if f.dryRun && f.plan {
				return errors.New("--plan asks the operator, and --dry-run nobody: say one of them")
			}
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return f.run(cmd, hub, namespace, args)
		},
	}
	f.Add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "manifest with one Drill, - for standard input")
	flags.StringVar(&f.runID, "run-id", "",
		"spec.runID; unless given that of the manifest for a new drill, else made of the time")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check the drill and print what would be done when; write nothing")
	flags.BoolVar(&f.plan, "plan", false, "have the operator print every object that would be created, and create none")
	flags.BoolVar(&f.wait, "wait", false, "wait for the verdict")
	flags.DurationVar(&f.timeout, "timeout", time.Hour, "how long to wait")
	return cmd
}

// run does what the flags say.
func (f *runFlags) run(cmd *cobra.Command, hub client.Client, namespace string, args []string) error {
	wanted, there, err := f.wanted(cmd, hub, namespace, args)
	switch {
	case err != nil:
		return err
	case f.dryRun:
		return f.check(cmd, hub, wanted, there)
	case f.plan:
		return f.showPlan(cmd, hub, wanted, there)
	}
	if err := f.begin(cmd, hub, wanted, there); err != nil || !f.wait && !wanted.Spec.DryRun {
		return err
	}
	return f.follow(cmd, hub, wanted)
}

// wanted is the drill as it is to run, and whether there is one of its name.
func (f *runFlags) wanted(
	cmd *cobra.Command,
	hub client.Client,
	namespace string,
	args []string,
) (*v1alpha1.Drill, bool, error) {
	runID := cmp.Or(f.runID, time.Now().UTC().Format("20060102-150405"))
	d := &v1alpha1.Drill{}
	if len(args) == 1 {
		name, err := cli.ObjectName(args[0], "Drill")
		if err != nil {
			return nil, false, err
		}
		err = cli.Find(cmd.Context(), hub, d, namespace, name)
		d.Spec.DryRun, d.Spec.Abort = false, false
		return d, true, cmp.Or(err, f.idle(d, runID))
	}
	wanted, err := readDrill(cmd, f.file)
	if err != nil {
		return nil, false, err
	}
	if wanted.Namespace == "" || f.Namespace != "" {
		wanted.Namespace = namespace
	}
	var missing *cli.MissingError
	err = cli.Find(cmd.Context(), hub, d, wanted.Namespace, wanted.Name)
	switch {
	case errors.As(err, &missing):
		wanted.Spec.RunID = cmp.Or(f.runID, wanted.Spec.RunID)
		return wanted, false, nil
	case err != nil:
		return nil, false, err
	}
	err = f.idle(d, runID)
	d.Spec, d.Spec.RunID = wanted.Spec, runID
	return d, true, err
}

// idle gives a drill another run, or refuses one that has a run that is not over.
func (f *runFlags) idle(d *v1alpha1.Drill, runID string) error {
	s, run := d.Status, d.Spec.RunID
	d.Spec.RunID = runID
	if f.dryRun || f.plan || s.Phase == v1alpha1.DrillCompleted && s.RunID == run {
		return nil
	}
	return fmt.Errorf("refused, nothing was changed: run %s of drill %s/%s is not over (%s): wait for it, or end it with "+
		"kubectl geosql drill abort %s -n %s", run, d.Namespace, d.Name, cmp.Or(string(s.Phase), "not begun"), d.Name,
		d.Namespace)
}

// begin declares the run.
func (f *runFlags) begin(cmd *cobra.Command, hub client.Client, d *v1alpha1.Drill, there bool) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.ReadTimeout)
	defer cancel()
	if !there {
		if err := hub.Create(ctx, d); err != nil {
			return unsureDrill(fmt.Errorf("create Drill %s/%s: %w", d.Namespace, d.Name, err), d)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "drill.geosql.dev/%s created: run %s\n", d.Name, d.Spec.RunID)
		return nil
	}
	if err := hub.Update(ctx, d); err != nil {
		return unsureDrill(fmt.Errorf("run Drill %s/%s: %w", d.Namespace, d.Name, err), d)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "drill.geosql.dev/%s runs: %s\n", d.Name, d.Spec.RunID)
	return nil
}

// check has the API server check the drill, and prints its schedule. Nothing is kept.
func (f *runFlags) check(cmd *cobra.Command, hub client.Client, d *v1alpha1.Drill, there bool) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.ReadTimeout)
	defer cancel()
	verb, err := "created", error(nil)
	if there {
		verb, err = "changed", hub.Update(ctx, d.DeepCopy(), client.DryRunAll)
	} else {
		err = hub.Create(ctx, d.DeepCopy(), client.DryRunAll)
	}
	if err != nil {
		return fmt.Errorf("Drill %s/%s would be refused: %w", d.Namespace, d.Name, err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(
		out,
		"drill.geosql.dev/%s would be %s: run %s on %s\n",
		d.Name,
		verb,
		d.Spec.RunID,
		targetOf(d.Spec.Target),
	)
	for _, o := range drill.Expand(d.Spec.Faults) {
		fmt.Fprintf(out, "%8s after the baseline: fault %s, %s\n", o.At, o.Name, o.Kind)
	}
	fmt.Fprintf(
		out,
		"Nothing was written: --dry-run. With --plan the operator says which objects the drill would create now.\n",
	)
	return nil
}

// showPlan asks the operator by a Drill with dryRun, and deletes it whatever comes of it. A drill that is declared
// stays as it is: another stands in for it.
func (f *runFlags) showPlan(cmd *cobra.Command, hub client.Client, d *v1alpha1.Drill, there bool) error {
	asking := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: d.Spec}
	asking.Spec.DryRun, asking.Spec.Abort = true, false
	if there {
		asking.Name, asking.GenerateName = "", d.Name+"-plan-"
	}
	if err := f.begin(cmd, hub, asking, false); err != nil {
		return err
	}
	err := f.follow(cmd, hub, asking)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), cli.ReadTimeout)
	defer cancel()
	uid := asking.UID
	if gone := hub.Delete(ctx, asking, client.Preconditions{UID: &uid}); client.IgnoreNotFound(gone) != nil {
		return errors.Join(
			err,
			fmt.Errorf("delete Drill %s/%s, which does nothing any more: %w", asking.Namespace, asking.Name, gone),
		)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "drill.geosql.dev/%s, which asked for this, is deleted again\n", asking.Name)
	return err
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
