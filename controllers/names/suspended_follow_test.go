// SPDX-License-Identifier: Apache-2.0

//go:build integration

package names_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/test/support/apiserver"
)

// Suspending breaks no failover: names and listeners of suspended objects follow pods and elections at a site whose own
// process keeps them (Quincy) and at one where the manager does (Tukwila), also while a deletion waits. For an object
// that was suspended before anything was begun with it nothing is made at either.
func TestTheNamesOfSuspendedObjectsFollow(t *testing.T) {
	g := NewWithT(t)
	a := newApart(t)
	both := map[string]*apiserver.Server{"tukwila": a.tukwila, "quincy": a.quincy}
	everywhere := func(service, address string) {
		t.Helper()
		for name, at := range both {
			g.Eventually(leads(t, at, service), patient, often).Should(Equal(address), name)
		}
	}
	first, second := declare(t, a.hub, "tukpub", "tukwila"), declare(t, a.hub, "quisec", "quincy")
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly}},
			Databases: []v1alpha1.Database{{Name: "Content"}},
			Voters:    []v1alpha1.SiteName{"tukwila", "quincy", "dublin"}, InitialPrimary: "tukpub"}}
	g.Expect(a.hub.Client.Create(t.Context(), group)).To(Succeed())
	primary := func(server string, term int64) {
		for _, at := range both {
			vote(t, at, "content", server+"-0", term)
		}
		before := client.MergeFrom(group.DeepCopy())
		group.Status.Primary, group.Status.Voters = server, nil
		for _, site := range group.Spec.Voters {
			group.Status.Voters = append(group.Status.Voters, v1alpha1.VoterStatus{Site: string(site), State: "Held"})
		}
		g.Expect(a.hub.Client.Status().Patch(t.Context(), group, before)).To(Succeed())
	}
	primary("tukpub", 3)
	place(t, a.tukwila, "tukpub", "10.101.0.7")
	place(t, a.quincy, "quisec", "10.102.0.7")
	g.Eventually(leads(t, a.tukwila, "quisec-0"), patient, often).Should(Equal("10.102.0.7"))
	everywhere("content", "10.101.0.7")

	for _, object := range []client.Object{first, second, group} {
		suspend(t, a, object, true)
	}
	place(t, a.quincy, "quisec", "10.102.0.8")
	g.Eventually(leads(t, a.tukwila, "quisec-0"), patient, often).Should(Equal("10.102.0.8"), "a pod that moved")
	primary("quisec", 4)
	everywhere("content", "10.102.0.8")
	g.Eventually(func() bool {
		if err := a.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			return false
		}
		return meta.IsStatusConditionTrue(group.Status.Conditions, v1alpha1.ConditionNamesReady)
	}, patient, often).Should(BeTrue())

	third := declare(t, a.hub, "dubnew", "quincy", func(s *v1alpha1.SQLServer) { s.Spec.Suspend = true })
	for name, at := range both {
		g.Consistently(leads(t, at, "dubnew-0"), time.Second, often).Should(ContainSubstring("not found"), name)
	}
	suspend(t, a, third, false)
	for name, at := range both {
		g.Eventually(leads(t, at, "dubnew-0"), patient, often).ShouldNot(ContainSubstring("not found"), name)
	}

	g.Expect(a.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(second), second)).To(Succeed())
	g.Expect(reconcile.SetFinalizer(t.Context(), a.hub.Client, second, v1alpha1.Finalizer, true)).To(Succeed())
	g.Expect(a.hub.Client.Delete(t.Context(), second)).To(Succeed())
	place(t, a.quincy, "quisec", "10.102.0.9")
	everywhere("content", "10.102.0.9")
	g.Eventually(leads(t, a.tukwila, "quisec-0"), patient, often).Should(Equal("10.102.0.9"), "the deletion waits")
}

// suspend sets spec.suspend of an object, or takes it away.
func suspend(t *testing.T, a *apart, object client.Object, is bool) {
	t.Helper()
	g := NewWithT(t)
	value := "false"
	if is {
		value = "true"
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":`+value+`}}`))
	g.Expect(a.hub.Client.Patch(t.Context(), object, patch)).To(Succeed())
}
