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
	"geosql.dev/operator/internal/replication"
)

// That the distributor's credentials are not there keeps nobody from asking the subscriber, whose guards may go.
func TestTheSubscriberIsAskedWithoutTheDistributorsCredentials(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	object := &v1alpha1.Subscription{ObjectMeta: named("dublin"), Spec: v1alpha1.SubscriptionSpec{
		Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: subscriber}, Database: "Content"}}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object,
		&v1alpha1.Publication{ObjectMeta: named("articles"), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{Server: publisher}, Database: "Content", Distributor: "main"}},
		&v1alpha1.Distributor{ObjectMeta: named("main"), Spec: v1alpha1.DistributorSpec{Server: distributor}},
		&v1alpha1.SQLServer{ObjectMeta: named(string(publisher))}, &v1alpha1.SQLServer{ObjectMeta: named(string(subscriber))},
	).Build()
	access := mssql.SecretAccess{Reader: hub}
	r := &Reconciler{access: access, hub: hub, address: replication.SidecarAddress}
	d, err := r.desire(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Missing).To(BeEmpty())
	g.Expect(d.SecretsErr).To(HaveOccurred())
	engines := replication.Engines{Connector: mssql.NewConnector(mssql.Options{Access: access}), Namespace: "web"}
	o := observe(t.Context(), engines, nil, d, time.Now())
	g.Expect(o.Servers).To(And(HaveLen(1), HaveKey(subscriber)))
	p := plan(d, o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReferenceMissing))
	g.Expect(p.Outcome.Message).To(Equal(d.SecretsErr.Error()))
}
