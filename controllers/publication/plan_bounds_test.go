// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// A publisher is linked when it names the distributor and has the operator's login: one of the two is not enough.
func TestAPublisherIsLinkedByNameAndLogin(t *testing.T) {
	for name, change := range map[string]func(*mssql.ReplicationServer){
		"another distributor": func(s *mssql.ReplicationServer) { s.Distributor = "other-0" },
		"no login":            func(s *mssql.ReplicationServer) { s.LoginSID = nil },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			change(w.o.Servers[publisher].State)
			p := plan(w.d, w.look())
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForDistributor))
			g.Expect(p.Outcome.Message).To(ContainSubstring("tukpub-0 is not linked to distributor dist-0 yet"))
		})
	}
}

// An article is limited only by what is declared of it, and taken out and added anew only when a filter is taken back.
func TestLimitsOfArticles(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.d.Publication.Spec.Articles = []v1alpha1.Article{
		{Table: "dbo.Article", DataCompression: v1alpha1.CompressionRow},
		{Table: "dbo.Attachment", Filter: "Id > 7"},
	}
	_, done := w.settle(t, all)
	text := strings.Join(done, "\n")
	g.Expect(text).NotTo(ContainSubstring("sp_articlecolumn"), "no columns are chosen")
	g.Expect(strings.Count(text, "sp_articleview")).To(Equal(1), "the filtered one has a view")
	whole := tsql.AddArticle(
		tsql.Article{Publication: "articles", Name: "dbo.Article", Schema: "dbo", Table: "Article", Compressed: true},
	).Text
	g.Expect(text).To(ContainSubstring(whole), "with all columns, and row compression as the table has it")
	g.Expect(w.o.Database.Publication.Articles["dbo.attachment"].Limited).To(BeTrue())
	_, done = w.settle(t, all)
	g.Expect(done).To(BeEmpty(), "a filter is a limit that stays")

	w.d.Publication.Spec.Articles[1].Filter = ""
	_, done = w.settle(t, all)
	g.Expect(strings.Join(done, "\n")).To(ContainSubstring("sp_droparticle"), "a limit that is taken back")

	columns := newWorld(declared(true))
	columns.d.Publication.Spec.Articles[1].Filter = ""
	columns.settle(t, all)
	columns.d.Publication.Spec.Articles[1].Columns = nil
	_, done = columns.settle(t, all)
	g.Expect(strings.Join(done, "\n")).
		To(And(ContainSubstring("@column = N'Title', @operation = N'add'"), Not(ContainSubstring("sp_droparticle"))))
	_, done = columns.settle(t, all)
	g.Expect(done).To(BeEmpty())
}

// A subscriber that lacks an article is found behind one that has all.
func TestEachSubscriberGetsNewArticles(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	for _, s := range []mssql.ArticleSubscription{{Article: "dbo.Article", Subscriber: "a-0"},
		{Article: "dbo.Attachment", Subscriber: "a-0"}, {Article: "dbo.Article", Subscriber: "b-0"}} {
		s.Database = "Content"
		w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions, s)
	}
	_, done := w.settle(t, all)
	g.Expect(done).
		To(HaveExactElements(ContainSubstring("sp_refreshsubscriptions"), ContainSubstring("@subscriber = N'b-0'")))
}

// A snapshot agent rests from the moment of its end for just its pause.
func TestHowLongASnapshotRests(t *testing.T) {
	for status, pause := range map[mssql.RunStatus]time.Duration{mssql.RunFailed: snapshotPause,
		mssql.RunSucceeded: wholePause} {
		for after, steps := range map[time.Duration]int{0: 0, pause - time.Second: 0, pause: 1} {
			w := newWorld(declared(true))
			w.settle(t, all)
			w.o.Database.Publication.SnapshotReady = false
			w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = status, start
			w.o.Now = start.Add(after)
			NewWithT(t).Expect(plan(w.d, w.look()).Steps).To(HaveLen(steps), "%s after %s", after, status)
		}
	}
}

// A new copy that was asked for just after a snapshot is made soon, once, and so is one by a schedule.
func TestWhatIsAskedForIsMadeSoon(t *testing.T) {
	streamed := func(t *testing.T) *world { return subscribed(t) }
	scheduled := func(t *testing.T) *world { return copied(t, true) }
	for name, made := range map[string]func(*testing.T) *world{"streamed": streamed, "by a schedule": scheduled} {
		for after, asked := range map[time.Duration]bool{-time.Minute: false, 2 * time.Second: true} {
			for passed, runs := range map[time.Duration]int{wholePause - time.Second: 0, wholePause: 1} {
				w := made(t)
				w.o.Database.Publication.Subscriptions[0].Status = mssql.SubscriptionWaiting
				at := metav1.NewTime(start.Add(after))
				w.d.Subscriptions[0].Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{
					Request: "u/1", Time: &at}
				w.o.Now = start.Add(passed)
				w.o.At.SnapshotBegan, w.o.At.LastSnapshot = start, "2026-11-21T03:00:00"
				w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = mssql.RunSucceeded, start
				if !asked {
					runs = 0
				}
				NewWithT(t).Expect(snapshots(described(plan(w.d, w.look())))).To(Equal(runs),
					"%s: asked %s after the newest was begun, %s after its end", name, after, passed)
			}
		}
	}
}

// While a snapshot is made nothing is said of the one before; once one is there a later failure is no matter.
func TestWhatIsSaidOfASnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		status         mssql.RunStatus
		ready, running bool
		reason, says   string
	}{
		"made, after one that failed": {mssql.RunFailed, false, true, v1alpha1.ReasonSnapshotRunning,
			"the snapshot is being made"},
		"made, after one that was not enough": {mssql.RunSucceeded, false, true, v1alpha1.ReasonSnapshotRunning,
			"the snapshot is being made"},
		"there, and a later one has failed":    {mssql.RunFailed, true, false, v1alpha1.ReasonPublished, ""},
		"there, and a later one has succeeded": {mssql.RunSucceeded, true, false, v1alpha1.ReasonPublished, ""},
		"failed": {mssql.RunFailed, false, false, v1alpha1.ReasonSnapshotFailed,
			"is started again"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			w.settle(t, all)
			w.o.Database.Publication.SnapshotReady = c.ready
			w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = c.status, w.o.Now
			o := w.look()
			job := *o.SnapshotJob
			job.Running = c.running
			o.SnapshotJob = &job
			p := plan(w.d, o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
		})
	}
}

// Another publication of the database keeps its log reader and the database published.
func TestDeletionBesideAnotherPublication(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.d.Publication.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	w.o.At.Others = true
	var done []string
	for range 5 {
		p := planDelete(w.d, w.look())
		if p.Done {
			break
		}
		for _, s := range p.Steps {
			done = append(done, s.Describe())
			w.do(t, s)
		}
	}
	g.Expect(w.o.Database.Publication).To(BeNil())
	g.Expect(w.jobs).To(And(HaveKey("geosql-tukpub-0-Content-logreader"), HaveLen(1)))
	g.Expect(w.o.Servers[publisher].State.Database("Content").Published).To(BeTrue(), "%q", done)
}

// Where nobody subscribes, what a lost distributor knew is only the publication.
func TestARebuiltPublicationWithoutSubscribers(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.At.Known = false
	w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
	p := plan(w.d, w.look())
	g.Expect(p.Steps).To(HaveLen(1))
	g.Expect(p.Steps[0].Describe()).To(ContainSubstring("sp_droppublication"))
}

// A publication that copies nothing makes snapshots where one subscriber needs them, and not for the others.
func TestSnapshotsForOneSubscriber(t *testing.T) {
	g := NewWithT(t)
	d := declared(true)
	d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	plain := v1alpha1.Subscription{}
	plain.Name = "plain"
	d.Subscriptions = []v1alpha1.Subscription{plain}
	w := newWorld(d)
	w.settle(t, all)
	g.Expect(w.o.At.Snapshot).To(BeNil(), "nobody needs one")
	copied := v1alpha1.Subscription{}
	copied.Name = "copied"
	copied.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeSnapshot}
	w.d.Subscriptions = append(w.d.Subscriptions, copied)
	p, _ := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(w.o.At.Snapshot).NotTo(BeNil())
	g.Expect(w.d.copies(&copied)).To(BeTrue())
	g.Expect(w.d.copies(&plain)).To(BeFalse())
}

// A publication that makes no snapshots any more is published without the job that made them.
func TestAPublicationThatMakesNoSnapshotsAnyMore(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	w.settle(t, all)
	o := w.look()
	o.SnapshotJob = nil
	g.Expect(o.At.Snapshot).NotTo(BeNil(), "its history is there")
	p := plan(w.d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
}
