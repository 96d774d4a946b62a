// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// What refuses a pod - a quota, a limit range, a policy, a priority class that is not there - is told in its own words:
// nothing comes by waiting.
func TestARefusedPodIsTold(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.o.Pod = nil
	g.Expect(plan(e.d, e.o).Outcome).
		To(And(HaveField("Reason", v1alpha1.ReasonPodPending), HaveField("Progress", conditions.Working)))
	e.o.Refusal = "pods \"tukpub-0\" is forbidden: exceeded quota: few"
	g.Expect(plan(e.d, e.o).Outcome).
		To(And(HaveField("Reason", v1alpha1.ReasonPodRefused), HaveField("Progress", conditions.Stuck),
			HaveField("Message", And(ContainSubstring("exceeded quota: few"), ContainSubstring("spec.resources")))))
}

func TestTheLastRefusalCounts(t *testing.T) {
	g := NewWithT(t)
	at := func(ago time.Duration, message string) corev1.Event {
		return corev1.Event{Message: message, LastTimestamp: metav1.NewTime(start.Add(-ago))}
	}
	g.Expect(newestMessage(nil, start)).To(BeEmpty())
	g.Expect(newestMessage([]corev1.Event{at(2*time.Minute, "old"), at(time.Minute, "new"), at(3*time.Minute, "older")},
		start)).
		To(Equal("new"))
	g.Expect(newestMessage([]corev1.Event{at(time.Hour, "long ago")}, start)).
		To(BeEmpty(), "it says nothing of what is so")
	g.Expect(newestMessage([]corev1.Event{{Message: "a series", EventTime: metav1.NewMicroTime(start)},
		at(time.Minute, "old")}, start)).
		To(Equal("a series"))
}
