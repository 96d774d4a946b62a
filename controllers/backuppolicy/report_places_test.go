// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/reconcile"
)

// What a store restores is what the server tells that has listed it last, and what restores all of the databases.
func TestWhatStoresAreToldToRestore(t *testing.T) {
	type in = backups.StoredDatabase
	type told struct {
		listed    time.Time
		databases []backups.DatabaseStatus
	}
	content := func(x in) backups.DatabaseStatus {
		x.Store = "bucket"
		return backups.DatabaseStatus{Name: "Content", Family: "f", Here: true, Stores: []in{x}}
	}
	before := v1alpha1.BackupPlace{Name: "bucket", Listed: reconcile.Moment(noon.Add(-time.Minute)),
		Verified: reconcile.Moment(noon.Add(-5 * time.Minute))}
	for _, row := range []struct {
		why            string
		before         []v1alpha1.BackupPlace
		databases      []v1alpha1.DatabaseName
		tukpub, quisec *told
		want           v1alpha1.BackupPlace
	}{
		{why: "nobody has told anything", want: v1alpha1.BackupPlace{Name: "bucket"}},
		{why: "nobody has listed it", tukpub: &told{databases: []backups.DatabaseStatus{content(in{})}},
			want: v1alpha1.BackupPlace{Name: "bucket"}},
		{why: "who has listed it last counts, also when that is less",
			tukpub: &told{noon, []backups.DatabaseStatus{content(in{Verified: noon.Add(-time.Hour)})}},
			quisec: &told{noon.Add(-time.Second), []backups.DatabaseStatus{content(in{Verified: noon})}},
			want: v1alpha1.BackupPlace{Name: "bucket", Listed: reconcile.Moment(noon),
				Verified: reconcile.Moment(noon.Add(-time.Hour))}},
		{why: "a database without any restores nothing", databases: []v1alpha1.DatabaseName{"Content", "Orders"},
			tukpub: &told{noon, []backups.DatabaseStatus{content(in{Verified: noon})}},
			want:   v1alpha1.BackupPlace{Name: "bucket", Listed: reconcile.Moment(noon)}},
		{why: "what is kept of a former database of the name is not its",
			tukpub: &told{noon, []backups.DatabaseStatus{content(in{}), {Name: "content", Family: "former",
				Stores: []in{{Store: "bucket", Verified: noon}}}}},
			want: v1alpha1.BackupPlace{Name: "bucket", Listed: reconcile.Moment(noon)}},
		{why: "a set is damaged", tukpub: &told{noon, []backups.DatabaseStatus{content(in{Verified: noon.Add(-time.Hour),
			Damaged: noon.Add(-time.Minute)})}},
			want: v1alpha1.BackupPlace{Name: "bucket", Listed: reconcile.Moment(noon),
				Verified: reconcile.Moment(noon.Add(-time.Hour)), Damaged: reconcile.Moment(noon.Add(-time.Minute))}},
		{why: "what was told before stays, with its time", before: []v1alpha1.BackupPlace{before}, want: before},
		{why: "a look that shows the same is not written each time", before: []v1alpha1.BackupPlace{before},
			tukpub: &told{noon, []backups.DatabaseStatus{content(in{Verified: noon.Add(-5 * time.Minute)})}}, want: before},
		{why: "but from time to time", before: []v1alpha1.BackupPlace{before},
			tukpub: &told{noon.Add(time.Minute), []backups.DatabaseStatus{content(in{Verified: noon.Add(-5 * time.Minute)})}},
			want: v1alpha1.BackupPlace{Name: "bucket", Listed: reconcile.Moment(noon.Add(time.Minute)),
				Verified: reconcile.Moment(noon.Add(-5 * time.Minute))}},
		{why: "one that shows another is", before: []v1alpha1.BackupPlace{before},
			tukpub: &told{noon, []backups.DatabaseStatus{content(in{})}},
			want:   v1alpha1.BackupPlace{Name: "bucket", Listed: reconcile.Moment(noon)}},
	} {
		t.Run(row.why, func(t *testing.T) {
			d, o := desired(), observed(t, noon)
			d.Policy.Spec.Stores, d.Policy.Status.Stores = []v1alpha1.ObjectName{"bucket"}, row.before
			if row.databases != nil {
				d.Databases = row.databases
			}
			for name, x := range map[v1alpha1.ServerName]*told{"tukpub": row.tukpub, "quisec": row.quisec} {
				if x == nil {
					delete(o.Servers, name)
					continue
				}
				says, _ := o.Servers[name].Says.Get()
				says.Databases, says.Stores = x.databases, []backups.StoreStatus{{Name: "bucket", Listed: x.listed}}
			}
			NewWithT(t).Expect(reported(d, o).Stores).To(Equal([]v1alpha1.BackupPlace{row.want}))
		})
	}
}
