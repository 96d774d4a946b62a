// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

func TestPublicationOfAGroup(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	p, done := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(w.o.At.RedirectedTo).To(Equal("content"), "agents follow the listener")
	x := w.o.Database.Publication.Articles["dbo.attachment"]
	g.Expect(x.Columns).To(Equal([]string{"Id", "Body"}))
	g.Expect(x.Filter).To(Equal("Id > 7"))
	g.Expect(x.Limited).To(BeTrue())
	g.Expect(x.SchemaOption & 0x400000000).NotTo(BeZero())
	g.Expect(w.o.Database.Tables["dbo.attachment"].Compression).To(Equal("PAGE"))
	job := w.jobs["geosql-tukpub-0-Content-logreader"]
	g.Expect(job.Running).To(BeTrue())
	g.Expect(job.Command).To(ContainSubstring("-PublisherSecurityMode 0"))
	g.Expect(job.Command).To(ContainSubstring("-DistributorSecurityMode 0"), "Windows authentication would be the default")
	for _, step := range done {
		g.Expect(step).NotTo(ContainSubstring("secret"))
	}
}

// A filter that is more than a condition reaches no engine, whichever way its object came.
func TestAFilterWithAStatementIsNotSent(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.d.Publication.Spec.Articles[0].Filter = "1 = 1) RETURN 1 DROP TABLE dbo.Attachment --"
	p := plan(w.d, w.o)
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonFilterRefused))
	g.Expect(p.Outcome.Message).To(ContainSubstring("a parenthesis is closed that was not opened"))
}

func TestPublicationOfAServerAlone(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	p, done := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(w.o.At.RedirectedTo).To(BeEmpty())
	g.Expect(done[0]).To(ContainSubstring("CREATE DATABASE"))
	g.Expect(w.o.Servers[publisher].State.Databases["content"].LogChain).To(BeTrue(), "a first backup")
}

// The database of a subscriber that becomes publisher is there: nothing says that it is created.
func TestADatabaseThatIsThereIsBackedUp(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.o.Servers[publisher].State.Databases["content"] = mssql.ReplicationDatabase{
		Name:          "Content",
		State:         "ONLINE",
		RecoveryModel: "FULL",
	}
	p := plan(w.d, w.o)
	g.Expect(p.Steps).To(HaveLen(1))
	g.Expect(p.Steps[0].Describe()).To(ContainSubstring("BACKUP DATABASE"))
	g.Expect(p.Outcome.Message).To(Equal("a first full backup of database Content on tukpub-0 is being made"))
}

// Whatever step is the last one of a process, the end is the same.
func TestEveryStepMayBeTheLast(t *testing.T) {
	kinds := map[string]func() Desired{
		"of a group":             func() Desired { return declared(true) },
		"of a server":            func() Desired { return declared(false) },
		"of a group, scheduled":  func() Desired { return nightly(true) },
		"of a server, scheduled": func() Desired { return nightly(false) },
	}
	want := map[string]*world{}
	for kind, declared := range kinds {
		want[kind] = newWorld(declared())
		want[kind].settle(t, all)
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(t, "publication")
		w := newWorld(kinds[kind]())
		w.settle(t, crashes(t))
		g := NewWithT(fail{t})
		g.Expect(w.o.Database.Publication).To(Equal(want[kind].o.Database.Publication))
		g.Expect(w.o.At).To(Equal(want[kind].o.At))
		g.Expect(w.jobs).To(Equal(want[kind].jobs))
	})
}

// fail lets gomega fail a rapid test.
type fail struct{ *rapid.T }

func (f fail) Helper() {}

// After a failover agents keep the original publisher's name, and procedures run on the new primary.
func TestPublicationAfterAFailover(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.elect(secondary)
	w.d.Publication.Spec.Articles = w.d.Publication.Spec.Articles[:1]
	p, _ := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
	g.Expect(w.o.Database.Publication.Articles).To(HaveLen(1))
	g.Expect(w.jobs).To(HaveLen(2), "no second log reader")
	g.Expect(w.o.At.Original).To(Equal("tukpub-0"))
}

func TestChangesOfArticles(t *testing.T) {
	attachment := func(change func(*v1alpha1.Article)) func(*world) {
		return func(w *world) { change(&w.d.Publication.Spec.Articles[1]) }
	}
	for name, c := range map[string]struct {
		change func(*world)
		steps  []string
		check  func(Gomega, mssql.PublishedArticle)
	}{
		"a column more": {attachment(func(a *v1alpha1.Article) { a.Columns = append(a.Columns, "Title") }),
			[]string{"sp_articlecolumn", "sp_articleview", "sp_startpublication_snapshot"},
			func(g Gomega, x mssql.PublishedArticle) { g.Expect(x.Columns).To(ConsistOf("Id", "Body", "Title")) }},
		"a column less": {attachment(func(a *v1alpha1.Article) { a.Columns = []string{"Id"} }),
			[]string{"sp_articlecolumn", "sp_articleview", "sp_startpublication_snapshot"},
			func(g Gomega, x mssql.PublishedArticle) { g.Expect(x.Columns).To(ConsistOf("Id")) }},
		"another filter": {attachment(func(a *v1alpha1.Article) { a.Filter = "Id > 8" }),
			[]string{"sp_articlefilter", "sp_articleview", "sp_startpublication_snapshot"},
			func(g Gomega, x mssql.PublishedArticle) { g.Expect(x.Filter).To(Equal("Id > 8")) }},
		"no filter any more": {attachment(func(a *v1alpha1.Article) { a.Filter = "" }),
			[]string{"sp_dropsubscription", "sp_droparticle", "sp_addarticle", "sp_articlecolumn", "sp_articleview",
				"sp_refreshsubscriptions", "sp_startpublication_snapshot"},
			func(g Gomega, x mssql.PublishedArticle) { g.Expect(x.Filter).To(BeEmpty()) }},
		"drift of the schema option": {func(w *world) {
			x := w.o.Database.Publication.Articles["dbo.attachment"]
			x.SchemaOption = 1
			w.o.Database.Publication.Articles["dbo.attachment"] = x
		}, []string{"sp_changearticle", "sp_startpublication_snapshot"},
			func(g Gomega, x mssql.PublishedArticle) { g.Expect(x.SchemaOption).NotTo(Equal(int64(1))) }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			w.d.Publication.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			w.settle(t, all)
			for _, x := range []string{"dbo.Article", "dbo.Attachment"} {
				w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions,
					mssql.ArticleSubscription{Article: x, Subscriber: "dubsub-0", Database: "Content", Pull: true, Status: 2})
			}
			c.change(w)
			_, done := w.settle(t, all)
			var procedures []string
			for _, step := range done {
				_, rest, _ := strings.Cut(step, "EXEC sys.")
				name, _, _ := strings.Cut(rest, " ")
				procedures = append(procedures, name)
			}
			g.Expect(procedures).To(Equal(c.steps))
			c.check(g, w.o.Database.Publication.Articles["dbo.attachment"])
		})
	}
}

// A push subscriber is subscribed to the articles that came after it, also by an engine whose sp_refreshsubscriptions
// serves pull subscribers only, as the one of the simulation does.
func TestNewArticleOfAPushSubscriber(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content"},
	}
	_, done := w.settle(t, all)
	g.Expect(done).To(HaveExactElements(ContainSubstring("sp_refreshsubscriptions"),
		ContainSubstring("@article = N'all', @subscriber = N'dubsub-0', @destination_db = N'Content'")))
}

func TestDriftOfJobs(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	job := w.jobs["geosql-tukpub-0-Content-logreader"]
	want := job.Command
	job.Command, job.Enabled, job.Scheduled = "-Publisher [other]", false, false
	p, _ := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
	g.Expect(*job).
		To(Equal(mssql.Job{Enabled: true, Description: job.Description, Step: 1, Command: want, HasServer: true,
			Scheduled: true, Running: true}))
	w.d.LogReaderProfile = &v1alpha1.AgentProfileSpec{
		Agent:           v1alpha1.AgentLogReader,
		PollingInterval: ptr.To[int32](1),
		ReadBatchSize:   ptr.To[int32](1000),
	}
	w.settle(t, all)
	g.Expect(job.Command).To(HaveSuffix("-Continuous -ReadBatchSize 1000 -PollingInterval 1"))
	g.Expect(job.Running).To(BeTrue(), "stopped and started again")
	delete(w.jobs, "geosql-tukpub-0-Content-logreader")
	w.settle(t, all)
	g.Expect(w.jobs).To(HaveLen(2), "a job that was deleted by hand is made again")
}

func TestPublicationPlan(t *testing.T) {
	table := func(w *world, change func(*mssql.Table)) {
		x := w.o.Database.Tables["dbo.attachment"]
		change(&x)
		w.o.Database.Tables["dbo.attachment"] = x
	}
	for name, c := range map[string]struct {
		change   func(*world)
		reason   string
		words    string
		progress conditions.Progress
		articles int
	}{
		"a publisher that can only subscribe": {func(w *world) {
			w.d.Publisher.SubscribeOnly = []v1alpha1.ServerName{"tukpub"}
		}, v1alpha1.ReasonEditionSubscribesOnly, "raise spec.edition", conditions.Stuck, -1},
		"no distributor": {func(w *world) { w.d.Missing = []string{"Distributor main"} }, v1alpha1.ReasonReferenceMissing,
			"Distributor main", conditions.Working, -1},
		"not admitted": {func(w *world) { w.o.Servers[distributor].State.Publishers = nil },
			v1alpha1.ReasonWaitingForDistributor, "does not admit", conditions.Working, -1},
		"no primary": {func(w *world) { w.elect("") }, v1alpha1.ReasonNoPrimary, "no primary", conditions.Working, -1},
		"silent": {func(w *world) {
			w.o.Servers[publisher] = replication.Server{Err: &mssql.Error{Class: mssql.Unknown}}
			w.o.Servers[secondary] = replication.Server{Err: &mssql.Error{Class: mssql.Unknown}}
		}, v1alpha1.ReasonEngineNotAnswering, "", conditions.Working, -1},
		"no table yet": {func(w *world) { delete(w.o.Database.Tables, "dbo.attachment") },
			v1alpha1.ReasonWaitingForTable, "dbo.Attachment", conditions.Working, 1},
		"no primary key": {func(w *world) { table(w, func(x *mssql.Table) { x.PrimaryKey = nil }) },
			v1alpha1.ReasonNoPrimaryKey, "dbo.Attachment", conditions.Stuck, 1},
		"the key is not published": {func(w *world) {
			table(w,
				func(x *mssql.Table) { x.PrimaryKey = []string{"Id", "Language"} })
		},
			v1alpha1.ReasonColumnsNotPublishable, "dbo.Attachment", conditions.Stuck, 1},
		"the server declares it, and it is not there yet": {func(w *world) {
			w.d.Publisher.Group, w.d.Publisher.Servers = "", []v1alpha1.ServerName{publisher}
			w.d.Publisher.Databases = []v1alpha1.Database{{Name: "content"}}
			delete(w.o.Servers[publisher].State.Databases, "content")
		}, v1alpha1.ReasonWaitingForDatabase, "does not have database Content yet", conditions.Working, -1},
		"the group has no such database": {func(w *world) { delete(w.o.Servers[publisher].State.Databases, "content") },
			v1alpha1.ReasonWaitingForDatabase, "Content", conditions.Working, -1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			c.change(w)
			p, _ := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.words))
			g.Expect(p.Outcome.Progress).To(Equal(c.progress))
			g.Expect(p.Outcome.Ready).NotTo(Equal(metav1.ConditionTrue))
			if c.articles >= 0 {
				g.Expect(w.o.Database.Publication.Articles).To(HaveLen(c.articles), "the others go on")
			}
		})
	}
}

func TestSomebodysPublication(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.Database.Publication.Description = "by hand"
	p, done := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublicationConflict))
	g.Expect(done).To(BeEmpty())
	w.d.Publication.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	p, _ = w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
}

func TestSnapshotThatFailed(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.Database.Publication.SnapshotReady = false
	w.o.At.Snapshot.Status, w.o.At.Snapshot.Message, w.o.At.Snapshot.Time = mssql.RunFailed, "no space left", start.Add(
		-time.Second,
	)
	p, done := w.settle(t, all)
	g.Expect(done).To(BeEmpty(), "not again and again")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotFailed))
	g.Expect(p.Outcome.Message).To(ContainSubstring("no space left"))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Working))
	w.o.At.Snapshot.FailingFor = time.Hour
	p, _ = w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotFailed))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck), "a person has to mend that")
	w.o.Now = start.Add(time.Minute)
	_, done = w.settle(t, all)
	g.Expect(done).To(HaveLen(1))
}

// What the log reader does again by itself is an outage that may pass; nothing changes when an attempt begins, or is
// hurried.
func TestFailuresOfTheLogReader(t *testing.T) {
	for name, c := range map[string]struct {
		failure mssql.RunStatus
		since   time.Duration
		between bool
		started time.Duration
		reason  string
		ready   metav1.ConditionStatus
		steps   int
	}{
		"delivers": {0, 0, false, 0, v1alpha1.ReasonPublished, metav1.ConditionTrue, 0},
		"tried again": {mssql.RunRetrying, 5 * time.Second, true, 5 * time.Second, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionTrue, 0},
		"hurried": {mssql.RunRetrying, 20 * time.Second, true, 20 * time.Second,
			v1alpha1.ReasonAgentRetrying, metav1.ConditionTrue, 2},
		"another attempt": {mssql.RunRetrying, 30 * time.Second, false, 0, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionTrue, 0},
		"tried again for long": {mssql.RunRetrying, 61 * time.Second, true, 0, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionFalse, 0},
		"nobody was told of it": {0, 0, true, 0, v1alpha1.ReasonAgentRetrying, metav1.ConditionTrue, 0},
		"failed": {mssql.RunFailed, time.Second, true, 0, v1alpha1.ReasonLogReaderNotRunning,
			metav1.ConditionFalse, 0},
		"failed, another attempt": {mssql.RunFailed, time.Second, false, 0, v1alpha1.ReasonLogReaderNotRunning,
			metav1.ConditionFalse, 0},
		"failed for long": {mssql.RunFailed, 10 * time.Minute, false, 0, v1alpha1.ReasonLogReaderNotRunning,
			metav1.ConditionFalse, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			w.settle(t, all)
			reader, j := w.o.At.LogReader, w.jobs["geosql-tukpub-0-Content-logreader"]
			reader.Failure, reader.FailingFor, reader.FailureMessage, reader.Time = c.failure, c.since, "could not connect",
				w.o.Now
			if c.failure != 0 {
				reader.Status = mssql.RunStarted
			}
			j.BetweenRetries, j.Started = c.between, c.started
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
			g.Expect(p.Steps).To(HaveLen(c.steps))
			if c.failure != 0 {
				g.Expect(p.Outcome.Message).To(ContainSubstring("could not connect"))
				g.Expect(p.Outcome.Progress == conditions.Stuck).To(Equal(name == "failed for long"))
				g.Expect(describe(w.d, w.look()).LogReader.State).To(Equal(c.failure.String()))
			}
		})
	}
}

// A snapshot after which the publisher still has none is not made again and again: each reads every table.
func TestSnapshotThatDoesNotHelp(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.Database.Publication.SnapshotReady = false
	w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = mssql.RunSucceeded, start.Add(-time.Second)
	p, done := w.settle(t, all)
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotRunning))
	g.Expect(p.Outcome.Message).To(ContainSubstring("another is made soon"))

	w.o.At.Snapshot.Time, w.o.Now = start.Add(-time.Second), start.Add(time.Minute)
	_, done = w.settle(t, all)
	g.Expect(done).To(HaveLen(1))
}

// A subscriber that was reinitialized waits for a snapshot, although there is one; it is not made again and again if
// that does not help.
func TestSnapshotThatASubscriberWaitsFor(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Pull: true, Status: 2},
		{
			Article:    "dbo.Attachment",
			Subscriber: "dubsub-0",
			Database:   "Content",
			Pull:       true,
			Status:     mssql.SubscriptionWaiting,
		}}
	w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = mssql.RunSucceeded, start.Add(-waitingPause)
	g.Expect(described(plan(w.d, w.look()))).To(ConsistOf(ContainSubstring("sp_startpublication_snapshot")))
	w.o.At.Snapshot.Time = start.Add(-waitingPause + time.Second)
	g.Expect(described(plan(w.d, w.look()))).To(BeEmpty())
}

// The distributor died after the publisher had been told of the snapshot and before its history said so.
func TestSnapshotThatTheDistributorDoesNotKnow(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.At.LastSnapshot = ""
	_, done := w.settle(t, all)
	g.Expect(done).To(ConsistOf(ContainSubstring("sp_startpublication_snapshot")))
}

func TestDeletionOfAPublication(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	g.Expect(planDelete(w.d, w.look()).Done).To(BeTrue(), "everything stays unless the policy says Delete")
	w.d.Publication.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content"},
	}
	p := planDelete(w.d, w.look())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Message).To(ContainSubstring("dubsub-0"))
	w.o.Database.Publication.Subscriptions = nil
	for range 5 {
		if p = planDelete(w.d, w.look()); p.Done {
			break
		}
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	g.Expect(p.Done).To(BeTrue())
	g.Expect(w.o.Database.Publication).To(BeNil())
	g.Expect(w.jobs).NotTo(HaveKey("geosql-tukpub-0-Content-articles-snapshot"))
	g.Expect(w.jobs).NotTo(HaveKey("geosql-tukpub-0-Content-logreader"))
	g.Expect(w.o.Servers[publisher].State.Database("Content").Published).To(BeFalse())
	g.Expect(w.o.Database.Owner.User).To(BeEmpty())
}

// A distributor that was made anew under a publication is noticed; nothing is dropped until a person says so.
func TestLostDistributor(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{
			Article:    "dbo.Article",
			Subscriber: "dubsub-0",
			Database:   "Content",
			Pull:       true,
		}, {Article: "dbo.Attachment", Subscriber: "dubsub-0", Database: "Content", Pull: true}}
	w.o.At = replication.AtDistributor{}
	p := plan(w.d, w.look())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDistributorLost))
	w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
	p = plan(w.d, w.look())
	g.Expect(described(p)).To(HaveExactElements(
		And(ContainSubstring("sp_repldone"), ContainSubstring("@reset = 1"), ContainSubstring("sp_replflush")),
		And(ContainSubstring("sp_dropsubscription"), ContainSubstring("@ignore_distributor = 1")),
		And(ContainSubstring("sp_droppublication"), ContainSubstring("@ignore_distributor = 1")),
	))
	// Another publication of the database was made anew already: its log reader has the log.
	w.o.At.LogReader = &mssql.Agent{ID: 1}
	g.Expect(described(plan(w.d, w.look()))).
		To(HaveExactElements(ContainSubstring("sp_dropsubscription"), ContainSubstring("sp_droppublication")))
	w.o.At.LogReader = nil
	// Somebody else's publication is not dropped.
	w.o.Database.Publication.Description = "mine"
	g.Expect(plan(w.d, w.look()).Outcome.Reason).NotTo(Equal(v1alpha1.ReasonDistributorLost))
}

// A published database that is gone, or was made anew, is noticed: nothing is published in its place until a person
// says so.
func TestLostPublisher(t *testing.T) {
	for name, c := range map[string]struct {
		group bool
		lose  func(*world)
		lost  bool
	}{
		"the database is gone": {false, func(w *world) { delete(w.o.Servers[publisher].State.Databases, "content") }, true},
		"the database was made anew": {false, func(w *world) {
			w.o.Servers[publisher].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE",
				RecoveryModel: "FULL", LogChain: true}
		}, true},
		"the database of a group was made anew": {true, func(*world) {}, true},
		"a person says so": {false, func(w *world) {
			w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare}
		}, false},
		"the publication comes back to a publisher that it had left": {false, func(w *world) { w.d.Arriving = true },
			false},
		"an earlier process ended while the publication was being added": {false, func(w *world) { w.o.At.Access = nil },
			false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(c.group))
			w.settle(t, all)
			g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
			w.o.Database.Publication = nil
			c.lose(w)
			p := plan(w.d, w.look())
			if !c.lost {
				g.Expect(p.Steps).NotTo(BeEmpty(), p.Outcome.Message)
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublisherLost), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring("annotate the Publication with geosql.dev/rebuild"))
		})
	}
}

// Which columns an article of some columns begins with is the engine's to say: it keeps those of keys, and those that
// may be NULL and have no default. They are read before columns are added and taken away, and nobody subscribes nor is
// a snapshot made before only those are published that are declared.
func TestColumnsThatAnArticleBeginsWith(t *testing.T) {
	for name, columns := range map[string][]string{
		"one that is there":     {"Id", "Title"},
		"one that is not":       {"Id", "Body"},
		"the primary key alone": {"Id"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(false))
			w.kept, w.d.Publication.Spec.Articles[1].Columns = []string{"Title"}, columns
			_, done := w.settle(t, all)
			g.Expect(w.o.Database.Publication.Articles["dbo.attachment"].Columns).To(ConsistOf(columns))
			column := slices.IndexFunc(done, func(s string) bool { return strings.Contains(s, "sp_articlecolumn") })
			for i, s := range done {
				if strings.Contains(s, "sp_startpublication_snapshot") || strings.Contains(s, "sp_addsubscription") {
					g.Expect(i).To(BeNumerically(">", column), s)
				}
			}
		})
	}
}
