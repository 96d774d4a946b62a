// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backuppolicy_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
)

// records are the Backups that there are, by their names.
func (b *bed) records() (names []string) {
	var list v1alpha1.BackupList
	_ = b.hub.Client.List(b.Context(), &list, client.InNamespace("web"))
	for _, one := range list.Items {
		names = append(names, one.Name)
	}
	return names
}

// With the manager's rights at a real API server: what the agents took by the schedule has Backups of the policy, no
// more than the limit, until their sets are no more; a person's stays, and nothing of it is told the servers.
func TestWhatTheScheduleHadTakenIsRecorded(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	policy := b.declare()
	set := func(id string, kind backup.Kind, minute int) backups.PastSet {
		at := time.Date(2026, 3, 1, 1, minute, 0, 0, time.UTC)
		return backups.PastSet{ID: id, Kind: kind, Database: "Content", Folder: "web/group/content/Content/" + id,
			Server: "tukpub-0", FirstLSN: "10", LastLSN: "20", Begun: at.Add(-time.Second), Finished: at, Bytes: 30, Stored: 10,
			In: []backups.AnswerPlace{{Store: "bucket", Verified: true}}}
	}
	says := func(whole bool, sets ...backups.PastSet) {
		b.agents.say(backups.Status{Policy: "nightly", Past: sets, PastWhole: whole})
	}
	own := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "own"},
		Spec: v1alpha1.BackupSpec{Policy: "nightly"}}
	g.Expect(b.hub.Client.Create(t.Context(), own)).To(Succeed())
	all := []backups.PastSet{set("CCCCCCCC-3", backup.Differential, 30), set("BBBBBBBB-2", backup.Full, 20),
		set("AAAAAAAA-1", backup.Full, 10)}
	says(false, all...)
	first, second, third := "nightly-20260301t011000z-aaaaaaaa", "nightly-20260301t012000z-bbbbbbbb",
		"nightly-20260301t013000z-cccccccc"
	g.Eventually(b.records, patient, often).Should(ConsistOf("own", first, second, third))

	var record v1alpha1.Backup
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: third}, &record)).To(Succeed())
	g.Expect(record.Spec.Type).To(Equal(v1alpha1.BackupDifferential))
	g.Expect(record.OwnerReferences).To(ConsistOf(HaveField("UID", policy.UID)))
	g.Eventually(func() []v1alpha1.BackupAnswer { p, _ := b.policy(); return p.Status.Answers }, patient, often).
		Should(ContainElement(And(HaveField("Request", record.Request("Content")), HaveField("Set.Ratio", "3.0"))))
	g.Eventually(b.secretKey(b.site, "tukpub"), patient, often).Should(Equal("first-secret"))
	told, _ := b.told(b.site, "tukpub")
	g.Expect(told[0].Requests).To(BeEmpty())

	t.Run("no more than the limit", func(t *testing.T) {
		g := NewWithT(t)
		p, err := b.policy()
		g.Expect(err).NotTo(HaveOccurred())
		before := p.DeepCopy()
		p.Spec.HistoryLimit = 2
		g.Expect(b.hub.Client.Patch(t.Context(), &p, client.MergeFrom(before))).To(Succeed())
		g.Eventually(b.records, patient, often).Should(ConsistOf("own", second, third))
		before = p.DeepCopy()
		p.Spec.HistoryLimit = 101
		g.Expect(b.hub.Client.Patch(t.Context(), &p, client.MergeFrom(before))).
			To(MatchError(ContainSubstring("historyLimit")))
	})
	t.Run("one that is deleted comes back", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(b.hub.Client.Delete(t.Context(), &record)).To(Succeed())
		g.Eventually(func() bool {
			var again v1alpha1.Backup
			err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(&record), &again)
			return err == nil && again.UID != record.UID
		}, patient, often).Should(BeTrue())
	})
	t.Run("and goes with its set", func(t *testing.T) {
		g := NewWithT(t)
		says(true, all[0])
		g.Eventually(b.records, patient, often).Should(ConsistOf("own", third))
	})
}
