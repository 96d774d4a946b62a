// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites/sidecars"
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
	r := &Reconciler{access: access, hub: hub, address: sidecars.Address}
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

// What the link to the subscriber lets through is told in the status, as long as it is known.
func TestTheForecastIsInTheStatus(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	named := func(name v1alpha1.ServerName) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "web", Name: string(name)}
	}
	at := func(name v1alpha1.ServerName, site v1alpha1.SiteName) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{ObjectMeta: named(name), Spec: v1alpha1.SQLServerSpec{Site: site}}
	}
	object := &v1alpha1.Subscription{ObjectMeta: named("dublin"), Spec: v1alpha1.SubscriptionSpec{Publication: "articles",
		Subscriber: v1alpha1.ServerOrGroup{Server: subscriber}, Database: "Content", Type: v1alpha1.SubscriptionPush,
		Profile: "streams"}}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object,
		&v1alpha1.Publication{ObjectMeta: named("articles"), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{Server: publisher}, Database: "Content", Distributor: "main"}},
		&v1alpha1.Distributor{ObjectMeta: named("main"), Spec: v1alpha1.DistributorSpec{Server: distributor}},
		at(publisher, "tukwila"), at(distributor, "tukwila"), at(subscriber, "dublin"),
		&v1alpha1.AgentProfile{ObjectMeta: named("streams"), Spec: v1alpha1.AgentProfileSpec{
			Agent: v1alpha1.AgentDistribution, SubscriptionStreams: ptr.To(int32(4))}},
		&v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "dublin"}, Spec: v1alpha1.SiteSpec{Links: []v1alpha1.SiteLink{
			{To: "tukwila", RoundTrip: &metav1.Duration{Duration: 150 * time.Millisecond}, Bandwidth: "1Gbit"}}}},
	).Build()
	r := &Reconciler{access: mssql.SecretAccess{Reader: hub}, hub: hub, address: sidecars.Address}
	d, err := r.desire(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	object.Status = describe(d, Observed{Now: time.Now()})
	// Four times 37.96 rows in 0.15 s.
	g.Expect(object.Status.Forecast).To(And(HaveField("BoundBy", v1alpha1.BoundByRoundTrip),
		HaveField("RowsPerSecond", HaveValue(BeEquivalentTo(1000))), HaveField("Words", ContainSubstring("4 connections"))))
	d.Forecast = nil
	g.Expect(describe(d, Observed{Now: time.Now()}).Forecast).To(BeNil())
}

// Whether a request is void for good is the API server's word: what is cached of the Publication may be older.
func TestARequestIsVoidByTheNewestPublication(t *testing.T) {
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	publication := func(tables ...string) *v1alpha1.Publication {
		p := &v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "articles"}}
		for _, table := range tables {
			p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: table})
		}
		return p
	}
	asked := publication("dbo.Article", "dbo.More")
	for name, c := range map[string]struct {
		cached, now *v1alpha1.Publication
		recorded    bool
		void        bool
	}{
		"it is for what is declared":      {cached: asked, now: asked},
		"what is cached is older":         {cached: publication("dbo.Article"), now: asked},
		"other articles are declared now": {cached: publication("dbo.Article"), now: publication("dbo.Article"), void: true},
		"that is recorded already":        {cached: publication("dbo.Article"), recorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := &v1alpha1.Subscription{}
			s.UID = "u1"
			request := replication.NewRequest(asked, s, "now")
			s.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: request}
			if c.recorded {
				s.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: request, Void: true}
			}
			server := fake.NewClientBuilder().WithScheme(scheme)
			if c.now != nil {
				server = server.WithObjects(c.now.DeepCopy())
			}
			d := Desired{Subscription: s, Publication: c.cached}
			r := &Reconciler{server: server.Build()}
			g.Expect(r.desireVoid(t.Context(), &d)).To(Succeed())
			g.Expect(d.Void != "").To(Equal(c.void))
		})
	}
}
