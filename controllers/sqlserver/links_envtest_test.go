// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
)

// timing has a server come to another site, which nobody reaches, and go again: the sidecar of the one that is there is
// told to time round trips to it, and then no more. What others tell it stays.
func (b *bed) timing(t *testing.T, server string) {
	g := NewWithT(t)
	told := func() (map[string][]byte, error) {
		var secret corev1.Secret
		err := get(t, b.site.Client, server+"-agent", &secret)()
		return secret.Data, client.IgnoreNotFound(err)
	}
	g.Expect(told()).NotTo(HaveKey(orders.LinksKey))
	site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"}, Spec: v1alpha1.SiteSpec{
		AllowedNamespaces: []string{"web"}, KubeconfigSecretRef: &v1alpha1.SecretReference{Name: "quincy-none"}}}
	g.Expect(b.hub.Client.Create(t.Context(), site)).To(Succeed())
	other := b.create(t, "quisec", func(s *v1alpha1.SQLServerSpec) { s.Site = "quincy" })
	want, err := orders.EncodeLinks([]orders.Link{{Site: "quincy", Server: "quisec"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(told, patient, often).Should(HaveKeyWithValue(orders.LinksKey, want), b.why(t, server))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server + "-agent"}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data": {"group.of-another-owner": "e30="}}`))
	g.Expect(b.site.Client.Patch(t.Context(), secret, patch)).To(Succeed())

	g.Eventually(func() error {
		if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(site), site); err != nil {
			return err
		}
		site.Spec.Lifecycle = v1alpha1.SiteLost
		return b.hub.Client.Update(t.Context(), site)
	}, patient, often).Should(Succeed())
	g.Expect(b.hub.Client.Delete(t.Context(), other)).To(Succeed())
	g.Eventually(told, patient, often).Should(And(Not(HaveKey(orders.LinksKey)), HaveKey("group.of-another-owner")),
		b.why(t, server))
}
