// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
)

type pruneFlags struct {
	cli.HubFlags
	yes bool
	now func() time.Time
}

func newPruneCommand() *cobra.Command {
	f := &pruneFlags{now: time.Now}
	cmd := &cobra.Command{
		Use:   "prune POLICY",
		Short: "Show what the retention keeps and why, and remove the rest",
		Long: `Reads the policy's stores and shows of every set whether the policy's retention needs it, and what for. With --yes
what it has no need of is removed.

The agents do the same by themselves, as long as one of the target's servers runs and holds the policy: it is what they
would remove that is shown. It is for looking before a retention is changed, and for stores of servers that are no more.
A policy without a retention keeps everything.`,
		Example: `  kubectl geosql backup prune content -n web
  kubectl geosql backup prune content --yes -n web`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return prune(look{cmd, hub, namespace}, args[0], f)
		},
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "remove what the retention has no need of")
	return cmd
}

func prune(l look, name string, f *pruneFlags) error {
	p, err := l.policy(name)
	if err != nil {
		return err
	}
	if len(p.Spec.Stores) == 0 {
		return fmt.Errorf("refused, nothing was changed: BackupPolicy %s has no store; on the servers' backup volumes their "+
			"agents remove what the retention has no need of", p.Name)
	}
	if f.yes && p.DeletionTimestamp != nil {
		return errors.New("refused, nothing was changed: the BackupPolicy is being deleted")
	}
	if err := l.alone(p, f); err != nil {
		return err
	}
	var failed []error
	for _, store := range p.Spec.Stores {
		if err := l.pruneStore(p, store, f); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// retention of a policy.
func retention(p *v1alpha1.BackupPolicy) (keep backup.Retention) {
	if r := p.Spec.Retention; r != nil {
		keep.Fulls = int(r.Fulls)
		if r.Age != nil {
			keep.Age = r.Age.Duration
		}
	}
	return keep
}

// pruneStore goes by the store's own list, which is whole, or nothing is removed: what is not known to be there is
// needed by nothing.
func (l look) pruneStore(p *v1alpha1.BackupPolicy, name v1alpha1.ObjectName, f *pruneFlags) error {
	ctx := l.cmd.Context()
	in, err := l.read(ctx, name, backup.Folder(p.Namespace, target(p)))
	if err != nil {
		return err
	}
	defer in.bucket.Close()
	l.say("BackupStore %s, %s:", in.name, in.bucket)
	var rows [][]any
	var going []backups.Kept
	needed := backups.Needed(in.has.Sets, retention(p), p.Spec.Verification != v1alpha1.VerifyNone, f.now())
	for _, family := range in.families() {
		for _, k := range family.sets {
			verdict, why := "keep", needed[k.ID]
			if why == "" {
				verdict, why, going = "remove", "nothing needs it", append(going, k)
			}
			rows = append(rows, []any{verdict, k.Kind, k.Database, at(k.Finished), size(k.Stored()), why})
		}
	}
	if len(rows) == 0 {
		l.say("no backup")
		return nil
	}
	l.table([]any{"", "BACKUP", "DATABASE", "ENDED", "SIZE", "WHY"}, rows)
	var bytes int64
	for _, k := range going {
		bytes += k.Stored()
	}
	l.say("%d of %d backups may go, with %s", len(going), len(rows), size(bytes))
	if !f.yes {
		l.say("Nothing was changed.")
		return nil
	}
	if err := l.owns(in); err != nil {
		return err
	}
	// When it ends between two, what is left hangs together still: what goes on from others goes first.
	slices.Reverse(going)
	for _, k := range going {
		if err := backups.RemoveSet(ctx, in.bucket, k); err != nil {
			return fmt.Errorf("BackupStore %s: %w; what was not removed stays, and the same command goes on", name, err)
		}
		l.say("removed %s", k.Folder())
	}
	return nil
}

// alone refuses to remove by a policy that is not the only one of its target, whose retention is not the one that
// counts, or while sets wait to be sent, which go on from what would go.
func (l look) alone(p *v1alpha1.BackupPolicy, f *pruneFlags) error {
	if !f.yes {
		return nil
	}
	for _, d := range p.Status.Databases {
		if d.Waiting > 0 {
			return fmt.Errorf("refused, nothing was changed: %d backups of %s wait to be sent, and may go on from those that "+
				"would go", d.Waiting, d.Name)
		}
	}
	all, err := l.policies("")
	if err != nil {
		return err
	}
	for i := range all {
		if other := &all[i]; other.Name != p.Name && other.Spec.Target == p.Spec.Target {
			return fmt.Errorf("refused, nothing was changed: BackupPolicy %s is about the same target", other.Name)
		}
	}
	return nil
}

// owns refuses to remove from a folder that another hub has: that one keeps its backups by a policy of its own.
func (l look) owns(in *inside) error {
	if in.has.Owner == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.cmd.Context(), cli.ReadTimeout)
	defer cancel()
	hub, err := sites.HubUID(ctx, l.hub)
	if err != nil {
		return fmt.Errorf("read whose the backups in BackupStore %s are: %w", in.name, err)
	}
	if in.has.Owner.Hub != hub {
		return fmt.Errorf("refused, nothing was changed: the folder in BackupStore %s is that of another hub, by its "+
			"BackupPolicy %s", in.name, in.has.Owner.Policy)
	}
	return nil
}
