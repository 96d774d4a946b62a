// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// subscribed is a settled publication with the subscribers dublin, which is declared, and those that are given.
func subscribed(t *testing.T, others ...string) *world {
	t.Helper()
	w := newWorld(declared(true))
	w.settle(t, all)
	w.d.Subscriptions = []v1alpha1.Subscription{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin", UID: "u1"}, Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}, Database: "Content"}},
	}
	for _, host := range append([]string{"dubsub-0"}, others...) {
		for _, x := range []string{"dbo.Article", "dbo.Attachment"} {
			w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions,
				mssql.ArticleSubscription{Article: x, Subscriber: host, Database: "Content", Pull: true, Status: 2})
		}
	}
	w.o.Database.Sizes = map[string]mssql.TableSize{
		"dbo.article":    {Rows: 7, Bytes: 8192},
		"dbo.attachment": {Rows: 1200, Bytes: 3 << 20},
	}
	return w
}

func (w *world) change(key string, edit func(*mssql.PublishedArticle)) {
	x := w.o.Database.Publication.Articles[key]
	x.Columns = slices.Clone(x.Columns)
	edit(&x)
	w.o.Database.Publication.Articles[key] = x
}

func (w *world) ask(request string) {
	w.d.Subscriptions[0].Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: request}
}

// What needs a new copy of tables that subscribers have waits, says what it costs, and everything else goes on.
func TestNothingIsCopiedUnasked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		table  string
		words  string
	}{
		"a migration has added a column": {func(w *world) {
			w.change("dbo.attachment", func(x *mssql.PublishedArticle) { x.Columns = append(x.Columns, "Extra") })
		}, "dbo.Attachment", "column Extra is published and not among the article's columns"},
		"another filter": {func(w *world) { w.d.Publication.Spec.Articles[1].Filter = "Id > 8" }, "dbo.Attachment",
			"filter is another one"},
		"no filter": {func(w *world) { w.d.Publication.Spec.Articles[1].Filter = "" }, "dbo.Attachment",
			"declared without one"},
		"a column more": {func(w *world) { w.d.Publication.Spec.Articles[1].Columns = []string{"Id", "Body", "Title"} },
			"dbo.Attachment", "column Title is declared and not published"},
		"a column that is left out": {func(w *world) {
			w.change("dbo.article", func(x *mssql.PublishedArticle) { x.LeftOut = []string{"New"} })
		}, "dbo.Article", "column New is declared and not published"},
		"compression": {func(w *world) { w.change("dbo.attachment", func(x *mssql.PublishedArticle) { x.SchemaOption = 1 }) },
			"dbo.Attachment", "compression does not reach subscribers"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribed(t)
			c.change(w)
			p, done := w.settle(t, all)
			g.Expect(done).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
			g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			g.Expect(p.Outcome.Message).
				To(And(ContainSubstring(c.words), ContainSubstring("kubectl geosql reinitialize for each of: dublin")))
			n := describe(w.d, w.look()).NeededReinitialization
			g.Expect(n.Tables).To(HaveLen(1))
			g.Expect(n.Tables[0].Table).To(Equal(c.table))
			g.Expect(n.Tables[0].Rows).NotTo(BeZero())
			g.Expect(p.Outcome.Message).
				To(ContainSubstring(map[string]string{"dbo.Article": "7 rows, 8.0 KiB",
					"dbo.Attachment": "1200 rows, 3.0 MiB"}[c.table]))
			g.Expect(n.WaitingFor).To(Equal([]string{"dublin"}))
			g.Expect(measures(w.d, w.look())).To(BeTrue())
			w.d.Publication.Status.NeededReinitialization, w.d.Publication.Status.Size = n, &v1alpha1.CopySize{
				Measured: &metav1.Time{Time: start},
			}
			sizes := w.o.Database.Sizes
			w.o.Database.Sizes = nil
			g.Expect(measures(w.d, w.look())).To(BeFalse(), "not in every look")
			g.Expect(describe(w.d, w.look()).NeededReinitialization).To(Equal(n))
			w.o.Database.Sizes = sizes

			w.ask("u1/now")
			o := w.look()
			recording := plan(w.d, o)
			g.Expect(recording.Steps).To(BeEmpty(), "a change whose record is lost would be asked of its Subscription again")
			w.d.Publication.Status.Reinitialized = reinitialized(w.d, o, recording)
			g.Expect(w.d.Publication.Status.Reinitialized.Requests).To(Equal([]string{"u1/now"}))
			g.Expect(replication.Consents(w.d.Publication, &w.d.Subscriptions[0])).To(BeFalse(), "to no other table")
			planned := plan(w.d, w.look())
			g.Expect(planned.Steps).NotTo(BeEmpty())
			for _, s := range planned.Steps {
				w.do(t, s)
			}
			w.change("dbo.article", func(x *mssql.PublishedArticle) { x.LeftOut = nil })
			w.settle(t, all)
			w.d.Publication.Spec.Articles[1].Filter = "Id > 9"
			w.settle(t, all)
			g.Expect(plan(w.d, w.look()).Outcome.Reason).
				To(Equal(v1alpha1.ReasonReinitializationNeeded), "a request is carried out once")
		})
	}
}

// A new copy is made when all who would get it have agreed.
func TestWhoAgreesToANewCopy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		waits  []string
	}{
		"nobody subscribes":        {func(w *world) { w.o.Database.Publication.Subscriptions = nil }, nil},
		"asked for":                {func(w *world) { w.ask("u1/now") }, nil},
		"asked for another object": {func(w *world) { w.ask("u0/now") }, []string{"dublin"}},
		"asked for and done": {func(w *world) {
			w.ask("u1/now")
			w.d.Subscriptions[0].Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: "u1/now"}
		}, []string{"dublin"}},
		"an empty request": {func(w *world) { w.ask("true") }, []string{"dublin"}},
		"the publication says": {func(w *world) { w.d.Publication.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic },
			nil},
		"the subscription says otherwise": {func(w *world) {
			w.d.Publication.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			w.d.Subscriptions[0].Spec.Reinitialization = v1alpha1.ReinitializeOnRequest
		}, []string{"dublin"}},
		"one of two": {func(w *world) {
			w.d.Subscriptions[0].Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			for _, article := range []string{"dbo.Article", "dbo.Attachment"} {
				w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions,
					mssql.ArticleSubscription{Article: article, Subscriber: "quisub-0", Database: "Content", Pull: true, Status: 2})
			}
		}, []string{"Content on quisub-0, which no Subscription declares"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribed(t)
			w.d.Publication.Spec.Articles[1].Filter = "Id > 8"
			c.change(w)
			n := needed(w.d, w.look())
			if c.waits == nil {
				g.Expect(n).To(BeNil())
				_, done := w.settle(t, all)
				g.Expect(done).NotTo(BeEmpty())
				return
			}
			g.Expect(n.WaitingFor).To(Equal(c.waits))
			p, done := w.settle(t, all)
			g.Expect(done).To(BeEmpty())
			if name == "one of two" {
				g.Expect(p.Outcome.Message).To(And(ContainSubstring("Nobody can ask for Content on quisub-0: declare a"),
					ContainSubstring("EXEC sp_dropsubscription @publication = N'articles'"), ContainSubstring("Automatic")))
			} else {
				g.Expect(p.Outcome.Message).NotTo(ContainSubstring("Nobody can ask"))
			}
		})
	}
}

// What an engine makes of its own accord is no drift: a view that chooses everything, bits of schema_option that it
// leaves out.
func TestByProductsAreNoDrift(t *testing.T) {
	g := NewWithT(t)
	w := subscribed(t)
	w.change("dbo.article", func(x *mssql.PublishedArticle) { x.Limited, x.SchemaOption = true, 0x1 })
	w.change("dbo.attachment", func(x *mssql.PublishedArticle) { x.SchemaOption &^= 0x10 })
	for range 3 {
		p, done := w.settle(t, all)
		g.Expect(done).To(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	}
}

// A measured size is kept for a while: it changes with every row.
func TestSizeOfACopy(t *testing.T) {
	g := NewWithT(t)
	w := subscribed(t)
	first := describe(w.d, w.look()).Size
	g.Expect(*first).To(Equal(v1alpha1.CopySize{Rows: 1207, Bytes: 3<<20 + 8192, Measured: &metav1.Time{Time: start}}))
	w.d.Publication.Status.Size = first
	w.o.Now = start.Add(9 * time.Minute)
	w.o.Database.Sizes["dbo.article"] = mssql.TableSize{Rows: 8}
	g.Expect(measures(w.d, w.look())).To(BeFalse())
	g.Expect(describe(w.d, w.look()).Size).To(Equal(first))
	w.o.Now = start.Add(10 * time.Minute)
	g.Expect(measures(w.d, w.look())).To(BeTrue())
	g.Expect(describe(w.d, w.look()).Size.Rows).To(Equal(int64(1208)))
	w.o.Database.Sizes = nil
	g.Expect(describe(w.d, w.look()).Size).To(Equal(first), "what was not measured is not nothing")

	// One that was empty is filled now, and costs something soon.
	w.d.Publication.Status.Size = &v1alpha1.CopySize{Measured: &metav1.Time{Time: start}}
	w.o.Now = start.Add(59 * time.Second)
	g.Expect(measures(w.d, w.look())).To(BeFalse())
	w.o.Now = start.Add(time.Minute)
	g.Expect(measures(w.d, w.look())).To(BeTrue())
	w.d.Publication.Status.Size, w.o.Database.Publication.Articles = nil, nil
	w.o.Database.Sizes = map[string]mssql.TableSize{}
	g.Expect(describe(w.d, w.look()).Size).To(BeNil(), "no article is published yet")
}

// What a Publication or Subscription that was deleted or renamed has left running is in the status of those beside it.
func TestWhatNobodyDeclares(t *testing.T) {
	g := NewWithT(t)
	w := subscribed(t)
	w.d.Beside = []string{"articles", "beside"}
	w.o.Database.Publications = []string{"articles", "former", "beside", "older"}
	w.o.Database.Subscribers = []mssql.Subscriber{
		{Publication: "former", Server: "dubsub-0", Database: "Copy"},
		{Publication: "articles", Server: "DUBSUB-0", Database: "content"},
		{
			Publication: "articles",
			Server:      "quisub-0",
			Database:    "Content",
		},
		{Publication: "beside", Server: "quisub-0", Database: "Content"},
	}
	g.Expect(describe(w.d, w.look()).Undeclared).
		To(Equal([]v1alpha1.Undeclared{{Publication: "articles", Subscriber: "quisub-0", Database: "Content"},
			{Publication: "former", Subscriber: "dubsub-0", Database: "Copy"}, {Publication: "older"}}))
	w.o.DatabaseErr = errors.New("cut off")
	w.d.Publication.Status.Undeclared = []v1alpha1.Undeclared{{Publication: "former"}}
	g.Expect(describe(w.d, w.look()).Undeclared).To(HaveLen(1), "what was not read is not nothing")
}

// A table is rebuilt unasked while that is soon over; a large one is left, with what it costs and how to do it.
func TestWhichTablesAreRebuilt(t *testing.T) {
	for name, c := range map[string]struct {
		bytes  int64
		online bool
		text   string
		waits  string
	}{
		"small": {64 << 20, false, "REBUILD WITH (DATA_COMPRESSION = PAGE)", ""},
		"large": {64<<20 + 1, false, "",
			"64.0 MiB, while writers wait, for this edition does not do it online"},
		"online":               {64<<20 + 1, true, "REBUILD WITH (DATA_COMPRESSION = PAGE, ONLINE = ON)", ""},
		"largest":              {4 << 30, true, "ONLINE = ON", ""},
		"too large for online": {4<<30 + 1, true, "", "4.0 GiB, online"},
		"not measured":         {-1, true, "", "ONLINE = ON"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			w.o.Database.Online = c.online
			if w.o.Database.Sizes["dbo.attachment"] = (mssql.TableSize{Rows: 12, Bytes: c.bytes}); c.bytes < 0 {
				w.o.Database.Sizes = nil
			}
			p, done := w.settle(t, all)
			if c.text != "" {
				g.Expect(done).To(ContainElement(ContainSubstring(c.text)))
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
				return
			}
			g.Expect(done).NotTo(ContainElement(ContainSubstring("REBUILD")))
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCompressionPending))
			g.Expect(p.Outcome.Message).
				To(And(ContainSubstring(c.waits), ContainSubstring("ALTER TABLE [dbo].[Attachment] REBUILD WITH")))
			g.Expect(w.o.Database.Publication.Articles).To(HaveLen(2), "it is published all the same")
		})
	}
}

// A copy that was asked for is said to be needed until it is begun with, also when something else comes first: by that
// the request is recorded as carried out, and its Subscription does not ask for a copy of all tables.
func TestACopyIsNeededUntilItIsBegunWith(t *testing.T) {
	g := NewWithT(t)
	w := subscribed(t)
	w.d.Publication.Spec.Articles[1].Filter = "Id > 8"
	w.d.Publication.Status = describe(w.d, w.look())
	g.Expect(w.d.Publication.Status.NeededReinitialization).NotTo(BeNil())
	w.ask("u1/1")
	o := w.look()
	o.LogReaderJob = nil
	first := plan(w.d, o)
	g.Expect(first.Steps).NotTo(BeEmpty(), "the job comes first")
	g.Expect(reinitialized(w.d, o, first)).To(BeNil())
	w.d.Publication.Status = describe(w.d, o)
	n := w.d.Publication.Status.NeededReinitialization
	g.Expect(n).NotTo(BeNil())
	g.Expect(n.Tables).To(HaveExactElements(HaveField("Table", "dbo.Attachment")))
	g.Expect(n.WaitingFor).To(BeEmpty())

	o = w.look()
	p := plan(w.d, o)
	status := describe(w.d, o)
	status.Reinitialized = reinitialized(w.d, o, p)
	g.Expect(status.Reinitialized.Requests).To(ConsistOf("u1/1"))
	g.Expect(status.NeededReinitialization).NotTo(BeNil(), "the record comes along with the last word of it")
	w.d.Publication.Status = status
	w.settle(t, all)
	g.Expect(describe(w.d, w.look()).NeededReinitialization).To(BeNil(), "it is begun with")
}
