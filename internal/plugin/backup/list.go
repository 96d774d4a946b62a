// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/plugin/cli"
)

type listFlags struct {
	cli.HubFlags
	output string
	store  bool
}

func newListCommand() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list [POLICY]",
		Short: "Show which backups there are, and to which moments they restore",
		Long: `Shows of a BackupPolicy, or of all of the namespace, between which moments each database can be restored, and when
its newest backups were taken, as its status has it.

With --store the policy's stores are read instead, by the credentials of the Secrets that their BackupStores name, and
every set is shown with what is known of it. Nothing else needs to be there: without a POLICY every BackupStore of the
namespace is read, and all that is kept there for the namespace is shown, also of groups and servers that are no more.`,
		Example: `  kubectl geosql backup list content -n web
  kubectl geosql backup list content --store -n web
  kubectl geosql backup list --store -n web -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := known(f.output); err != nil {
				return err
			}
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return list(look{cmd, hub, namespace}, strings.Join(args, ""), f)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, or json")
	cmd.Flags().BoolVar(&f.store, "store", false, "read the stores themselves, and show every set")
	return cmd
}

func list(l look, name string, f *listFlags) error {
	policies, err := l.policies(name)
	switch {
	case err != nil:
		return err
	case f.store:
		return l.listStores(name, policies, f.output == "json")
	case f.output == "json":
		return l.json(shown(policies))
	}
	for i := range policies {
		if i > 0 {
			l.say("")
		}
		l.show(&policies[i])
	}
	if len(policies) == 0 {
		l.say("there is no BackupPolicy in namespace %s", l.namespace)
	}
	return nil
}

// policies are the one that is named, or all of the namespace.
func (l look) policies(name string) ([]v1alpha1.BackupPolicy, error) {
	if name != "" {
		p, err := l.policy(name)
		if err != nil {
			return nil, err
		}
		return []v1alpha1.BackupPolicy{*p}, nil
	}
	ctx, cancel := context.WithTimeout(l.cmd.Context(), cli.ReadTimeout)
	defer cancel()
	var list v1alpha1.BackupPolicyList
	if err := l.hub.List(ctx, &list, client.InNamespace(l.namespace)); err != nil {
		return nil, fmt.Errorf("list the BackupPolicies of namespace %s: %w", l.namespace, err)
	}
	return list.Items, nil
}

// policyShown is a policy as JSON.
type policyShown struct {
	Name       string                      `json:"name"`
	Target     string                      `json:"target"`
	Restorable *metav1.Time                `json:"restorable,omitempty"`
	Databases  []v1alpha1.BackedUpDatabase `json:"databases"`
	Stores     []v1alpha1.BackupPlace      `json:"stores,omitempty"`
}

func shown(policies []v1alpha1.BackupPolicy) any {
	all := []policyShown{}
	for i := range policies {
		s := policies[i].Status
		all = append(all, policyShown{policies[i].Name, target(&policies[i]), s.Restorable, s.Databases, s.Stores})
	}
	return map[string]any{"policies": all}
}

// show shows a policy's status.
func (l look) show(p *v1alpha1.BackupPolicy) {
	said := "the operator has said nothing of it yet"
	if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		said = ready.Reason + ": " + ready.Message
	}
	l.say("BackupPolicy %s of %s: %s", p.Name, target(p), said)
	var rows [][]any
	for _, d := range p.Status.Databases {
		row := []any{d.Name, "nothing", "", when(d.LastFull), when(d.LastDifferential), when(d.LastLog), d.Sets,
			size(d.Bytes), size(d.WaitingBytes), d.Damaged}
		for i, w := range d.Windows {
			if i > 0 {
				rows, row = append(rows, row), []any{"", "", "", "", "", "", "", "", "", ""}
			}
			row[1], row[2] = cli.Moment(&w.From), cli.Moment(&w.To)
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		l.table([]any{"DATABASE", "RESTORABLE FROM", "TO", "LAST FULL", "LAST DIFFERENTIAL", "LAST LOG", "SETS", "SIZE",
			"NOT SENT", "DAMAGED"}, rows)
	}
	rows = nil
	for _, s := range p.Status.Stores {
		rows = append(rows, []any{s.Name, when(s.Listed), when(s.Verified), when(s.Damaged)})
	}
	if len(rows) > 0 {
		l.table([]any{"STORE", "LISTED", "READ BACK TO", "DAMAGED"}, rows)
	}
}

func when(t *metav1.Time) string {
	if t == nil {
		return "none"
	}
	return cli.Moment(t)
}

// storeShown is a store as JSON.
type storeShown struct {
	Name       v1alpha1.ObjectName `json:"name"`
	Databases  []databaseShown     `json:"databases"`
	Unreadable []string            `json:"unreadable,omitempty"`
}

type databaseShown struct {
	Name    string          `json:"name"`
	Family  string          `json:"family"`
	Target  string          `json:"target"`
	Windows []backup.Window `json:"windows,omitempty"`
	Sets    []setShown      `json:"sets"`
}

type setShown struct {
	backup.Description
	Folder string `json:"folder"`
	State  string `json:"state"`
}

// listStores reads the stores of a policy, or those of the namespace. One that does not answer is said, and is an
// error once the others were shown.
func (l look) listStores(name string, policies []v1alpha1.BackupPolicy, asJSON bool) error {
	ctx := l.cmd.Context()
	folder, names, err := l.namespace, []v1alpha1.ObjectName(nil), error(nil)
	if name != "" {
		folder, names = backup.Folder(l.namespace, target(&policies[0])), policies[0].Spec.Stores
		if len(names) == 0 {
			return fmt.Errorf("BackupPolicy %s has no store: what it keeps is on the servers' backup volumes", policies[0].Name)
		}
	} else if names, err = l.stores(ctx); err != nil {
		return err
	}
	all, failed := []storeShown{}, []error(nil)
	for _, store := range names {
		in, err := l.read(ctx, store, folder)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		in.bucket.Close()
		if asJSON {
			all = append(all, in.shown())
			continue
		}
		l.showStore(in)
	}
	if len(names) == 0 && !asJSON {
		l.say("there is no BackupStore in namespace %s", l.namespace)
	}
	if asJSON {
		if err := l.json(map[string]any{"stores": all}); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func (in *inside) shown() storeShown {
	s := storeShown{Name: in.name, Databases: []databaseShown{}, Unreadable: in.has.Unreadable}
	for _, f := range in.families() {
		d := databaseShown{Name: f.database, Family: f.id, Target: f.target, Windows: backup.Windows(f.chains())}
		for _, k := range f.sets {
			d.Sets = append(d.Sets, setShown{k.Description, k.Folder(), state(k)})
		}
		s.Databases = append(s.Databases, d)
	}
	return s
}

func (l look) showStore(in *inside) {
	l.say("BackupStore %s, %s:", in.name, in.bucket)
	var windows, sets [][]any
	for _, f := range in.families() {
		found := backup.Windows(f.chains())
		if len(found) == 0 {
			windows = append(windows, []any{f.target, f.database, "nothing", ""})
		}
		for _, w := range found {
			windows = append(windows, []any{f.target, f.database, at(w.From), at(w.To)})
		}
		for _, k := range f.sets {
			sets = append(sets, l.row(k))
		}
	}
	if len(sets) == 0 {
		l.say("no backup")
	} else {
		l.table([]any{"TARGET", "DATABASE", "RESTORABLE FROM", "TO"}, windows)
		l.table([]any{"BACKUP", "DATABASE", "ENDED", "SIZE", "STATE", "SERVER", "FOLDER"}, sets)
	}
	for _, why := range in.has.Unreadable {
		l.say("not readable: %s", why)
	}
}

func (l look) row(k backups.Kept) []any {
	kind := string(k.Kind)
	if k.CopyOnly && k.Kind == backup.Full {
		kind += " (copy)"
	}
	return []any{kind, k.Database, at(k.Finished), size(k.Stored()), state(k), k.Server, k.Folder()}
}
