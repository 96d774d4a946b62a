// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sites_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
)

// linksAreReported has the agent of tukpub say how far Quincy is, which is no site yet: first as declared, then
// farther, then nothing any more.
func linksAreReported(t *testing.T, f *fleet) {
	g := NewWithT(t)
	g.Eventually(func() error {
		var site v1alpha1.Site
		if err := f.hub.Client.Get(t.Context(), client.ObjectKey{Name: "tukwila"}, &site); err != nil {
			return err
		}
		site.Spec.Links = []v1alpha1.SiteLink{{To: "quincy", Bandwidth: "1Gbit",
			RoundTrip: &metav1.Duration{Duration: 4 * time.Millisecond}}}
		return f.hub.Client.Update(t.Context(), &site)
	}, patient).Should(Succeed())
	says := func(took time.Duration) {
		var measured []link.Measured
		if took > 0 {
			measured = []link.Measured{{To: "quincy", Peer: "quisec", RoundTrip: took, At: time.Now()}}
		}
		f.heard.Note(types.NamespacedName{Namespace: "web", Name: "tukpub"}, measured)
	}
	slower := func() (*metav1.Condition, error) {
		var site v1alpha1.Site
		err := f.hub.Client.Get(t.Context(), client.ObjectKey{Name: "tukwila"}, &site)
		return meta.FindStatusCondition(site.Status.Conditions, v1alpha1.ConditionLinkSlowerThanDeclared), err
	}
	link := func() (*v1alpha1.SiteLinkStatus, error) {
		var site v1alpha1.Site
		err := f.hub.Client.Get(t.Context(), client.ObjectKey{Name: "tukwila"}, &site)
		for i := range site.Status.Links {
			if site.Status.Links[i].To == "quincy" {
				return &site.Status.Links[i], err
			}
		}
		return nil, err
	}
	g.Eventually(link, patient).Should(HaveValue(And(HaveField("Declared.Bandwidth", "1Gbit"),
		HaveField("RoundTrip", BeNil()))))
	g.Expect(slower()).To(BeNil(), "nothing was measured")
	says(4200 * time.Microsecond)
	g.Eventually(slower, patient).Should(HaveValue(be(metav1.ConditionFalse, v1alpha1.ReasonLinksAsDeclared)))
	g.Expect(link()).To(HaveValue(And(HaveField("RoundTrip.Duration", 4200*time.Microsecond),
		HaveField("Server", "web/tukpub"), HaveField("Peer", BeEquivalentTo("quisec")), HaveField("Slower", false))))
	says(60 * time.Millisecond)
	g.Eventually(slower, patient).Should(HaveValue(be(metav1.ConditionTrue, v1alpha1.ReasonLinkSlower)))
	g.Expect(link()).To(HaveValue(HaveField("Slower", true)))
	says(0)
	g.Eventually(slower, patient).Should(BeNil(), "nobody reaches it, and it is no site")
	g.Expect(link()).To(HaveValue(And(HaveField("RoundTrip", BeNil()), HaveField("Slower", false))))
}
