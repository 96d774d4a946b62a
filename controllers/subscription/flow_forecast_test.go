// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// What the link lets through is told before there is anybody at the other end, and follows what is declared of it.
func TestTheForecastOfASubscriberThatIsYetToCome(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub")
	var near v1alpha1.SQLServer
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "dist"}, &near)).To(Succeed())
	g.Expect(b.hub.Client.Create(t.Context(), &v1alpha1.SQLServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "limsub"},
		Spec: v1alpha1.SQLServerSpec{Site: "lima", AcceptEULA: true, Edition: near.Spec.Edition, Image: near.Spec.Image,
			Storage: near.Spec.Storage},
	})).To(Succeed())
	lima := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "lima"}, Spec: v1alpha1.SiteSpec{
		AllowedNamespaces:   []string{namespace},
		KubeconfigSecretRef: &v1alpha1.SecretReference{Name: "lima"},
		Links: []v1alpha1.SiteLink{{To: "dublin", RoundTrip: &metav1.Duration{Duration: 100 * time.Millisecond},
			Bandwidth: "10Mbit"}},
	}}
	g.Expect(b.hub.Client.Create(t.Context(), lima)).To(Succeed())
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	s.Spec.Subscriber.Server = "limsub"
	b.create(t, d, p, s)
	forecast := func() *v1alpha1.SubscriptionForecast {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Forecast
	}
	// 10e6 / 8 / 1187.8.
	g.Eventually(forecast, patient, 500*time.Millisecond).Should(And(HaveField("BoundBy", v1alpha1.BoundByBandwidth),
		HaveField("RowsPerSecond", HaveValue(BeEquivalentTo(1100))), HaveField("Words", ContainSubstring("dublin to lima"))))

	before := client.MergeFrom(lima.DeepCopy())
	lima.Spec.Links[0].Bandwidth = ""
	g.Expect(b.hub.Client.Patch(t.Context(), lima, before)).To(Succeed())
	g.Eventually(forecast, patient, 500*time.Millisecond).Should(And(HaveField("BoundBy", v1alpha1.BoundUnknown),
		HaveField("RowsPerSecond", BeNil()), HaveField("Words", ContainSubstring("bandwidth not declared"))))
}
