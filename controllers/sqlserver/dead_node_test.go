// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// anywhere gives the server volumes of the network: every node reaches them.
func anywhere(e *environ) {
	for i := range e.o.Cluster.Classes {
		e.o.Cluster.Classes[i].AllowedTopologies = nil
	}
	for role, c := range e.o.Claims {
		c.Spec.VolumeName = string(role)
		e.o.Bound[role] = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: string(role)},
			Spec: corev1.PersistentVolumeSpec{StorageClassName: *c.Spec.StorageClassName}}
	}
}

// pin puts one of them onto the pod's node alone.
func pin(e *environ) {
	e.o.Bound["log"].Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"tukwila-worker"}}}}}}}
}

func silence(e *environ) {
	e.o.Cluster.Nodes[0].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady,
		Status: corev1.ConditionUnknown, LastTransitionTime: metav1.Time{Time: start}}}
}

func declareDead(e *environ) {
	silence(e)
	e.o.Cluster.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/out-of-service", Value: "nodeshutdown",
		Effect: corev1.TaintEffectNoExecute}}
}

// Whether a node that is not heard is dead or cut off only a person can tell. The condition says what that person may
// do, with what risk, and what comes back; a remedy that would bring nothing back is not named.
func TestWhatIsSaidOfADeadNode(t *testing.T) {
	const taint = "kubectl taint nodes tukwila-worker node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
	for name, c := range map[string]struct {
		change func(*environ)
		reason string
		says   []string
		not    string
	}{
		"it is heard": {change: func(*environ) {}, reason: v1alpha1.ReasonNodeHeard, not: "taint"},
		"it says that it is not ready": {reason: v1alpha1.ReasonNodeHeard, not: "taint", change: func(e *environ) {
			silence(e)
			e.o.Cluster.Nodes[0].Status.Conditions[0].Status = corev1.ConditionFalse
		}},
		"it is silent": {change: silence, reason: v1alpha1.ReasonNodeSilent, says: []string{"since 2026-11-20T10:00:00Z",
			taint, "two engines write to the same volumes", "comes back on one of them"}},
		"it is silent and has a volume": {reason: v1alpha1.ReasonNodeSilent, not: "kubectl taint",
			change: func(e *environ) { silence(e); pin(e) },
			says:   []string{"volumes log are on that node alone", "lost-volumes.md"}},
		"it is declared dead": {change: declareDead, reason: v1alpha1.ReasonNodeOutOfService, not: "kubectl taint",
			says: []string{"comes back on one of them"}},
		"it is gone": {reason: v1alpha1.ReasonNodeGone, not: "kubectl taint", says: []string{"removes the pod by itself"},
			change: func(e *environ) { e.o.Cluster.Nodes = e.o.Cluster.Nodes[1:] }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			anywhere(e)
			e.settle(t, 100)
			c.change(e)
			said := nodeCondition(e.d, e.o)
			g.Expect(said.Reason).To(Equal(c.reason))
			g.Expect(said.Status == metav1.ConditionTrue).To(Equal(c.reason == v1alpha1.ReasonNodeHeard))
			for _, text := range c.says {
				g.Expect(said.Message).To(ContainSubstring(text))
			}
			if c.not != "" {
				g.Expect(said.Message).NotTo(ContainSubstring(c.not))
			}
			e.o.Pod = e.o.Pod.DeepCopy()
			e.o.Pod.DeletionTimestamp = &metav1.Time{Time: start}
			p := plan(e.d, e.o)
			if said.Status == metav1.ConditionFalse {
				g.Expect(p.Outcome.Message).To(Equal("the pod is ending; "+said.Message), "the node never says that it has ended")
			} else {
				g.Expect(p.Outcome.Message).To(Equal("the pod is ending"))
			}
		})
	}
	g := NewWithT(t)
	g.Expect(nodeCondition(Desired{}, Observed{})).To(BeNil())
}

// Once a dead node is declared to be one and Kubernetes has removed the pod, the next one is placed on another node.
func TestAPodComesBackElsewhere(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	for i := range e.o.Cluster.Classes {
		e.o.Cluster.Classes[i].AllowedTopologies = nil
	}
	e.settle(t, 100)
	anywhere(e)
	declareDead(e)
	g.Expect(must(decide(e.d, e.o)).Candidates).To(Equal([]string{"tukwila-worker2"}))
	e.o.Pod = nil
	p := plan(e.d, e.o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPodPending), "it is awaited, not Stalled: "+p.Outcome.Message)
	pin(e)
	p = plan(e.d, e.o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonNoNodeForVolumes), "it would wait for a volume on the dead node")
}
