// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// begunWith is the record of a change that a request asked for, of an article as it is declared.
func (w *world) begunWith(table, request string) *v1alpha1.PublicationReinitialization {
	return &v1alpha1.PublicationReinitialization{Requests: []string{request}, Copies: []v1alpha1.RequestedCopy{
		{Table: table, Request: request, Declared: w.d.articleDeclared(table)}}}
}

// disown has nobody declare the subscriber, and the publication edited to another method.
func disown(w *world, method v1alpha1.InitializationMethod) {
	w.d.Subscriptions = nil
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: method}
}

// An article that comes after its subscribers replaces no table that one of them has under that name.
func TestAnArticleThatASubscriberHasATableOf(t *testing.T) {
	there := map[string]mssql.Table{"dbo.attachment": {Schema: "dbo", Name: "Attachment"}}
	dublin := receiver{server: "dubsub-0", database: "Content", pull: true}
	for name, c := range map[string]struct {
		change func(*world)
		reason string
		words  string
		waits  []string
		steps  []string
	}{
		"no such table": {func(w *world) { w.theirs = map[string]map[string]mssql.Table{"dubsub-0": {"dbo.other": {}}} },
			v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions"}},
		"a table of its own": {func(*world) {}, v1alpha1.ReasonReinitializationNeeded,
			"it came after dublin, where a table of this name is already", []string{"dublin"}, nil},
		"not read": {func(w *world) {
			w.o.Theirs = map[receiver]reconcile.Reading[map[string]mssql.Table]{
				dublin: reconcile.NotRead[map[string]mssql.Table](errors.New("cut off")),
			}
		}, v1alpha1.ReasonEngineNotAnswering, "Content on dubsub-0 is not subscribed to dbo.attachment yet", nil, nil},
		"asked for": {func(w *world) { w.ask("u1/1") }, v1alpha1.ReasonPublished, "", nil,
			[]string{"sp_refreshsubscriptions"}},
		"automatic": {func(w *world) { w.d.Publication.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic },
			v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions"}},
		"told to adopt": {func(w *world) {
			w.d.Subscriptions[0].Annotations =
				map[string]string{v1alpha1.AdoptAnnotation: "true"}
		},
			v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions"}},
		"no snapshot": {func(w *world) {
			w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
		},
			v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions"}},
		"the change that was asked for": {func(w *world) {
			w.ask("u1/1")
			w.d.Publication.Status.Reinitialized = w.begunWith("dbo.Attachment", "u1/1")
		}, v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions"}},
		"another change was asked for": {func(w *world) {
			w.ask("u1/1")
			w.d.Publication.Status.Reinitialized = w.begunWith("dbo.Article", "u1/1")
		}, v1alpha1.ReasonReinitializationNeeded, "it came after dublin", []string{"dublin"}, nil},
		"registered without a copy": {func(w *world) { w.o.Database.Publication.Subscriptions[0].DataWasThere = true },
			v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions"}},
		"nobody declares it": {func(w *world) { w.d.Subscriptions = nil }, v1alpha1.ReasonReinitializationNeeded,
			"it came after Content on dubsub-0, which no Subscription declares",
			[]string{"Content on dubsub-0, which no Subscription declares"}, nil},
		"nobody declares it, and the publication copies nothing by now": {func(w *world) {
			disown(w, v1alpha1.InitializeReplicationSupportOnly)
		}, v1alpha1.ReasonReinitializationNeeded, "it came after Content on dubsub-0, which no Subscription declares",
			[]string{"Content on dubsub-0, which no Subscription declares"}, nil},
		"nobody declares it, it kept its copy, and the publication copies by now": {func(w *world) {
			disown(w, v1alpha1.InitializeSnapshot)
			w.o.Database.Publication.Subscriptions[0].DataWasThere = true
		}, v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions"}},
		"nobody declares it, it is pushed to with a copy, and the publication copies nothing by now": {func(w *world) {
			disown(w, v1alpha1.InitializeReplicationSupportOnly)
			w.o.Database.Publication.Subscriptions[0].Pull, w.theirs = false, nil
		}, v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions", "@sync_type = N'automatic'"}},
		"nobody declares it, it is pushed to without a copy, and the publication copies by now": {func(w *world) {
			disown(w, v1alpha1.InitializeCompare)
			s := &w.o.Database.Publication.Subscriptions[0]
			s.Pull, s.DataWasThere = false, true
		}, v1alpha1.ReasonPublished, "", nil,
			[]string{"sp_refreshsubscriptions", "@sync_type = N'replication support only'"}},
		"beside one that pushes": {func(w *world) {
			w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions,
				mssql.ArticleSubscription{Article: "dbo.Article", Subscriber: "quisub-0", Database: "Content", Status: 2})
		}, v1alpha1.ReasonReinitializationNeeded, "dublin", []string{"dublin"}, []string{"@subscriber = N'quisub-0'"}},
		"pushed to, registered without a copy": {func(w *world) {
			s := &w.o.Database.Publication.Subscriptions[0]
			s.Pull, s.DataWasThere = false, true
		}, v1alpha1.ReasonPublished, "", nil,
			[]string{"sp_refreshsubscriptions", "@sync_type = N'replication support only'"}},
		"pushed to, and gets no copies": {func(w *world) {
			w.o.Database.Publication.Subscriptions[0].Pull = false
			w.d.Subscriptions[0].Spec.Initialization = &v1alpha1.Initialization{
				Method: v1alpha1.InitializeReplicationSupportOnly}
		}, v1alpha1.ReasonPublished, "", nil,
			[]string{"sp_refreshsubscriptions", "@sync_type = N'replication support only'"}},
		"pushed to, with a copy": {func(w *world) {
			w.o.Database.Publication.Subscriptions[0].Pull, w.theirs = false, nil
		}, v1alpha1.ReasonPublished, "", nil, []string{"sp_refreshsubscriptions", "@sync_type = N'automatic'"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribed(t)
			w.theirs = map[string]map[string]mssql.Table{"dubsub-0": there}
			w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
			c.change(w)
			p, done := w.settle(t, all)
			done = slices.DeleteFunc(done, func(s string) bool {
				return strings.Contains(s, readerJob) || strings.Contains(s, w.d.System.SetUpLogin)
			})
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.words))
			g.Expect(done).To(HaveLen(len(c.steps)))
			for i, step := range c.steps {
				g.Expect(done[i]).To(ContainSubstring(step))
			}
			if n := describe(w.d, w.look()).NeededReinitialization; c.waits != nil {
				g.Expect(n.WaitingFor).To(Equal(c.waits))
			} else {
				g.Expect(n).To(BeNil())
			}
		})
	}
}

// A request that a held article waited for is carried out with it; one for something else is not.
func TestTheRequestThatAHeldArticleWaitedFor(t *testing.T) {
	for _, waited := range []bool{true, false} {
		g := NewWithT(t)
		w := subscribed(t)
		w.theirs = map[string]map[string]mssql.Table{"dubsub-0": {"dbo.attachment": {Schema: "dbo", Name: "Attachment"}}}
		w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
		if waited {
			w.d.Publication.Status.NeededReinitialization = describe(w.d, w.look()).NeededReinitialization
		}
		w.ask("u1/1")
		o := w.look()
		r := reinitialized(w.d, o, plan(w.d, o))
		if !waited {
			g.Expect(r).To(BeNil())
			continue
		}
		g.Expect(r.Requests).To(Equal([]string{"u1/1"}))
		g.Expect(r.Copies).To(Equal(w.begunWith("dbo.attachment", "u1/1").Copies))
	}
}

// A request is not carried out by what brings no copy: a subscriber that was registered without one gets none of an
// article that is changed or added, and its Subscription goes on to give it one.
func TestTheRequestOfASubscriberThatKeepsItsCopy(t *testing.T) {
	for _, kept := range []bool{true, false} {
		for name, change := range map[string]func(*world){
			"changed": func(w *world) { w.d.Publication.Spec.Articles[0].Filter = "Id < 5" },
			"added": func(w *world) {
				w.d.Publication.Status.NeededReinitialization = &v1alpha1.NeededReinitialization{
					Tables: []v1alpha1.NeededCopy{{Table: "dbo.Attachment"}}, WaitingFor: []string{"dublin"}}
				w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
			},
		} {
			t.Run(fmt.Sprintf("%s, kept %v", name, kept), func(t *testing.T) {
				g := NewWithT(t)
				w := subscribed(t)
				change(w)
				for i := range w.o.Database.Publication.Subscriptions {
					w.o.Database.Publication.Subscriptions[i].DataWasThere = kept
				}
				w.ask("u1/1")
				w.recordRight()
				o := w.look()
				p := plan(w.d, o)
				r := reinitialized(w.d, o, p)
				if kept {
					g.Expect(p.Steps).NotTo(BeEmpty(), p.Outcome.Message)
					g.Expect(r).To(BeNil())
					return
				}
				g.Expect(p.Steps).To(BeEmpty(), "the record comes first")
				g.Expect(r.Requests).To(Equal([]string{"u1/1"}))
			})
		}
	}
}

// A change that was asked for consents to the copies that it makes: not to those of a table of that name that is
// published again later, nor, of another subscriber's change, to that one's tables.
func TestHowLongAChangeConsents(t *testing.T) {
	g := NewWithT(t)
	w := subscribed(t)
	dublin := receiver{server: "dubsub-0", database: "Content", pull: true}
	w.theirs = map[string]map[string]mssql.Table{"dubsub-0": {"dbo.attachment": {Schema: "dbo", Name: "Attachment"}}}
	report := func() *v1alpha1.PublicationReinitialization {
		o := w.look()
		w.d.Publication.Status.Reinitialized = reinitialized(w.d, o, plan(w.d, o))
		return w.d.Publication.Status.Reinitialized
	}
	w.ask("u1/1")
	w.d.Publication.Status.Reinitialized = w.begunWith("dbo.Attachment", "u1/1")
	copies := w.d.Publication.Status.Reinitialized.Copies
	whole := w.o.Database.Publication.Subscriptions
	w.o.Database.Publication.Subscriptions = whole[:1]
	g.Expect(report().Copies).To(Equal(copies), "it is published again, and its subscriber lacks it")
	attachment := w.o.Database.Publication.Articles["dbo.attachment"]
	delete(w.o.Database.Publication.Articles, "dbo.attachment")
	g.Expect(report().Copies).To(Equal(copies), "it is on its way")
	w.o.Database.Publication.Articles["dbo.attachment"] = attachment
	g.Expect(w.d.replaces(dublin, "dbo.attachment")).To(BeTrue())
	w.o.Database.Publication.Subscriptions = whole
	g.Expect(report().Copies).To(BeEmpty())
	g.Expect(w.d.Publication.Status.Reinitialized.Requests).To(Equal([]string{"u1/1"}), "it was carried out")
	g.Expect(w.d.replaces(dublin, "dbo.attachment")).To(BeFalse())

	declared := w.d.Publication.Spec.Articles
	w.d.Publication.Status.Reinitialized.Copies = copies
	w.d.Publication.Spec.Articles = declared[:1]
	g.Expect(report().Copies).To(BeEmpty(), "nobody declares it any more")
	w.d.Publication.Spec.Articles = declared

	quincy := w.d.Subscriptions[0].DeepCopy()
	quincy.Name, quincy.UID, quincy.Spec.Subscriber.Server = "quincy", "u2", "quisub"
	quincy.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: "u2/1"}
	w.d.Subscriptions = append(w.d.Subscriptions, *quincy)
	w.o.Database.Publication.Subscriptions = append(whole[:1:1],
		mssql.ArticleSubscription{Article: "dbo.Article", Subscriber: "quisub-0", Database: "Content", Status: 2})
	w.theirs["quisub-0"] = w.theirs["dubsub-0"]
	w.d.Publication.Status.NeededReinitialization = describe(w.d, w.look()).NeededReinitialization
	w.d.Subscriptions[0].Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: "u1/1"}
	g.Expect(report().Requests).To(Equal([]string{"u2/1"}), "the other one is recorded where it belongs")
	g.Expect(w.d.replaces(dublin, "dbo.attachment")).To(BeFalse())
}

// sp_refreshsubscriptions may leave a push subscriber out, and to subscribe him to all articles again is refused where
// he has some: then he is subscribed to each of those that he lacks, and to no other.
func TestPushSubscriberThatARefreshLeavesOut(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.settle(t, all)
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{Article: "dbo.Article", Subscriber: "quisub-0", Database: "Content", Status: 2}}
	lacks := w.o.lacking()
	g.Expect(lacks).To(HaveLen(1))
	step := subscribePush(w.d, w.look(), lacks[0])
	g.Expect(step.Statement.Text).To(ContainSubstring("@article = N'all'"))
	g.Expect(step.Instead).To(HaveLen(1))
	g.Expect(step.Instead[0].On).To(BeEquivalentTo(14058))
	g.Expect(step.Instead[0].Steps).To(HaveLen(1))
	one := step.Instead[0].Steps[0].Statement
	g.Expect(one.Text).To(And(ContainSubstring("@article = N'dbo.Attachment'"),
		ContainSubstring("@reserved = N'internal'"), ContainSubstring("@subscriber = N'quisub-0'")))
	g.Expect(one.Repeated()).To(ContainElement(BeEquivalentTo(14058)), "it has the article by now")
}

// A subscriber that nobody declares is what it was registered as, whatever the Publication says by now: one that waits
// for a copy gets a snapshot, and one that kept what it had needs the log reader.
func TestASubscriberThatNobodyDeclaresIsAsItWasRegistered(t *testing.T) {
	for name, c := range map[string]struct {
		method         v1alpha1.InitializationMethod
		kept, awaits   bool
		snapshot, sets bool
	}{
		"with a copy":                    {v1alpha1.InitializeReplicationSupportOnly, false, true, true, false},
		"with a copy that it has":        {v1alpha1.InitializeReplicationSupportOnly, false, false, false, false},
		"without a copy":                 {v1alpha1.InitializeReplicationSupportOnly, true, true, false, true},
		"without a copy, among others":   {v1alpha1.InitializeSnapshot, true, false, true, true},
		"with a copy, as all others are": {v1alpha1.InitializeSnapshot, false, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribed(t)
			disown(w, c.method)
			w.theirs = map[string]map[string]mssql.Table{"dubsub-0": {}}
			w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
			s := &w.o.Database.Publication.Subscriptions[0]
			s.DataWasThere = c.kept
			if c.awaits {
				s.Status = mssql.SubscriptionWaiting
			}
			o := w.look()
			g.Expect(w.d.snapshots(o)).To(Equal(c.snapshot))
			g.Expect(subscribesKept(w.d, o)).To(Equal(c.sets))
		})
	}
}
