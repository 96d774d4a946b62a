// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// A suspended object says what is seen of it and what waits; nobody works on it, and it calls for nobody.
func TestTheOutcomeOfASuspendedObject(t *testing.T) {
	for name, c := range map[string]struct {
		planned conditions.Outcome
		held    reconcile.Suspended
		ready   metav1.ConditionStatus
		says    string
	}{
		"all is well": {conditions.Ready("Running", "it answers"), reconcile.Suspended{Why: "spec.suspend is true"},
			metav1.ConditionTrue, "nothing is done while spec.suspend is true. As it is seen: Running: it answers"},
		"steps wait": {conditions.InProgress("Creating", "it is made"),
			reconcile.Suspended{Why: "x", Steps: 3, First: "make it"}, metav1.ConditionFalse,
			"nothing is done while x; 3 steps wait, the first: make it. As it is seen: Creating: it is made"},
		"one step waits": {conditions.Stalled("Refused", "mend it"),
			reconcile.Suspended{Why: "x", Steps: 1, First: "make it"}, metav1.ConditionFalse,
			"nothing is done while x; one step waits: make it. As it is seen: Refused: mend it"},
		"nothing is seen": {conditions.Unknown("SiteUnreachable", "no answer"), reconcile.Suspended{Why: "x"},
			metav1.ConditionUnknown, "nothing is done while x. As it is seen: SiteUnreachable: no answer"},
		"it would be gone": {conditions.Outcome{}, reconcile.Suspended{Why: "x", Deleting: true}, metav1.ConditionFalse,
			"nothing is done while x; the deletion waits, too"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(reconcile.Outcome(c.planned, c.held)).To(Equal(conditions.Outcome{
				Ready: c.ready, Reason: "Suspended", Message: c.says, Progress: conditions.Settled,
				Seen: c.planned.Reason}))
		})
	}
}

// What a suspended object would be called otherwise is kept in its conditions, for whoever goes by that.
func TestTheReasonThatASuspendedObjectWouldHave(t *testing.T) {
	g := NewWithT(t)
	var status v1alpha1.StatusBase
	seen := func() string { return v1alpha1.ReadyAsSeen(status.Conditions).Reason }
	g.Expect(v1alpha1.ReadyAsSeen(nil)).To(BeNil())
	planned := conditions.Stalled("VolumeCannotGrow", "set it back")
	conditions.Set(&status, 1, planned)
	g.Expect(seen()).To(Equal("VolumeCannotGrow"))
	held := reconcile.Suspended{Why: "spec.suspend is true"}
	conditions.Set(&status, 2, reconcile.Outcome(planned, held))
	g.Expect(seen()).To(Equal("VolumeCannotGrow"))
	g.Expect(meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionStalled)).To(BeTrue())
	conditions.Set(&status, 2, reconcile.Outcome(conditions.Outcome{}, held))
	g.Expect(seen()).To(Equal("Suspended"), "it would be gone")
	conditions.Set(&status, 3, planned)
	g.Expect(seen()).To(Equal("VolumeCannotGrow"))
}
