// SPDX-License-Identifier: Apache-2.0

//go:build integration && linux

package subscription_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/transfer"
)

// A snapshot for which the staging quota is too small waits, and Ready says which would do; it comes by itself when the
// quota is raised, and what stands in its way stays.
func TestASnapshotThatWaitsForTheStagingQuota(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 200)
	// As the controller of servers tells it, with nothing of what subscriptions tell.
	quota := func(gibibytes int64) {
		value, err := orders.EncodeStaging(transfer.Staging{Quota: gibibytes << 30, High: 90, Low: 60})
		g.Expect(err).NotTo(HaveOccurred())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentials.OrdersName("dubsub")},
			Type: corev1.SecretTypeOpaque, Data: map[string][]byte{orders.StagingKey: value}}
		g.Expect(sites.ApplyAs(t.Context(), b.hub.Client, secret, "geosql-sqlserver-staging")).To(Succeed())
	}
	quota(1)
	// Of another publication, and nobody knows who has put it there.
	theirs := filepath.Join(b.mirrors["dubsub"], credentials.HostName("dist"), "unc", "theirs", "20260101000000", "a.bcp")
	g.Expect(os.MkdirAll(filepath.Dir(theirs), 0o755)).To(Succeed())
	file, err := os.Create(theirs)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unix.Fallocate(int(file.Fd()), 0, 0, 1<<30)).To(Succeed())
	g.Expect(file.Close()).To(Succeed())

	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	b.create(t, d, p, s)
	g.Eventually(func() string {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			return c.Message
		}
		return ""
	}, patient).Should(ContainSubstring("spec.transfers.stagingQuota of the subscriber's Site to 2Gi at least"))
	quota(2)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	g.Expect(theirs).To(BeARegularFile())
}
