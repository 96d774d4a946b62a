// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// nightly is a publication that is copied at three in the morning.
func nightly(group bool) Desired {
	d := declared(group)
	s := &d.Publication.Spec
	s.Type, s.Schedule = v1alpha1.PublicationSnapshot, "0 3 * * *"
	d.Times, d.TimesErr = times(d.Publication)
	return d
}

// snapshotOfAll is what a snapshot does at the publisher of a publication that is copied by a schedule.
func (w *world) snapshotOfAll() {
	if !w.d.scheduled() {
		return
	}
	w.o.At.SnapshotBegan = w.o.Now
	w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = mssql.RunSucceeded, w.o.Now
	if w.has == nil {
		w.has = map[string]time.Time{}
	}
	for i := range w.o.Database.Publication.Subscriptions {
		s := &w.o.Database.Publication.Subscriptions[i]
		if !w.marked || s.Status == mssql.SubscriptionWaiting {
			w.has[s.Article+" at "+s.Subscriber] = w.o.Now
		}
		s.Status = 2
	}
}

// refresh subscribes each subscriber to what it lacks.
func (w *world) refresh() {
	all := &w.o.Database.Publication.Subscriptions
	for _, who := range w.look().lacking() {
		for _, article := range who.articles {
			*all = append(*all, mssql.ArticleSubscription{Article: w.o.Database.Publication.Articles[article].Name,
				Subscriber: who.server, Database: who.database, Pull: who.pull, Status: mssql.SubscriptionWaiting})
		}
	}
}

// copied is a world in which a subscriber has the snapshot of ten in the morning, and another one too.
func copied(t fatal, group bool) *world {
	w := newWorld(nightly(group))
	w.now(t, start)
	for _, host := range []string{"dubsub-0", "quisub-0"} {
		w.subscribe(host)
	}
	w.report(t)
	return w
}

// subscribe registers a subscriber as one that has its copy.
func (w *world) subscribe(host string) {
	for _, a := range w.o.Database.Publication.Articles {
		w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions,
			mssql.ArticleSubscription{Article: a.Name, Subscriber: host, Database: "Content", Status: 2, Pull: true})
	}
	w.d.Subscriptions = append(w.d.Subscriptions, v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: strings.TrimSuffix(host, "-0"), UID: "u"},
		Spec: v1alpha1.SubscriptionSpec{Database: "Content", Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{
			Server: v1alpha1.ServerName(strings.TrimSuffix(host, "-0"))}},
	})
}

// now settles at a time, and reports.
func (w *world) now(t fatal, at time.Time) (reconcile.Plan, []string) {
	w.o.Now = at
	w.report(t)
	p, done := w.settle(t, all)
	w.report(t)
	return p, done
}

func (w *world) report(fatal) {
	w.d.Publication.Status = describe(w.d, w.look())
}

func snapshots(done []string) int {
	return strings.Count(strings.Join(done, "\n"), "sp_startpublication_snapshot")
}

// A publication of type Snapshot has no log reader, and a first snapshot at once.
func TestAPublicationThatIsCopiedByASchedule(t *testing.T) {
	for _, group := range []bool{false, true} {
		g := NewWithT(t)
		w := newWorld(nightly(group))
		w.o.Database.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article", Compression: "NONE"}
		p, done := w.now(t, start)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
		g.Expect(p.Outcome.Message).To(ContainSubstring("2 articles of Content are copied through dist-0 by the schedule " +
			"0 3 * * *; nobody subscribes"))
		text := strings.Join(done, "\n")
		g.Expect(text).To(And(ContainSubstring("@repl_freq = N'snapshot'"), ContainSubstring("@sync_method = N'native'")))
		g.Expect(strings.ToLower(text)).NotTo(ContainSubstring("logreader"))
		g.Expect(w.jobs).To(HaveLen(1), "the snapshot agent's")
		g.Expect(snapshots(done)).To(Equal(1))
		s := w.d.Publication.Status
		g.Expect(s.LogReader).To(BeNil())
		g.Expect(s.Newest).To(BeNil())
		g.Expect(s.Schedule.Last.Time).To(Equal(start))
		g.Expect(s.Schedule.Next).To(BeNil(), "nobody subscribes")
		_, done = w.now(t, start.Add(240*time.Hour))
		g.Expect(done).To(BeEmpty(), "nobody is given what nobody subscribes to")
	}
}

// What is there of the other type is neither changed nor replaced, whoever made it and whatever else was agreed to.
func TestAPublicationOfTheOtherType(t *testing.T) {
	for name, c := range map[string]struct {
		have, declared Desired
		says           string
	}{
		"a stream": {declared(true), nightly(true),
			"database Content has a publication articles of type Transactional, and type Snapshot is declared"},
		"copies by a schedule": {nightly(true), declared(true),
			"database Content has a publication articles of type Snapshot, and type Transactional is declared"},
	} {
		for what, agrees := range map[string]func(*world){
			"nothing": func(*world) {},
			"adopt": func(w *world) {
				w.o.Database.Publication.Description = "made by hand"
				w.d.Publication.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			},
			"rebuild": func(w *world) {
				w.o.At.Known = false
				w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				g := NewWithT(t)
				w := newWorld(c.have)
				w.settle(t, all)
				w.d = c.declared
				w.d.Publication = w.d.Publication.DeepCopy()
				agrees(w)
				p := plan(w.d, w.look())
				g.Expect(p.All()).To(BeEmpty())
				g.Expect(p.Note).To(BeNil())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublicationConflict))
				g.Expect(p.Outcome.Message).To(And(ContainSubstring(c.says), ContainSubstring("choose another name")))
				g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			})
		}
	}
}

// The database may have another publication whose log is read: that agent is not this one's to show or to end.
func TestAScheduleLeavesTheLogReaderAlone(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(nightly(true))
	w.o.At.LogReader, w.o.At.Others = &mssql.Agent{ID: 1, Job: "another's", Publisher: "tukpub-0", Status: failed}, true
	w.o.At.Original = "tukpub-0"
	w.jobs["another's"] = &mssql.Job{Enabled: true}
	p, _ := w.now(t, start)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(w.d.Publication.Status.LogReader).To(BeNil())
	g.Expect(w.jobs["another's"].Running).To(BeFalse())
	w.d.Publication.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	for p = planDelete(w.d, w.look()); len(p.Steps) > 0; p = planDelete(w.d, w.look()) {
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(w.o.Database.Publication).To(BeNil())
	g.Expect(w.jobs).To(HaveKey("another's"))
	g.Expect(w.jobs).To(HaveLen(1))
}

// A run marks everybody, makes one snapshot, and comes again when the schedule says; what was missed comes once.
func TestRunsOfASchedule(t *testing.T) {
	g := NewWithT(t)
	w := copied(t, true)
	three := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	g.Expect(w.d.Publication.Status.Schedule.Next.Time).To(Equal(three))
	p, done := w.now(t, three.Add(-time.Second))
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome.Message).To(HaveSuffix("the next snapshot is due at 2026-11-21T03:00:00Z"))

	w.o.Now = three
	p = plan(w.d, w.look())
	g.Expect(p.Steps).To(HaveLen(2))
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "of the newest there is: "+p.Outcome.Message)
	_, done = w.now(t, three)
	text := strings.Join(done, "\n")
	g.Expect(snapshots(done)).To(Equal(1))
	for _, host := range []string{"dubsub-0", "quisub-0"} {
		g.Expect(strings.Count(text, "@article = N'all', @subscriber = N'"+host+"'")).To(Equal(1))
	}
	g.Expect(strings.LastIndex(text, "sp_reinitsubscription")).
		To(BeNumerically("<", strings.Index(text, "sp_startpublication_snapshot")), "who waits is given what is made then")
	g.Expect(w.d.Publication.Status.Schedule.Last.Time).To(Equal(three))
	g.Expect(w.d.Publication.Status.Schedule.Next.Time).To(Equal(three.Add(24 * time.Hour)))
	_, done = w.now(t, three.Add(time.Hour))
	g.Expect(done).To(BeEmpty())

	w.elect(secondary)
	_, done = w.now(t, three.Add(10*24*time.Hour))
	g.Expect(snapshots(done)).To(Equal(1), "nine nights were missed")
	_, done = w.now(t, three.Add(10*24*time.Hour+time.Hour))
	g.Expect(done).To(BeEmpty())
}

// Whatever step of a run is the last one of a process, each subscriber is given one snapshot.
func TestEveryStepOfARunMayBeTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := copied(fail{t}, true)
		w.marked = rapid.Bool().Draw(t, "a snapshot is for those that are marked")
		w.o.Now = start.Add(20 * time.Hour)
		_, done := w.settle(fail{t}, crashes(t))
		g := NewWithT(fail{t})
		g.Expect(snapshots(done)).To(Equal(1))
		for _, s := range w.o.Database.Publication.Subscriptions {
			g.Expect(s.Status).To(Equal(2))
		}
		g.Expect(w.o.At.SnapshotBegan).To(Equal(w.o.Now))
		g.Expect(w.has).To(HaveLen(4), "both articles at both subscribers")
		g.Expect(w.has).To(HaveEach(w.o.Now))
	})
}

// A snapshot that is being made is awaited, one that failed is made again, and Ready says which of these is so.
func TestARunThatLasts(t *testing.T) {
	g := NewWithT(t)
	w := copied(t, false)
	job := w.look().SnapshotJob
	job.Running = true
	p, done := w.now(t, start.Add(20*time.Hour))
	g.Expect(done).To(BeEmpty(), "somebody has begun another one before")
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(p.Outcome.Message).To(HaveSuffix("a snapshot is being made"))
	job.Running = false
	w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = failed, w.o.Now
	w.o.At.Snapshot.Message, w.o.At.Snapshot.FailingFor = "no room", time.Hour
	p = plan(w.d, w.look())
	for _, s := range p.Steps {
		w.do(t, s)
	}
	p = plan(w.d, w.look())
	g.Expect(p.Steps).To(BeEmpty(), "it is left alone for a moment")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotFailed))
	g.Expect(p.Outcome.Message).To(ContainSubstring("no room"))
	_, done = w.now(t, w.o.Now.Add(snapshotPause))
	g.Expect(snapshots(done)).To(Equal(1))
}

// A snapshot that was being made when the distributor was asked may be whole by now: its subscribers are not marked for
// another one. What a history that nobody goes on with has from long ago holds nothing up.
func TestARunBesideASnapshotThatJustEnded(t *testing.T) {
	for name, c := range map[string]struct {
		status mssql.RunStatus
		age    time.Duration
		runs   bool
	}{
		"begun":              {mssql.RunStarted, time.Second, false},
		"in progress":        {mssql.RunInProgress, time.Minute, false},
		"succeeded":          {mssql.RunSucceeded, 17 * time.Hour, true},
		"failed":             {failed, time.Hour, true},
		"cut off long ago":   {mssql.RunInProgress, time.Hour, true},
		"never heard of yet": {0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := copied(t, true)
			w.o.Now = start.Add(17 * time.Hour)
			w.o.At.Snapshot.Status, w.o.At.Snapshot.Time = c.status, w.o.Now.Add(-c.age)
			p := plan(w.d, w.look())
			g.Expect(calls(p, tsql.Reinitializes)).To(Equal(c.runs), p.Outcome.Message)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
		})
	}
}

// What status says of the newest run holds when the distributor does not tell of it any more: its history is cleaned up
// long before a schedule of each month comes again, and a distribution database may come back from a backup.
func TestARunOfWhichTheDistributorTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		began time.Time
		last  time.Time
		at    time.Time
		runs  int
	}{
		"its history was cleaned up":               {time.Time{}, due, due.Add(time.Hour), 0},
		"and another run is due":                   {time.Time{}, due, due.Add(24 * time.Hour), 1},
		"it came back from a backup":               {start, due, due.Add(time.Hour), 0},
		"a clock was wrong":                        {start, due.Add(1000 * time.Hour), due.Add(time.Hour), 1},
		"it tells of a newer one than status does": {due, start, due.Add(time.Hour), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := copied(t, true)
			w.o.Now = c.at
			w.o.At.SnapshotBegan = c.began
			if c.began.IsZero() {
				w.o.At.LastSnapshot = ""
			}
			last := metav1.NewTime(c.last)
			w.d.Publication.Status.Schedule.Last = &last
			p, done := w.now(t, c.at)
			g.Expect(snapshots(done)).To(Equal(c.runs))
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
			g.Expect(w.d.Publication.Status.Schedule.Last.Time).NotTo(BeTemporally(">", c.at))
			g.Expect(w.d.Publication.Status.Schedule.Last.Time).NotTo(BeTemporally("<", due))
		})
	}
}

// Who asked for a new copy before the newest snapshot is not asking any more because the distributor forgot that.
func TestARequestFromBeforeTheNewestRun(t *testing.T) {
	g := NewWithT(t)
	w := copied(t, true)
	w.o.Now = start.Add(3 * time.Hour)
	at, last := metav1.NewTime(start.Add(time.Hour)), metav1.NewTime(start.Add(2*time.Hour))
	w.d.Subscriptions[0].Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: "u/1", Time: &at}
	w.o.Database.Publication.Subscriptions[0].Status = mssql.SubscriptionWaiting
	w.d.Publication.Status.Schedule.Last, w.o.At.SnapshotBegan = &last, time.Time{}
	g.Expect(w.d.asked(w.look())).To(BeFalse())
	w.o.At.SnapshotBegan, w.d.Publication.Status.Schedule.Last = start, nil
	g.Expect(w.d.asked(w.look())).To(BeTrue())
}

// Who is still being given the snapshot before is awaited, and not for ever.
func TestARunWaitsForWhoIsBehind(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		after  time.Duration
		runs   int
		says   string
	}{
		"mirroring": {func(w *world) { w.d.Subscriptions[0].Status.Phase = "Mirroring" }, 0, 0,
			"the snapshot that was due at 2026-11-21T03:00:00Z waits, a day at most, until these have the one before: dubsub"},
		"initializing": {func(w *world) { w.d.Subscriptions[0].Status.Phase = "Initializing" }, 23 * time.Hour, 0, ""},
		"a day":        {func(w *world) { w.d.Subscriptions[0].Status.Phase = "Mirroring" }, 24 * time.Hour, 1, ""},
		"not known":    {func(w *world) { w.d.Subscriptions[0].Status.Phase = "Unknown" }, 0, 1, ""},
		"suspended": {func(w *world) {
			w.d.Subscriptions[0].Status.Phase, w.d.Resting = "Mirroring", map[string]string{"dubsub": "spec.suspend"}
		}, 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := copied(t, true)
			c.change(w)
			p, done := w.now(t, due.Add(c.after))
			g.Expect(snapshots(done)).To(Equal(c.runs))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
			marked := strings.Contains(strings.Join(done, "\n"), "@subscriber = N'dubsub-0'")
			g.Expect(marked).To(Equal(c.runs > 0 && name != "suspended"), "a suspended one is left out")
		})
	}
}

// Another schedule asks for nothing that lies before it was declared.
func TestAnotherSchedule(t *testing.T) {
	g := NewWithT(t)
	w := copied(t, true)
	w.d.Publication.Spec.Schedule, w.d.Publication.Spec.TimeZone = "30 11 * * *", "Europe/Dublin"
	w.d.Times, w.d.TimesErr = times(w.d.Publication)
	g.Expect(w.d.TimesErr).NotTo(HaveOccurred())
	_, done := w.now(t, start.Add(2*time.Hour))
	g.Expect(done).To(BeEmpty())
	g.Expect(w.d.Publication.Status.Schedule.Asks).To(Equal("30 11 * * * Europe/Dublin"))
	_, done = w.now(t, time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC))
	g.Expect(snapshots(done)).To(Equal(1))
}

// What is declared otherwise changes with the next copies, or when somebody asks, and nobody's tables are replaced for
// a newcomer.
func TestChangesWaitForTheSchedule(t *testing.T) {
	added := func(w *world) {
		w.o.Database.Tables["dbo.late"] = mssql.Table{Schema: "dbo", Name: "Late", Compression: "NONE"}
		w.d.Publication.Spec.Articles = append(w.d.Publication.Spec.Articles, v1alpha1.Article{Table: "dbo.Late"})
	}
	filtered := func(w *world) { w.d.Publication.Spec.Articles[0].Filter = "Id > 1" }
	// A column that is added to a table is not replicated with it.
	column := func(w *world) {
		a := w.o.Database.Publication.Articles["dbo.article"]
		a.Columns, a.LeftOut = []string{"Id", "Title"}, []string{"Body"}
		w.o.Database.Publication.Articles["dbo.article"] = a
	}
	taken := func(w *world) { w.d.Publication.Spec.Articles = w.d.Publication.Spec.Articles[1:] }
	newcomer := func(w *world) {
		w.subscribe("latesub-0")
		subscriptions := w.o.Database.Publication.Subscriptions
		for i := range subscriptions {
			if subscriptions[i].Subscriber == "latesub-0" {
				subscriptions[i].Status = mssql.SubscriptionWaiting
			}
		}
	}
	asked := func(w *world) {
		at := metav1.NewTime(w.o.Now)
		w.d.Subscriptions[0].Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: "u/1", Time: &at}
		for i := range w.o.Database.Publication.Subscriptions {
			if s := &w.o.Database.Publication.Subscriptions[i]; s.Subscriber == "dubsub-0" {
				s.Status = mssql.SubscriptionWaiting
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*world)
		says   string
	}{
		"an article":        {added, "and so are the changes that are declared of dbo.Late"},
		"a filter":          {filtered, "and so are the changes that are declared of dbo.Article"},
		"a column":          {column, "and so are the changes that are declared of dbo.Article"},
		"an article's end":  {taken, "and so are the changes that are declared of dbo.Article"},
		"a newcomer":        {newcomer, "the next snapshot is due at 2026-11-21T03:00:00Z"},
		"nothing at all":    {func(*world) {}, "the next snapshot is due at 2026-11-21T03:00:00Z"},
		"both, and another": {func(w *world) { added(w); filtered(w) }, "of dbo.Article, dbo.Late"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := copied(t, true)
			c.change(w)
			p, done := w.now(t, start.Add(time.Hour))
			g.Expect(done).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			_, done = w.now(t, start.Add(17*time.Hour))
			g.Expect(snapshots(done)).To(BeNumerically(">=", 1))
			g.Expect(waiting(w.d, w.look())).To(BeEmpty())
			for _, a := range w.d.Publication.Spec.Articles {
				g.Expect(articleState(w.d, a, w.o.Database)).To(Equal(statePublished))
			}

			w = copied(t, true)
			c.change(w)
			w.o.Now = start.Add(time.Hour)
			asked(w)
			_, done = w.now(t, w.o.Now)
			g.Expect(snapshots(done)).To(BeNumerically(">=", 1), "somebody asked")
			_, done = w.now(t, w.o.Now.Add(time.Hour))
			g.Expect(done).To(BeEmpty())
		})
	}
}

// A published database that was restored is older than the copies: nothing replaces them before a person says so.
func TestARestoredDatabaseIsNotCopied(t *testing.T) {
	g := NewWithT(t)
	w := copied(t, false)
	w.o.Database.Fork = "one"
	w.report(t)
	w.o.Database.Fork = "two"
	w.report(t)
	p, done := w.now(t, start.Add(20*time.Hour))
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublisherBehind))
	g.Expect(p.Outcome.Message).To(ContainSubstring("the next snapshot would replace them. None is made"))

	w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare}
	p, done = w.now(t, w.o.Now)
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonNotSupported))

	w.d.Publication.Annotations[v1alpha1.RebuildAnnotation] = "true"
	for _, s := range plan(w.d, w.look()).Steps {
		w.do(t, s)
	}
	w.report(t)
	p, done = w.now(t, w.o.Now)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(strings.Join(done, "\n")).NotTo(Or(ContainSubstring("sp_replrestart"), ContainSubstring("sp_repldone")))
	g.Expect(w.d.Publication.Status.Behind).To(BeNil())
}

// A distribution database that was restored has forgotten nothing that the next snapshot does not bring, and a lost one
// leaves the log of other publications alone.
func TestALostDistributorOfASchedule(t *testing.T) {
	g := NewWithT(t)
	w := copied(t, false)
	w.o.At.Fork = "one"
	w.report(t)
	w.o.At.Fork = "two"
	p, _ := w.now(t, start.Add(time.Hour))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)

	w.o.At = replication.AtDistributor{}
	w.jobs = map[string]*mssql.Job{}
	p, done := w.now(t, start.Add(time.Hour))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDistributorLost), p.Outcome.Message)
	g.Expect(done).To(BeEmpty())
	w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
	p, done = w.now(t, start.Add(time.Hour))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
	g.Expect(strings.Join(done, "\n")).NotTo(ContainSubstring("sp_repldone"))
}

// A schedule that nobody can read publishes nothing.
func TestAScheduleThatNobodyCanRead(t *testing.T) {
	g := NewWithT(t)
	d := nightly(true)
	d.Publication.Spec.Schedule = "@daily"
	d.Times, d.TimesErr = times(d.Publication)
	p := plan(d, newWorld(d).look())
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonScheduleInvalid))
	g.Expect(p.Outcome.Message).To(HavePrefix("spec.schedule: "))
}

// What would be done is shown without a log reader.
func TestPreviewOfASchedule(t *testing.T) {
	g := NewWithT(t)
	var text []string
	for _, s := range Preview(nightly(false), publisher, start) {
		text = append(text, s.Describe())
	}
	all := strings.Join(text, "\n")
	g.Expect(all).To(And(ContainSubstring("@repl_freq = N'snapshot'"), ContainSubstring("sp_startpublication_snapshot")))
	g.Expect(all).NotTo(Or(ContainSubstring("logreader"), ContainSubstring("sp_start_job")))
}
