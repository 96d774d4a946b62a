// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// delivering is a subscription that delivers, of a publication whose copies are measured.
func delivering(t *testing.T, d Desired) *world {
	t.Helper()
	w := newWorld(d)
	w.d.Subscription.UID = "u1"
	w.d.Publication.Status.Size = &v1alpha1.CopySize{Rows: 1200, Bytes: 3 << 20}
	w.settle(t, all)
	return w
}

func (w *world) ask(request string) {
	w.d.Subscription.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: request}
}

// A new copy is made once for each request, and for none that was made for another object.
func TestANewCopyIsMadeWhenItIsAskedFor(t *testing.T) {
	reinitialize := ContainSubstring("sp_reinitsubscription")
	for name, c := range map[string]struct {
		d       Desired
		request string
		change  func(*world)
		done    bool
	}{
		"pull":           {declared(), "u1/1", nil, true},
		"push":           {push(""), "u1/1", nil, true},
		"another object": {declared(), "u0/1", nil, false},
		"no request":     {declared(), "true", nil, false},
		"the publication changes an article": {declared(), "u1/1", func(w *world) {
			w.d.Publication.Status.NeededReinitialization =
				&v1alpha1.NeededReinitialization{Tables: []v1alpha1.NeededCopy{{Table: "dbo.Article"}}}
		}, false},
		"the publication is being changed": {declared(), "u1/1", func(w *world) {
			w.d.Publication.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling,
				Status: metav1.ConditionTrue}}
		}, false},
		"the publication lacks a job for its upkeep": {declared(), "u1/1", func(w *world) {
			w.d.Publication.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue},
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMaintenanceJobMissing}}
		}, true},
		"the publication has made the copy": {declared(), "u1/1", func(w *world) {
			w.d.Publication.Status.Reinitialized = &v1alpha1.PublicationReinitialization{Requests: []string{"u1/1"}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := delivering(t, c.d)
			w.ask(c.request)
			if c.change != nil {
				c.change(w)
			}
			p, done := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
			if !c.done {
				g.Expect(done).NotTo(ContainElement(reinitialize))
				return
			}
			g.Expect(done).To(ContainElement(reinitialize))
			g.Expect(w.dropped).To(Equal(2), "the tables were replaced")
			g.Expect(w.d.Subscription.Status.Reinitialization.Request).To(Equal(c.request))
			_, done = w.settle(t, all)
			g.Expect(done).NotTo(ContainElement(reinitialize), "once")
		})
	}
}

// A new copy that was asked for when other articles were declared is not made, not even once those are declared again;
// the Subscription says so and goes on.
func TestARequestForOtherArticles(t *testing.T) {
	g := NewWithT(t)
	w := delivering(t, declared())
	at := w.o.Now
	w.d.Subscription.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: "u1/0",
		Time: &metav1.Time{Time: at}}
	request := replication.NewRequest(w.d.Publication, w.d.Subscription, "1")
	w.ask(request)
	before := w.d.Publication.Spec.DeepCopy()
	w.d.Publication.Spec.Articles = append(w.d.Publication.Spec.Articles, v1alpha1.Article{Table: "dbo.Picture"})
	w.settle(t, all)
	g.Expect(w.d.Subscription.Status.Reinitialization.Void).To(BeFalse(), "what is cached may be older than the request")
	w.d.Void = request
	p, done := w.settle(t, all)
	g.Expect(done).NotTo(ContainElement(ContainSubstring("sp_reinitsubscription")))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	g.Expect(*w.d.Subscription.Status.Reinitialization).To(Equal(v1alpha1.SubscriptionReinitialization{Request: request,
		Time: &metav1.Time{Time: at}, Void: true}))
	g.Expect(plan(w.d, w.look()).Outcome.Message).To(And(ContainSubstring("declares other articles since"),
		ContainSubstring("kubectl geosql reinitialize")))
	retyped := w.d
	retyped.Subscription = w.d.Subscription.DeepCopy()
	retyped.Subscription.Spec.Type = v1alpha1.SubscriptionPush
	p = plan(retyped, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded))
	g.Expect(p.Outcome.Message).To(ContainSubstring("declares other articles since"), "somebody has asked, and waits")
	w.d.Publication.Spec, w.d.Void = *before, ""
	_, done = w.settle(t, all)
	g.Expect(done).NotTo(ContainElement(ContainSubstring("sp_reinitsubscription")))
	w.ask("u1/2")
	_, done = w.settle(t, all)
	g.Expect(done).To(ContainElement(ContainSubstring("sp_reinitsubscription")))
}

// Who asks for a new copy gets one, also where copies that are equal are kept otherwise: nothing else is told as
// carried out.
func TestANewCopyOfTablesThatAreCompared(t *testing.T) {
	for name, d := range map[string]Desired{"pull": declared(), "push": push("")} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d.Subscription.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
			w := newWorld(d)
			w.d.Subscription.UID = "u1"
			w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
			w.o.Comparison = equal()
			w.settle(t, all)
			g.Expect(w.o.keeps(w.d)).To(BeTrue())
			w.d.Subscription.Annotations[v1alpha1.ReinitializeAnnotation] = "u1/1"
			p, _ := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
			g.Expect(w.o.keeps(w.d)).To(BeFalse())
			s := w.d.Subscription.Status
			g.Expect(s.Initialization.Method).To(Equal(v1alpha1.InitializeSnapshot))
			g.Expect(s.Initialization.Compared).To(BeFalse())
			g.Expect(s.Reinitialization.Request).To(Equal("u1/1"))
			_, done := w.settle(t, all)
			g.Expect(done).NotTo(ContainElement(ContainSubstring("sp_reinitsubscription")), "once")
		})
	}
}

// A step whose answer was lost is not repeated when the registration says that it was carried out.
func TestARequestWhoseAnswerWasLost(t *testing.T) {
	g := NewWithT(t)
	w := delivering(t, declared())
	w.ask("u1/1")
	o := w.look()
	p := plan(w.d, o)
	g.Expect(reinitialization(w.d, o, p, errors.New("cut off"))).To(BeNil())
	w.do(t, p.Steps[0])
	o = w.look()
	p = plan(w.d, o)
	g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("sp_reinitsubscription")))
	g.Expect(reinitialization(w.d, o, p, nil).Request).To(Equal("u1/1"))
}

// Another type takes a new copy: until somebody asks for it the subscription goes on as it is.
func TestAnotherTypeWaits(t *testing.T) {
	for name, c := range map[string]struct {
		from, to Desired
		is       string
	}{
		"pull to push": {declared(), push(""),
			"the subscription is Pull and goes on so: to become Push, with its agent on dist-0"},
		"push to pull": {push(""), declared(),
			"the subscription is Push, with its agent on dist-0 and goes on so"},
		"push with its agent afar to pull": {push(v1alpha1.AgentAtSubscriber), declared(),
			"Push, with its agent on dubsub-0 and goes on so: to become Pull"},
		"pull to push with its agent at the copy": {declared(), push(v1alpha1.AgentAtSubscriber),
			"to become Push, with its agent on dubsub-0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := delivering(t, c.from)
			w.d.Subscription.Spec = c.to.Subscription.Spec
			w.d.Profile = &v1alpha1.AgentProfileSpec{Agent: v1alpha1.AgentDistribution}
			p, done := w.settle(t, all)
			g.Expect(done).To(BeEmpty(), "its agent goes on")
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded))
			g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			g.Expect(p.Outcome.Message).To(And(ContainSubstring(c.is), ContainSubstring("1200 rows, 3.0 MiB"),
				ContainSubstring("kubectl geosql reinitialize dublin -n web")))
			g.Expect(describe(w.d, w.look()).Phase).To(Equal(phaseActive))

			w.ask("u1/1")
			p, _ = w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
			g.Expect(w.o.registrations(w.d)[0].Pull).To(Equal(w.d.pull()))
			g.Expect(w.dropped).To(Equal(2))
			g.Expect(w.d.Subscription.Status.Reinitialization.Request).To(Equal("u1/1"))
		})
	}
}

// In a database that others feed, or that publishes, the tables of a subscription stay its own while it changes its
// type.
func TestAnotherTypeInASharedDatabase(t *testing.T) {
	g := NewWithT(t)
	w := delivering(t, declared())
	other := mssql.SubscriptionHere{Publisher: "tukpub-0", PublisherDatabase: "Content", Publication: "other", Pull: true}
	for _, kind := range []v1alpha1.SubscriptionType{v1alpha1.SubscriptionPush, v1alpha1.SubscriptionPull} {
		w.d.Subscription.Spec.Type, w.d.Subscription.Spec.Reinitialization = kind, v1alpha1.ReinitializeAutomatic
		for range 40 {
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).NotTo(Equal(v1alpha1.ReasonSubscriberNotEmpty), p.Outcome.Message)
			for _, s := range p.Steps {
				w.do(t, s)
			}
			if w.o.here(w.d) == nil {
				w.o.Here.Subscriptions = append(w.o.Here.Subscriptions, other)
			}
			w.run()
		}
		g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	}
}

// A subscription that the distributor has given up gets a new copy when somebody asks for it, or unasked where that is
// declared.
func TestASubscriptionThatWasGivenUp(t *testing.T) {
	g := NewWithT(t)
	w := delivering(t, declared())
	w.fails(mssql.RunFailed, time.Hour)
	w.o.Agent.ErrorCode, w.o.Agent.FailureMessage = deactivated,
		"The subscription(s) have been marked inactive and must be reinitialized."
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriptionInactive))
	g.Expect(p.Outcome.Message).
		To(And(ContainSubstring("1200 rows, 3.0 MiB"), ContainSubstring("kubectl geosql reinitialize dublin -n web")))
	g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("sp_reinitsubscription")))
	w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
	g.Expect(describeSteps(plan(w.d, w.look()))).To(ContainElement(ContainSubstring("sp_reinitsubscription")))
}

// A request waits for the publication's other subscribers, and says what to do about those whom nobody can ask. A
// subscription that was given up waits for nobody: nothing is delivered to it meanwhile.
func TestARequestThatWaitsForOthers(t *testing.T) {
	reinitialize := ContainSubstring("sp_reinitsubscription")
	waiting := func(t *testing.T, others ...string) *world {
		w := delivering(t, declared())
		w.d.Publication.Status.NeededReinitialization = &v1alpha1.NeededReinitialization{
			Tables: []v1alpha1.NeededCopy{{Table: "dbo.Article"}}, WaitingFor: others}
		w.d.Publication.Status.Undeclared = []v1alpha1.Undeclared{
			{Publication: "articles", Subscriber: "QUISUB-0", Database: "Content"},
			{Publication: "articles", Subscriber: "tuksub-0", Database: "Content"},
			{Publication: "other", Subscriber: "dubsub-0", Database: "Content"}}
		w.ask("u1/1")
		return w
	}
	giveUp := func(w *world) {
		for i := range w.o.Publication.Subscriptions {
			w.o.Publication.Subscriptions[i].Status = mssql.SubscriptionInactive
		}
	}
	const stranger = "Content on quisub-0, which no Subscription declares"
	g := NewWithT(t)
	w := waiting(t, stranger)
	p, done := w.settle(t, all)
	g.Expect(done).NotTo(ContainElement(reinitialize))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("Nobody can ask for Content on QUISUB-0: declare a Subscription"),
		ContainSubstring("EXEC sp_dropsubscription @publication = N'articles', @article = N'all', @subscriber = N'QUISUB-0'"),
		ContainSubstring("Automatic"), Not(ContainSubstring("tuksub"))))

	p, _ = waiting(t, "quincy").settle(t, all)
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("too: quincy"), Not(ContainSubstring("Nobody can ask"))))

	giveUp(w)
	p, done = w.settle(t, all)
	g.Expect(done).To(ContainElement(reinitialize))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.d.Subscription.Status.Reinitialization.Request).To(Equal("u1/1"))

	w = waiting(t, "dublin")
	giveUp(w)
	g.Expect(describeSteps(plan(w.d, w.look()))).NotTo(ContainElement(reinitialize),
		"the publication is about to make the copy with the change")
}

// What proves that tables are a subscription's own is its registration, and that it was registered once; then a new
// copy of them is asked for. The agents' user is shared and proves nothing.
func TestWhoseTables(t *testing.T) {
	ended := func(w *world) { w.o.Publication.Subscriptions, w.o.Here.Subscriptions = nil, nil }
	for name, c := range map[string]struct {
		change func(*world)
		reason string
	}{
		"the agents' user is there, and a table": {func(w *world) {
			ended(w)
			w.d.Subscription.Status.Initialization = nil
		}, v1alpha1.ReasonSubscriberNotEmpty},
		"the database publishes": {func(w *world) {
			ended(w)
			w.d.Subscription.Status.Initialization = nil
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE",
				Published: true}
		}, v1alpha1.ReasonSubscriberNotEmpty},
		"the database publishes other tables": {func(w *world) {
			ended(w)
			w.d.Subscription.Status.Initialization = nil
			w.o.Here.Tables = map[string]mssql.Table{"dbo.price": {Schema: "dbo", Name: "Price"}}
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE",
				Published: true}
		}, v1alpha1.ReasonDelivering},
		"ended by hand at both ends": {ended, v1alpha1.ReasonReinitializationNeeded},
		"ended by hand at the publisher": {func(w *world) { w.o.Publication.Subscriptions = nil },
			v1alpha1.ReasonReinitializationNeeded},
		"ended by hand, adopted before": {func(w *world) {
			ended(w)
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		}, v1alpha1.ReasonReinitializationNeeded},
		"ended by hand, and the tables are gone": {func(w *world) {
			ended(w)
			w.o.Here.Tables = map[string]mssql.Table{}
		}, v1alpha1.ReasonDelivering},
		"ended by hand, and asked for": {func(w *world) {
			ended(w)
			w.ask("u1/1")
		}, v1alpha1.ReasonDelivering},
		"made anew at its distributor": {func(w *world) {
			w.o.Publication.Subscriptions = nil
			w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
		}, v1alpha1.ReasonDelivering},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := delivering(t, declared())
			before := w.dropped
			c.change(w)
			p, done := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			if c.reason != v1alpha1.ReasonDelivering {
				g.Expect(w.dropped).To(Equal(before))
				g.Expect(done).To(BeEmpty())
				g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
				g.Expect(p.Outcome.Message).To(ContainSubstring("dbo.Article, dbo.Attachment"))
			}
		})
	}
}

// What several own goes with the last of them.
func TestTheAgentsUserGoesWithTheLastOwner(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		drops  bool
	}{
		"alone": {func(*world) {}, true},
		"the database publishes": {func(w *world) {
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE",
				Published: true}
		}, false},
		"another subscription is there": {func(w *world) {
			w.o.Here.Subscriptions = []mssql.SubscriptionHere{{Publisher: "tukpub-0", PublisherDatabase: "Content",
				Publication: "other"}}
		}, false},
		"another subscription is declared": {func(w *world) { w.d.Beside = []Beside{{Name: "other"}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := delivering(t, declared())
			w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
			w.o.Publication.Subscriptions, w.o.Here.Subscriptions, w.o.Mirror = nil, nil, Mirror{}
			w.jobs[subscriber] = map[string]*mssql.Job{}
			c.change(w)
			p := planDelete(w.d, w.look())
			text := strings.Join(describeSteps(p), "\n")
			g.Expect(strings.Contains(text, "DROP USER")).To(Equal(c.drops), text)
			g.Expect(p.Done).To(Equal(!c.drops))
		})
	}
}
