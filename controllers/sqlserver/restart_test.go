// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// A certificate is renewed by itself, also while the one node on which a server's volumes are is cordoned: a pod that
// was restarted then would not come back before the node does.
func TestAPodWithoutAnotherNodeIsNotRestarted(t *testing.T) {
	cordon := func(e *environ) { e.o.Cluster.Nodes[0].Spec.Unschedulable = true }
	secondary := Turn{Group: "content", Declared: true, Primary: "quisec"}
	for name, c := range map[string]struct {
		turn   *Turn
		tempDB bool
		change func(*environ)
		reason string
	}{
		"a server alone":      {change: cordon, reason: v1alpha1.ReasonNodeCordoned},
		"a server of a group": {change: cordon, turn: &secondary, reason: v1alpha1.ReasonNodeCordoned},
		"for tempdb":          {change: cordon, tempDB: true, reason: v1alpha1.ReasonNodeCordoned},
		"the node is not ready to run": {change: func(e *environ) { e.o.Cluster.Nodes[0].Spec.Taints = notReady() },
			reason: v1alpha1.ReasonRestartNeeded},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			if c.tempDB {
				e.o.Engine.TempDB[0].Path = "/var/opt/mssql/data/tempdb.mdf"
			} else {
				e.outdated(secondary)
			}
			if c.turn == nil {
				e.d.Groups, e.o.Engine.Groups, e.o.Turns, e.o.Budget = nil, nil, nil, nil
			}
			c.change(e)
			p := plan(e.d, e.o)
			for _, step := range p.Steps {
				g.Expect(step).NotTo(BeAssignableToTypeOf(RestartPod{}))
			}
			g.Expect(waits(p).Why).To(ContainSubstring("would find no node"))
			g.Expect(restartPending(p).Reason).To(Equal(c.reason))
			e.o.Cluster.Nodes[0].Spec = corev1.NodeSpec{}
			p = plan(e.d, e.o)
			g.Expect(p.Steps).To(ContainElement(BeAssignableToTypeOf(RestartPod{})), "once there is one")
		})
	}
}

// What takes effect with the pod's next start may do so in a long time: the turn is not kept until then.
func TestATurnIsGivenBackByWhoDoesNotRestart(t *testing.T) {
	held := Turn{Group: "content", Declared: true, Holder: "tukpub", Primary: "quisec"}
	primary := held
	primary.Primary = "tukpub"
	for name, c := range map[string]struct {
		turn   Turn
		change func(*environ)
	}{
		"a primary whose sidecar is outdated": {turn: primary, change: func(*environ) {}},
		"whose sidecar can't be replaced in its pod": {turn: held, change: func(e *environ) {
			e.o.Pod.Annotations = maps.Clone(e.o.Pod.Annotations)
			e.o.Pod.Annotations[annotationSidecar] = "of other arguments"
		}},
		"whose tempdb has not moved with the restart": {turn: held, change: func(e *environ) {
			e.d.AgentImage = "geosql:1"
			e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			e.o.Pod.Annotations = e.o.StatefulSet.Spec.Template.Annotations
			e.o.Engine.TempDB[0].Path = "/var/opt/mssql/data/tempdb.mdf"
			e.o.StatefulSet.Annotations[annotationRestarted] = hashOf(e.o.Engine.TempDB)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.sidecarOutdated(&c.turn)
			c.change(e)
			p := plan(e.d, e.o)
			g.Expect(p.Steps).To(ConsistOf(ReleaseTurn{Group: "content"}), p.Outcome.Message)
			g.Expect(waits(p).Why).NotTo(BeEmpty())
			e.o.Turns[0].Holder = ""
			g.Expect(plan(e.d, e.o).Steps).To(BeEmpty())
		})
	}
}

func notReady() []corev1.Taint {
	return []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
}

// After all servers of a group have crashed there is no primary until some of them are back, and those come back only
// with what was corrected since: nobody waits for a primary with a pod whose engine can't run.
func TestAPodWhoseEngineCannotRunIsReplaced(t *testing.T) {
	crashed := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	unknown := Turn{Group: "content", Declared: true, Err: errors.New("no server is known to be its primary")}
	others, ill, own := unknown, unknown, unknown
	others.Holder = "dubcfg"
	ill.Err, ill.Primary, ill.Against = nil, "quisec", []string{"SQLServer dubcfg is not ready"}
	own.Err, own.Primary = nil, "tukpub"
	for name, c := range map[string]struct {
		turn   Turn
		state  corev1.ContainerState
		change func(*environ)
		takes  bool
		waits  string
	}{
		"while nobody knows who is primary": {turn: unknown, state: crashed, takes: true},
		"though another one has the turn":   {turn: others, state: crashed},
		"while another one is not well":     {turn: ill, state: crashed, takes: true},
		"whose image is gone by now": {turn: unknown, takes: true,
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
		"not one that has ended and is about to begin again": {turn: unknown, waits: "no server is known to be its primary",
			state: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}},
		"not one that is being made": {turn: unknown, waits: "no server is known to be its primary",
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
		"not one whose kubelet is silent": {turn: unknown, state: crashed, waits: "no server is known to be its primary",
			change: func(e *environ) {
				e.o.Cluster.Nodes[0].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady,
					Status: corev1.ConditionUnknown}}
			}},
		"not one whose node is gone": {turn: unknown, state: crashed, waits: "no server is known to be its primary",
			change: func(e *environ) {
				e.o.Pod.Spec.NodeName = "tukwila-gone"
			}},
		"not one whose engine says that it is primary": {turn: own, state: crashed,
			waits: "it is the primary of group content"},
		"not behind a group that nobody declares": {turn: Turn{Group: "content"}, state: crashed,
			waits: "which nobody declares"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.outdated(c.turn)
			e.o.Engine = Engine{}
			e.o.Pod.ResourceVersion = "17"
			status := &e.o.Pod.Status.ContainerStatuses[0]
			status.State, status.RestartCount = c.state, 3
			e.o.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			if c.change != nil {
				c.change(e)
			}
			p := plan(e.d, e.o)
			if c.waits != "" {
				g.Expect(p.Steps).To(BeEmpty())
				g.Expect(waits(p).Why).To(ContainSubstring(c.waits))
				return
			}
			replaced := RestartPod{Name: "tukpub-0", UID: e.o.Pod.UID, Version: "17", Reason: "the pod's template changed"}
			if c.takes {
				g.Expect(p.Steps).To(Equal([]reconcile.Step{TakeTurn{Group: "content"}, replaced}))
				return
			}
			g.Expect(p.Steps).To(Equal([]reconcile.Step{replaced}))
		})
	}
}
