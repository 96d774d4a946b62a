// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// Without their sidecars no server is primary: after all have been started with one that can't run, the right one waits
// for nobody.
func TestASidecarThatCannotRunIsReplaced(t *testing.T) {
	waiting := func(reason string, restarts int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name:         ContainerAgent,
			RestartCount: restarts,
			State:        corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
		}
	}
	unknown := &Turn{Group: "content", Declared: true, Err: errors.New("no server is known to be its primary")}
	for name, c := range map[string]struct {
		turn   *Turn
		status corev1.ContainerStatus
		steps  []reconcile.Step
		says   string
	}{
		"of a server alone": {status: waiting("ImagePullBackOff", 0), steps: []reconcile.Step{ReplaceSidecar{}}},
		"while nobody knows who is primary": {turn: unknown, status: waiting("ImagePullBackOff", 0),
			steps: []reconcile.Step{TakeTurn{}, ReplaceSidecar{}}},
		"after it ended again and again": {turn: unknown, status: waiting(crashLoop, 7),
			steps: []reconcile.Step{TakeTurn{}, ReplaceSidecar{}}},
		"though another one has the turn": {turn: &Turn{Group: "content", Declared: true, Holder: "dubcfg"},
			status: waiting(crashLoop, 7),
			steps:  []reconcile.Step{ReplaceSidecar{}}},
		"of the primary, whose lease ends without": {turn: &Turn{Group: "content", Declared: true, Primary: "tukpub"},
			status: waiting(crashLoop, 7),
			steps:  []reconcile.Step{TakeTurn{}, ReplaceSidecar{}}},
		"not one that is being made": {turn: unknown, status: waiting("ContainerCreating", 0),
			says: "no server is known to be its primary"},
		"not behind a group that nobody declares": {turn: &Turn{Group: "content"}, status: waiting(crashLoop, 7),
			says: "which nobody declares"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.sidecarOutdated(c.turn)
			e.o.Pod.ResourceVersion = "17"
			e.o.Pod.Status.ContainerStatuses[1] = c.status
			p := plan(e.d, e.o)
			g.Expect(p.Steps).To(HaveLen(len(c.steps)), waits(p).Why)
			for i, s := range c.steps {
				g.Expect(p.Steps[i]).To(BeAssignableToTypeOf(s))
			}
			if c.says != "" {
				g.Expect(waits(p).Why).To(ContainSubstring(c.says))
				return
			}
			g.Expect(p.Steps[len(p.Steps)-1]).To(HaveField("Version", "17"))
			if c.turn != nil {
				// It goes well then.
				e.do(t, p.Steps[len(p.Steps)-1])
				e.o.Turns = []Turn{{Group: "content", Declared: true, Primary: "quisec", Behind: []v1alpha1.ServerName{}}}
			}
			p, _ = e.settle(t, 100)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
		})
	}
}

// A server of two groups takes no turn of one while it waits for the other.
func TestASidecarTakesAllTurnsOrNone(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.d.Groups, e.o.Engine.Groups = []string{"content", "orders"}, []string{"content", "orders"}
	e.o.Turns = []Turn{
		{Group: "content", Declared: true, Primary: "quisec"},
		{Group: "orders", Declared: true, Holder: "dubcfg"},
	}
	e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
	e.d.AgentImage = "geosql:2"
	e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
	p := plan(e.d, e.o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(waits(p).Why).To(ContainSubstring("in group orders it is the turn of dubcfg"))
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
	e.o.Turns[1].Holder = ""
	p = plan(e.d, e.o)
	g.Expect(p.Steps).
		To(HaveExactElements(TakeTurn{Group: "content"}, TakeTurn{Group: "orders"}, BeAssignableToTypeOf(ReplaceSidecar{})))
}

// A new release of the operator replaces the sidecars of running pods, one server of a group at a time, and restarts no
// engine and no primary's sidecar.
func TestPlanReplacesTheSidecar(t *testing.T) {
	for name, c := range map[string]struct {
		turn  *Turn
		args  bool
		says  string
		steps []string
	}{
		"of a server alone": {steps: []string{"replace the sidecar of pod tukpub-0 by image geosql:2"}},
		"of a secondary": {turn: &Turn{Group: "content", Declared: true, Primary: "quisec"},
			steps: []string{"take the turn", "replace the sidecar of pod tukpub-0 by image geosql:2"}},
		"not of two at once": {turn: &Turn{Group: "content", Declared: true, Holder: "dubsec"},
			says: "it is the turn of dubsec"},
		"not while another is ill": {turn: &Turn{Group: "content", Declared: true, Primary: "quisec",
			Against: []string{"dubsec-0 is not connected"}}, says: "dubsec-0 is not connected"},
		"not of the primary": {turn: &Turn{Group: "content", Declared: true, Primary: "tukpub",
			Succession: Succession{Allowed: true, To: "quisec"}}, says: "when tukpub is no longer the primary of group content"},
		"not when more has changed": {args: true, says: "when the pod next starts"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.sidecarOutdated(c.turn)
			if c.args {
				e.o.Pod.Annotations = maps.Clone(e.o.Pod.Annotations)
				e.o.Pod.Annotations[annotationSidecar] = "of other arguments"
			}
			p := plan(e.d, e.o)
			g.Expect(p.Steps).To(HaveLen(len(c.steps)))
			for i, begins := range c.steps {
				g.Expect(p.Steps[i].Describe()).To(HavePrefix(begins))
			}
			g.Expect(waits(p).Why).To(ContainSubstring(c.says))
			if c.says != "" {
				g.Expect(restartPending(p).Reason).To(Equal(v1alpha1.ReasonSidecarOutdated))
				g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
				return
			}
			uid := e.o.Pod.UID
			p, _ = e.settle(t, 100)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
			g.Expect(waits(p).Why).To(BeEmpty())
			g.Expect(e.o.Pod.UID).To(Equal(uid))
			g.Expect(e.o.Pod.Spec.Containers[1].Image).To(Equal("geosql:2"))
			if c.turn != nil {
				g.Expect(e.o.Turns[0].Holder).To(BeEmpty())
			}
		})
	}
}
