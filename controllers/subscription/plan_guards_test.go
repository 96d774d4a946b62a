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
				Here: Here{Guards: c.guards, Tables: map[string]mssql.Table{"dbo.article": article, "dbo.more": more}}}
			for i := range o.Here.Guards {
				o.Here.Guards[i].Name = "geosql_read_only_" + strconv.Itoa(i)
			}
			var p replication.Plan
			g.Expect(planGuards(d, o, &p)).To(Equal(len(c.steps) == 0))
			g.Expect(p.Steps).To(HaveLen(len(c.steps)))
			for i, text := range c.steps {
				g.Expect(p.Steps[i].Describe()).To(ContainSubstring(text))
			}
		})
	}
}

// The guards go before the object does, whatever else stays, and it waits for a subscriber that may have them.
func TestGuardsGoWithTheirSubscription(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	g.Expect(planDelete(w.d, w.look())).To(Equal(reconcile.Plan{Done: true}))
	o := w.look()
	o.Here.Guards = []mssql.Guard{{Schema: "dbo", Table: "Article"}}
	p := planDelete(w.d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).To(ConsistOf(WithTransform(reconcile.Step.Describe, ContainSubstring("DROP TRIGGER IF EXISTS"))))

	w.d.Subscription.Spec.ReadOnly = true
	g.Expect(planDelete(w.d, w.look()).Done).To(BeTrue(), "they were dropped")
	o = w.look()
	o.HereErr = errors.New("no answer")
	p = planDelete(w.d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).To(BeEmpty())
	w.d.Subscription.Spec.ReadOnly = false
	g.Expect(planDelete(w.d, o).Done).To(BeTrue(), "nothing says that there are any")
	g.Expect(w.d.Subscription.Spec.ReclaimPolicy).NotTo(Equal(v1alpha1.ReclaimDelete))
}
