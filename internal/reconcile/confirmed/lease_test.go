// SPDX-License-Identifier: Apache-2.0

//go:build integration

package confirmed_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

func TestOneLeasePerNamespaceSaysWhatIsConfirmed(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	hub.Namespace(t, "geosql-system")
	mgr := apiserver.NewManager(t, hub.ManagerConfig(t), sites.NewProvider(sites.Options{Namespace: "geosql-system"}),
		apiserver.HubOptions())
	keeper, err := confirmed.NewKeeper(mgr.GetLocalManager(), "geosql-system")
	g.Expect(err).NotTo(HaveOccurred())
	later := written.Add(time.Hour)
	keeper.Confirm(group("7"), later, "quisec-0")
	site := &v1alpha1.Site{}
	site.Name, site.ResourceVersion = "dublin", "3"
	keeper.Confirm(site, later)
	apiserver.Run(t, mgr)

	read := func(namespace string) confirmed.Statuses {
		s, err := confirmed.Read(t.Context(), hub.Client, namespace)
		g.Expect(err).NotTo(HaveOccurred())
		return s
	}
	g.Eventually(func() confirmed.Statuses { return read("web") }, 12*confirmed.Every).Should(HaveKey("content"))
	seen := read("web").Of(group("7"))
	g.Expect(seen.Status.Replicas[0].ObservedAt.Time.UTC()).To(Equal(later))
	g.Expect(seen.Status.Replicas[1].ObservedAt.Time).To(Equal(written))
	g.Eventually(func() confirmed.Statuses { return read("geosql-system") }, 12*confirmed.Every).Should(HaveKey("dublin"))

	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: "web", Name: confirmed.LeaseName}
	g.Expect(hub.Client.Get(t.Context(), key, &lease)).To(Succeed())
	g.Expect(lease.Spec.RenewTime.UTC()).To(Equal(later))
	version := lease.ResourceVersion

	// The next manager knows what this one has confirmed, and what has not changed is not written again.
	mgr2 := apiserver.NewManager(t, hub.ManagerConfig(t), sites.NewProvider(sites.Options{Namespace: "geosql-system"}),
		apiserver.HubOptions())
	next, err := confirmed.NewKeeper(mgr2.GetLocalManager(), "geosql-system")
	g.Expect(err).NotTo(HaveOccurred())
	next.Recall(t.Context(), "web")
	g.Expect(next.Of(group("7")).Status.Replicas[0].ObservedAt.Time.UTC()).To(Equal(later))
	g.Consistently(func() string {
		g.Expect(hub.Client.Get(t.Context(), key, &lease)).To(Succeed())
		return lease.ResourceVersion
	}, confirmed.Every+2*time.Second, time.Second).Should(Equal(version))

	keeper.Forget(types.NamespacedName{Namespace: "web", Name: "content"})
	g.Eventually(func() confirmed.Statuses { return read("web") }, 12*confirmed.Every).Should(BeEmpty())
}
