// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// due is when the schedule of a copied world asks for its next snapshot.
var due = start.Add(17 * time.Hour)

// replicated is a world whose subscribers have the tables that were copied, and where a third one is subscribed that
// nobody declares.
func replicated(t fatal) *world {
	w := copied(t, true)
	w.subscribe("straysub-0")
	w.d.Subscriptions = w.d.Subscriptions[:2]
	w.theirs = map[string]map[string]mssql.Table{}
	for _, host := range []string{"dubsub-0", "quisub-0", "straysub-0"} {
		w.theirs[host] = map[string]mssql.Table{"dbo.article": {Schema: "dbo", Name: "Article"},
			"dbo.attachment": {Schema: "dbo", Name: "Attachment"}}
	}
	w.report(t)
	return w
}

func unfilter(w *world) { w.d.Publication.Spec.Articles[1].Filter = "" }

// An article whose filter is taken away is dropped and added again. Subscribers have the table as its copy, which the
// schedule replaces: it does not stand in the way, whatever step is the last one of a process.
func TestAFilterThatIsTakenAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(fail{t})
		w := replicated(fail{t})
		w.marked = rapid.Bool().Draw(t, "a snapshot is for those that are marked")
		unfilter(w)
		p, done := w.now(fail{t}, start.Add(time.Hour))
		g.Expect(done).To(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
		w.o.Now = due
		most, again := crashes(t), rapid.Bool().Draw(t, "and another filter is declared meanwhile")
		_, done = w.settle(fail{t}, func() int {
			if _, there := w.o.Database.Publication.Articles["dbo.attachment"]; !there && again {
				w.d.Publication.Spec.Articles[1].Filter = "Id > 9"
			}
			w.report(fail{t})
			return most()
		})
		g.Expect(strings.Join(done, "\n")).To(ContainSubstring("sp_droparticle"))
		w.report(fail{t})
		p = plan(w.d, w.look())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
		g.Expect(snapshots(done)).To(Equal(1))
		g.Expect(w.o.Database.Publication.Subscriptions).To(HaveLen(6))
		g.Expect(w.has).To(And(HaveLen(6), HaveEach(due)))
		for _, s := range w.o.Database.Publication.Subscriptions {
			g.Expect(s.Status).To(Equal(2))
		}
		g.Expect(w.d.Publication.Status.NeededReinitialization).To(BeNil())
		g.Expect(reinitialized(w.d, w.look(), p).Copies).To(BeEmpty(), "that is done")
		g.Expect(w.d.Publication.Status.Reinitialized.Requests).To(BeEmpty())
	})
}

// The schedule agrees to the copies that it made. A table that a subscriber had already is its own: it is not replaced,
// and an article is not dropped that could not be brought to the others again.
func TestATableThatTheScheduleDidNotBring(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		waits  string
		// asked is a Subscription whose request lets it go on.
		asked int
	}{
		"of an article that came later": {func(w *world) {
			w.o.Database.Tables["dbo.late"] = mssql.Table{Schema: "dbo", Name: "Late", Compression: "NONE"}
			w.d.Publication.Spec.Articles = append(w.d.Publication.Spec.Articles, v1alpha1.Article{Table: "dbo.Late"})
			w.theirs["dubsub-0"]["dbo.late"] = mssql.Table{Schema: "dbo", Name: "Late"}
		}, "dubsub", 0},
		"while another article loses its filter": {func(w *world) {
			unfilter(w)
			var some []mssql.ArticleSubscription
			for _, s := range w.o.Database.Publication.Subscriptions {
				if s.Subscriber != "quisub-0" || s.Article != "dbo.Article" {
					some = append(some, s)
				}
			}
			w.o.Database.Publication.Subscriptions = some
		}, "quisub", 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := replicated(t)
			c.change(w)
			_, done := w.now(t, due)
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring("is already"))
			g.Expect(w.d.Publication.Status.NeededReinitialization.WaitingFor).To(ContainElement(c.waits))
			text := strings.Join(done, "\n")
			g.Expect(text).NotTo(Or(ContainSubstring("sp_droparticle"), ContainSubstring("sp_refreshsubscriptions")))
			g.Expect(snapshots(done)).To(Equal(1), "everything else goes on")

			// Who asks does not wait for the schedule.
			w.o.Now = due.Add(time.Hour)
			s := &w.d.Subscriptions[c.asked]
			s.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: "u/now"}
			_, done = w.now(t, w.o.Now)
			g.Expect(strings.Join(done, "\n")).To(ContainSubstring("sp_refreshsubscriptions"))
			g.Expect(w.d.Publication.Status.Reinitialized.Requests).To(ConsistOf("u/now"))
			at := metav1.NewTime(w.o.Now)
			s.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: "u/now", Time: &at}
			_, done = w.now(t, w.o.Now.Add(time.Second))
			g.Expect(snapshots(done)).To(Equal(1))
			w.now(t, due.Add(24*time.Hour))
			p = plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
			g.Expect(w.d.Publication.Status.NeededReinitialization).To(BeNil())
		})
	}
}

// Where the article was the only one its subscribers are registered to nothing in between: it stays recorded whose
// tables are copies until their Subscriptions have had them registered again. Who has none is not ended.
func TestTheOnlyArticleLosesItsFilter(t *testing.T) {
	only := func(t *testing.T) *world {
		w := replicated(t)
		unfilter(w)
		w.d.Publication.Spec.Articles = w.d.Publication.Spec.Articles[1:]
		delete(w.o.Database.Publication.Articles, "dbo.article")
		w.o.Database.Publication.Subscriptions = slices.DeleteFunc(w.o.Database.Publication.Subscriptions,
			func(s mssql.ArticleSubscription) bool { return s.Article == "dbo.Article" })
		return w
	}
	g := NewWithT(t)
	w := only(t)
	p, done := w.now(t, due)
	g.Expect(strings.Join(done, "\n")).NotTo(ContainSubstring("sp_droparticle"))
	g.Expect(snapshots(done)).To(Equal(1))
	g.Expect(p.Outcome.Message).To(ContainSubstring("Content on straysub-0, which no Subscription declares"))

	w = only(t)
	w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:2]
	_, done = w.now(t, due)
	g.Expect(strings.Join(done, "\n")).To(ContainSubstring("sp_droparticle"))
	g.Expect(snapshots(done)).To(Equal(1))
	g.Expect(w.o.Database.Publication.Subscriptions).To(BeEmpty())
	for _, host := range []string{"dubsub-0", "quisub-0"} {
		w.now(t, due.Add(time.Minute))
		g.Expect(w.d.Publication.Status.Reinitialized.Copies).To(ConsistOf(v1alpha1.RequestedCopy{Table: "dbo.Attachment",
			Subscribers: []string{"dubsub-0/Content", "quisub-0/Content"}}))
		w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions, mssql.ArticleSubscription{
			Article: "dbo.Attachment", Subscriber: host, Database: "Content", Status: 2, Pull: true})
	}
	p, _ = w.now(t, due.Add(time.Minute))
	g.Expect(w.d.Publication.Status.Reinitialized.Copies).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
}

// A request for a copy of all tables is its Subscription's to carry out: a change that waits for the schedule does not
// take it for its own.
func TestARequestThatIsNotForAChange(t *testing.T) {
	g := NewWithT(t)
	w := replicated(t)
	w.d.Publication.Spec.Articles[0].Filter = "Id > 1"
	w.d.Subscriptions[0].Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: "u/now"}
	_, done := w.now(t, start.Add(time.Hour))
	g.Expect(done).To(BeEmpty())
	_, done = w.now(t, due)
	g.Expect(snapshots(done)).To(Equal(1))
	if r := w.d.Publication.Status.Reinitialized; r != nil {
		g.Expect(r.Requests).To(BeEmpty())
	}
}

// A suspended Subscription's tables are replaced by nothing: a change of articles waits for it, and the copies of the
// others go on.
func TestAChangeBesideASuspendedSubscriber(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a filter is taken away": unfilter,
		"another filter":         func(w *world) { w.d.Publication.Spec.Articles[0].Filter = "Id > 1" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := replicated(t)
			change(w)
			w.d.Resting = map[string]string{"dubsub": "spec.suspend is true"}
			p, done := w.now(t, due)
			text := strings.Join(done, "\n")
			g.Expect(text).NotTo(Or(ContainSubstring("article = N'dbo."), ContainSubstring("dubsub-0")))
			g.Expect(snapshots(done)).To(Equal(1))
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring("dubsub, to which nothing is copied while it is suspended"))
			w.d.Resting = nil
			_, done = w.now(t, due.Add(24*time.Hour))
			g.Expect(strings.Join(done, "\n")).To(ContainSubstring("article = N'dbo."))
			g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
		})
	}
}

// The copies that are there serve while articles are changed for the next ones.
func TestAScheduleServesWhileArticlesChange(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a filter is taken away": unfilter,
		"another filter":         func(w *world) { w.d.Publication.Spec.Articles[0].Filter = "Id > 1" },
		"an article": func(w *world) {
			w.o.Database.Tables["dbo.late"] = mssql.Table{Schema: "dbo", Name: "Late", Compression: "NONE"}
			w.d.Publication.Spec.Articles = append(w.d.Publication.Spec.Articles, v1alpha1.Article{Table: "dbo.Late"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := replicated(t)
			change(w)
			w.o.Now = due
			for range 20 {
				o := w.look()
				p := plan(w.d, o)
				g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
				w.d.Publication.Status.Reinitialized = reinitialized(w.d, o, p)
				for _, s := range p.Steps[:min(1, len(p.Steps))] {
					w.do(t, s)
				}
				w.report(t)
			}
			g.Expect(plan(w.d, w.look()).All()).To(BeEmpty())
			g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
		})
	}
}
