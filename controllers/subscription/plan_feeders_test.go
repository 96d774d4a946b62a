// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// renamed is a subscription whose tables a former one of another name feeds, which nobody declares any more.
func renamed() *world {
	w := newWorld(declared())
	w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE"}
	w.o.Here.Tables = map[string]mssql.Table{"dbo.article": {Schema: "dbo", Name: "Article"}}
	here := mssql.SubscriptionHere{
		Publisher:         "tukpub-0",
		PublisherDatabase: "Content",
		Publication:       "former",
		Pull:              true,
		Applied:           true,
	}
	w.o.Here.Subscriptions = []mssql.SubscriptionHere{here}
	w.o.Feeders = []Feeder{
		{Former: Former{Here: here, Jobs: map[v1alpha1.ServerName]*mssql.Job{subscriber: {
			Enabled: true, Running: true, Description: "geosql.dev web/old"}}},
			Publication: reconcile.Read(
				&mssql.Publication{Description: "geosql.dev web/former", Articles: map[string]mssql.PublishedArticle{
					"dbo.article": {Name: "dbo.Article", Schema: "dbo", Table: "Article"}}},
			), Mirrored: reconcile.Read([]string{"old"})},
	}
	return w
}

// Two agents never deliver one table. Who feeds it is said, and ended first, or the adoption is refused with what to
// do.
func TestWhoFeedsTheTables(t *testing.T) {
	const fed = "are still fed by publication former of Content at tukpub-0, which no Subscription declares any more"
	publication := func(w *world, change func(*mssql.Publication)) {
		p, _ := w.o.Feeders[0].Publication.Get()
		change(p)
	}
	for name, c := range map[string]struct {
		change func(*world)
		// asked and adopted are the words of the condition without and with the annotation; none of the latter when it takes
		// over.
		asked, adopted string
	}{
		"nobody declares it": {func(*world) {}, fed +
			". Declare it again to keep it; or let this one take its place: kubectl annotate subscription dublin -n web " +
			"geosql.dev/adopt=true", ""},
		"somebody declares it": {func(w *world) {
			w.d.Beside = []Beside{{Name: "old", Publication: "former", Tables: []string{"dbo.Article"}}}
		},
			"as Subscription old declares. Delete Subscription old first", "Delete Subscription old first"},
		"its publication is declared no more": {func(w *world) {
			w.d.Beside = []Beside{{Name: "old",
				Publication: "former"}}
		},
			"as Subscription old declares", "Delete Subscription old first"},
		"it delivers other tables": {func(w *world) {
			publication(w, func(p *mssql.Publication) {
				p.Articles["dbo.b"] = mssql.PublishedArticle{Name: "dbo.B", Schema: "dbo", Table: "B"}
			})
		}, fed + ". It delivers other tables, too (dbo.B)", "It delivers other tables, too (dbo.B)"},
		"somebody else made it": {func(w *world) { publication(w, func(p *mssql.Publication) { p.Description = "by hand" }) },
			fed + ". Somebody else made that publication",
			"EXEC sp_dropsubscription @publication = N'former', @article = N'all', @subscriber = N'dubsub-0', " +
				"@destination_db = N'Content'"},
		"another publisher's": {func(w *world) { w.o.Feeders[0].Publication = reconcile.Reading[*mssql.Publication]{} },
			"may be fed by publication former", "EXEC sp_dropsubscription"},
		"it could not be read": {func(w *world) {
			w.o.Feeders[0].Publication = reconcile.NotRead[*mssql.Publication](errors.New("cut off"))
		},
			"may be fed by publication former", "what it delivers is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := renamed()
			c.change(w)
			p, _ := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty))
			g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.asked))

			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			p = plan(w.d, w.look())
			if c.adopted != "" {
				g.Expect(p.Steps).To(BeEmpty())
				g.Expect(p.Outcome.Message).To(And(ContainSubstring("cannot be done"), ContainSubstring(c.adopted)))
				return
			}
			w.o.JobsErr = errors.New("cut off")
			g.Expect(plan(w.d, w.look()).Steps).To(BeEmpty(), "an agent that was not looked for would go on")
			w.o.JobsErr = nil
			w.o.Feeders[0].Mirrored = reconcile.NotRead[[]string](errors.New("cut off"))
			g.Expect(plan(w.d, w.look()).Steps).To(BeEmpty(), "orders that were not looked for would stay")
			w.o.Feeders[0].Mirrored = reconcile.Read([]string{"old"})
			g.Expect(describeSteps(p)).To(HaveExactElements(
				ContainSubstring("take the orders of Subscription old's mirror from the sidecars of dubsub-0 and dist-0"),
				ContainSubstring("sp_stop_job"),
				ContainSubstring(
					"sp_delete_job @job_name = N'"+replication.DistributionJob(
						"tukpub-0",
						"Content",
						"former",
						"dubsub-0",
						"Content",
					)+"'",
				),
				ContainSubstring("sp_dropsubscription @publication = N'former'"),
				ContainSubstring("sp_droppullsubscription"),
			))
			w.o.Here.Subscriptions, w.o.Feeders = nil, nil
			p, _ = w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
		})
	}
}

// The end of a feeder takes the orders of its own mirror along, and none of a Subscription of another database of the
// server that mirrors the same publication.
func TestWhoseMirrorEndsWithAFeeder(t *testing.T) {
	for name, c := range map[string]struct {
		declared []string
		mark     string
		mirrored []string
		taken    []string
	}{
		"the feeder's alone":                   {nil, "geosql.dev web/old", []string{"old"}, []string{"old"}},
		"another database's that is declared":  {[]string{"other"}, "", []string{"old", "other"}, []string{"old"}},
		"another database's that was retained": {nil, "geosql.dev web/old", []string{"old", "other"}, []string{"old"}},
		"the name is another database's now":   {[]string{"old"}, "geosql.dev web/old", []string{"old"}, nil},
		"nobody says whose":                    {nil, "", []string{"old", "other"}, []string{"old", "other"}},
		"a mark that no order has": {[]string{"other"}, "geosql.dev web/gone", []string{"old", "other"},
			[]string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := renamed()
			w.d.Declared, w.o.Feeders[0].Mirrored = c.declared, reconcile.Read(c.mirrored)
			w.o.Feeders[0].Jobs[subscriber].Description = c.mark
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			var p replication.Plan
			g.Expect(planFeeders(w.d, w.look(), &p)).To(BeFalse())
			var taken []string
			for _, s := range p.Steps {
				if take, ok := s.(TakeMirror); ok {
					taken = append(taken, take.Subscription)
				}
			}
			g.Expect(taken).To(Equal(c.taken))
		})
	}
}

// A subscription that feeds other tables of the database is in nobody's way.
func TestWhoFeedsOtherTables(t *testing.T) {
	for name, change := range map[string]func(*world){
		"read": func(w *world) {
			w.o.Feeders[0].Publication = reconcile.Read(
				&mssql.Publication{Articles: map[string]mssql.PublishedArticle{"dbo.b": {Schema: "dbo", Table: "B"}}})
		},
		"declared": func(w *world) {
			w.d.Beside = []Beside{{Name: "other", Publication: "former", Tables: []string{"dbo.B"}}}
			w.o.Feeders[0].Publication = reconcile.Reading[*mssql.Publication]{}
		},
		"dropped at its publisher": func(w *world) { w.o.Feeders[0].Publication = reconcile.Read[*mssql.Publication](nil) },
		"no table is there": func(w *world) {
			w.o.Here.Tables = map[string]mssql.Table{}
			w.o.Feeders[0].Publication = reconcile.Reading[*mssql.Publication]{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := renamed()
			change(w)
			g.Expect(w.o.feeding(w.d)).To(BeEmpty())
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			p, done := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
			g.Expect(strings.Join(done, "\n")).NotTo(ContainSubstring("sp_dropsubscription"))
		})
	}
}

// After the publication has moved, its subscription to the former publisher is one that ends, and every other one of
// the database may feed its tables as before.
func TestWhoFeedsTheTablesAfterAMove(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	own := mssql.SubscriptionHere{Publisher: "tukpub-0", PublisherDatabase: "Content", Publication: "articles"}
	former, other, stranger := own, own, own
	former.Publisher, other.Publication, stranger.Publisher = "oldpub-0", "other", "elsewhere-0"
	w.o.Here.Subscriptions = []mssql.SubscriptionHere{former, own, other, stranger}
	ends, feed := w.o.besides(w.d)
	g.Expect(ends).To(BeEmpty())
	g.Expect(feed).To(HaveExactElements(former, other, stranger), "who feeds from a server of another name is not known")
	w.d.Publication.Spec.MovedBy = "lost"
	ends, _ = w.o.besides(w.d)
	g.Expect(ends).To(BeEmpty(), "no record says from where it has moved")
	by := func(from ...replication.PublishedFrom) {
		w.d.FormerPublishers = from
		ends, feed = w.o.besides(w.d)
	}
	by(replication.PublishedFrom{Party: replication.Party{Servers: []v1alpha1.ServerName{"oldpub"}}, Database: "Other"})
	g.Expect(ends).To(BeEmpty(), "another database's publication of the name")
	by(replication.PublishedFrom{Original: "oldpub-0", Database: "Content"})
	g.Expect(ends).To(HaveExactElements(former), "its objects are gone")
	by()
	last := &v1alpha1.SubscriptionInitialization{Publisher: "oldpub-0", PublisherDatabase: "Content"}
	w.d.Subscription.Status.Initialization = last
	ends, _ = w.o.besides(w.d)
	g.Expect(ends).To(HaveExactElements(former), "the record is gone; it was registered there last")
	w.d.Publication.Spec.Database = "Articles"
	ends, _ = w.o.besides(w.d)
	g.Expect(ends).To(HaveExactElements(former), "whatever database is published now")
	w.d.Publication.Spec.Database, last.PublisherDatabase = "Content", "Other"
	ends, _ = w.o.besides(w.d)
	g.Expect(ends).To(BeEmpty(), "it was registered with another database's publication")
	w.d.Subscription.Status.Initialization = nil
	by(replication.PublishedFrom{Party: replication.Party{Servers: []v1alpha1.ServerName{"oldpub"}}, Database: "Content"})
	g.Expect(ends).To(HaveExactElements(former))
	g.Expect(feed).To(HaveExactElements(other, stranger))

	w.o.Here.Subscriptions = []mssql.SubscriptionHere{former, other, stranger}
	o := w.look()
	silent := mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
		return mssql.Access{}, errors.New("cut off")
	})
	nobody := replication.Engines{Connector: mssql.NewConnector(mssql.Options{Access: silent}), Namespace: "web"}
	observeFormer(t.Context(), nobody, w.d, &o)
	observeFeeders(t.Context(), nobody, mirrorsNothing{}, w.d, &o)
	g.Expect(o.Former).To(HaveLen(1))
	g.Expect(o.Feeders).To(HaveExactElements(HaveField("Here", other), HaveField("Here", stranger)))
	g.Expect(o.JobsErr).To(HaveOccurred())
}

// After a move another publisher's publication of the same name is left alone and named, like any other feeder.
func TestAStrangersPublicationOfTheNameAfterAMove(t *testing.T) {
	g := NewWithT(t)
	w := renamed()
	w.d.Publication.Spec.MovedBy = "lost"
	w.d.FormerPublishers = []replication.PublishedFrom{{Original: "oldpub-0", Database: "Content"}}
	here := &w.o.Here.Subscriptions[0]
	here.Publisher, here.Publication = "elsewhere-0", "articles"
	w.o.Feeders[0].Here, w.o.Feeders[0].Publication = *here, reconcile.Reading[*mssql.Publication]{}
	for _, annotation := range []string{"", "true"} {
		w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: annotation}
		p, done := w.settle(t, all)
		g.Expect(strings.Join(done, "\n")).NotTo(ContainSubstring("sp_droppullsubscription"))
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty))
		g.Expect(p.Outcome.Message).To(ContainSubstring("publication articles of Content at elsewhere-0"))
	}
	w.d.Beside = []Beside{{Name: "old", Publication: "articles", Tables: []string{"dbo.B"},
		Publishers: []replication.PublishedFrom{{Original: "tukpub-0", Database: "Content"}}}}
	g.Expect(w.o.feeding(w.d)).To(HaveLen(1), "no Subscription declares it")
	w.d.Beside[0].Publishers[0].Party.Group = "content"
	g.Expect(w.o.feeding(w.d)).To(BeEmpty(), "it may be a replica's that has left the group")
}

// mirrorsNothing are sidecars that mirror no folder for anybody.
type mirrorsNothing struct{ Sidecars }

func (mirrorsNothing) Mirroring(context.Context, string, v1alpha1.ServerName, string) ([]string, error) {
	return nil, nil
}

// A Subscription that came after the first list, and registered itself before the database was read, is no stranger's:
// what is declared is read once more, and not from the cache, after who feeds the database.
func TestAFeederThatIsDeclaredMeanwhile(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	old := &v1alpha1.Subscription{ObjectMeta: named("old"), Spec: v1alpha1.SubscriptionSpec{
		Publication: "former", Subscriber: v1alpha1.ServerOrGroup{Server: subscriber}, Database: "Content"}}
	hub := fake.NewClientBuilder().WithScheme(scheme)
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(old,
		&v1alpha1.Publication{ObjectMeta: named("former"), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{Server: publisher}, Database: "Content", Distributor: "main",
			Articles: []v1alpha1.Article{{Table: "dbo.Article"}}}},
		&v1alpha1.SQLServer{ObjectMeta: named(string(publisher))})
	r := &Reconciler{hub: hub.Build(), server: server.Build()}

	// adopts is what is done about the feeder, and what is said of it.
	adopts := func(w *world) ([]string, string) {
		w.settle(t, all)
		w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		p := plan(w.d, w.look())
		return describeSteps(p), p.Outcome.Message
	}

	w := renamed()
	var err error
	w.d.Beside, w.d.Declared, err = beside(t.Context(), r.hub, w.d.Subscription)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.d.Beside).To(BeEmpty())
	steps, _ := adopts(w)
	g.Expect(steps).To(ContainElement(ContainSubstring("sp_droppullsubscription")), "nobody declares it")

	w = renamed()
	g.Expect(r.observeDeclared(t.Context(), w.d, &w.o)).To(Succeed())
	g.Expect(w.o.Declared.Names).To(ConsistOf("old"))
	steps, says := adopts(w)
	g.Expect(steps).To(BeEmpty())
	g.Expect(says).To(ContainSubstring("as Subscription old declares"))

	w = newWorld(declared())
	g.Expect(r.observeDeclared(t.Context(), w.d, &w.o)).To(Succeed())
	g.Expect(w.o.Declared).To(BeNil(), "without a feeder nothing depends on it")
}
