// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// The timings with which a group's agents were told to count are not changed, whatever is declared later, and nobody is
// told others while it is not known by which the group counts.
func TestTimingsAreKept(t *testing.T) {
	g := NewWithT(t)
	timed := declared()
	timed.Spec.Timings = &v1alpha1.GroupTimings{
		VoteExpiry: &metav1.Duration{Duration: 20 * time.Second},
		WriteLease: &metav1.Duration{Duration: 12 * time.Second},
	}
	e := newEnviron(t, timed)
	e.settle(everything)
	g.Expect(e.orders["quisec"].Timings).To(HaveField("Expiry", 20*time.Second))
	g.Expect(fenced(e.d, e.observe()).Message).To(ContainSubstring("a write lease of 12s"))

	// The two that no vote counts by may be given at any time, and are told to the agents.
	timed.Spec.Timings.Failover = &metav1.Duration{Duration: 40 * time.Second}
	timed.Spec.Timings.Offline = &metav1.Duration{Duration: 20 * time.Second}
	e.settle(everything)
	g.Expect(e.orders["quisec"].Timings).To(And(HaveField("Failover", 40*time.Second),
		HaveField("Offline", 20*time.Second)))

	// The object is deleted, the group goes on, and somebody declares it anew without timings.
	again := declared()
	e.d.Group.Spec, e.d.Group.Status = again.Spec, v1alpha1.AvailabilityGroupStatus{}
	o := e.observe()
	for s, a := range o.Agents {
		a.UpToDate = false
		o.Agents[s] = a
	}
	p := plan(e.d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", "TimingsDiffer"), HaveField("Progress", conditions.Stuck)))
	for s := range o.Agents {
		o.Agents[s] = Orders{Err: errSilent}
	}
	o.Agents["quisec"] = Orders{}
	p = plan(e.d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", "TimingsDiffer"), HaveField("Ready", metav1.ConditionUnknown)))
}
