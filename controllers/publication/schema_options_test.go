// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/tsql"
)

// Every article brings what is declared for the publication, and is not brought to it again and again.
func TestSchemaOptionsOfAPublication(t *testing.T) {
	for name, c := range map[string]struct {
		options     v1alpha1.SchemaOptions
		publishable bool
	}{"unsaid": {"", false}, "default": {v1alpha1.SchemaDefault, false},
		"publishable": {v1alpha1.SchemaPublishable, true}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared(false)
			d.Publication.Spec.SchemaOptions = c.options
			w := newWorld(d)
			p, _ := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
			g.Expect(w.o.Database.Publication.Articles["dbo.article"].SchemaOption).
				To(Equal(tsql.SchemaOption(false, c.publishable)))
			g.Expect(w.o.Database.Publication.Articles["dbo.attachment"].SchemaOption).
				To(Equal(tsql.SchemaOption(true, c.publishable)))
			g.Expect(plan(w.d, w.look()).Steps).To(BeEmpty())
		})
	}
}
