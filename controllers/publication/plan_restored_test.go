// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// A database that was restored in its place is older than what the distributor has of it. That is said, and the log is not read, although
// it grows past the old end meanwhile; when a person says so the publication is made anew.
func TestDatabaseThatWasRestored(t *testing.T) {
	number := func(vlf, slot byte) []byte { return []byte{0, 0, 0, vlf, 0, 0, 0, 8, 0, slot} }
	for name, rebuild := range map[string]string{"compared": v1alpha1.RebuildCompare, "copied": "true"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			w.settle(t, all)
			look := func() (string, []string) {
				p := plan(w.d, w.look())
				for _, s := range p.Steps {
					w.do(t, s)
				}
				w.d.Publication.Status = describe(w.d, w.look())
				return p.Outcome.Reason, described(p)
			}
			w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Pull: true, Status: 2}}
			w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions, mssql.ArticleSubscription{
				Article: "dbo.Attachment", Subscriber: "dubsub-0", Database: "Content", Pull: true, Status: 2})
			w.o.At.Newest, w.o.Database.LogEnd = number(30, 1), number(30, 1)
			reason, _ := look()
			g.Expect(reason).To(Equal(conditions.ReasonPublished), "the log may end with what the distributor has")
			w.o.Database.LogEnd = number(29, 200)
			reason, lines := look()
			g.Expect(reason).To(Equal(conditions.ReasonPublisherBehind))
			g.Expect(lines).To(BeEmpty(), "the status says it first: it is known when the log has grown")
			w.o.Database.LogEnd = number(31, 1)
			reason, _ = look()
			g.Expect(reason).To(Equal(conditions.ReasonPublisherBehind))
			g.Expect(w.jobs[readerJob].Running || w.jobs[readerJob].Enabled).To(BeFalse(), "it would go on now, and leave out what was written meanwhile")
			for range 3 {
				reason, lines = look()
				g.Expect(reason).To(Equal(conditions.ReasonPublisherBehind))
				g.Expect(lines).To(BeEmpty())
			}
			w.o.Database.LogEnd = number(29, 201)
			w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: rebuild}
			var done []string
			for range 30 {
				_, lines = look()
				done = append(done, lines...)
			}
			reason, lines = look()
			g.Expect(reason).To(Equal(conditions.ReasonPublished))
			g.Expect(lines).To(BeEmpty())
			g.Expect(done[:3]).To(HaveExactElements(ContainSubstring("sp_replrestart"), ContainSubstring("sp_dropsubscription"), ContainSubstring("sp_droppublication")))
			g.Expect(w.d.Publication.Status.Behind).To(BeNil())
			g.Expect(w.jobs[readerJob].Running).To(BeTrue())
			g.Expect(w.o.Database.Publication.Subscriptions).To(BeEmpty(), "subscribers come anew, compared or copied")
		})
	}
}
