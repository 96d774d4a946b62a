// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/reconcile"
)

// listedLeast and listedMost bound the time between two moments at which status says that a store was listed, a quarter
// of the time between log backups: each is a write.
const listedLeast, listedMost = 15 * time.Second, 5 * time.Minute

// places are the policy's stores, each as the server tells that has listed it last. A store that nobody has listed
// since stays as it was told, with its time: who reads it sees how old that is.
func places(d Desired, o Observed, told map[string]*database) []v1alpha1.BackupPlace {
	before := map[v1alpha1.ObjectName]v1alpha1.BackupPlace{}
	for _, p := range d.Policy.Status.Stores {
		before[p.Name] = p
	}
	var all []v1alpha1.BackupPlace
	for _, name := range d.Policy.Spec.Stores {
		was, next := before[name], v1alpha1.BackupPlace{Name: name}
		says, listed := lastListed(d, o, string(name))
		if says == nil || was.Listed != nil && !listed.After(was.Listed.Time) {
			was.Name = name
			all = append(all, was)
			continue
		}
		next.Listed = reconcile.Moment(listed)
		next.Verified, next.Damaged = d.place(says, o, told, string(name))
		if was.Listed != nil && same(was.Verified, next.Verified) && same(was.Damaged, next.Damaged) &&
			listed.Sub(was.Listed.Time) < min(max(d.Order.LogEvery/4, listedLeast), listedMost) {
			next.Listed = was.Listed
		}
		all = append(all, next)
	}
	return all
}

// lastListed is what the server says that has listed a store last, and when that was; nil where none has.
func lastListed(d Desired, o Observed, store string) (last *backups.Status, at time.Time) {
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		if err != nil || says == nil {
			continue
		}
		for _, s := range says.Stores {
			if s.Name == store && s.Listed.After(at) {
				last, at = says, s.Listed
			}
		}
	}
	return last, at
}

// place is the newest moment to which a store alone restores every database, and when the newest set of any ended that
// is damaged there.
func (d Desired) place(says *backups.Status, o Observed, told map[string]*database, store string) (verified,
	damaged *metav1.Time) {
	var oldest, worst time.Time
	for i, name := range o.covered(d) {
		var in backups.StoredDatabase
		if known := told[strings.ToLower(string(name))]; known != nil {
			in = storedIn(says, backup.IdentityOf(known.Family, string(name)), store)
		}
		if i == 0 || in.Verified.Before(oldest) {
			oldest = in.Verified
		}
		if in.Damaged.After(worst) {
			worst = in.Damaged
		}
	}
	return reconcile.Moment(oldest), reconcile.Moment(worst)
}

func storedIn(says *backups.Status, database backup.Identity, store string) backups.StoredDatabase {
	for _, one := range says.Databases {
		for _, in := range one.Stores {
			if backup.IdentityOf(one.Family, one.Name) == database && in.Store == store {
				return in
			}
		}
	}
	return backups.StoredDatabase{}
}

func same(a, b *metav1.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Unix() == b.Unix()
}
