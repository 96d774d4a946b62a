// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// A subscriber does not come back. Nobody says so, and its Subscription waits and says how to; once its SQLServer is
// deleted the publisher's half ends. A subscription of it that was retained keeps its Publication no longer, either.
func TestSubscriberThatIsGoneForGood(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 20)
	d, p := published()
	p.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	ends, kept := subscribed(v1alpha1.SubscriptionPull), subscribed(v1alpha1.SubscriptionPush)
	kept.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: "kept"}
	kept.Spec.Database, kept.Spec.ReclaimPolicy, ends.Spec.ReclaimPolicy = "Kept", v1alpha1.ReclaimRetain,
		v1alpha1.ReclaimDelete
	b.create(t, d, p, ends, kept)
	b.settle(t, ends, "dbo.Article")
	registered := b.rows(
		t,
		"tukpub",
		"SELECT DISTINCT s.dest_db FROM dbo.syssubscriptions AS s WHERE s.srvname <> N'' ORDER BY s.dest_db",
	)
	g.Eventually(registered, patient).Should(Equal("[Content Kept]"))
	b.engines["dubsub"].Kill(t)

	gone := func(obj client.Object) func() bool {
		return func() bool {
			b.nudgeAll(t)
			return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		}
	}
	g.Expect(b.hub.Client.Delete(t.Context(), ends)).To(Succeed())
	g.Eventually(func() string {
		b.nudgeAll(t)
		if b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(ends), ends) != nil ||
			readyOf(ends.Status.Conditions) == nil {
			return ""
		}
		return readyOf(ends.Status.Conditions).Message
	}, patient, 500*time.Millisecond).Should(And(ContainSubstring("deletion waits"),
		ContainSubstring("delete SQLServer dubsub")))
	g.Expect(registered()).To(Equal("[Content Kept]"))

	server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dubsub"}}
	g.Expect(b.hub.Client.Delete(t.Context(), server)).To(Succeed())
	g.Eventually(gone(ends), patient, 500*time.Millisecond).
		Should(BeTrue(), func() string { return fmt.Sprintf("%+v", ends.Status) })
	g.Expect(registered()).To(Equal("[Kept]"))

	g.Expect(b.hub.Client.Delete(t.Context(), kept)).To(Succeed())
	g.Eventually(gone(kept), patient, 500*time.Millisecond).
		Should(BeTrue(), func() string { return fmt.Sprintf("%+v", kept.Status) })
	g.Expect(registered()).To(Equal("[Kept]"), "it was retained")
	g.Expect(b.hub.Client.Delete(t.Context(), p)).To(Succeed())
	g.Eventually(gone(p), patient, 500*time.Millisecond).
		Should(BeTrue(), func() string { return fmt.Sprintf("%+v", p.Status) })
	g.Expect(b.rowsIn(t, "dist", "distribution", "SELECT name FROM dbo.MSdistribution_agents")).To(Equal("[]"))
	g.Expect(b.rowsIn(t, "tukpub", "master", "SELECT name FROM sys.databases WHERE is_published = 1")).To(Equal("[]"))
}
