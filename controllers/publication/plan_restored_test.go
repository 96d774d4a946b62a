// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// A database that was restored in its place is older than what the distributor has of it. That is said, and the log is
// not read, although it grows past the old end meanwhile; when a person says so the publication is made anew.
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
			w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
				{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Pull: true, Status: 2},
			}
			w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions, mssql.ArticleSubscription{
				Article: "dbo.Attachment", Subscriber: "dubsub-0", Database: "Content", Pull: true, Status: 2})
			w.o.At.Newest, w.o.Database.LogEnd = number(30, 1), number(30, 1)
			reason, _ := look()
			g.Expect(reason).To(Equal(v1alpha1.ReasonPublished), "the log may end with what the distributor has")
			w.o.Database.LogEnd = number(29, 200)
			reason, lines := look()
			g.Expect(reason).To(Equal(v1alpha1.ReasonPublisherBehind))
			g.Expect(lines).To(BeEmpty(), "the status says it first: it is known when the log has grown")
			w.o.Database.LogEnd = number(31, 1)
			reason, _ = look()
			g.Expect(reason).To(Equal(v1alpha1.ReasonPublisherBehind))
			g.Expect(w.jobs[readerJob].Running || w.jobs[readerJob].Enabled).
				To(BeFalse(), "it would go on now, and leave out what was written meanwhile")
			for range 3 {
				reason, lines = look()
				g.Expect(reason).To(Equal(v1alpha1.ReasonPublisherBehind))
				g.Expect(lines).To(BeEmpty())
			}
			w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: rebuild}
			var done []string
			for range 30 {
				_, lines = look()
				done = append(done, lines...)
			}
			reason, lines = look()
			g.Expect(reason).To(Equal(v1alpha1.ReasonPublished))
			g.Expect(lines).To(BeEmpty())
			g.Expect(done[:3]).
				To(HaveExactElements(ContainSubstring("sp_replrestart"), ContainSubstring("sp_dropsubscription"),
					ContainSubstring("sp_droppublication")))
			g.Expect(w.d.Publication.Status.Behind).To(BeNil())
			g.Expect(w.jobs[readerJob].Running).To(BeTrue())
			g.Expect(w.o.Database.Publication.Subscriptions).To(BeEmpty(), "subscribers come anew, compared or copied")
		})
	}
}

// A distribution database that was restored has lost what agents had brought there. That is said, the log is not read,
// and a person has the publication made anew; a distribution database on another server says nothing.
func TestADistributionDatabaseThatWasRestored(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	look := func() string {
		p := plan(w.d, w.look())
		for _, s := range p.Steps {
			w.do(t, s)
		}
		w.d.Publication.Status = describe(w.d, w.look())
		return p.Outcome.Reason
	}
	w.o.At.Fork = "one"
	g.Expect(look()).To(Equal(v1alpha1.ReasonPublished))
	g.Expect(w.d.Publication.Status.DistributionFork).To(HaveSuffix(" one"))
	w.o.At.Fork = ""
	g.Expect(look()).To(Equal(v1alpha1.ReasonPublished), "not told is not another one")
	w.o.At.Fork = "two"
	g.Expect(look()).To(Equal(v1alpha1.ReasonDistributorBehind))
	for range 3 {
		g.Expect(look()).To(Equal(v1alpha1.ReasonDistributorBehind))
	}
	g.Expect(w.jobs[readerJob].Enabled || w.jobs[readerJob].Running).To(BeFalse(), "the rest would not join on")
	w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare}
	for range 30 {
		look()
	}
	g.Expect(look()).To(Equal(v1alpha1.ReasonPublished))
	g.Expect(w.d.Publication.Status.DistributionFork).To(HaveSuffix(" two"))
	w.d.Publication.Status.DistributionFork = "elsewhere-0 one"
	g.Expect(look()).To(Equal(v1alpha1.ReasonPublished))
}

// A log that is as long as it was does not hide that its database was restored: that has another recovery fork. Of a
// group's that says nothing, and nothing of another server's.
func TestRecoveryFork(t *testing.T) {
	for name, c := range map[string]struct {
		group  bool
		status string
		reason string
	}{
		"restored":         {false, "tukpub-0 one", v1alpha1.ReasonPublisherBehind},
		"the same":         {false, "tukpub-0 two", v1alpha1.ReasonPublished},
		"not known":        {false, "", v1alpha1.ReasonPublished},
		"another server's": {false, "dubsub-0 one", v1alpha1.ReasonPublished},
		"a group's":        {true, "tukpub-0 one", v1alpha1.ReasonPublished},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(c.group))
			w.settle(t, all)
			w.o.Database.Fork, w.d.Publication.Status.RecoveryFork = "two", c.status
			o := w.look()
			g.Expect(plan(w.d, o).Outcome.Reason).To(Equal(c.reason))
			s := describe(w.d, o)
			g.Expect(s.Behind != nil).To(Equal(c.reason == v1alpha1.ReasonPublisherBehind))
			if !c.group && s.Behind == nil {
				g.Expect(s.RecoveryFork).To(Equal("tukpub-0 two"))
			}
		})
	}
}
