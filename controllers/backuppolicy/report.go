// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// maxDatabases, maxWindows and maxServers are how many status takes.
	maxDatabases = 64
	maxWindows   = 8
	maxServers   = 64
)

func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	before, status := d.Policy.Status, reported(d, o)
	if reconcile.IsSuspended(failed) {
		status.RestoreTest = before.RestoreTest // no test is begun with
	}
	changes := conditions.Set(&status.StatusBase, d.Policy.Generation, reconcile.Outcome(p.Outcome, failed))
	if d.Policy.Spec.RestoreTest == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionRestoreTested)
	} else if c := conditions.SetOne(&status.StatusBase, d.Policy.Generation,
		restoreTested(d, o, status.RestoreTest)); c != nil && c.Old != nil {
		changes = append(changes, *c)
	}
	return r.reporter.Report(ctx, d.Policy, &before, &status, changes)
}

// reported is the status of what was observed. What nobody tells any more stays as it was told last, with its times.
func reported(d Desired, o Observed) v1alpha1.BackupPolicyStatus {
	status := *d.Policy.Status.DeepCopy()
	if d.Missing == "" {
		known := remembered(d, o)
		status.Servers = known[:min(len(known), maxServers)]
	}
	told := merged(d, o)
	status.Stores, status.Verification, status.Answers = places(d, o, told), verified(d, o), answered(d, o)
	status.RestoreTest = tested(d, o)
	if len(told) == 0 || !listed(d, o) {
		return status
	}
	status.Databases, status.Restorable = nil, nil
	for _, key := range slices.Sorted(maps.Keys(told)) {
		if len(status.Databases) < maxDatabases {
			status.Databases = append(status.Databases, told[key].status())
		}
	}
	var oldest time.Time
	for i, name := range o.covered(d) {
		newest := told[strings.ToLower(string(name))].newest()
		if i == 0 || newest.Before(oldest) {
			oldest = newest
		}
	}
	if !oldest.IsZero() && !oldest.After(o.Now.Add(grace)) {
		at := metav1.NewTime(oldest)
		status.Restorable = &at
	}
	return status
}

// database is what the sidecars say together of a database; nil is one of which none says anything.
type database struct{ backups.DatabaseStatus }

// merged is what is told of each database, by its name in lower case. What several tell of the stores is the same but
// for when each has looked: who restores it to the newest point has looked last; what one has found damaged is. What
// waits is each one's own. Of a database that was made anew under its name the one that is there counts.
func merged(d Desired, o Observed) map[string]*database {
	all := map[string]*database{}
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		if err != nil || says == nil {
			continue
		}
		for _, one := range says.Databases {
			key := strings.ToLower(one.Name)
			known := all[key]
			switch {
			case known == nil || one.Here && !known.Here && one.Family != known.Family:
				all[key] = &database{one}
			case known.Family != one.Family:
			default:
				known.add(one)
			}
		}
	}
	return all
}

func (x *database) add(one backups.DatabaseStatus) {
	waiting, bytes := x.Waiting+one.Waiting, x.WaitingBytes+one.WaitingBytes
	here, damaged := x.Here || one.Here, max(x.Damaged, one.Damaged)
	if (&database{one}).newest().After(x.newest()) {
		x.DatabaseStatus = one
	}
	x.Waiting, x.WaitingBytes, x.Here, x.Damaged = waiting, bytes, here, damaged
}

// newest is the newest moment to which it can be restored; zero where there is none.
func (x *database) newest() time.Time {
	if x == nil || len(x.Windows) == 0 {
		return time.Time{}
	}
	return x.Windows[len(x.Windows)-1].To
}

func (x *database) status() v1alpha1.BackedUpDatabase {
	s := v1alpha1.BackedUpDatabase{Name: v1alpha1.DatabaseName(x.Name), Sets: reconcile.Count(x.Sets), Bytes: x.Bytes,
		Waiting: reconcile.Count(x.Waiting), WaitingBytes: x.WaitingBytes, Damaged: reconcile.Count(x.Damaged),
		LastFull: reconcile.Moment(x.Full), LastDifferential: reconcile.Moment(x.Differential),
		LastLog: reconcile.Moment(x.Log)}
	for _, w := range slices.Backward(x.Windows) {
		if len(s.Windows) < maxWindows {
			s.Windows = append(s.Windows, v1alpha1.RestorableWindow{From: metav1.NewTime(w.From), To: metav1.NewTime(w.To)})
		}
	}
	return s
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
