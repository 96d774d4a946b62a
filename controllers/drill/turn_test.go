// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
)

// Drills that share a server begin one after the other, however their targets are named and though neither can see yet
// that the other is about to begin.
func TestOneDrillOnAServer(t *testing.T) {
	g := NewWithT(t)
	m := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	group := func(name string, servers ...v1alpha1.ServerName) *v1alpha1.AvailabilityGroup {
		a := &v1alpha1.AvailabilityGroup{
			ObjectMeta: m(name),
			Spec:       v1alpha1.AvailabilityGroupSpec{Databases: []v1alpha1.Database{{Name: "Content"}}},
		}
		for _, s := range servers {
			a.Spec.Replicas = append(a.Spec.Replicas, v1alpha1.Replica{Server: s})
		}
		return a
	}
	drillOf := func(name, group string) *v1alpha1.Drill {
		return &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: types.UID(name)},
			Spec: v1alpha1.DrillSpec{RunID: "1", Target: v1alpha1.DrillTarget{AvailabilityGroup: v1alpha1.ObjectName(group)}}}
	}
	one, two, far := drillOf("one", "left"), drillOf("two", "right"), drillOf("far", "away")
	objects := []client.Object{one, two, far, group("left", "a", "b"), group("right", "b", "c"), group("away", "d")}
	for _, s := range []string{"a", "b", "c", "d"} {
		objects = append(objects, &v1alpha1.SQLServer{ObjectMeta: m(s)})
	}
	c := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithStatusSubresource(one).WithObjects(objects...).Build()
	now := begin
	r := &Reconciler{hub: c, direct: c, now: func() time.Time { return now }}
	busy := func(d *v1alpha1.Drill) string {
		w := &Observed{Desired: Desired{drill: d}}
		var err error
		w.target, err = r.resolve(t.Context(), d)
		g.Expect(err).NotTo(HaveOccurred())
		w.target.denied, w.target.unwell = "", ""
		g.Expect(r.others(t.Context(), w)).To(Succeed())
		return w.busy
	}
	g.Expect(busy(one)).To(BeEmpty())
	g.Expect(busy(two)).To(Equal("one"), "its status says nothing yet")
	g.Expect(busy(far)).To(BeEmpty())
	g.Expect(busy(one)).To(BeEmpty(), "its own claim is in nobody's way but others'")

	one.Status.Phase, one.Status.Group = v1alpha1.DrillPreparing, "left"
	g.Expect(c.Status().Update(t.Context(), one)).To(Succeed())
	r.begun(one)
	g.Expect(busy(two)).To(Equal("one"), "they share server b, though not the group")
	one.Status.Phase = v1alpha1.DrillCompleted
	g.Expect(c.Status().Update(t.Context(), one)).To(Succeed())
	g.Expect(busy(two)).To(BeEmpty())
	g.Expect(busy(drillOf("three", "right"))).To(Equal("two"))
	now = now.Add(reconcileTimeout + time.Second)
	g.Expect(busy(drillOf("three", "right"))).To(BeEmpty(), "the manager's own claims do not outlast a reconciliation")
}
