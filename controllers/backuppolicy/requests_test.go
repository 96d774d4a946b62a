// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/reconcile"
)

// What Backups of the policy ask for is told, the oldest first, until each has its outcome.
func TestWhatBackupsAskFor(t *testing.T) {
	g := NewWithT(t)
	one := func(uid types.UID, age time.Duration, edit func(*v1alpha1.Backup)) v1alpha1.Backup {
		b := v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: string(uid), UID: uid,
			CreationTimestamp: metav1.NewTime(noon.Add(-age))},
			Spec:   v1alpha1.BackupSpec{Policy: "nightly", Type: v1alpha1.BackupFull},
			Status: v1alpha1.BackupStatus{Databases: []v1alpha1.BackupOfDatabase{{Name: "Content"}}}}
		if edit != nil {
			edit(&b)
		}
		return b
	}
	got := asks(ofPolicy(desired().Policy, []v1alpha1.Backup{
		one("new", 0, func(b *v1alpha1.Backup) { b.Spec.CopyOnly = true }),
		one("old", time.Hour, func(b *v1alpha1.Backup) {
			b.Status.Databases = append(b.Status.Databases, v1alpha1.BackupOfDatabase{Name: "Orders"})
		}),
		one("other", time.Hour, func(b *v1alpha1.Backup) { b.Spec.Policy = "weekly" }),
		one("done", time.Hour, func(b *v1alpha1.Backup) { b.Status.Outcome = v1alpha1.BackupSucceeded }),
		one("gone", time.Hour, func(b *v1alpha1.Backup) { b.DeletionTimestamp = reconcile.Moment(noon) }),
		one("undecided", time.Hour, func(b *v1alpha1.Backup) { b.Status.Databases = nil }),
		one("record", time.Hour, func(b *v1alpha1.Backup) { b.Spec.Record = &v1alpha1.BackupRecord{Set: "6f"} }),
	}))
	g.Expect(got).To(Equal([]orders.BackupRequest{
		{ID: "old/Content", Kind: "Full", Database: "Content"},
		{ID: "old/Orders", Kind: "Full", Database: "Orders"},
		{ID: "new/Content", Kind: "Full", Database: "Content", CopyOnly: true},
	}))
}

// A set that answers is told with what each server has seen of it, and stays while nobody tells.
func TestWhatAnswersBackups(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t, noon)
	d.Order.Requests = []orders.BackupRequest{{ID: "u1/Content"}, {ID: "u2/Content"}}
	g.Expect(reported(d, o).Answers).To(BeEmpty())
	answer := func(id string, finished time.Time, in ...backups.AnswerPlace) backups.Answer {
		return backups.Answer{In: in, Description: backup.Description{Request: "u1/Content", Server: "tukpub-0",
			Bytes: 3000, Files: []backup.File{{Name: "1.bak", Bytes: 1000}},
			Set: backup.Set{ID: id, Kind: backup.Full, Database: "Content", FirstLSN: "10", LastLSN: "20",
				Begun: finished.Add(-2 * time.Second), Finished: finished}}}
	}
	tukpub, _ := o.Servers["tukpub"].Says.Get()
	quisec, _ := o.Servers["quisec"].Says.Get()
	tukpub.Answers = []backups.Answer{answer("second", noon.Add(time.Minute)), answer("first", noon,
		backups.AnswerPlace{Store: "near"})}
	quisec.Answers = []backups.Answer{answer("first", noon, backups.AnswerPlace{Store: "near", Verified: true},
		backups.AnswerPlace{Store: "far"})}
	s := reported(d, o)
	g.Expect(s.Answers).To(HaveLen(1))
	g.Expect(s.Answers[0].Request).To(Equal("u1/Content"))
	g.Expect(s.Answers[0].Set).To(And(HaveField("ID", "first"), HaveField("Type", v1alpha1.BackupFull),
		HaveField("Ratio", "3.0"), HaveField("BytesPerSecond", int64(1500)), HaveField("StoredBytes", int64(1000)),
		HaveField("Duration.Duration", 2*time.Second), HaveField("Places", ConsistOf(
			v1alpha1.BackupSetPlace{Store: "near", Verified: true}, v1alpha1.BackupSetPlace{Store: "far"}))))

	d.Policy.Status = s
	o.Servers = map[v1alpha1.ServerName]Server{}
	g.Expect(reported(d, o).Answers).To(Equal(s.Answers))
	d.Order.Requests = nil
	g.Expect(reported(d, o).Answers).To(BeEmpty())
}
