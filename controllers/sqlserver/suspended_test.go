// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// suspendedBeside is what a server is told of its group by quisec beside it, of which the Topology is msdn.
func suspendedBeside(t *testing.T, change func(*v1alpha1.SQLServer, *v1alpha1.Topology)) Turn {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	topology := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"}}
	other := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "quisec",
		Labels: map[string]string{v1alpha1.LabelTopology: "msdn"}}}
	conditions.Set(&other.Status.StatusBase, 0, conditions.Ready(v1alpha1.ReasonRunning, "it answers"))
	change(other, topology)
	r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(topology, other).Build()}
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{{Server: "tukpub"}, {Server: "quisec"}}}}
	var turn Turn
	g.Expect(r.observeBehind(t.Context(), Desired{Server: server()}, &Observed{}, group, &turn)).To(Succeed())
	return turn
}

// awaitsRestart has a server's pod wait for a restart.
func awaitsRestart(s *v1alpha1.SQLServer, reason string) {
	conditions.SetOne(&s.Status.StatusBase, 0, metav1.Condition{Type: v1alpha1.ConditionRestartPending,
		Status: metav1.ConditionTrue, Reason: reason})
}

// A suspended server whose pod waits for a restart gets none, and is not waited for by the primary, which comes last.
// One that is about to lose its node is not waited for either, and no primary while there is another.
func TestASuspendedServerIsNotWaitedFor(t *testing.T) {
	quisec := []v1alpha1.ServerName{"quisec"}
	for name, c := range map[string]struct {
		reason string
		change func(*v1alpha1.SQLServer, *v1alpha1.Topology)
		want   Turn
	}{
		"it waits": {v1alpha1.ReasonRestartNeeded, func(*v1alpha1.SQLServer, *v1alpha1.Topology) {}, Turn{Behind: quisec}},
		"it is suspended": {v1alpha1.ReasonRestartNeeded,
			func(s *v1alpha1.SQLServer, _ *v1alpha1.Topology) { s.Spec.Suspend = true }, Turn{}},
		"its Topology is": {v1alpha1.ReasonRestartNeeded,
			func(_ *v1alpha1.SQLServer, t *v1alpha1.Topology) { t.Spec.Suspend = true }, Turn{}},
		"its node is cordoned": {v1alpha1.ReasonNodeCordoned, func(*v1alpha1.SQLServer, *v1alpha1.Topology) {},
			Turn{Leaving: quisec}},
		"its node is cordoned, and it is suspended": {v1alpha1.ReasonNodeCordoned,
			func(s *v1alpha1.SQLServer, _ *v1alpha1.Topology) { s.Spec.Suspend = true }, Turn{Parting: quisec}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			turn := suspendedBeside(t, func(s *v1alpha1.SQLServer, at *v1alpha1.Topology) {
				awaitsRestart(s, c.reason)
				c.change(s, at)
			})
			g.Expect(turn).To(Equal(c.want))
		})
	}
	g := NewWithT(t)
	to, leaves := Turn{Parting: quisec}.successor([]v1alpha1.ServerName{"quisec", "dubsec"})
	g.Expect(to).To(BeEquivalentTo("dubsec"))
	g.Expect(leaves).To(BeFalse())
}

// A suspended server speaks against taking another one down like any other: while it is down, or restarts, or nothing
// is known of it. One that serves does not, whatever it waits for.
func TestASuspendedServerThatIsDownCounts(t *testing.T) {
	held := reconcile.Suspended{Why: "spec.suspend is true", Steps: 1, First: "make it"}
	for name, c := range map[string]struct {
		seen   *conditions.Outcome
		counts bool
	}{
		"it runs": {seen: ptr.To(conditions.Ready(v1alpha1.ReasonRunning, "it answers"))},
		"it is being restarted": {seen: ptr.To(conditions.InProgress(v1alpha1.ReasonRestarting, "its pod starts")),
			counts: true},
		"its pod is away":            {seen: ptr.To(conditions.InProgress(v1alpha1.ReasonPodPending, "none")), counts: true},
		"its site does not answer":   {seen: ptr.To(conditions.Unknown(v1alpha1.ReasonSiteUnreachable, "cut")), counts: true},
		"nothing is known of it yet": {counts: true},
		"a volume of it cannot grow": {seen: ptr.To(conditions.Stalled(v1alpha1.ReasonVolumeCannotGrow, "set it back"))},
		"a database is awaited":      {seen: ptr.To(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, "it comes"))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			turn := suspendedBeside(t, func(s *v1alpha1.SQLServer, _ *v1alpha1.Topology) {
				s.Spec.Suspend = true
				if s.Status.Conditions = nil; c.seen != nil {
					conditions.Set(&s.Status.StatusBase, 0, reconcile.Outcome(*c.seen, held))
				}
			})
			g.Expect(len(turn.Against) > 0).To(Equal(c.counts), "%v", turn.Against)
		})
	}
}

// A server that was suspended while it had the turn keeps it, and the others say why they wait.
func TestASuspendedServerKeepsItsTurn(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	turn := Turn{Group: "content", Declared: true, Primary: "quisec", Holder: "dubsec",
		HolderSuspended: "spec.suspend is true"}
	e.outdated(turn)
	p := plan(e.d, e.o)
	g.Expect(p.Steps).NotTo(ContainElement(BeAssignableToTypeOf(RestartPod{})))
	g.Expect(waits(p).Why).To(ContainSubstring(
		"it is the turn of dubsec, which keeps it while it is suspended (spec.suspend is true)"))
}
