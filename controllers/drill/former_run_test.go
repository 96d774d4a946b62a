// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/sites"
)

// What a drill left on servers of the target is in the way of the next drill, whatever that is called, and is taken
// away by it: the fault would be in force unseen, and the rows of the clients would be nobody's. What another drill is
// at work with, or left elsewhere, is none of its business.
func TestWhatAnotherDrillLeftBehind(t *testing.T) {
	fault := v1alpha1.FaultStatus{Name: "slow", Kind: v1alpha1.FaultNetwork, State: v1alpha1.FaultRemoving,
		Objects: []v1alpha1.FaultObject{{Site: "quincy", Kind: "NetworkChaos", Name: "s-1-1-slow-1"}}}
	frozen := v1alpha1.FaultStatus{Name: "freeze", Kind: v1alpha1.FaultFreeze, State: v1alpha1.FaultActive,
		Injected: at(begin.Add(-10 * time.Second))}
	status := func(group string, phase v1alpha1.DrillPhase, faults ...v1alpha1.FaultStatus) v1alpha1.DrillStatus {
		return v1alpha1.DrillStatus{RunID: "1", Phase: phase, Group: group, Faults: faults}
	}
	over := v1alpha1.DrillCompleted
	chaosThere, clientsThere := []client.Object{chaos("s-1")}, []client.Object{clientsOf("s-1")}
	for name, c := range map[string]struct {
		status  *v1alpha1.DrillStatus // of drill s-1; nil when there is none
		left    []client.Object
		silent  bool
		removed int
		waits   string
	}{
		"a fault that is in force":          {new(status("content", over, fault)), chaosThere, false, 1, "s-1"},
		"its clients":                       {new(status("content", over)), clientsThere, false, 1, "s-1"},
		"of a drill that has begun nothing": {new(status("", "")), clientsThere, false, 1, "s-1"},
		"of a drill that is gone":           {nil, []client.Object{chaos("s-1"), clientsOf("s-1")}, false, 2, "s-1"},
		"nothing":                           {new(status("content", over, fault)), nil, false, 0, ""},
		"a fault at a silent site":          {new(status("content", over, fault)), nil, true, 0, "quincy"},
		"a frozen engine":                   {new(status("content", over, frozen)), nil, false, 0, "frozen by drill s-1"},
		"of a drill of other servers":       {new(status("other", over)), chaosThere, false, 0, ""},
		"of a drill at work on other servers": {new(status("other", v1alpha1.DrillRunning)),
			[]client.Object{chaos("s-1"), clientsOf("s-1")}, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var hub []client.Object
			if c.status != nil {
				of := v1alpha1.ObjectName("content")
				if c.status.Group == "other" {
					of = "other"
				}
				hub = append(hub, &v1alpha1.Drill{
					ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s-1", UID: "first"},
					Spec: v1alpha1.DrillSpec{RunID: "1", Target: v1alpha1.DrillTarget{AvailabilityGroup: of},
						Faults: []v1alpha1.DrillFault{{Name: "freeze", Kind: v1alpha1.FaultFreeze, Duration: lasting(time.Minute)}}},
					Status: *c.status})
			}
			s, r := newStage(t, kill()), &Reconciler{}
			hub = append(hub, s.w.target.group, otherGroup())
			for _, one := range []string{"tukpub", "quisec", "elsewhere"} {
				hub = append(hub, &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: one}})
			}
			r.direct = fake.NewClientBuilder().WithScheme(schemeOf(g)).WithObjects(hub...).Build()
			r.hub = r.direct
			s.w.siteErr, s.w.declared = map[v1alpha1.SiteName]error{}, map[v1alpha1.SiteName]bool{"quincy": false}
			there := fake.NewClientBuilder().WithScheme(schemeOf(g)).WithObjects(c.left...).Build()
			s.w.members = map[v1alpha1.SiteName]*sites.Member{"quincy": {APIReader: there, Client: there}}
			if c.silent {
				s.w.target.servers = s.w.target.servers[:1]
				delete(s.w.members, "quincy")
			}
			s.pass(time.Second)
			g.Expect(r.sweepTarget(t.Context(), s.w)).To(Succeed())
			p := newPlanner(s.w)
			text := p.leftover()
			if c.waits == "" {
				g.Expect(text).To(BeEmpty())
			}
			g.Expect(text).To(ContainSubstring(c.waits))
			g.Expect(p.steps).To(HaveLen(c.removed))
			_, err := r.carryOut(t.Context(), s.w, p.steps)
			g.Expect(err).NotTo(HaveOccurred())
			for _, obj := range c.left {
				err := there.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
				g.Expect(err == nil).To(Equal(c.removed == 0), "%v", err)
			}
		})
	}
}

func schemeOf(g Gomega) *runtime.Scheme {
	s := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(s)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(s)).To(Succeed())
	return s
}

func otherGroup() *v1alpha1.AvailabilityGroup {
	o := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "other"}}
	o.Spec.Replicas = []v1alpha1.Replica{{Server: "elsewhere"}}
	o.Spec.Databases = []v1alpha1.Database{{Name: "Other"}}
	return o
}

// chaos is an object of a fault of a drill, clientsOf its clients.
func chaos(of string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("chaos-mesh.org/v1alpha1")
	u.SetKind("NetworkChaos")
	u.SetNamespace("web")
	u.SetName(of + "-1-slow-1")
	u.SetUID(types.UID("chaos of " + of))
	u.SetLabels(drill.Labels("web", of, "1"))
	return u
}

func clientsOf(of string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: of + "-clients",
		UID: types.UID("clients of " + of), Labels: drill.Labels("web", of, "1")}}
}
