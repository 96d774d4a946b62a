// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// record has the status say with which copies a plan begins, as a report does before anything is done.
func (w *world) record() *v1alpha1.PublicationReinitialization {
	o := w.look()
	w.d.Publication.Status.Reinitialized = reinitialized(w.d, o, plan(w.d, o))
	return w.d.Publication.Status.Reinitialized
}

// Who agreed to a change of an article agreed to that one: what is declared of the article later waits for another
// word, before the first step as between any two, and what was declared first does not come back under the old one. A
// change of something else takes nothing back.
func TestAConsentIsForWhatWasDeclared(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.PublicationSpec)
		holds  bool
	}{
		"as it was":             {func(*v1alpha1.PublicationSpec) {}, true},
		"another filter":        {func(s *v1alpha1.PublicationSpec) { s.Articles[1].Filter = "Id > 9" }, false},
		"another column":        {func(s *v1alpha1.PublicationSpec) { s.Articles[1].Columns[2] = "New" }, false},
		"rules for subscribers": {func(s *v1alpha1.PublicationSpec) { s.SchemaOptions = v1alpha1.SchemaPublishable }, false},
		"columns in another order": {
			func(s *v1alpha1.PublicationSpec) { s.Articles[1].Columns = []string{"title", "body", "Id"} }, true},
		"as it was, in words of the schema": {
			func(s *v1alpha1.PublicationSpec) { s.SchemaOptions = v1alpha1.SchemaDefault }, true},
		"something else": {func(s *v1alpha1.PublicationSpec) { s.LogReaderProfile = "slow" }, true},
	} {
		for _, steps := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, after %d steps", name, steps), func(t *testing.T) {
				g := NewWithT(t)
				w := subscribed(t)
				asked := w.d.Publication.Spec.DeepCopy()
				asked.Articles[1].Columns, asked.Articles[1].Filter = []string{"Id", "Body", "Title"}, "Id > 8"
				w.d.Publication.Spec = *asked.DeepCopy()
				w.ask("u1/now")
				g.Expect(w.record().Requests).To(Equal([]string{"u1/now"}))
				for _, s := range plan(w.d, w.look()).Steps[:steps] {
					w.do(t, s)
				}
				c.change(&w.d.Publication.Spec)
				w.record()
				p := plan(w.d, w.look())
				g.Expect(calls(p, tsql.ChangesArticle...)).To(Equal(c.holds), p.Outcome.Message)
				if c.holds {
					return
				}
				p, _ = w.settle(t, all)
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
				w.d.Publication.Spec = *asked.DeepCopy()
				w.record()
				g.Expect(calls(plan(w.d, w.look()), tsql.ChangesArticle...)).To(BeFalse(), "it was taken back")
				w.ask("u1/later")
				g.Expect(w.record().Requests).To(ContainElement("u1/later"))
				g.Expect(calls(plan(w.d, w.look()), tsql.ChangesArticle...)).To(BeTrue())
			})
		}
	}
}

// A change that an earlier release began, which did not record of what it was, is ended by this one.
func TestAConsentOfAnEarlierRelease(t *testing.T) {
	for name, change := range map[string]func(*world){
		"before its first step": func(*world) {},
		"after the article was dropped": func(w *world) {
			w.theirs = map[string]map[string]mssql.Table{"dubsub-0": {"dbo.attachment": {Schema: "dbo", Name: "Attachment"}}}
			w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribed(t)
			if change(w); len(w.theirs) == 0 {
				w.d.Publication.Spec.Articles[1].Filter = "Id > 8"
			}
			g.Expect(needed(w.d, w.look()).WaitingFor).To(Equal([]string{"dublin"}))
			w.ask("u1/now")
			w.d.Publication.Status.Reinitialized = w.begunWith("dbo.Attachment", "u1/now")
			w.d.Publication.Status.Reinitialized.Copies[0].Declared = ""
			g.Expect(w.record().Copies).To(HaveLen(1), "it is not taken back")
			g.Expect(needed(w.d, w.look())).To(BeNil())
			p, done := w.settle(t, all)
			g.Expect(done).NotTo(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
		})
	}
}

// Of an article that a subscriber has no more, or not yet, nothing is delivered to it: nobody is told that everything
// goes on.
func TestWhatGoesOnWithoutANewCopy(t *testing.T) {
	const all = "everything goes on as it was"
	g := NewWithT(t)
	w := subscribed(t)
	w.d.Publication.Spec.Articles[1].Filter = "Id > 8"
	g.Expect(plan(w.d, w.look()).Outcome.Message).To(ContainSubstring(", and " + all))
	w = subscribed(t)
	w.theirs = map[string]map[string]mssql.Table{"dubsub-0": {"dbo.attachment": {Schema: "dbo", Name: "Attachment"}}}
	w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("nothing is delivered of tables that came after a subscriber"),
		Not(ContainSubstring(all))))
}

// A copy that a suspended Subscription gets along with the others ends its request: it would ask for all tables later.
func TestACopyDuringSuspensionEndsItsRequest(t *testing.T) {
	g := NewWithT(t)
	w := subscribed(t)
	w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
	w.d.Publication.Status.NeededReinitialization = &v1alpha1.NeededReinitialization{
		Tables: []v1alpha1.NeededCopy{{Table: "dbo.Attachment"}}}
	w.ask("u1/now")
	w.d.Resting = map[string]string{"dublin": "spec.suspend is true"}
	o := w.look()
	p := plan(w.d, o)
	g.Expect(reinitialized(w.d, o, p)).To(HaveField("Requests", ConsistOf("u1/now")))
	w.record()
	g.Expect(calls(plan(w.d, w.look()), tsql.RefreshesSubscriptions)).To(BeTrue(), "no table of its is in the way")
}

// A request that is still open agrees to the articles for which it was made, too.
func TestAnOpenRequestIsForWhatWasDeclared(t *testing.T) {
	g := NewWithT(t)
	w := subscribed(t)
	w.d.Publication.Spec.Articles[1].Filter = "Id > 8"
	w.ask(replication.NewRequest(w.d.Publication, &w.d.Subscriptions[0], "now"))
	o := w.look()
	g.Expect(needed(w.d, o)).To(BeNil())
	g.Expect(reinitialized(w.d, o, plan(w.d, o)).Copies).To(HaveLen(1))
	w.d.Publication.Spec.Articles[1].Filter = "Id > 9"
	p := plan(w.d, w.look())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
	g.Expect(needed(w.d, w.look()).WaitingFor).To(Equal([]string{"dublin"}))
}

// A suspended Subscription's tables are replaced by nothing, whatever was agreed to: a change of articles waits for it.
func TestASuspendedSubscriberGetsNoNewCopy(t *testing.T) {
	there := map[string]map[string]mssql.Table{"dubsub-0": {"dbo.attachment": {Schema: "dbo", Name: "Attachment"}}}
	for name, change := range map[string]func(*world){
		"an article changes": func(w *world) { w.d.Publication.Spec.Articles[1].Filter = "Id > 8" },
		"an article came after it": func(w *world) {
			w.theirs = there
			w.o.Database.Publication.Subscriptions = w.o.Database.Publication.Subscriptions[:1]
		},
	} {
		for what, agrees := range map[string]func(*world){
			"it was asked for": func(w *world) { w.ask("u1/now") },
			"automatic":        func(w *world) { w.d.Publication.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic },
			"it was begun with": func(w *world) {
				w.ask("u1/now")
				w.d.Publication.Status.Reinitialized = w.begunWith("dbo.Attachment", "u1/now")
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				g := NewWithT(t)
				w := subscribed(t)
				change(w)
				agrees(w)
				w.d.Resting = map[string]string{"dublin": "spec.suspend is true"}
				p, done := w.settle(t, all)
				g.Expect(done).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
				g.Expect(p.Outcome.Message).To(ContainSubstring(
					"dublin, to which nothing is copied while it is suspended (spec.suspend is true)"))
				w.d.Resting = nil
				_, done = w.settle(t, all)
				g.Expect(done).NotTo(BeEmpty())
			})
		}
	}
}
