// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// Clients work on for as long as service has to hold, counted from when they were served again; no longer than the
// recovery lasts, and not at all where nothing was broken.
func TestClientsWorkOnWhileServiceHolds(t *testing.T) {
	broken := []v1alpha1.DrillFault{kill()}
	for name, c := range map[string]struct {
		holds, recovery time.Duration
		faults          []v1alpha1.DrillFault
		least, most     time.Duration
	}{
		"as long as it has to hold": {40 * time.Second, 5 * time.Minute, broken, 40 * time.Second, 45 * time.Second},
		"no longer than recovery":   {40 * time.Second, 20 * time.Second, broken, 19 * time.Second, 22 * time.Second},
		"without any fault":         {40 * time.Second, 5 * time.Minute, nil, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, c.faults...)
			s.d.Spec.Recovery = lasting(c.recovery)
			s.d.Spec.Objectives.Served = &v1alpha1.DrillServed{For: lasting(c.holds)}
			if len(c.faults) > 0 {
				s.at(v1alpha1.FaultActive)
				s.w.pods["tukpub"] = pod("another")
			}
			s.until(v1alpha1.DrillRecovering)
			began := s.now
			s.until(v1alpha1.DrillJudging)
			g.Expect(s.now.Sub(began)).To(And(BeNumerically(">=", c.least), BeNumerically("<=", c.most)))
			g.Expect(s.d.Status.Timeline).To(ContainElement(HaveField("Event", "Recovered")))
		})
	}
}

// Service that breaks again has to hold anew from when it is back: what held before counts for nothing.
func TestServiceThatBreaksAgainHoldsAnew(t *testing.T) {
	const holds = 40 * time.Second
	for name, breaks := range map[string]func(*stage) func(){
		"nobody is primary": func(s *stage) func() {
			s.promoted("")
			return func() { s.promoted("tukpub") }
		},
		"clients are not served": func(s *stage) func() {
			clients := s.w.clients
			s.w.clients = nil // the stage acknowledges for each of them
			return func() { s.w.clients = clients }
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, kill())
			s.d.Spec.Recovery = lasting(5 * time.Minute)
			s.d.Spec.Objectives.Served = &v1alpha1.DrillServed{For: lasting(holds)}
			s.at(v1alpha1.FaultActive)
			s.w.pods["tukpub"] = pod("another")
			s.until(v1alpha1.DrillRecovering)
			again := HaveField("Event", eventServedAgain)
			for range 20 {
				s.look(time.Second)
			}
			g.Expect(s.d.Status.Timeline).To(ContainElement(again))
			back := breaks(s)
			for range int(holds/time.Second) - 10 {
				s.look(time.Second)
			}
			g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillRecovering))
			back()
			from := s.now
			s.until(v1alpha1.DrillJudging)
			g.Expect(s.now.Sub(from)).To(And(BeNumerically(">=", holds), BeNumerically("<=", holds+5*time.Second)))
			var moments []v1alpha1.DrillEvent
			g.Expect(s.d.Status.Timeline).To(ContainElement(again, &moments))
			g.Expect(moments).To(HaveLen(1))
			g.Expect(s.d.Status.Timeline).To(ContainElement(HaveField("Event", "Recovered")))
		})
	}
}
