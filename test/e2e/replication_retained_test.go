// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// retire deletes an object and waits until it is gone; what it declared stays.
func retire(t *testing.T, b *bed.Bed, obj client.Object) {
	t.Helper()
	NewWithT(t).Expect(b.Hub().Client.Delete(t.Context(), obj)).To(Succeed())
	retired(t, b, obj)
}

// retired waits until a deleted object is gone.
func retired(t *testing.T, b *bed.Bed, obj client.Object) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	}, 2*time.Minute, time.Second).Should(BeTrue(), "%T %s goes", obj, obj.GetName())
}

// fresh is an object's metadata for declaring it again.
func fresh(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Servers and replication are deleted with everything kept, and declared again: the engines start on their volumes with
// their passwords, and replication goes on from where it was, without another snapshot.
func TestReplicationOnRetainedVolumes(t *testing.T) {
	overTheWAN.Beside(t, 2, 140)
	g := NewWithT(t)
	r := overTheWAN.Get(t)
	b, s := r.b, r.subscription
	before, changed := client.MergeFrom(s.DeepCopy()), s.Spec.Type != v1alpha1.SubscriptionPull
	s.Spec.Type, s.Spec.AgentAt, s.Spec.ReclaimPolicy = v1alpha1.SubscriptionPull, "", v1alpha1.ReclaimRetain
	g.Expect(b.Hub().Client.Patch(t.Context(), s, before)).To(Succeed())
	if changed {
		reinitialize(t, b, s)
	}
	waitForReady(t, b, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering, 3*time.Minute)
	connector := connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	source := open(t, connector, r.publisher(), credentials.RoleSA, "Content")
	copied := open(t, connector, r.subscriber(), credentials.RoleSA, "Content")
	g.Eventually(digest(t, copied, "dbo.Article"), time.Minute, time.Second).
		Should(Equal(digest(t, source, "dbo.Article")()))
	var rows int
	_, err := fmt.Sscan(digest(t, source, "dbo.Article")(), &rows)
	g.Expect(err).NotTo(HaveOccurred())
	write(t, copied, "UPDATE dbo.Article SET Body = N'kept' WHERE Id = 7")
	snapshot := s.Status.MirroredSnapshot
	g.Expect(snapshot).NotTo(BeEmpty())
	g.Expect(connector.Close()).To(Succeed())

	for _, obj := range r.objects() {
		retire(t, b, obj)
	}
	for _, server := range r.servers {
		g.Expect(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(server), server)).To(Succeed())
		before := client.MergeFrom(server.DeepCopy())
		server.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
		g.Expect(b.Hub().Client.Patch(t.Context(), server, before)).To(Succeed())
		g.Expect(b.Hub().Client.Delete(t.Context(), server)).To(Succeed())
	}
	for i, server := range r.servers {
		again := &v1alpha1.SQLServer{ObjectMeta: fresh(server.Name), Spec: *server.Spec.DeepCopy()}
		again.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
		retired(t, b, server)
		createServer(t, b, again)
		r.servers[i] = again
	}
	for _, server := range r.servers {
		waitForServer(t, b, server, 4*time.Minute)
	}
	connector = connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	source = open(t, connector, r.publisher(), credentials.RoleSA, "Content")
	write(t, source, "INSERT dbo.Article VALUES (50000, N'meanwhile')")
	began := time.Now()
	r.declareAgain()
	for _, obj := range slices.Backward(r.objects()) {
		createReplication(t, b, obj)
	}
	s = r.subscription
	waitForReady(t, b, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering, 5*time.Minute)
	copied = open(t, connector, r.subscriber(), credentials.RoleSA, "Content")
	g.Eventually(digest(t, copied, "dbo.Article"), 2*time.Minute, time.Second).Should(HavePrefix(fmt.Sprint(rows+1, " ")))
	t.Logf(
		"what was written meanwhile has arrived %.1f s after everything was declared again",
		time.Since(began).Seconds(),
	)
	g.Expect(s.Status.MirroredSnapshot).To(Or(BeEmpty(), Equal(snapshot)), "no other snapshot was made")
	write(
		t,
		copied,
		"IF (SELECT Body FROM dbo.Article WHERE Id = 7) <> N'kept' THROW 50001, N'the table was copied anew', 1",
	)
}
