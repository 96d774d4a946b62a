// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"cmp"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// The objective for backups is met by what was read back from a store that was listed a short time ago, and by nothing
// else.
func TestTheObjectiveForBackups(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(-d)} }
	place := func(name v1alpha1.ObjectName, listed, verified time.Duration) v1alpha1.BackupPlace {
		return v1alpha1.BackupPlace{Name: name, Listed: ago(listed), Verified: ago(verified)}
	}
	policy := func() *v1alpha1.BackupPolicy {
		return &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nightly"},
			Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
				Log:    &v1alpha1.LogBackups{Every: &metav1.Duration{Duration: 5 * time.Minute}},
				Stores: []v1alpha1.ObjectName{"near", "far"}},
			Status: v1alpha1.BackupPolicyStatus{
				Databases: []v1alpha1.BackedUpDatabase{{Name: "Content"}, {Name: "Orders"}},
				Stores: []v1alpha1.BackupPlace{place("near", time.Minute, 12*time.Minute),
					place("far", time.Minute, 9*time.Minute)}}}
	}
	met, missed := v1alpha1.ReasonBackupObjectiveMet, v1alpha1.ReasonBackupObjectiveMissed
	for why, c := range map[string]struct {
		edit func(*v1alpha1.BackupPolicy)
		read func() reconcile.Reading[*v1alpha1.BackupPolicy]
		// volumes are stores on servers' volumes, at these sites; primary is where the primary is, tukpub unless given.
		volumes map[v1alpha1.ObjectName]v1alpha1.SiteName
		primary v1alpha1.ServerName
		status  metav1.ConditionStatus
		reason  string
		says    string
		at      *metav1.Time
	}{
		"the store that restores the newest moment counts": {status: metav1.ConditionTrue, reason: met,
			says: "store far restores every database to 2026-03-01T11:51:00Z", at: ago(9 * time.Minute)},
		"a volume at another site does": {volumes: map[v1alpha1.ObjectName]v1alpha1.SiteName{"far": "dublin"},
			status: metav1.ConditionTrue, reason: met, says: "store far", at: ago(9 * time.Minute)},
		"a volume at the primary's site does not": {volumes: map[v1alpha1.ObjectName]v1alpha1.SiteName{"far": "tukwila"},
			status: metav1.ConditionTrue, reason: met, says: "store near", at: ago(12 * time.Minute)},
		"the primary has gone to the volume's site": {primary: "dubsec",
			volumes: map[v1alpha1.ObjectName]v1alpha1.SiteName{"far": "dublin", "near": "tukwila"},
			status:  metav1.ConditionTrue, reason: met, says: "store near", at: ago(12 * time.Minute)},
		"all volumes are at the primary's site": {
			volumes: map[v1alpha1.ObjectName]v1alpha1.SiteName{"far": "tukwila", "near": "tukwila"},
			status:  metav1.ConditionFalse, reason: missed, says: "no store of BackupPolicy nightly outlives the primary's " +
				"site: near is on a volume at site tukwila"},
		"nobody knows where the primary is": {primary: "none",
			volumes: map[v1alpha1.ObjectName]v1alpha1.SiteName{"far": "dublin", "near": "quincy"},
			status:  metav1.ConditionTrue, reason: met, says: "store near", at: ago(12 * time.Minute)},
		"a volume of a server that is not there": {
			volumes: map[v1alpha1.ObjectName]v1alpha1.SiteName{"far": "", "near": ""},
			status:  metav1.ConditionFalse, reason: missed, says: "nothing says at which site the volume of near is"},
		"one that is away does not": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores[1].Listed = ago(5*time.Minute + time.Second)
		}, status: metav1.ConditionTrue, reason: met, says: "store near", at: ago(12 * time.Minute)},
		"all are away": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores = p.Status.Stores[1:]
			p.Status.Stores[0].Listed = ago(6 * time.Minute)
		}, status: metav1.ConditionUnknown, reason: v1alpha1.ReasonBackupNotRead,
			says: "has told for 5m0s what it has: near never has; far last did at 2026-03-01T11:54:00Z"},
		"a time between log backups that is short allows for two looks": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Spec.Log.Every.Duration = time.Minute
			p.Status.Stores[1].Listed = ago(2 * time.Minute)
		}, status: metav1.ConditionTrue, reason: met, at: ago(9 * time.Minute)},
		"a moment that is yet to come meets nothing": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores = []v1alpha1.BackupPlace{place("far", time.Minute, -24*time.Hour)}
		}, status: metav1.ConditionUnknown, reason: v1alpha1.ReasonBackupNotRead, says: "far tells of a time that is yet"},
		"nor does what was listed tomorrow": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores = []v1alpha1.BackupPlace{place("far", -24*time.Hour, time.Minute)}
		}, status: metav1.ConditionUnknown, reason: v1alpha1.ReasonBackupNotRead, says: "far tells of a time that is yet"},
		"clocks that are somewhat apart": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores = []v1alpha1.BackupPlace{place("far", -time.Minute, -time.Minute)}
		}, status: metav1.ConditionTrue, reason: met, at: ago(-time.Minute)},
		"the newest moment is too old": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores = []v1alpha1.BackupPlace{place("far", 0, 15*time.Minute+time.Second)}
		}, status: metav1.ConditionFalse, reason: missed, says: "is more than 15m0s ago", at: ago(15*time.Minute +
			time.Second)},
		"nothing was read back": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores[0].Verified, p.Status.Stores[1].Verified = nil, nil
		}, status: metav1.ConditionFalse, reason: missed, says: "does not restore every database"},
		"one store restores nothing, the other does": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores[0].Verified = nil
		}, status: metav1.ConditionTrue, reason: met, at: ago(9 * time.Minute)},
		"a set behind the newest moment is damaged": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores[1].Damaged = ago(time.Minute)
		}, status: metav1.ConditionUnknown, reason: v1alpha1.ReasonBackupDamaged, says: "a backup of 2026-03-01T11:59:00Z"},
		"one before it is": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores[1].Damaged = ago(time.Hour)
		}, status: metav1.ConditionTrue, reason: met, at: ago(9 * time.Minute)},
		"damaged, and too old besides": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Stores = []v1alpha1.BackupPlace{place("far", 0, time.Hour)}
			p.Status.Stores[0].Damaged = ago(time.Minute)
		}, status: metav1.ConditionFalse, reason: missed, at: ago(time.Hour)},
		"a store that the policy names no more": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Spec.Stores = p.Spec.Stores[:1]
		}, status: metav1.ConditionTrue, reason: met, says: "store near", at: ago(12 * time.Minute)},
		"a database that the policy does not cover": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Spec.Databases = []v1alpha1.DatabaseName{"content"}
		}, status: metav1.ConditionFalse, reason: missed, says: "BackupPolicy nightly does not cover Orders"},
		"a database that is new": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Status.Databases = p.Status.Databases[:1]
		}, status: metav1.ConditionFalse, reason: missed, says: "nothing is known of backups of Orders"},
		"no store": {edit: func(p *v1alpha1.BackupPolicy) { p.Spec.Stores = nil }, status: metav1.ConditionFalse,
			reason: missed, says: "lost with their sites"},
		"nothing is ever read back": {edit: func(p *v1alpha1.BackupPolicy) {
			p.Spec.Verification = v1alpha1.VerifyNone
		}, status: metav1.ConditionUnknown, reason: v1alpha1.ReasonBackupNotVerified},
		"no policy": {read: func() reconcile.Reading[*v1alpha1.BackupPolicy] {
			return reconcile.Read[*v1alpha1.BackupPolicy](nil)
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonBackupNotDeclared},
		"policies that cannot be read": {read: func() reconcile.Reading[*v1alpha1.BackupPolicy] {
			return reconcile.NotRead[*v1alpha1.BackupPolicy](errors.New("no answer"))
		}, status: metav1.ConditionUnknown, reason: v1alpha1.ReasonBackupNotRead, says: "no answer"},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			d := Desired{Group: &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
				Spec: v1alpha1.AvailabilityGroupSpec{Databases: []v1alpha1.Database{{Name: "Content"}, {Name: "Orders"}},
					Objectives: &v1alpha1.Objectives{BackupRPO: &metav1.Duration{Duration: 15 * time.Minute}}}}}
			d.Group.Spec.Replicas = []v1alpha1.Replica{{Server: "tukpub"}, {Server: "dubsec"}}
			d.Sites = map[v1alpha1.ServerName]v1alpha1.SiteName{"tukpub": "tukwila", "dubsec": "dublin"}
			if d.Group.Status.Primary = string(cmp.Or(c.primary, "tukpub")) + "-0"; c.primary == "none" {
				d.Group.Status.Primary = ""
			}
			p := policy()
			if c.edit != nil {
				c.edit(p)
			}
			o := Observed{Now: noon, Backups: reconcile.Read(p), Volumes: reconcile.Read(c.volumes)}
			if c.read != nil {
				o.Backups = c.read()
			}
			told, at := backupObjective(d, o)
			g.Expect(told).To(And(HaveField("Type", v1alpha1.ConditionBackupObjectiveMet), HaveField("Status", c.status),
				HaveField("Reason", c.reason), HaveField("Message", ContainSubstring(c.says))))
			g.Expect(at).To(Equal(c.at))
		})
	}
}
