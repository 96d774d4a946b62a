// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// ask annotates the server, or takes the annotation away, and lets the StatefulSet follow.
func (e *environ) ask(value string, t Turn) {
	e.d.Server.Annotations = map[string]string{}
	if value != "" {
		e.d.Server.Annotations[v1alpha1.RestartAnnotation] = value
	}
	e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
	e.hosts(t)
	e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
}

// restarts are the pods that a plan restarts.
func restarts(p reconcile.Plan) (n int) {
	for _, s := range p.Steps {
		if _, ok := s.(RestartPod); ok {
			n++
		}
	}
	return n
}

// A person asks for a restart with an annotation: once for each value, in the server's turn among those of its groups,
// and by taking it away for none.
func TestARestartIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	secondary := Turn{Group: "content", Declared: true, Primary: "quisec"}
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	before := e.o.StatefulSet.Spec.Template.Annotations
	e.ask("", secondary)
	g.Expect(e.o.StatefulSet.Spec.Template.Annotations).To(Equal(before), "without it nobody restarts")
	g.Expect(restarts(plan(e.d, e.o))).To(BeZero())

	for _, value := range []string{"2026-11-20T12:00:00Z", "whatever, and ünlimited"} {
		e.ask(value, secondary)
		g.Expect(restartWaits(e.o)).To(BeTrue(), "its groups are asked")
		g.Expect(awaitsTurn(e.d, e.o)).To(BeTrue())
		p := plan(e.d, e.o)
		g.Expect(p.Steps).To(HaveLen(2), p.Outcome.Message)
		g.Expect(p.Steps[0]).To(Equal(TakeTurn{Group: "content"}))
		g.Expect(p.Steps[1].(RestartPod).Reason).To(ContainSubstring("geosql.dev/restart"))

		e.o.Pod.Annotations = e.o.StatefulSet.Spec.Template.Annotations
		g.Expect(restartWaits(e.o)).To(BeFalse(), "once")
		g.Expect(restarts(plan(e.d, e.o))).To(BeZero())
	}
	e.ask("", secondary)
	g.Expect(restartWaits(e.o)).To(BeFalse())
	g.Expect(restarts(plan(e.d, e.o))).To(BeZero(), "that it was taken away asks for nothing")
}

// It waits as any other restart does, and the condition says for what.
func TestARestartThatIsAskedForWaitsForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		turn Turn
		why  string
	}{
		"another one's turn": {Turn{Group: "content", Declared: true, Holder: "quisec"}, "it is the turn of quisec"},
		"the primary": {Turn{Group: "content", Declared: true, Primary: "tukpub"},
			"it is the primary of group content"},
		"the group is suspended": {Turn{Group: "content", Declared: true, Primary: "quisec",
			Suspended: "spec.suspend is true"}, "group content is suspended"},
		"the primary of a group that is suspended": {Turn{Group: "content", Declared: true, Primary: "tukpub",
			Suspended:  "spec.suspend is true",
			Succession: Succession{Allowed: true, To: "quisec", Failover: "f"}}, "group content is suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.ask("now", c.turn)
			p := plan(e.d, e.o)
			g.Expect(p.Steps).To(BeEmpty())
			pending := restartPending(p)
			g.Expect(pending.Reason).To(Equal(v1alpha1.ReasonRestartNeeded))
			g.Expect(pending.Message).To(And(ContainSubstring("geosql.dev/restart"), ContainSubstring(c.why)))
		})
	}
}

// The annotation is no part of a generation: that it changes is looked at all the same.
func TestThatARestartIsAskedForIsSeen(t *testing.T) {
	g := NewWithT(t)
	seen := func(key, before, after string) bool {
		was, is := server(), server()
		was.Annotations, is.Annotations = map[string]string{key: before}, map[string]string{key: after}
		return beside().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is})
	}
	g.Expect(seen(v1alpha1.RestartAnnotation, "", "1")).To(BeTrue())
	g.Expect(seen(v1alpha1.RestartAnnotation, "1", "2")).To(BeTrue())
	g.Expect(seen(v1alpha1.RestartAnnotation, "1", "1")).To(BeFalse())
	g.Expect(seen("somebody/else", "1", "2")).To(BeFalse())
}
