// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
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
	bed.Beside(t, 360)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	servers := []*v1alpha1.SQLServer{
		declareServer(t, b, "e2ekpub", "tukwila", nil), declareServer(t, b, "e2ekdist", "quincy", nil), declareServer(t, b, "e2eksub", "dublin", nil),
	}
	removedTogether(t, b, servers...)
	for _, s := range servers {
		waitForServer(t, b, s, 4*time.Minute)
	}
	declare := func() (objects []client.Object, s *v1alpha1.Subscription) {
		d := &v1alpha1.Distributor{ObjectMeta: fresh("e2ek"), Spec: v1alpha1.DistributorSpec{Server: "e2ekdist"}}
		p := &v1alpha1.Publication{ObjectMeta: fresh("e2ek"), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{Server: "e2ekpub"}, Database: "Content", Distributor: "e2ek",
			Articles: []v1alpha1.Article{{Table: "dbo.Article"}},
		}}
		s = &v1alpha1.Subscription{ObjectMeta: fresh("e2ek"), Spec: v1alpha1.SubscriptionSpec{
			Publication: "e2ek", Subscriber: v1alpha1.ServerOrGroup{Server: "e2eksub"}, Database: "Content", Type: v1alpha1.SubscriptionPull,
		}}
		for _, obj := range []client.Object{d, p, s} {
			declareReplication(t, b, obj)
		}
		waitForReady(t, b, s, &s.Status.StatusBase, conditions.ReasonDelivering, 5*time.Minute)
		return []client.Object{s, p, d}, s
	}
	connector := connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	write(t, open(t, connector, servers[0], credentials.RoleSA, "master"), "CREATE DATABASE Content")
	source := open(t, connector, servers[0], credentials.RoleSA, "Content")
	write(t, source, "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(1000) NOT NULL)")
	insertRows(t, source, "dbo.Article", 0, 2000)
	objects, s := declare()
	copied := open(t, connector, servers[2], credentials.RoleSA, "Content")
	g.Eventually(digest(t, copied, "dbo.Article"), time.Minute, time.Second).Should(Equal(digest(t, source, "dbo.Article")()))
	write(t, copied, "UPDATE dbo.Article SET Body = N'kept' WHERE Id = 7")
	snapshot := s.Status.MirroredSnapshot
	g.Expect(snapshot).NotTo(BeEmpty())
	g.Expect(connector.Close()).To(Succeed())

	for _, obj := range objects {
		retire(t, b, obj)
	}
	for _, server := range servers {
		before := client.MergeFrom(server.DeepCopy())
		server.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
		g.Expect(b.Hub().Client.Patch(t.Context(), server, before)).To(Succeed())
		g.Expect(b.Hub().Client.Delete(t.Context(), server)).To(Succeed())
	}
	for i, server := range servers {
		again := &v1alpha1.SQLServer{ObjectMeta: fresh(server.Name), Spec: *server.Spec.DeepCopy()}
		again.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
		retired(t, b, server)
		g.Expect(b.Hub().Client.Create(t.Context(), again)).To(Succeed())
		servers[i] = again
	}
	for _, server := range servers {
		waitForServer(t, b, server, 4*time.Minute)
	}
	connector = connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	source = open(t, connector, servers[0], credentials.RoleSA, "Content")
	write(t, source, "INSERT dbo.Article VALUES (5000, N'meanwhile')")
	began := time.Now()
	_, s = declare()
	copied = open(t, connector, servers[2], credentials.RoleSA, "Content")
	g.Eventually(digest(t, copied, "dbo.Article"), 2*time.Minute, time.Second).Should(HavePrefix("2001 "))
	t.Logf("what was written meanwhile has arrived %.1f s after everything was declared again", time.Since(began).Seconds())
	g.Expect(s.Status.MirroredSnapshot).To(Or(BeEmpty(), Equal(snapshot)), "no other snapshot was made")
	write(t, copied, "IF (SELECT Body FROM dbo.Article WHERE Id = 7) <> N'kept' THROW 50001, N'the table was copied anew', 1")
}
