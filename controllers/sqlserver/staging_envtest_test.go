// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// staging has a server's Site declare a staging quota, raise it, and have none again: the sidecar is told, without any
// subscription, and what others tell it stays.
func (b *bed) staging(t *testing.T, server string) {
	g := NewWithT(t)
	bounds := func() (transfer.Staging, error) {
		var secret corev1.Secret
		if err := client.IgnoreNotFound(get(t, b.site.Client, server+"-agent", &secret)()); err != nil {
			return transfer.Staging{}, err
		}
		return orders.Staging(secret.Data)
	}
	declare := func(transfers *v1alpha1.SiteTransfers) {
		g.Eventually(func() error {
			var site v1alpha1.Site
			if err := b.hub.Client.Get(t.Context(), client.ObjectKey{Name: "tukwila"}, &site); err != nil {
				return err
			}
			site.Spec.Transfers = transfers
			return b.hub.Client.Update(t.Context(), &site)
		}, patient, often).Should(Succeed())
	}
	g.Expect(bounds()).To(BeZero())
	declare(&v1alpha1.SiteTransfers{StagingQuota: ptr.To(resource.MustParse("2Gi"))})
	g.Eventually(bounds, patient, often).Should(Equal(transfer.Staging{Quota: 2 << 30, High: 90, Low: 60}),
		b.why(t, server))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server + "-agent"}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data": {"mirror.of-another-owner": "e30="}}`))
	g.Expect(b.site.Client.Patch(t.Context(), secret, patch)).To(Succeed())
	declare(&v1alpha1.SiteTransfers{StagingQuota: ptr.To(resource.MustParse("3Gi")),
		StagingLowWatermark: ptr.To[int32](50)})
	g.Eventually(bounds, patient, often).Should(Equal(transfer.Staging{Quota: 3 << 30, High: 90, Low: 50}),
		b.why(t, server))
	declare(nil)
	g.Eventually(bounds, patient, often).Should(BeZero(), b.why(t, server))
	g.Expect(get(t, b.site.Client, server+"-agent", secret)()).To(Succeed())
	g.Expect(secret.Data).To(HaveKey("mirror.of-another-owner"))
}
