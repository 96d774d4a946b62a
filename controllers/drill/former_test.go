// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
)

// lossyStage is a stage whose fault was in force and is not any more, though it is seen again when sent is called with
// many.
func lossyStage(t *testing.T) (*stage, func(resent int64)) {
	s := newStage(t, v1alpha1.DrillFault{Name: "lossy", Kind: v1alpha1.FaultNetwork, Duration: lasting(time.Minute),
		Network: &v1alpha1.NetworkFault{Loss: 10}, Where: &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary}})
	sent := func(resent int64) {
		s.w.probes["lossy"] = []v1alpha1.ProbeFigures{{From: "tukpub", To: "quisec-0:8443", Attempts: 1,
			Transfer: &v1alpha1.TransferFigures{Segments: 400, Resent: resent, KilobitsPerSecond: 1000}}}
	}
	sent(0)
	s.at(v1alpha1.FaultActive)
	sent(40)
	NewWithT(t).Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
	sent(0)
	NewWithT(t).Expect(s.effect().Status).To(Equal(metav1.ConditionFalse))
	return s, sent
}

// That a fault has ended early stays so however it is worded, also when the words alone say so, as those of older
// releases do.
func TestWhatHasEndedEarlyStaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.DrillStatus)
		want   metav1.ConditionStatus
	}{
		"in other words": {func(s *v1alpha1.DrillStatus) { s.Faults[0].Effect.Seen = "over before its time" },
			metav1.ConditionFalse},
		"in the words of older releases": {func(s *v1alpha1.DrillStatus) { s.Faults[0].Effect.EndedEarly = nil },
			metav1.ConditionFalse},
		"not at all": {func(s *v1alpha1.DrillStatus) {
			s.Faults[0].Effect.EndedEarly, s.Faults[0].Effect.Seen = nil, "0 of 400 segments were sent again"
		}, metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, sent := lossyStage(t)
			ended := s.d.Status.Faults[0].Effect.EndedEarly.DeepCopy()
			g.Expect(ended.Time).To(BeTemporally("==", s.now))
			c.change(&s.d.Status)
			sent(200)
			e := s.effect()
			g.Expect(e.Status).To(Equal(c.want))
			if c.want == metav1.ConditionFalse {
				g.Expect(e.EndedEarly.Equal(ended)).To(BeTrue(), "%s, %s", e.EndedEarly, ended)
			}
		})
	}
}

// Daemons that are gone are noted once however it is worded, also when the words alone name the site, as those of
// older releases do.
func TestDaemonsThatAreGoneAreNotedOnce(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.DrillEvent){
		"in other words":                 func(e *v1alpha1.DrillEvent) { e.Message = "one daemon of two is away" },
		"in the words of older releases": func(e *v1alpha1.DrillEvent) { e.Site = "" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, slowDisk())
			s.at(v1alpha1.FaultActive)
			s.w.daemons = map[v1alpha1.SiteName]daemons{"quincy": {2, 1}}
			s.look(time.Second)
			i := len(s.d.Status.Timeline) - 1
			g.Expect(s.d.Status.Timeline[i]).To(And(HaveField("Event", eventDaemonGone), HaveField("Site", "quincy")))
			change(&s.d.Status.Timeline[i])
			s.look(time.Second)
			g.Expect(s.d.Status.Timeline).To(HaveLen(i + 1))
			g.Expect(s.d.Status.Timeline[i].Site).To(Equal("quincy"))
		})
	}
}

// An identity is read as it was written.
func TestIdentitiesAreReadAsTheyWereWritten(t *testing.T) {
	word := rapid.StringMatching(`[a-z0-9:/-]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		i := identity{server: v1alpha1.ServerName(word.Draw(t, "server")), looked: rapid.Bool().Draw(t, "looked")}
		if i.looked && rapid.Bool().Draw(t, "has a pod") {
			i.pod = types.UID("uid-" + word.Draw(t, "pod"))
			if rapid.Bool().Draw(t, "reported") {
				i.engine = &engine{container: word.Draw(t, "container"), restarts: rapid.Int32Min(0).Draw(t, "restarts"),
					ready: rapid.Bool().Draw(t, "ready")}
			}
		}
		NewWithT(t).Expect(parseIdentity(i.String())).To(Equal(i), i.String())
	})
	g := NewWithT(t)
	unreported := identity{server: "tukpub", looked: true, pod: "one"}
	g.Expect(parseIdentity("tukpub one  0 false")).To(Equal(unreported), "of a container without ID")
	g.Expect(parseIdentity("tukpub")).To(Equal(identity{server: "tukpub"}))
}
