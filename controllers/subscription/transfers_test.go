// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/transfer"
)

func TestBoundsOfTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		declared *v1alpha1.SiteTransfers
		told     transfer.Settings
	}{
		"none":  {nil, transfer.Settings{}},
		"empty": {&v1alpha1.SiteTransfers{}, transfer.Settings{}},
		"all": {&v1alpha1.SiteTransfers{Workers: 2, MaxRate: "200Mbit", Compression: v1alpha1.CompressNever},
			transfer.Settings{Workers: 2, MaxRate: 25_000_000, Compression: transfer.Never}},
		"in Gbit":    {&v1alpha1.SiteTransfers{MaxRate: "1.5Gbit"}, transfer.Settings{MaxRate: 187_500_000}},
		"unreadable": {&v1alpha1.SiteTransfers{MaxRate: "fast"}, transfer.Settings{}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(settingsOf(c.declared)).To(Equal(c.told))
		})
	}
}

// Each end is told the bounds of its own site.
func TestOrdersHaveTheBoundsOfTheirSites(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.d.Receives = transfer.Settings{MaxRate: 1000}
	w.d.Sends = transfer.Settings{Workers: 1}
	g.Expect(mirrorOrder(w.d, w.o).Transfers).To(Equal(w.d.Receives))
	g.Expect(readerOrder(w.d, w.o).Transfers).To(Equal(w.d.Sends))
}

// The bounds are those of the Site where a server runs; a server or a Site that is not declared has none.
func TestBoundsAreThoseOfTheServersSite(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	server := func(name v1alpha1.ServerName, site v1alpha1.SiteName) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: string(name)},
			Spec: v1alpha1.SQLServerSpec{Site: site}}
	}
	r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		server(subscriber, "dublin"), server(distributor, "tukwila"), server(publisher, "nowhere"),
		&v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "dublin"}, Spec: v1alpha1.SiteSpec{
			Transfers: &v1alpha1.SiteTransfers{Workers: 2, MaxRate: "80Mbit"}}},
		&v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "tukwila"}, Spec: v1alpha1.SiteSpec{
			Transfers: &v1alpha1.SiteTransfers{Workers: 8}}},
	).Build()}
	d := declared()
	d.Subscription.Namespace = "web"
	g.Expect(r.desireTransfers(t.Context(), &d)).To(Succeed())
	g.Expect(d.Receives).To(Equal(transfer.Settings{Workers: 2, MaxRate: 10_000_000}))
	g.Expect(d.Sends).To(Equal(transfer.Settings{Workers: 8}))
	for _, name := range []v1alpha1.ServerName{publisher, "nobody"} {
		g.Expect(r.transfers(t.Context(), "web", name)).To(Equal(transfer.Settings{}), string(name))
	}
}
