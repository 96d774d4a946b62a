// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/reconcile"
)

// historyDefault is how many records there are where the policy does not say it.
const historyDefault = 10

// Record makes the Backup that is the record of a set.
type Record struct{ Backup *v1alpha1.Backup }

// Describe names it.
func (s Record) Describe() string { return "record a backup as Backup " + s.Backup.Name }

// Forget deletes a record; the set stays as it is.
type Forget struct {
	Backup *v1alpha1.Backup
	Why    string
}

// Describe names it, and says why.
func (s Forget) Describe() string { return "delete Backup " + s.Backup.Name + ", a record: " + s.Why }

// past are the sets that the servers tell of which were due by the policy, the newest first. They are whole when every
// server has told all that it knows, and all of the stores: a set that is not among them is no more.
func past(d Desired, o Observed) (all []backups.PastSet, whole bool) {
	whole = len(d.Servers) > 0
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		if err != nil || says == nil {
			whole = false
			continue
		}
		whole = whole && says.PastWhole
		for _, one := range says.Past {
			at := slices.IndexFunc(all, func(s backups.PastSet) bool { return s.ID == one.ID })
			if at < 0 {
				one.In = slices.Clone(one.In)
				all = append(all, one)
				continue
			}
			all[at].In = together(all[at].In, one.In)
		}
	}
	slices.SortFunc(all, func(a, b backups.PastSet) int { return newer(a.Finished, b.Finished, a.ID, b.ID) })
	return all, whole
}

func newer(a, b time.Time, id, otherID string) int {
	return cmp.Or(b.Truncate(time.Second).Compare(a.Truncate(time.Second)), cmp.Compare(id, otherID))
}

// planRecords makes records of the newest sets that were taken by the schedule, and deletes those that are too many or
// whose set is no more. What people declare is neither counted nor deleted.
func planRecords(p *reconcile.Plan, d Desired, o Observed) {
	type entry struct {
		id       string
		finished time.Time
	}
	told, whole := past(d, o)
	var all []entry
	there := map[string]bool{}
	for _, s := range told {
		all = append(all, entry{s.ID, s.Finished})
		there[s.ID] = true
	}
	recorded := map[string]bool{}
	var own []*v1alpha1.Backup
	for i := range d.Backups {
		b := &d.Backups[i]
		if b.Spec.Record == nil {
			continue
		}
		recorded[b.Spec.Record.Set] = true
		if !ownedBy(b, d.Policy) || b.DeletionTimestamp != nil {
			continue
		}
		own = append(own, b)
		if !there[b.Spec.Record.Set] && !whole {
			all = append(all, entry{b.Spec.Record.Set, b.Spec.Record.Finished.Time})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return newer(a.finished, b.finished, a.id, b.id) })
	kept := map[string]bool{}
	for _, e := range all[:min(len(all), cmp.Or(int(d.Policy.Spec.HistoryLimit), historyDefault))] {
		kept[e.id] = true
	}
	for _, b := range own {
		switch id := b.Spec.Record.Set; {
		case kept[id]:
		case !there[id] && whole:
			p.Add(Forget{b, "every server and store has told what there is, and no set " + id})
		default:
			p.Add(Forget{b, "beyond the history limit"})
		}
	}
	for _, s := range told {
		if kept[s.ID] && !recorded[s.ID] {
			p.Add(Record{recordOf(d.Policy, s)})
		}
	}
}

func ownedBy(b client.Object, p *v1alpha1.BackupPolicy) bool {
	return slices.ContainsFunc(b.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == p.UID })
}

// recordOf is the record of a set. Its name follows from the set, so that none is made twice.
func recordOf(p *v1alpha1.BackupPolicy, s backups.PastSet) *v1alpha1.Backup {
	id := strings.ToLower(s.ID)
	return &v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace,
			Name: fmt.Sprintf("%s-%s-%s", p.Name, strings.ToLower(s.Finished.UTC().Format("20060102t150405z")),
				id[:min(len(id), 8)]),
			Labels: map[string]string{v1alpha1.LabelBackupPolicy: p.Name},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BackupPolicy", Name: p.Name, UID: p.UID},
			},
		},
		Spec: v1alpha1.BackupSpec{Policy: v1alpha1.ObjectName(p.Name),
			Databases: []v1alpha1.DatabaseName{v1alpha1.DatabaseName(s.Database)}, Type: v1alpha1.BackupType(s.Kind),
			CopyOnly: s.CopyOnly, Record: &v1alpha1.BackupRecord{Set: s.ID, Finished: metav1.NewTime(s.Finished)}},
	}
}

// record makes a record. One of the set that is there counts as made: a manager ended before it could see that.
func (r *Reconciler) record(ctx context.Context, b *v1alpha1.Backup) error {
	err := r.hub.Create(ctx, b.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var there v1alpha1.Backup
	if err := r.fresh.Get(ctx, client.ObjectKeyFromObject(b), &there); err != nil {
		return fmt.Errorf("look at Backup %s/%s, which is there already: %w", b.Namespace, b.Name, err)
	}
	if there.Spec.Record == nil || there.Spec.Record.Set != b.Spec.Record.Set {
		return fmt.Errorf("a Backup %s/%s is there, and is no record of set %s: delete it", b.Namespace, b.Name,
			b.Spec.Record.Set)
	}
	return nil
}
