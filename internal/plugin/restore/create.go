// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

type createFlags struct {
	cli.HubFlags
	policy, database, toTime, server, group, as, replace string
	dryRunChain, wait                                    bool
	timeout                                              time.Duration
}

func newCreateCommand() *cobra.Command {
	f := &createFlags{}
	cmd := &cobra.Command{
		Use:   "create NAME --policy POLICY --database DATABASE --server SERVER | --group GROUP",
		Short: "Have a server's agent restore a database from the backups of a policy",
		Long: `Creates a Restore: the agent of the server, or of the group's primary, downloads the chain of backups, compares it
with what was written, and restores it, once. No database is ever restored over: one of the name on the server, and the
Restore is refused. Without --to-time it goes to the newest point that there is.

With --replace, which takes the name of the database once more, one that is there makes way: what is restored stands
beside it until it is ONLINE, and then takes its place. The former one is renamed, which ends its connections, and stays
until somebody drops it. Look first: --dry-run-chain shows what would make way.

With --wait the command says how far it is, and fails unless the database is there at the end. Interrupted, the agent
goes on, and kubectl geosql restore show says how far it is. With --dry-run-chain the backups that would be restored are
found and shown, and nothing else is done.`,
		Example: `  kubectl geosql restore create before-the-mistake --policy content --database Content \
    --to-time 2026-03-01T11:59:00Z --server quirep --as ContentBefore --wait -n web
  kubectl geosql restore create would-it --policy content --database Content --server quirep --dry-run-chain --wait
  kubectl geosql restore create undo --policy content --database Content --to-time 2026-03-01T11:59:00Z \
    --group content --replace Content --wait -n web`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.restore(args[0])
			if err != nil {
				return err
			}
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			r.Namespace = namespace
			return create(look{cmd, hub, namespace}, r, f)
		},
	}
	f.Add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", "", "BackupPolicy that had the backups taken")
	flags.StringVar(&f.database, "database", "", "database of the policy's target")
	flags.StringVar(&f.toTime, "to-time", "", "moment such as 2026-03-01T11:59:00Z; the newest point unless given")
	flags.StringVar(&f.server, "server", "", "SQLServer to restore to, no replica of a group that has the database")
	flags.StringVar(&f.group, "group", "", "AvailabilityGroup to restore into, at its primary")
	flags.StringVar(&f.as, "as", "", "name of the database that is made; the one that it had unless given")
	flags.StringVar(&f.replace, "replace", "",
		"name of the database that is made, typed again: one that is there makes way, and stays under another name")
	flags.BoolVar(&f.dryRunChain, "dry-run-chain", false,
		"find and show the backups that would be restored, and do nothing")
	flags.BoolVar(&f.wait, "wait", false, "wait until it has ended, and say how far it is")
	flags.DurationVar(&f.timeout, "timeout", 24*time.Hour, "how long to wait")
	for _, needed := range []string{"policy", "database"} {
		_ = cmd.MarkFlagRequired(needed) // the flag is there
	}
	cmd.MarkFlagsOneRequired("server", "group")
	cmd.MarkFlagsMutuallyExclusive("server", "group")
	return cmd
}

// restore is what the flags ask for.
func (f *createFlags) restore(text string) (*v1alpha1.Restore, error) {
	name, err := cli.ObjectName(text, "Restore")
	if err != nil {
		return nil, err
	}
	policy, err := cli.ObjectName(f.policy, "BackupPolicy")
	if err != nil {
		return nil, err
	}
	as := f.as
	if f.replace != "" {
		if as = cmp.Or(f.as, f.database); f.replace != as {
			return nil, fmt.Errorf("--replace %q is not the name of the database that is made, which is %q: type that, letter "+
				"by letter, if one of that name is to make way", f.replace, as)
		}
	}
	r := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RestoreSpec{
		Source: v1alpha1.RestoreSource{Policy: v1alpha1.ObjectName(policy), Database: v1alpha1.DatabaseName(f.database)},
		Target: v1alpha1.RestoreTarget{Database: v1alpha1.DatabaseName(as)},
		DryRun: f.dryRunChain, Replace: v1alpha1.DatabaseName(f.replace)}}
	if err := f.target(&r.Spec.Target); err != nil {
		return nil, err
	}
	if f.toTime == "" {
		return r, nil
	}
	to, err := time.Parse(time.RFC3339, f.toTime)
	if err != nil || to.Nanosecond() != 0 {
		return nil, fmt.Errorf("--to-time %q is no moment in whole seconds such as 2026-03-01T11:59:00Z or "+
			"2026-03-01T12:59:00+01:00", f.toTime)
	}
	r.Spec.To = &v1alpha1.RestorePoint{Time: &metav1.Time{Time: to.UTC()}}
	return r, nil
}

// target is where the flags say that it is restored.
func (f *createFlags) target(into *v1alpha1.RestoreTarget) error {
	if f.group == "" {
		into.Server = cli.ServerName(f.server)
		return nil
	}
	group, err := cli.ObjectName(f.group, "AvailabilityGroup")
	into.AvailabilityGroup = v1alpha1.ObjectName(group)
	return err
}

// create makes the Restore, and follows it where that is asked for. A policy or a server that is not there is said at
// once: the Restore would wait for it.
func create(l look, r *v1alpha1.Restore, f *createFlags) error {
	ctx := l.cmd.Context()
	if err := cli.Find(ctx, l.hub, &v1alpha1.BackupPolicy{}, l.namespace, string(r.Spec.Source.Policy)); err != nil {
		return err
	}
	var target client.Object = &v1alpha1.SQLServer{}
	name := string(r.Spec.Target.Server)
	if group := r.Spec.Target.AvailabilityGroup; group != "" {
		target, name = &v1alpha1.AvailabilityGroup{}, string(group)
	}
	if err := cli.Find(ctx, l.hub, target, l.namespace, name); err != nil {
		return err
	}
	show := fmt.Sprintf("kubectl geosql restore show %s -n %s", r.Name, l.namespace)
	if err := l.write(r); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("there is a Restore %s, and one is carried out once: use another name; %s", r.Name, show)
		}
		return cli.Unsure(fmt.Errorf("create Restore %s in the hub: %w", r.Name, err), show)
	}
	l.say("restore.geosql.dev/%s created", r.Name)
	if !f.wait {
		l.say("see how far it is: %s", show)
		return nil
	}
	return l.follow(r, f.timeout)
}

func (l look) write(r *v1alpha1.Restore) error {
	ctx, cancel := context.WithTimeout(l.cmd.Context(), cli.ReadTimeout)
	defer cancel()
	return l.hub.Create(ctx, r)
}

// follow says how far a Restore is until it has an outcome, which is the command's.
func (l look) follow(r *v1alpha1.Restore, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(l.cmd.Context(), patience)
	defer cancel()
	uid, said := r.UID, ""
	for {
		now := r.DeepCopy()
		err := cli.Look(ctx, l.hub, now)
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.UID != uid:
			return fmt.Errorf("somebody has deleted Restore %s before it ended: look at the server for what is left of "+
				"database %s", r.Name, r.Spec.DatabaseName())
		case err != nil && !cli.Silent(err):
			return fmt.Errorf("read Restore %s: %w; the agent goes on", r.Name, err)
		case err == nil:
			if now.Status.Outcome != "" {
				return l.ended(now)
			}
			if text := progress(now); text != said {
				l.say("%s", text)
				said = text
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it has not ended %s; the agent goes on: kubectl geosql restore show %s -n %s",
				cli.Overdue(ctx, patience), r.Name, r.Namespace)
		case <-time.After(cli.PollEvery):
		}
	}
}

// ended says what came of a Restore; an outcome that is not the one asked for is an error.
func (l look) ended(r *v1alpha1.Restore) error {
	s := &r.Status
	switch {
	case s.Outcome == v1alpha1.RestoreRefused:
		return fmt.Errorf("refused, nothing was changed (%s): %s", s.Reason, s.Message)
	case s.Outcome != v1alpha1.RestoreSucceeded:
		return errors.New(string(s.Outcome) + " (" + s.Reason + "): " + s.Message)
	case r.Spec.DryRun:
		l.chain(r)
		if r.Spec.Replace != "" {
			l.say("%s", s.Message)
		}
		return nil
	}
	l.say("database %s is ONLINE on %s, as of %s", s.Database, where(r), reached(s.RestoredTo))
	if s.Replaced != nil {
		l.say("the former one is %s there", s.Replaced.Database)
	}
	return nil
}
