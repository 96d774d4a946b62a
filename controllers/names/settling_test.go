// SPDX-License-Identifier: Apache-2.0

//go:build integration

package names

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// A manager that has just begun and knows no site yet calls no name into doubt; one that has had its time does, once.
func TestANewManagerLeavesWhatWasReported(t *testing.T) {
	g := NewWithT(t)
	server := &v1alpha1.SQLServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub", Finalizers: []string{Finalizer}},
		Spec:       v1alpha1.SQLServerSpec{Site: "tukwila"},
	}
	meta.SetStatusCondition(
		&server.Status.Conditions,
		metav1.Condition{
			Type:   v1alpha1.ConditionNamesReady,
			Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonNamesPublished,
		},
	)
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithStatusSubresource(server).WithObjects(server,
		&v1alpha1.Site{
			ObjectMeta: metav1.ObjectMeta{Name: "tukwila"},
			Spec:       v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}},
		}).
		Build()
	after := func(began time.Time) (metav1.ConditionStatus, time.Duration, int) {
		recorder := events.NewFakeRecorder(10)
		r := &reconciler{hub: hub, sites: sites.NewProvider(sites.Options{}), events: recorder}
		r.settling.Of(nil, began)
		frame := reconcile.New(hub, r.servers())
		result, err := frame.Reconcile(
			t.Context(),
			mcreconcile.Request{Request: crreconcile.Request{NamespacedName: client.ObjectKeyFromObject(server)}},
		)
		g.Expect(err).NotTo(HaveOccurred())
		var now v1alpha1.SQLServer
		g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(server), &now)).To(Succeed())
		return meta.FindStatusCondition(
				now.Status.Conditions,
				v1alpha1.ConditionNamesReady,
			).Status, result.RequeueAfter, len(
				recorder.Events,
			)
	}
	status, again, said := after(time.Now())
	g.Expect(status).To(Equal(metav1.ConditionTrue))
	g.Expect(again).To(BeNumerically("<=", lookSoon), "it is looked at again soon")
	g.Expect(said).To(BeZero())
	status, _, said = after(time.Now().Add(-time.Hour))
	g.Expect(status).To(Equal(metav1.ConditionUnknown))
	g.Expect(said).To(Equal(1))
}
