// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// msdn is the example.
func msdn(t *testing.T) *v1alpha1.Topology {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "msdn.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	topology := &v1alpha1.Topology{}
	NewWithT(t).Expect(yaml.UnmarshalStrict(data, topology)).To(Succeed())
	topology.UID = "topology-1"
	return topology
}

// settled is the world after everything was written and every controller says the same.
func settled(topology *v1alpha1.Topology, ready metav1.ConditionStatus, reason string) Observed {
	o := Observed{Objects: map[Key]client.Object{}, Topologies: map[string]bool{topology.Name: true, "other": true}}
	for _, obj := range Desire(topology).Objects {
		obj.SetGeneration(3)
		obj.SetUID(types.UID("uid-" + obj.GetName()))
		if base := statusOf(obj); base != nil {
			base.ObservedGeneration = 3
			base.Conditions = []metav1.Condition{{Type: "Ready", Status: ready, Reason: reason, Message: "says so"}}
		}
		o.Objects[keyOf(obj)] = obj
	}
	return o
}

func verbs(steps []reconcile.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, string(s.(Step).Verb)+" "+s.(Step).Key.String())
	}
	return strings.Join(all, ", ")
}

func TestPlan(t *testing.T) {
	server := func(o Observed, name string) *v1alpha1.SQLServer {
		return o.Objects[Key{"SQLServer", name}].(*v1alpha1.SQLServer)
	}
	stall := func(obj client.Object) {
		base := statusOf(obj)
		base.Conditions = []metav1.Condition{
			{
				Type:    "Ready",
				Status:  "False",
				Reason:  "NoNodeForVolumes",
				Message: "add a node",
			}, {Type: "Stalled", Status: "True"}}
	}
	for name, c := range map[string]struct {
		change        func(*v1alpha1.Topology, Observed)
		steps         string
		reason        string
		ready         metav1.ConditionStatus
		progress      conditions.Progress
		message, why  string
		members, down int
	}{
		"everything is ready": {
			change: func(*v1alpha1.Topology, Observed) {}, reason: v1alpha1.ReasonMembersReady, ready: "True",
			progress: conditions.Settled,
			message:  "9 of 9 ready", members: 9,
		},
		"nothing is there": {
			change: func(_ *v1alpha1.Topology, o Observed) { clear(o.Objects) },
			steps: "create SQLServer tukpub, create SQLServer quisec, create SQLServer dubcfg, create SQLServer dist, create " +
				"SQLServer dubsub, " +
				"create AvailabilityGroup content, create Distributor main, create Publication articles, create " +
				"Subscription dublin",
			reason: v1alpha1.ReasonMembersNotReady, ready: "False", progress: conditions.Working, message: "0 of 9 ready",
			members: 9, down: 9,
		},
		"a field was changed by hand": {
			change: func(_ *v1alpha1.Topology, o Observed) { server(o, "tukpub").Spec.Image = "other" },
			steps:  "change SQLServer tukpub", why: "spec.image differs", reason: v1alpha1.ReasonMembersNotReady,
			ready: "False", progress: conditions.Working,
			message: "8 of 9 ready", members: 9, down: 1,
		},
		"a field was added by hand": {
			change: func(_ *v1alpha1.Topology, o Observed) {
				server(o, "tukpub").Spec.MSSQLConf = map[string]string{"memory.x": "1"}
			},
			steps: "change SQLServer tukpub", why: "spec.mssqlConf differs", reason: v1alpha1.ReasonMembersNotReady,
			ready:    "False",
			progress: conditions.Working, message: "8 of 9 ready", members: 9, down: 1,
		},
		"an object names an owner, which may be gone": {
			change: func(_ *v1alpha1.Topology, o Observed) {
				server(o, "dist").OwnerReferences = []metav1.OwnerReference{{Kind: "Topology", Name: "msdn", UID: "former"}}
			},
			steps: "change SQLServer dist", why: "owner reference", reason: v1alpha1.ReasonMembersReady, ready: "True",
			progress: conditions.Settled,
			message:  "9 of 9 ready", members: 9,
		},
		"another Topology has an object": {
			change: func(t *v1alpha1.Topology, o Observed) {
				t.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
				server(o, "dist").Labels[v1alpha1.LabelTopology] = "other"
				server(o, "dist").Spec.Image = "theirs"
			},
			reason: v1alpha1.ReasonMemberConflict, ready: "False", progress: conditions.Stuck,
			message: "belongs to Topology other", members: 9, down: 1,
		},
		"a person made an object": {
			change: func(_ *v1alpha1.Topology, o Observed) {
				server(o, "dist").Labels = nil
				server(o, "dubsub").Spec.Image = "other"
			},
			steps: "change SQLServer dubsub", reason: v1alpha1.ReasonMemberConflict, ready: "False",
			progress: conditions.Stuck,
			message:  "annotate Topology msdn with geosql.dev/adopt", members: 9, down: 2,
		},
		"a person made an object that is adopted": {
			change: func(t *v1alpha1.Topology, o Observed) {
				t.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
				server(o, "dist").Labels = nil
			},
			steps: "adopt SQLServer dist", reason: v1alpha1.ReasonMembersReady, ready: "True", progress: conditions.Settled,
			message: "9 of 9", members: 9,
		},
		"an object of a Topology that is gone is not taken without being told": {
			change: func(_ *v1alpha1.Topology, o Observed) { server(o, "dist").Labels[v1alpha1.LabelTopology] = "gone" },
			reason: v1alpha1.ReasonMemberConflict, ready: "False", progress: conditions.Stuck, message: "to take it over",
			members: 9, down: 1,
		},
		"objects left the manifest": {
			change: func(t *v1alpha1.Topology, _ Observed) {
				t.Spec.Servers = t.Spec.Servers[:4]
				t.Spec.Subscriptions = nil
			},
			steps: "remove Subscription dublin", reason: v1alpha1.ReasonMembersLeaving, ready: "False",
			progress: conditions.Working,
			message:  "7 of 7 ready. Leaving: Subscription dublin", members: 9, down: 2,
		},
		"a server follows when nothing refers to it": {
			change: func(t *v1alpha1.Topology, o Observed) {
				t.Spec.Servers = t.Spec.Servers[:4]
				t.Spec.Subscriptions = nil
				delete(o.Objects, Key{"Subscription", "dublin"})
			},
			steps: "remove SQLServer dubsub", reason: v1alpha1.ReasonMembersLeaving, ready: "False",
			progress: conditions.Working,
			message:  "SQLServer dubsub", members: 8, down: 1,
		},
		"what others made is never removed": {
			change: func(t *v1alpha1.Topology, o Observed) {
				s := server(o, "dist").DeepCopy()
				s.Name, s.Labels = "theirs", nil
				o.Objects[keyOf(s)] = s
				s = s.DeepCopy()
				s.Name, s.Labels = "too", map[string]string{v1alpha1.LabelTopology: "other"}
				o.Objects[keyOf(s)] = s
			},
			reason: v1alpha1.ReasonMembersReady, ready: "True", progress: conditions.Settled, message: "9 of 9 ready",
			members: 9,
		},
		"an object that was deleted by hand is waited for": {
			change: func(_ *v1alpha1.Topology, o Observed) {
				server(o, "dist").DeletionTimestamp = &metav1.Time{}
				server(o, "dist").Spec.Image = "other"
			},
			reason: v1alpha1.ReasonMembersLeaving, ready: "False", progress: conditions.Working, message: "made again",
			members: 9, down: 1,
		},
		"an object needs a person": {
			change: func(_ *v1alpha1.Topology, o Observed) {
				stall(server(o, "dist"))
				server(o, "tukpub").Status.Conditions[0].Status = "False"
			},
			reason: v1alpha1.ReasonMemberStalled, ready: "False", progress: conditions.Stuck,
			message: "7 of 9 ready. SQLServer dist: NoNodeForVolumes (add a node)",
			members: 9, down: 2,
		},
		"what is not known is not ready, nor unready": {
			change: func(_ *v1alpha1.Topology, o Observed) { server(o, "dist").Status.Conditions[0].Status = "Unknown" },
			reason: v1alpha1.ReasonMembersUnknown, ready: "Unknown", progress: conditions.Working, message: "8 of 9 ready",
			members: 9, down: 1,
		},
		"what speaks of an older spec does not count": {
			change: func(_ *v1alpha1.Topology, o Observed) { server(o, "dist").Generation = 4 },
			reason: v1alpha1.ReasonMembersNotReady, ready: "False", progress: conditions.Working,
			message: "SQLServer dist: NotObserved", members: 9, down: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			topology := msdn(t)
			o := settled(topology, "True", "Fine")
			c.change(topology, o)
			p := plan(Desire(topology), o)
			g.Expect(verbs(p.Steps)).To(Equal(c.steps))
			if c.why != "" {
				g.Expect(p.Steps[0].Describe()).To(ContainSubstring(c.why))
			}
			g.Expect(p.Outcome.Reason).To(Equal(c.reason))
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
			g.Expect(p.Outcome.Progress).To(Equal(c.progress))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.message))
			g.Expect(reconcile.Noted[Members](p).All).To(HaveLen(c.members))
			down := 0
			for _, m := range reconcile.Noted[Members](p).All {
				if m.Ready != "True" {
					down++
				}
			}
			g.Expect(down).To(Equal(c.down))
		})
	}
}

// A deleted Topology takes its objects away in the order in which nothing loses what it refers to.
func TestPlanDelete(t *testing.T) {
	g := NewWithT(t)
	topology := msdn(t)
	o := settled(topology, "True", "Fine")
	var order []string
	for range 10 {
		p := planDelete(Desired{Topology: topology}, o)
		if p.Done {
			break
		}
		g.Expect(p.Steps).NotTo(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDeleting))
		order = append(order, verbs(p.Steps))
		for _, s := range p.Steps {
			delete(o.Objects, s.(Step).Key)
		}
	}
	g.Expect(order).To(Equal([]string{
		"remove Subscription dublin", "remove Publication articles", "remove Distributor main",
		"remove AvailabilityGroup content",
		"remove SQLServer dist, remove SQLServer dubcfg, remove SQLServer dubsub, remove SQLServer quisec, remove " +
			"SQLServer tukpub",
	}))
	g.Expect(planDelete(Desired{Topology: topology}, o).Done).To(BeTrue())
}

// An object that is being deleted is waited for, and what it refers to stays until then.
func TestPlanDeleteWaits(t *testing.T) {
	g := NewWithT(t)
	topology := msdn(t)
	o := settled(topology, "True", "Fine")
	o.Objects[Key{"Subscription", "dublin"}].SetDeletionTimestamp(&metav1.Time{})
	p := planDelete(Desired{Topology: topology}, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("Subscription dublin"))
}

func TestPlanDeleteOrphans(t *testing.T) {
	topology := msdn(t)
	topology.Finalizers = []string{metav1.FinalizerOrphanDependents}
	p := planDelete(Desired{Topology: topology}, settled(topology, "True", "Fine"))
	NewWithT(t).Expect(p.Done).To(BeTrue())
	NewWithT(t).Expect(p.Steps).To(BeEmpty())
}

// One object that is refused is reported with the API server's words; the others' words stay.
func TestFailuresAreReportedPerObject(t *testing.T) {
	g := NewWithT(t)
	topology := msdn(t)
	o := settled(topology, "True", "Fine")
	p := plan(Desire(topology), o)
	refused := failure{Key{"SQLServer", "dist"}, errAppeared, true}
	members, outcome := withFailures(p, failures{refused})
	g.Expect(outcome.Reason).To(Equal(v1alpha1.ReasonMemberRefused))
	g.Expect(outcome.Progress).To(Equal(conditions.Stuck))
	g.Expect(outcome.Message).To(HavePrefix("8 of 9 ready. SQLServer dist: MemberRefused"))
	for _, m := range members {
		g.Expect(m.Ready == "True").To(Equal(m.Name != "dist"))
	}
	refused.refused = false
	_, outcome = withFailures(p, failures{refused})
	g.Expect(outcome.Reason).To(Equal(v1alpha1.ReasonApplyFailed))
	g.Expect(outcome.Progress).To(Equal(conditions.Working))
	g.Expect(failures{refused}).To(MatchError(errAppeared), "the cause is not lost")
}
