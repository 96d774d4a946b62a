// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// A group that was paused says so: nothing else shows it until its primary is lost.
func TestAPausedGroupSaysSo(t *testing.T) {
	group := func(policy v1alpha1.FailoverPolicy, kind v1alpha1.ClusterType) Desired {
		return Desired{Group: &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
			Spec: v1alpha1.AvailabilityGroupSpec{FailoverPolicy: policy, ClusterType: kind}}}
	}
	cut := errors.New("no answer")
	for name, c := range map[string]struct {
		policy v1alpha1.FailoverPolicy
		voters []Voter
		known  bool
		status metav1.ConditionStatus
		reason string
	}{
		"it goes by its policy": {v1alpha1.FailoverAutomatic, []Voter{{}, {}, {}}, true, metav1.ConditionFalse,
			v1alpha1.ReasonNotPaused},
		"one voter's word is enough": {v1alpha1.FailoverAutomatic, []Voter{{}, {Paused: true}, {Err: cut}}, true,
			metav1.ConditionTrue, v1alpha1.ReasonPausedByRequest},
		"by its policy": {v1alpha1.FailoverPaused, nil, true, metav1.ConditionTrue,
			v1alpha1.ReasonPausedByPolicy},
		"what is not read says nothing": {v1alpha1.FailoverAutomatic, []Voter{{Err: cut, Paused: true}}, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			told, known := electionsPaused(group(c.policy, v1alpha1.ClusterExternal), Observed{Voters: c.voters})
			g.Expect(known).To(Equal(c.known))
			if known {
				g.Expect(told).To(And(HaveField("Status", c.status), HaveField("Reason", c.reason)))
			}
		})
	}
	_, known := electionsPaused(group(v1alpha1.FailoverAutomatic, v1alpha1.ClusterNone), Observed{Voters: []Voter{{}}})
	NewWithT(t).Expect(known).To(BeFalse(), "nobody votes for it")
}
