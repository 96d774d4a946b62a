// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// Faults are done to a target that is well by what the drill reads, whatever the operator's conditions say of it.
func TestTheTargetIsWellWhenFaultsBegin(t *testing.T) {
	silent := replicaState{err: errors.New("silent")}
	for name, c := range map[string]struct {
		change func(*stage)
		text   string
	}{
		"a secondary does not answer": {func(s *stage) { s.w.replicas["quisec"] = silent }, "quisec does not answer"},
		"nobody is primary":           {func(s *stage) { s.promoted("") }, "tukpub is RESOLVING"},
		"two are primary":             {func(s *stage) { s.w.replicas["quisec"] = role("PRIMARY") }, "both say PRIMARY"},
		"a copy is not synchronized": {func(s *stage) {
			s.w.replicas["quisec"].group.States[0].State = "NOT SYNCHRONIZING"
		}, "Content of quisec is NOT SYNCHRONIZING"},
		"clients of a site are not served": {func(s *stage) { delete(s.w.clients, "quincy") },
			"clients at quincy are not served"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, kill())
			s.until(v1alpha1.DrillBaseline)
			c.change(s)
			if len(s.w.clients) == 1 {
				s.w.latest["quincy"] = history.Newest{Acknowledged: history.Instant{Wall: s.now.Add(-time.Minute).UnixNano()}}
			}
			for range 60 {
				g.Expect(s.look(time.Second)).To(BeEmpty())
				g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillBaseline))
			}
			g.Expect(s.d.Status.Message).To(ContainSubstring(c.text))
			for range 15 {
				s.look(time.Second)
			}
			g.Expect(s.d.Status.Phase).NotTo(Equal(v1alpha1.DrillRunning))
			g.Expect(s.d.Status.Verdict).To(BeEmpty(), "what clients wrote is judged")
			g.Expect(s.d.Status.AbortReason).To(And(ContainSubstring(c.text),
				ContainSubstring("the operator says: Ready")))
			g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultSkipped))
			s.until(v1alpha1.DrillJudging)
		})
	}
	t.Run("it is well again within a minute", func(t *testing.T) {
		s := newStage(t, kill())
		s.until(v1alpha1.DrillBaseline)
		s.w.replicas["quisec"] = silent
		for range 30 {
			s.look(time.Second)
		}
		s.w.replicas["quisec"] = role("SECONDARY")
		s.until(v1alpha1.DrillRunning)
	})
	t.Run("the operator's word is noted and decides nothing", func(t *testing.T) {
		g := NewWithT(t)
		s := newStage(t, kill())
		s.until(v1alpha1.DrillBaseline)
		s.w.target.unwell = "AvailabilityGroup content is not Ready (Degraded): x"
		s.until(v1alpha1.DrillRunning)
		g.Expect(s.d.Status.Timeline).To(ContainElement(And(HaveField("Event", "BaselineMeasured"),
			HaveField("Message", "tukpub is PRIMARY SYNCHRONIZED, quisec is SECONDARY SYNCHRONIZED; clients of tukwila, quincy "+
				"are served; the operator says: AvailabilityGroup content is not Ready (Degraded): x"))))
	})
}

// That a switchover happened clients tell when they are judged; the operator's record is noted beside it.
func TestTheOperatorsRecordIsNoEffect(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, move())
	s.at(v1alpha1.FaultActive)
	for _, o := range s.d.Status.Faults[0].Objects {
		s.w.objects[keyOf(o)] = seenObject{exists: true, created: s.now, outcome: string(v1alpha1.FailoverSucceeded)}
	}
	s.look(time.Second)
	e := s.d.Status.Faults[0].Effect
	g.Expect(e.Status).To(Equal(metav1.ConditionUnknown))
	g.Expect(e.Operator).To(MatchRegexp("^Failover d-1-move-1 has succeeded$"))
	j := &judged{Judgement: verdict.Judgement{Witnessed: map[string]verdict.Witness{
		"move": {Status: metav1.ConditionTrue, Seen: "by quisec-0"}}}, now: s.now}
	j.write(&s.d.Status)
	g.Expect(e.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(e.Seen).To(Equal("by quisec-0"))
}
