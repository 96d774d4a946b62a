// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

// system is the name of the Topology that declares everything at times.
const system = "system"

// topology declares a manifest and the stage's servers in one object. It takes over what is there.
func (w *walk) topology(t testing.TB, m *manifest) *v1alpha1.Topology {
	t.Helper()
	top := &v1alpha1.Topology{ObjectMeta: named(system)}
	top.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	var servers v1alpha1.SQLServerList
	NewWithT(t).Expect(w.stage.Hub.Client.List(t.Context(), &servers, client.InNamespace(stage.Namespace))).To(Succeed())
	for _, s := range servers.Items {
		top.Spec.Servers = append(top.Spec.Servers,
			v1alpha1.TopologyServer{Name: v1alpha1.ServerName(s.Name), SQLServerSpec: s.Spec})
	}
	for _, object := range m.objects() {
		name := v1alpha1.ObjectName(object.GetName())
		switch o := object.(type) {
		case *v1alpha1.AvailabilityGroup:
			top.Spec.AvailabilityGroups = append(top.Spec.AvailabilityGroups,
				v1alpha1.TopologyAvailabilityGroup{Name: name, AvailabilityGroupSpec: o.Spec})
		case *v1alpha1.Distributor:
			top.Spec.Distributors = append(top.Spec.Distributors,
				v1alpha1.TopologyDistributor{Name: name, DistributorSpec: o.Spec})
		case *v1alpha1.Publication:
			top.Spec.Publications = append(top.Spec.Publications,
				v1alpha1.TopologyPublication{Name: name, PublicationSpec: o.Spec})
		case *v1alpha1.Subscription:
			top.Spec.Subscriptions = append(top.Spec.Subscriptions,
				v1alpha1.TopologySubscription{Name: name, SubscriptionSpec: o.Spec})
		}
	}
	return top
}

// members are the objects that a Topology has made its own.
func (w *walk) members(t testing.TB) (all []client.Object) {
	t.Helper()
	g := NewWithT(t)
	for _, list := range []client.ObjectList{
		&v1alpha1.SQLServerList{}, &v1alpha1.AvailabilityGroupList{}, &v1alpha1.DistributorList{},
		&v1alpha1.PublicationList{}, &v1alpha1.SubscriptionList{},
	} {
		g.Expect(w.stage.Hub.Client.List(t.Context(), list, client.InNamespace(stage.Namespace),
			client.MatchingLabels{v1alpha1.LabelTopology: system})).To(Succeed())
		items, err := meta.ExtractList(list)
		g.Expect(err).NotTo(HaveOccurred())
		for _, item := range items {
			all = append(all, item.(client.Object))
		}
	}
	return all
}

// keepTopology declares everything in a Topology, which is deleted and leaves all that it has. What a person kept of
// its objects is applied again, and the Topology after them, with another database in its group. Nothing of it may end
// meanwhile. The walk goes on without it.
func keepTopology(m *manifest, _ []*manifest, _ *rand.Rand) change {
	before := m.clone()
	m.further = !m.further
	c := said("a Topology is deleted, and applied again with what was kept of its objects; the group has %v",
		(&v1alpha1.AvailabilityGroupSpec{Databases: m.databases()}).DatabaseNames())
	c.carry = func(t testing.TB, w *walk) {
		w.ready(t)
		w.stage.StartControllers(t)
		first := w.topology(t, before)
		w.declare(t, first)
		w.ready(t)
		kept, ids := w.members(t), w.ids(t)
		// The garbage collector is through before the manager looks.
		w.collected(t, "never-there")
		w.manager.Kill()
		former := w.orphan(t)
		w.collected(t, "never-there")
		w.manager = w.stage.StartManager(t, w.ledger())
		w.orphaned(t)
		for _, object := range kept {
			w.appliesAgain(t, object)
		}
		w.collected(t, former)
		NewWithT(t).Expect(w.ids(t)).To(Equal(ids), w.told(t))
		w.declare(t, w.topology(t, m))
		w.ready(t)
		NewWithT(t).Expect(w.ids(t)).To(Equal(ids), w.told(t))
		w.orphan(t)
		w.orphaned(t)
		for _, object := range w.members(t) {
			NewWithT(t).Expect(w.stage.Hub.Client.Patch(t.Context(), object, client.RawPatch(mergePatch,
				fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelTopology)))).To(Succeed())
		}
	}
	return c
}

// ids are those of the Topology's objects that nobody deletes, by kind and name.
func (w *walk) ids(t testing.TB) map[string]types.UID {
	t.Helper()
	ids := map[string]types.UID{}
	for _, object := range w.members(t) {
		if object.GetDeletionTimestamp() == nil {
			ids[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetUID()
		}
	}
	return ids
}

// orphan deletes the Topology, which is to leave what it has, and returns its UID.
func (w *walk) orphan(t testing.TB) types.UID {
	t.Helper()
	g := NewWithT(t)
	top := &v1alpha1.Topology{ObjectMeta: named(system)}
	g.Expect(w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(top), top)).To(Succeed())
	g.Expect(w.stage.Hub.Client.Delete(t.Context(), top, client.PropagationPolicy(metav1.DeletePropagationOrphan))).
		To(Succeed())
	return top.UID
}

// orphaned waits until the Topology is gone.
func (w *walk) orphaned(t testing.TB) {
	t.Helper()
	top := &v1alpha1.Topology{ObjectMeta: named(system)}
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(top), top))
	}, patient, 200*time.Millisecond).Should(BeTrue(), w.told(t))
}

// appliesAgain gives an object the labels and owners that it had when it was kept.
func (w *walk) appliesAgain(t testing.TB, kept client.Object) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		there := kept.DeepCopyObject().(client.Object)
		if err := w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), there); err != nil {
			return err
		}
		there.SetLabels(kept.GetLabels())
		there.SetOwnerReferences(kept.GetOwnerReferences())
		return w.stage.Hub.Client.Update(t.Context(), there)
	}, patient, 200*time.Millisecond).Should(Succeed(), w.told(t))
}

// collected waits until the garbage collector has looked for an owner that is gone: it has taken an object that names
// it.
func (w *walk) collected(t testing.TB, owner types.UID) {
	t.Helper()
	g := NewWithT(t)
	taken := &corev1.ConfigMap{ObjectMeta: named("owned")}
	taken.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Topology",
		Name: system, UID: owner}}
	g.Expect(w.stage.Hub.Client.Create(t.Context(), taken)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(taken), taken))
	}, patient, 200*time.Millisecond).Should(BeTrue(), w.told(t))
}
