// SPDX-License-Identifier: Apache-2.0

//go:build integration

package names_test

import (
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

// testRebuilt has another hub take Quincy over, which knows that Site, then the group by its manifest, and no more.
// What Quincy was told by the former hub of the rest stays, so that its process goes on following servers and votes. In
// the end the former hub takes the site back.
func testRebuilt(t *testing.T, a *apart, group *v1alpha1.AvailabilityGroup) {
	g, ctx := NewWithT(t), t.Context()
	rebuilt := &apart{hub: apiserver.StartHub(t)}
	take := func(hub *apiserver.Server, links ...v1alpha1.SiteLink) {
		g.Eventually(func() error {
			_, err := join.Join(ctx, join.Request{Name: "quincy", Out: io.Discard, TakeOver: true,
				Member: &join.Cluster{Config: a.quincy.Config, Client: a.quincy.Client},
				Hub:    join.Cluster{Config: hub.Config, Client: hub.Client},
				Spec:   v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, Links: links}})
			return err
		}, patient, often).Should(Succeed())
	}
	told := func() (map[string]string, error) {
		var object corev1.ConfigMap
		err := a.quincy.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: orders.NamesObject}, &object)
		return object.Data, err
	}
	everything := And(HaveKey(orders.SiteKey("tukwila")), HaveKey(orders.ServerKey("tukpub")),
		HaveKey(orders.ServerKey("quisec")), HaveKeyWithValue(orders.GroupKey("content"),
			ContainSubstring(`"voters":["tukwila","quincy","dublin"]`)))
	g.Expect(told()).To(everything)
	var peers corev1.Secret
	key := client.ObjectKey{Namespace: "web", Name: orders.PeersObject}

	take(rebuilt.hub, v1alpha1.SiteLink{To: "tukwila", RoundTrip: &metav1.Duration{Duration: 4 * time.Millisecond}})
	stop := rebuilt.startManager(t)
	g.Eventually(told, patient, often).
		Should(HaveKeyWithValue(orders.SiteKey("quincy"), ContainSubstring("4000000")), "it has told what it knows")
	g.Expect(told()).To(everything)
	applied := &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: group.Name}, Spec: *group.Spec.DeepCopy(),
	}
	applied.Spec.Listener = &v1alpha1.Listener{Port: 1444}
	rebuilt.hub.Namespace(t, "web")
	g.Expect(rebuilt.hub.Client.Create(ctx, applied)).To(Succeed())
	g.Eventually(told, patient, often).
		Should(HaveKeyWithValue(orders.GroupKey("content"), ContainSubstring("1444")), "it has told of the group")
	g.Expect(told()).To(everything)
	g.Expect(a.quincy.Client.Get(ctx, key, &peers)).To(Succeed())
	g.Expect(peers.Data).To(HaveKey(orders.PeerKey("tukwila")))

	place(t, a.tukwila, "tukpub", "10.101.3.9")
	for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
		vote(t, at, "content", "tukpub-0", 8)
	}
	g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal("10.101.3.9"))
	for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
		vote(t, at, "content", "quisec-0", 9)
	}
	g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal("10.102.0.9"))
	place(t, a.tukwila, "tukpub", "10.101.3.1")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.101.3.1"))
	stop()
	take(a.hub)
}
