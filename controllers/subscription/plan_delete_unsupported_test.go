// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// What is declared now says nothing of what was made before: a Distributor got a folder of its own under a subscription
// that delivers, and the deletion ends it all the same.
func TestDeletionOfWhatIsNotSupportedAnyMore(t *testing.T) {
	g := NewWithT(t)
	w := subscribedAndDeleted(t)
	w.d.Unsupported = "Distributor main has a snapshotFolder of its own"
	at, p := w.end(t)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(at).To(And(HaveKey(subscriber), HaveKey(publisher)))
	g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
	g.Expect(w.o.Mirror.ordered()).To(BeFalse())
}

// deletes looks at a Subscription that is being deleted as the controller does. No server has credentials any more, nor
// an SQLServer.
func deletes(t *testing.T, subscriber v1alpha1.ServerOrGroup) (Desired, Observed, reconcile.Plan) {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	now := metav1.Now()
	object := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin", DeletionTimestamp: &now,
			Finalizers: []string{v1alpha1.Finalizer}},
		Spec: v1alpha1.SubscriptionSpec{Publication: "articles", Subscriber: subscriber, Database: "Content",
			ReclaimPolicy: v1alpha1.ReclaimDelete},
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object,
		&v1alpha1.Publication{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "articles"},
			Spec: v1alpha1.PublicationSpec{Publisher: v1alpha1.ServerOrGroup{Server: publisher}, Database: "Content",
				Distributor: "main"},
		},
		&v1alpha1.Distributor{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"},
			Spec:       v1alpha1.DistributorSpec{Server: distributor, SnapshotFolder: "/mnt/share"},
		}).Build()
	access := mssql.SecretAccess{Reader: hub}
	r := &Reconciler{access: access, hub: hub}
	d, err := r.desire(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	engines := replication.Engines{Connector: mssql.NewConnector(mssql.Options{Access: access}), Namespace: "web"}
	o := observe(t.Context(), engines, nil, d, time.Now())
	return d, o, planDelete(d, o)
}

// The servers are asked also then.
func TestDeletionAsksAlsoWhereNothingIsSupported(t *testing.T) {
	g := NewWithT(t)
	d, o, p := deletes(t, v1alpha1.ServerOrGroup{Server: subscriber})
	g.Expect(d.Unsupported).NotTo(BeEmpty())
	g.Expect(o.Servers).To(And(HaveKey(publisher), HaveKey(distributor), HaveKey(subscriber)))
	g.Expect(p.Done).To(BeTrue())
	g.Expect(p.Left).To(HaveLen(3))
}

// A Subscription that never named a server that receives has nothing anywhere.
func TestDeletionOfWhatNeverReceived(t *testing.T) {
	g := NewWithT(t)
	_, o, p := deletes(t, v1alpha1.ServerOrGroup{AvailabilityGroup: "content"})
	g.Expect(o.Servers).To(BeEmpty())
	g.Expect(p).To(Equal(reconcile.Plan{Done: true}))
}
