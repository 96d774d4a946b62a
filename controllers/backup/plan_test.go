// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func desired() Desired {
	return Desired{
		Backup: &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "before-upgrade", UID: "u1"},
			Spec: v1alpha1.BackupSpec{Policy: "content", Type: v1alpha1.BackupFull, CopyOnly: true}},
		Policy: &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
			Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
				Stores: []v1alpha1.ObjectName{"near", "far"}},
			Status: v1alpha1.BackupPolicyStatus{Databases: []v1alpha1.BackedUpDatabase{{Name: "Content"},
				{Name: "Orders"}}}}}
}

// answers has a set of a database told, with the stores that have it.
func answers(d Desired, database v1alpha1.DatabaseName, places ...v1alpha1.BackupSetPlace) {
	d.Policy.Status.Answers = append(d.Policy.Status.Answers, v1alpha1.BackupAnswer{
		Request: d.Backup.Request(database), Set: v1alpha1.BackupSet{ID: "set-" + string(database), Places: places}})
}

// record makes it the record of a differential set of a database that the policy does not know any more.
func record(d *Desired) {
	d.Backup.Spec = v1alpha1.BackupSpec{Policy: "content", Type: v1alpha1.BackupDifferential,
		Databases: []v1alpha1.DatabaseName{"Former"}, Record: &v1alpha1.BackupRecord{Set: "6f"}}
}

func TestABackup(t *testing.T) {
	verified := []v1alpha1.BackupSetPlace{{Store: "near", Verified: true}, {Store: "far", Verified: true}}
	for why, c := range map[string]struct {
		edit      func(*Desired)
		reason    string
		says      string
		databases []v1alpha1.DatabaseName
		outcome   v1alpha1.BackupOutcome
	}{
		"it begins with the policy's databases": {reason: v1alpha1.ReasonBackupTaking, says: "Orders waits to be taken",
			databases: []v1alpha1.DatabaseName{"Content", "Orders"}},
		"of those that are named": {edit: func(d *Desired) {
			d.Backup.Spec.Databases = []v1alpha1.DatabaseName{"orders"}
		}, reason: v1alpha1.ReasonBackupTaking, databases: []v1alpha1.DatabaseName{"Orders"}},
		"none that is named is known": {edit: func(d *Desired) {
			d.Backup.Spec.Databases = []v1alpha1.DatabaseName{"Other"}
		}, reason: v1alpha1.ReasonBackupRefused, says: "knows of no database Other"},
		"the policy is new": {edit: func(d *Desired) { d.Policy.Status.Databases = nil },
			reason: v1alpha1.ReasonBackupTaking, says: "has told of no database yet"},
		"there is no policy": {edit: func(d *Desired) { d.Policy = nil }, reason: v1alpha1.ReasonReferenceMissing},
		"a differential of copies": {edit: func(d *Desired) {
			d.Backup.Spec.Type = v1alpha1.BackupDifferential
		}, reason: v1alpha1.ReasonBackupRefused, says: "needs replica Primary"},
		"one that the primary takes": {edit: func(d *Desired) {
			d.Backup.Spec.Type, d.Policy.Spec.Replica = v1alpha1.BackupDifferential, v1alpha1.BackupAtPrimary
		}, reason: v1alpha1.ReasonBackupTaking, databases: []v1alpha1.DatabaseName{"Content", "Orders"}},
		"a database that is made afterwards is none of it": {edit: func(d *Desired) {
			d.Backup.Status.Databases = []v1alpha1.BackupOfDatabase{{Name: "Content"}}
			answers(*d, "Content", verified...)
		}, reason: v1alpha1.ReasonBackupTaken, databases: []v1alpha1.DatabaseName{"Content"},
			outcome: v1alpha1.BackupSucceeded},
		"one store lacks it": {edit: func(d *Desired) {
			answers(*d, "Content", verified...)
			answers(*d, "Orders", verified[0])
		}, reason: v1alpha1.ReasonBackupTaking, says: "Orders is being sent to far",
			databases: []v1alpha1.DatabaseName{"Content", "Orders"}},
		"it was not read back yet": {edit: func(d *Desired) {
			answers(*d, "Content", verified...)
			answers(*d, "Orders", verified[0], v1alpha1.BackupSetPlace{Store: "far"})
		}, reason: v1alpha1.ReasonBackupTaking, says: "Orders is being read back from far",
			databases: []v1alpha1.DatabaseName{"Content", "Orders"}},
		"the policy has nothing read back": {edit: func(d *Desired) {
			d.Policy.Spec.Verification = v1alpha1.VerifyNone
			answers(*d, "Content", verified...)
			answers(*d, "Orders", verified[0], v1alpha1.BackupSetPlace{Store: "far"})
		}, reason: v1alpha1.ReasonBackupTaken, databases: []v1alpha1.DatabaseName{"Content", "Orders"},
			outcome: v1alpha1.BackupSucceeded},
		"all is done": {edit: func(d *Desired) {
			answers(*d, "Content", verified...)
			answers(*d, "Orders", verified...)
		}, reason: v1alpha1.ReasonBackupTaken, says: "backed up: Content, Orders",
			databases: []v1alpha1.DatabaseName{"Content", "Orders"}, outcome: v1alpha1.BackupSucceeded},
		"a store has damaged it": {edit: func(d *Desired) {
			answers(*d, "Content", verified...)
			answers(*d, "Orders", verified[0], v1alpha1.BackupSetPlace{Store: "far", Damaged: true})
		}, reason: v1alpha1.ReasonBackupDamaged, says: "store far did not give the backup of Orders back",
			databases: []v1alpha1.DatabaseName{"Content", "Orders"}, outcome: v1alpha1.BackupFailed},
		"a record is of its own database, whatever the policy knows": {edit: func(d *Desired) { record(d) },
			reason: v1alpha1.ReasonBackupTaking, says: "no server tells of set 6f yet",
			databases: []v1alpha1.DatabaseName{"Former"}},
		"a record of what was taken": {edit: func(d *Desired) {
			record(d)
			answers(*d, "Former", verified...)
		}, reason: v1alpha1.ReasonBackupTaken, databases: []v1alpha1.DatabaseName{"Former"},
			outcome: v1alpha1.BackupSucceeded},
		"a record of what a store has damaged": {edit: func(d *Desired) {
			record(d)
			answers(*d, "Former", verified[0], v1alpha1.BackupSetPlace{Store: "far", Damaged: true})
		}, reason: v1alpha1.ReasonBackupDamaged, databases: []v1alpha1.DatabaseName{"Former"},
			outcome: v1alpha1.BackupFailed},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			d := desired()
			if c.edit != nil {
				c.edit(&d)
			}
			p := plan(d, Observed{})
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			s := reported(d, Observed{Now: noon})
			g.Expect(s.Outcome).To(Equal(c.outcome))
			g.Expect(s.Completed != nil).To(Equal(c.outcome != ""))
			var names []v1alpha1.DatabaseName
			for _, one := range s.Databases {
				names = append(names, one.Name)
			}
			g.Expect(names).To(Equal(c.databases))
		})
	}
}

// What was taken is kept once the Backup has its outcome, whatever becomes of the policy and of the set.
func TestABackupThatHasItsOutcomeStaysAsItIs(t *testing.T) {
	g := NewWithT(t)
	d := desired()
	for _, database := range []v1alpha1.DatabaseName{"Content", "Orders"} {
		answers(d, database, v1alpha1.BackupSetPlace{Store: "near", Verified: true},
			v1alpha1.BackupSetPlace{Store: "far", Verified: true})
	}
	d.Backup.Status = reported(d, Observed{Now: noon})
	before := d.Backup.Status.DeepCopy()
	d.Policy.Status.Answers[0].Set.Places[0].Damaged, d.Policy.Status.Databases = true, nil
	g.Expect(reported(d, Observed{Now: noon.Add(time.Hour)})).To(Equal(*before))
	d.Policy = nil
	g.Expect(reported(d, Observed{Now: noon.Add(time.Hour)})).To(Equal(*before))
	g.Expect(plan(d, Observed{}).Outcome.Reason).To(Equal(v1alpha1.ReasonBackupTaken))
	g.Expect(planDelete(d, Observed{}).Done).To(BeTrue())
}
