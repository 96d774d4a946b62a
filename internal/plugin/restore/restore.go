// SPDX-License-Identifier: Apache-2.0

// Package restore has the commands that bring a database back from its backups, and say how far that is.
package restore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

// NewCommand makes `kubectl geosql restore`.
func NewCommand() *cobra.Command {
	cmd := cli.Family(&cobra.Command{
		Use:   "restore",
		Short: "Bring a database back from its backups to a server",
		Args:  cobra.ArbitraryArgs,
	})
	cmd.AddCommand(newCreateCommand(), newShowCommand())
	return cmd
}

// look is one look at a Restore on its way.
type look struct {
	cmd       *cobra.Command
	hub       client.Client
	namespace string
}

func (l look) say(format string, args ...any) {
	fmt.Fprintf(l.cmd.OutOrStdout(), format+"\n", args...)
}

func newShowCommand() *cobra.Command {
	f := &cli.HubFlags{}
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a Restore: how far it is, its backups, and what came of it",
		Example: `  kubectl geosql restore show before-the-mistake -n web`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return show(look{cmd, hub, namespace}, args[0])
		},
	}
	f.Add(cmd)
	return cmd
}

// show prints a Restore. What came of it is no error of a command that only looks.
func show(l look, text string) error {
	name, err := cli.ObjectName(text, "Restore")
	if err != nil {
		return err
	}
	r := &v1alpha1.Restore{}
	if err := cli.Find(l.cmd.Context(), l.hub, r, l.namespace, name); err != nil {
		return err
	}
	what := "Restore"
	if r.Spec.DryRun {
		what = "Dry run of Restore"
	}
	l.say("%s %s: %s", what, r.Name, progress(r))
	l.say("%s of %s, to %s, as %s on %s", database(r), source(r), point(r), r.Spec.DatabaseName(), where(r))
	if r.Status.Outcome != "" {
		l.say("%s (%s): %s", r.Status.Outcome, r.Status.Reason, r.Status.Message)
	}
	l.chain(r)
	return nil
}

// database that is restored, by the name that its backups have.
func database(r *v1alpha1.Restore) string {
	if r.Spec.Source.Database != "" {
		return string(r.Spec.Source.Database)
	}
	return "what is in " + r.Spec.Source.Path
}

func source(r *v1alpha1.Restore) string {
	if r.Spec.Source.Policy != "" {
		return "BackupPolicy " + string(r.Spec.Source.Policy)
	}
	return "BackupStore " + string(r.Spec.Source.Store)
}

func point(r *v1alpha1.Restore) string {
	switch to := r.Spec.To; {
	case to == nil:
	case to.Time != nil:
		return moment(to.Time.Time)
	case to.LSN != "":
		return "LSN " + to.LSN
	case to.Backup != "":
		return "the end of backup " + to.Backup
	}
	return "the newest point"
}

// reached is to where a chain leads; empty while that is not known.
func reached(to *v1alpha1.RestoredTo) string {
	switch {
	case to == nil:
		return ""
	case to.Time != nil:
		return moment(to.Time.Time)
	case to.LSN != "":
		return "LSN " + to.LSN
	}
	return ""
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// progress is how far a Restore is, in one line.
func progress(r *v1alpha1.Restore) string {
	s, why := &r.Status, ""
	for _, c := range s.Conditions {
		if c.Type == v1alpha1.ConditionReady && c.Status != metav1.ConditionTrue && s.Outcome == "" {
			why = ": " + c.Message
		}
	}
	switch {
	case s.Phase == "":
		return "the operator has not looked at it yet"
	case s.Phase == v1alpha1.RestoreRunning && s.Sets > 0:
		return fmt.Sprintf("%s, %s of %s downloaded, %d of %d sets restored%s", s.Phase, cli.Bytes(s.DownloadedBytes),
			cli.Bytes(s.Bytes), s.RestoredSets, s.Sets, why)
	}
	return string(s.Phase) + why
}

// chain prints the backups that are restored; of a long chain the status has both ends.
func (l look) chain(r *v1alpha1.Restore) {
	if len(r.Status.Chain) == 0 {
		return
	}
	l.say("%d sets, %s", r.Status.Sets, cli.Bytes(r.Status.Bytes))
	for _, set := range r.Status.Chain {
		l.say("  %-12s %s  %s  LSN %s to %s  %s", set.Type, moment(set.Finished.Time), set.ID, set.FirstLSN, set.LastLSN,
			cli.Bytes(set.Bytes))
	}
	if left := int(r.Status.Sets) - len(r.Status.Chain); left > 0 {
		l.say("  and %d between the first and the last of these", left)
	}
	if to := reached(r.Status.RestoredTo); to != "" {
		l.say("they lead to %s", to)
	}
}

// where is the server of a Restore, or whose it will be.
func where(r *v1alpha1.Restore) string {
	if group := r.Spec.Target.AvailabilityGroup; group != "" && r.Status.Server == "" {
		return "the primary of " + string(group)
	}
	return string(cmp.Or(r.Status.Server, r.Spec.Target.Server))
}
