// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backuppolicy_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// With the manager's rights at a real API server: a test that is due is a Restore of each database, one after another,
// and what they say is the policy's; no more records than the limit stay.
func TestBackupsAreRestoredByWayOfTrial(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.declare()
	edit := func(how func(*v1alpha1.BackupPolicy)) {
		p, err := b.policy()
		g.Expect(err).NotTo(HaveOccurred())
		before := p.DeepCopy()
		how(&p)
		g.Expect(b.hub.Client.Patch(t.Context(), &p, client.MergeFrom(before))).To(Succeed())
	}
	tests := func() (all []v1alpha1.Restore) {
		var list v1alpha1.RestoreList
		_ = b.hub.Client.List(t.Context(), &list, client.InNamespace("web"),
			client.MatchingLabels{v1alpha1.LabelRestoreTest: "nightly"})
		return list.Items
	}
	ends := func(x v1alpha1.Restore, outcome v1alpha1.RestoreOutcome, reason string) {
		at := metav1.Now()
		x.Status = v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Outcome: outcome, Reason: reason,
			Message: "the words", Checked: outcome == v1alpha1.RestoreSucceeded, Started: &at, Finished: &at}
		g.Expect(b.hub.Client.Status().Update(t.Context(), &x)).To(Succeed())
	}
	condition := func() *metav1.Condition {
		p, _ := b.policy()
		return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRestoreTested)
	}
	g.Expect(condition()).To(BeNil())
	edit(func(p *v1alpha1.BackupPolicy) {
		p.Spec.RestoreTest = &v1alpha1.RestoreTest{BackupTimes: v1alpha1.BackupTimes{Schedule: "* * * * *"},
			Server: "tuksec", Databases: []v1alpha1.DatabaseName{"Content", "Orders"}, HistoryLimit: 1}
	})
	g.Eventually(condition, patient, often).Should(HaveValue(HaveField("Reason", v1alpha1.ReasonRestoreTestPending)))
	g.Eventually(tests, patient, often).Should(HaveExactElements(And(
		HaveField("Spec.Source.Database", v1alpha1.DatabaseName("Content")),
		HaveField("Spec.Target.Database", v1alpha1.DatabaseName("Content_restoretest")))))
	// What comes after it is not due before long.
	edit(func(p *v1alpha1.BackupPolicy) { p.Spec.RestoreTest.Schedule = "0 0 1 1 *" })
	ends(tests()[0], v1alpha1.RestoreSucceeded, v1alpha1.ReasonRestored)
	second := func() *v1alpha1.Restore {
		for _, x := range tests() {
			if x.Spec.Source.Database == "Orders" {
				return &x
			}
		}
		return nil
	}
	g.Eventually(second, patient, often).ShouldNot(BeNil())
	g.Consistently(condition, time.Second, often).Should(HaveValue(HaveField("Status", metav1.ConditionUnknown)))
	ends(*second(), v1alpha1.RestoreFailed, v1alpha1.ReasonCheckFailed)
	g.Eventually(condition, patient, often).Should(HaveValue(And(HaveField("Status", metav1.ConditionFalse),
		HaveField("Reason", v1alpha1.ReasonRestoreTestFailed),
		HaveField("Message", ContainSubstring("Orders: CheckFailed")))))
	p, err := b.policy()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Status.RestoreTest).To(And(HaveField("Outcome", v1alpha1.RestoreTestFailed),
		HaveField("LastPassed", BeNil()), HaveField("Databases", HaveExactElements(
			HaveField("Outcome", v1alpha1.RestoreTestPassed), HaveField("Outcome", v1alpha1.RestoreTestFailed)))))
	edit(func(p *v1alpha1.BackupPolicy) { p.Spec.RestoreTest = nil })
	g.Eventually(condition, patient, often).Should(BeNil())
}
