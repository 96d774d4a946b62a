// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// What another object says in its status has the object that it names looked at, at once, however long the next look
// takes.
func TestWhatIsHeardOfIsLookedAtAtOnce(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	mgr := apiserver.NewManager(t, hub.ManagerConfig(t), sites.NewProvider(sites.Options{Namespace: "geosql-system"}),
		apiserver.HubOptions())
	cached := mgr.GetLocalManager().GetClient()
	s := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin"},
		Spec: v1alpha1.SubscriptionSpec{Publication: "articles", Database: "Content",
			Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}}}
	var looks atomic.Int64
	var phase atomic.Value
	decide := func(string, string) reconcile.Plan { return reconcile.Plan{} }
	c := replication.Controller[*v1alpha1.Publication, string, string]{
		Name: "listeners",
		Kind: reconcile.Kind[*v1alpha1.Publication, string, string]{
			Name: "Publication", New: func() *v1alpha1.Publication { return &v1alpha1.Publication{} },
			Timeout: time.Minute, RequeueAfter: reconcile.RequeueAfter{Resync: time.Hour},
			Desire: func(ctx context.Context, _ *v1alpha1.Publication) (string, error) {
				var now v1alpha1.Subscription
				err := cached.Get(ctx, client.ObjectKeyFromObject(s), &now)
				return now.Status.Phase, client.IgnoreNotFound(err)
			},
			Observe: func(_ context.Context, d string) (string, error) { return d, nil },
			Plan:    decide, PlanDelete: decide,
			Apply: func(context.Context, string, string, reconcile.Plan) error { return nil },
			Report: func(_ context.Context, d string, _ string, _ reconcile.Plan, _ error) error {
				phase.Store(d)
				looks.Add(1)
				return nil
			},
		},
		List: func() client.ObjectList { return &v1alpha1.PublicationList{} },
		Heard: []replication.Heard{{Kind: &v1alpha1.Subscription{},
			Says: func(x client.Object) string { return x.(*v1alpha1.Subscription).Status.Phase },
			Of:   func(x client.Object) v1alpha1.ObjectName { return x.(*v1alpha1.Subscription).Spec.Publication }}},
		Reclaim: func(*v1alpha1.Publication) v1alpha1.ReclaimPolicy { return v1alpha1.ReclaimRetain },
	}
	g.Expect(c.SetupWithManager(mgr)).To(Succeed())
	apiserver.Run(t, mgr)
	p := &v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "articles"},
		Spec: v1alpha1.PublicationSpec{Publisher: v1alpha1.ServerOrGroup{Server: "tukpub"}, Database: "Content",
			Distributor: "main", Articles: []v1alpha1.Article{{Table: "dbo.Article"}}}}
	g.Expect(hub.Client.Create(t.Context(), s)).To(Succeed())
	g.Expect(hub.Client.Create(t.Context(), p)).To(Succeed())
	g.Eventually(looks.Load, "120s", "10ms").Should(BeNumerically(">", 0))
	for _, now := range []string{"Snapshot", "Mirroring", "Snapshot"} {
		before := client.MergeFrom(s.DeepCopy())
		s.Status.Phase = now
		g.Expect(hub.Client.Status().Patch(t.Context(), s, before)).To(Succeed())
		g.Eventually(phase.Load, "120s", "10ms").Should(Equal(now))
	}
}
