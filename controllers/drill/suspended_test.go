// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// Nothing is broken that nobody would mend: a target that is suspended is not well, however well it is seen to be.
func TestASuspendedTargetIsNotWell(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "because"}}
	}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		says       string
	}{
		"well":      {ready(metav1.ConditionTrue, v1alpha1.ReasonSynchronized), ""},
		"suspended": {ready(metav1.ConditionTrue, v1alpha1.ReasonSuspended), "Group g is suspended: because"},
		"suspended and ill": {ready(metav1.ConditionFalse, v1alpha1.ReasonSuspended),
			"Group g is not Ready (Suspended): because"},
		"nothing is said yet": {nil, "Group g has no status yet"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(notReady("Group g", c.conditions)).To(Equal(c.says))
		})
	}
}
