// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// Each article's table has a guard while readOnly is declared, and none otherwise.
func TestGuardsOfAReadOnlyCopy(t *testing.T) {
	article, more := mssql.Table{Schema: "dbo", Name: "Article"}, mssql.Table{Schema: "dbo", Name: "More"}
	for name, c := range map[string]struct {
		readOnly bool
		guards   []mssql.Guard
		steps    []string
	}{
		"nothing declared": {},
		"none yet":         {readOnly: true, steps: []string{"CREATE OR ALTER TRIGGER [dbo].[geosql_read_only_"}},
		"in order":         {readOnly: true, guards: []mssql.Guard{{Schema: "dbo", Table: "ARTICLE"}}},
		"declared no more, of two": {guards: []mssql.Guard{{Schema: "dbo", Table: "Article"}, {Schema: "dbo", Table: "More"}},
			steps: []string{"DROP TRIGGER IF EXISTS [dbo].[geosql_read_only_0",
				"DROP TRIGGER IF EXISTS [dbo].[geosql_read_only_1"}},
		"disabled": {readOnly: true, guards: []mssql.Guard{{Schema: "dbo", Table: "Article", Disabled: true}},
			steps: []string{"ENABLE TRIGGER [dbo].[geosql_read_only_"}},
		"on a table that is no article": {readOnly: true, guards: []mssql.Guard{{Schema: "dbo", Table: "Article"},
			{Schema: "dbo", Table: "More"}}, steps: []string{"DROP TRIGGER IF EXISTS [dbo].[geosql_read_only_"}},
		"declared no more": {guards: []mssql.Guard{{Schema: "dbo", Table: "Article"}},
			steps: []string{"DROP TRIGGER IF EXISTS [dbo].[geosql_read_only_"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared()
			d.Subscription.Spec.ReadOnly = c.readOnly
			o := Observed{Publication: &mssql.Publication{Articles: map[string]mssql.PublishedArticle{
				"article": {Schema: "dbo", Table: "Article"}}},
				Here: Here{Tables: map[string]mssql.Table{"dbo.article": article, "dbo.more": more}}}
			for i := range c.guards {
				c.guards[i].Name = "geosql_read_only_" + strconv.Itoa(i)
			}
			o.Guards, o.Servers = reconcile.Read(c.guards), newWorld(d).o.Servers
			var p replication.Plan
			g.Expect(planLifted(d, o, &p) && planGuards(d, o, &p)).To(BeTrue(), "a table in use holds up nothing else")
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Aside).To(HaveLen(len(c.steps)))
			for i, text := range c.steps {
				g.Expect(p.Aside[i].Describe()).To(ContainSubstring(text))
				g.Expect(p.Aside[i].Reason).NotTo(BeEmpty(), "its failure would not be told")
			}
		})
	}
}

// guard is the one of the subscription's table Article.
var guard = mssql.Guard{Name: "geosql_read_only_1", Schema: "dbo", Table: "Article"}

// The guards go before the object does, whatever else stays.
func TestGuardsGoWithTheirSubscription(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	g.Expect(w.d.Subscription.Spec.ReclaimPolicy).NotTo(Equal(v1alpha1.ReclaimDelete))
	g.Expect(planDelete(w.d, w.look())).To(Equal(reconcile.Plan{Done: true}))
	for _, readOnly := range []bool{true, false} {
		w.d.Subscription.Spec.ReadOnly = readOnly
		w.guarded(guard)
		p := planDelete(w.d, w.look())
		g.Expect(p.Done).To(Equal(!readOnly), "it goes on without one that can't be dropped once readOnly was taken back")
		g.Expect(p.All()).To(ConsistOf(WithTransform(reconcile.Step.Describe, ContainSubstring("DROP TRIGGER IF EXISTS"))))
		if readOnly {
			g.Expect(p.Outcome.Message).To(And(HavePrefix("deletion waits: "), ContainSubstring("spec.readOnly to false"),
				ContainSubstring(w.d.guards()), Not(ContainSubstring("Retain"))))
		}
		_, p = w.end(t)
		g.Expect(p).To(Equal(reconcile.Plan{Done: true}))
	}
}

// losses are what a read-only copy may lose without its guards being anybody else's affair.
var losses = map[string]func(*world){
	"nothing": func(*world) {},
	"the Publication": func(w *world) {
		w.d.Publication, w.d.Publisher, w.d.System = nil, replication.Party{}, replication.System{}
		w.d.Missing = []string{"Publication articles"}
		w.o = Observed{Servers: w.o.Servers, Guards: w.o.Guards}
	},
	"the Distributor": func(w *world) {
		w.d.Publisher, w.d.System, w.d.Missing = replication.Party{}, replication.System{}, []string{"Distributor main"}
		w.o = Observed{Servers: w.o.Servers, Guards: w.o.Guards}
	},
	"what the distributor's agents show": func(w *world) {
		w.d.SecretsErr = errors.New("find the credentials of server web/dist: no such Secret")
		w.o = Observed{Servers: w.o.Servers, Guards: w.o.Guards}
	},
	"the publisher":   func(w *world) { w.away(false, publisher, secondary) },
	"the distributor": func(w *world) { w.away(false, distributor) },
}

// seen is a look at a world in which the publication may not be declared.
func (w *world) seen() Observed {
	if w.d.nowhere() {
		return w.o
	}
	return w.look()
}

// The guards are the subscriber's: they are lifted by what it says alone, when readOnly is taken back and when the
// object goes.
func TestGuardsAreLiftedWhateverElseIsLost(t *testing.T) {
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			w.guarded(guard)
			lose(w)
			drops := ConsistOf(HaveField("Describe()", ContainSubstring("DROP TRIGGER IF EXISTS [dbo].[geosql_read_only_1]")))
			g.Expect(plan(w.d, w.seen()).Aside).To(drops)
			w.d.Subscription.Spec.ReadOnly = true
			g.Expect(plan(w.d, w.seen()).Aside).NotTo(drops)
			p := planDelete(w.d, w.seen())
			g.Expect(p.All()).To(drops)
			g.Expect(p.Done).To(BeFalse())
			w.do(t, p.All()[0])
			p = planDelete(w.d, w.seen())
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			g.Expect(p.Left).To(BeEmpty())
		})
	}
}

// A deletion waits for guards that can't be lifted now, and says what helps; readOnly: false lets it go on, and says
// what stays then. reclaimPolicy Retain is no way out: it is what is declared.
func TestDeletionOfGuardsThatCannotBeLifted(t *testing.T) {
	refused := errors.New("no answer")
	for name, c := range map[string]struct {
		hold func(*world)
		says []string
	}{
		"the server is silent": {func(w *world) {
			w.away(false, subscriber)
			w.o.Guards = reconcile.NotRead[[]mssql.Guard](refused)
		}, []string{"no route to host", "set the lifecycle of its Site to Lost"}},
		"the database is damaged": {func(w *world) {
			inState(&w.o, subscriber, "content", "SUSPECT")
			_, err := replication.OnlineDatabase(subscriber, w.o.Servers[subscriber], "Content").Get()
			w.o.Guards = reconcile.NotRead[[]mssql.Guard](err)
		}, []string{"it is suspect", "restore or drop it there"}},
		"the question has no answer": {func(w *world) { w.o.Guards = reconcile.NotRead[[]mssql.Guard](refused) },
			[]string{"no answer"}},
		"nobody looked": {func(w *world) { w.o.Guards = reconcile.Reading[[]mssql.Guard]{} }, []string{"not read"}},
		"the database is a secondary's": {func(w *world) {
			w.guarded(guard)
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE",
				Secondary: true}
		}, []string{"let dubsub-0 be the primary"}},
		"the database is a secondary's that nobody may read": {func(w *world) {
			w.o.Guards = reconcile.NotRead[[]mssql.Guard](refused)
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE",
				Secondary: true}
		}, []string{"let dubsub-0 be the primary"}},
		"the database takes no writes": {func(w *world) {
			w.guarded(guard)
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE",
				ReadOnly: true}
		}, []string{"ALTER DATABASE [Content] SET READ_WRITE"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			c.hold(w)
			w.d.Subscription.Spec.ReadOnly = true
			p := planDelete(w.d, w.look())
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Message).To(And(HavePrefix("deletion waits: "), ContainSubstring("spec.readOnly to false"),
				ContainSubstring(w.d.guards()), Not(ContainSubstring("Retain"))))
			for _, text := range c.says {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
			w.d.Subscription.Spec.ReadOnly = false
			g.Expect(planLifted(w.d, w.look(), &replication.Plan{})).To(BeTrue(), "it would be refused for ever")
			p = planDelete(w.d, w.look())
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			g.Expect(p.Left).To(ConsistOf(And(ContainSubstring("on dubsub-0 the triggers "+w.d.guards()),
				ContainSubstring("DROP TRIGGER"))))
		})
	}
}

// A server that nobody expects back keeps its guards, which is told; a database that is gone has none.
func TestDeletionOfGuardsOfAServerThatIsGone(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Subscription.Spec.ReadOnly = true
	w.away(true, subscriber)
	w.o.Guards = reconcile.NotRead[[]mssql.Guard](errors.New("no answer"))
	for _, lose := range []string{"nothing", "the Publication"} {
		losses[lose](w)
		p := planDelete(w.d, w.seen())
		g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
		g.Expect(p.Left).To(ConsistOf(And(ContainSubstring("triggers "+w.d.guards()),
			ContainSubstring("Site tukwila is declared lost"))))
	}
}

// Also a deletion of which nothing is known but what its object says keeps no guard without a word.
func TestDeletionOfAReadOnlyCopyHolds(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	g.Expect(guarding(d.Subscription)).To(BeEmpty())
	d.Subscription.Spec.ReadOnly = true
	g.Expect(guarding(d.Subscription)).To(And(ContainSubstring("spec.readOnly to false"), ContainSubstring(d.guards())))
}
