// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// nightly has what is subscribed to be copied at three in the morning.
func nightly(d Desired) Desired {
	s := &d.Publication.Spec
	s.Type, s.Schedule = v1alpha1.PublicationSnapshot, "0 3 * * *"
	since, next := metav1.NewTime(start.Add(-240*time.Hour)), metav1.NewTime(start.Add(17*time.Hour))
	d.Publication.Status.Schedule = &v1alpha1.PublicationSchedule{Since: &since, Next: &next}
	return d
}

// scheduledWorld has a snapshot that was made an hour ago, and no log reader.
func scheduledWorld(d Desired) *world {
	w := newWorld(nightly(d))
	w.o.At.LogReader, w.o.LogReaderJob = nil, nil
	w.o.At.SnapshotBegan = start.Add(-time.Hour)
	w.o.Snapshot = mssql.SubscriptionSnapshot{Number: []byte{0, 1}, Age: time.Hour, Known: true}
	return w
}

// report has the status be as a look finds it.
func (w *world) report() {
	w.d.Subscription.Status = describe(w.d, w.look())
}

// copiedWorld is a world in which the subscriber has the first snapshot.
func copiedWorld(t *testing.T, d Desired) *world {
	t.Helper()
	w := scheduledWorld(d)
	w.settle(t, all)
	w.report()
	return w
}

// marked is a run of the schedule that has begun.
func (w *world) marked(at time.Time) {
	w.o.Now = at
	for i := range w.o.Publication.Subscriptions {
		w.o.Publication.Subscriptions[i].Status = mssql.SubscriptionWaiting
	}
	w.o.Snapshot = mssql.SubscriptionSnapshot{}
}

// made is the run's snapshot, which is at the distributor.
func (w *world) made() {
	w.o.At.LastSnapshot, w.o.At.SnapshotAge, w.o.At.SnapshotBegan = "2026-11-21T03:00:05", 0, w.o.Now
	for i := range w.o.Publication.Subscriptions {
		w.o.Publication.Subscriptions[i].Status = 2
	}
	w.o.Snapshot = mssql.SubscriptionSnapshot{Number: []byte{0, 2}, Known: true}
}

// steps carries a plan out, and gives it.
func (w *world) steps(t *testing.T) reconcile.Plan {
	t.Helper()
	p := plan(w.d, w.look())
	for _, s := range p.All() {
		w.do(t, s)
	}
	w.report()
	return p
}

// A copy that is made by a schedule is Ready with its first snapshot, and nothing is measured of a stream.
func TestACopyByASchedule(t *testing.T) {
	for name, d := range map[string]Desired{"pull": declared(), "push": push(""),
		"push at the subscriber": push(v1alpha1.AgentAtSubscriber)} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := scheduledWorld(d)
			p, done := w.settle(t, all)
			w.report()
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
			g.Expect(p.Outcome.Message).
				To(Equal("Content on dubsub-0 has the snapshot of 2 articles that was made at 2026-11-20T09:00:00Z"))
			g.Expect(strings.Join(done, "\n")).NotTo(ContainSubstring("sp_posttracertoken"))
			s := w.d.Subscription.Status
			g.Expect(s.Phase).To(Equal(phaseActive))
			g.Expect(s.Latency).To(BeNil())
			g.Expect(s.PendingCommands).To(BeNil())
			g.Expect(s.Snapshot.Transaction).To(Equal("0x0001"))
			g.Expect(s.Snapshot.Made.Time).To(Equal(start.Add(-time.Hour)))
			g.Expect(s.Snapshot.Applied.Time).To(Equal(start))
		})
	}
}

// The copy that is there serves while the next one is made, brought and applied; an agent that reads a mirror rests
// until it is whole.
func TestARunOfTheSchedule(t *testing.T) {
	g := NewWithT(t)
	w := copiedWorld(t, declared())
	agent := func() *mssql.Job { return w.jobs[subscriber][jobOfAll] }
	ready := func(phase, says string) {
		t.Helper()
		p := plan(w.d, w.look())
		g.Expect(p.All()).To(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
		g.Expect(p.Outcome.Message).To(ContainSubstring("was made at 2026-11-20T09:00:00Z; the next one is being " + says))
		w.report()
		g.Expect(w.d.Subscription.Status.Phase).To(Equal(phase))
	}
	steps := func() {
		t.Helper()
		p := w.steps(t)
		g.Expect(p.Steps).NotTo(BeEmpty())
		g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
	}
	w.marked(start.Add(17 * time.Hour))
	steps()
	g.Expect(agent().Enabled || agent().Running).To(BeFalse(), "it has nothing to do, and no files")
	ready(phaseSnapshot, "made")

	w.made()
	steps()
	g.Expect(w.o.Mirror.Told.Generation).To(Equal(w.o.At.LastSnapshot))
	g.Expect(agent().Enabled).To(BeFalse())
	w.o.Mirror.Status = &files.Status{Subscription: "dublin", Generation: w.o.At.LastSnapshot,
		Snapshot: "20261121030005", State: files.Copying, Bytes: 5, Total: 9}
	ready(phaseMirroring, "brought: snapshot 20261121030005: 5 of 9 bytes are at the subscriber's site")
	w.o.Mirror.Status.State = files.Failing
	w.report()
	g.Expect(w.d.Subscription.Status.Phase).To(Equal(phaseFailed), "nobody waits for it")

	w.o.Mirror.Status = &files.Status{Subscription: "dublin", Generation: w.o.At.LastSnapshot, State: files.Verified}
	steps() // enabled
	steps() // started
	g.Expect(agent().Running).To(BeTrue())
	w.o.Mirror.Status = nil // it is not asked any more
	ready(phaseInitializing, "applied")

	w.run()
	w.report()
	p := plan(w.d, w.look())
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Message).To(HaveSuffix("was made at 2026-11-21T03:00:00Z"))
	s := w.d.Subscription.Status
	g.Expect(s.Phase).To(Equal(phaseActive))
	g.Expect(s.Snapshot.Transaction).To(Equal("0x0002"))
	g.Expect(s.MirroredSnapshot).To(Equal(w.o.At.LastSnapshot))
}

// An agent where the snapshot is made has nothing to wait for.
func TestARunWithoutAMirror(t *testing.T) {
	g := NewWithT(t)
	w := copiedWorld(t, push(""))
	w.marked(start.Add(17 * time.Hour))
	w.steps(t)
	g.Expect(w.jobs[distributor][jobOfAll].Running).To(BeTrue())
	w.made()
	p := w.steps(t)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
	g.Expect(w.d.Subscription.Status.Phase).To(Equal(phaseInitializing))
}

// A copy may be as old as the schedule lets it become.
func TestACopyThatIsTooOld(t *testing.T) {
	for name, c := range map[string]struct {
		at     time.Time
		change func(*world)
		reason string
	}{
		"the same day":    {start.Add(16 * time.Hour), func(*world) {}, v1alpha1.ReasonDelivering},
		"one time missed": {start.Add(40 * time.Hour), func(*world) {}, v1alpha1.ReasonDelivering},
		"two":             {start.Add(42 * time.Hour), func(*world) {}, v1alpha1.ReasonSnapshotOutdated},
		"two, and on its way": {start.Add(42 * time.Hour), func(w *world) { w.marked(w.o.Now) },
			v1alpha1.ReasonSnapshotOutdated},
		"of another schedule": {start.Add(42 * time.Hour), declaredNow, v1alpha1.ReasonDelivering},
		"one that nobody reads": {start.Add(42 * time.Hour), func(w *world) { w.d.Publication.Spec.Schedule = "daily" },
			v1alpha1.ReasonDelivering},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := copiedWorld(t, declared())
			w.o.Now = c.at
			c.change(w)
			w.steps(t)
			p := w.steps(t)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
		})
	}
}

func declaredNow(w *world) {
	now := metav1.NewTime(w.o.Now)
	w.d.Publication.Status.Schedule.Since = &now
}

// A newcomer is given what is there; what is not replaces nobody else's copy before the schedule, or somebody who asks,
// says so.
func TestANewcomerWaitsForTheSchedule(t *testing.T) {
	others := mssql.ArticleSubscription{Article: "dbo.Article", Subscriber: "quisub-0", Database: "Content", Status: 2}
	starts := func(p reconcile.Plan) bool {
		return strings.Contains(strings.Join(describeAll(p), "\n"), "sp_startpublication_snapshot")
	}
	old := func(t *testing.T) *world {
		w := scheduledWorld(declared())
		for range 10 {
			if len(w.steps(t).All()) == 0 || len(w.o.Publication.Subscriptions) > 0 {
				break
			}
		}
		w.o.Publication.Subscriptions = nil
		w.o.At.SnapshotAge = 60 * time.Hour
		return w
	}
	t.Run("an old snapshot", func(t *testing.T) {
		g := NewWithT(t)
		w := old(t)
		g.Expect(starts(plan(w.d, w.look()))).To(BeTrue(), "nobody else has a copy")
		w.o.Publication.Subscriptions = append(w.o.Publication.Subscriptions, others)
		p := plan(w.d, w.look())
		g.Expect(p.All()).To(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForSchedule))
		g.Expect(p.Outcome.Message).To(And(ContainSubstring("it is made at 2026-11-21T03:00:00Z"),
			ContainSubstring("kubectl geosql reinitialize dublin -n web")))
		w.d.Subscription.UID = "u"
		w.d.Subscription.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: "u/1"}
		g.Expect(starts(plan(w.d, w.look()))).To(BeTrue(), "somebody asked")
	})
	t.Run("a snapshot that lacks an article", func(t *testing.T) {
		g := NewWithT(t)
		w := copiedWorld(t, declared())
		w.d.Subscription.Status.Snapshot = nil
		w.o.here(w.d).Transaction = nil
		w.marked(start)
		w.o.Publication.Subscriptions = append(w.o.Publication.Subscriptions, others)
		w.steps(t)
		g.Expect(w.steps(t).Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForSchedule))
		at := metav1.NewTime(start)
		w.d.Subscription.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Request: "u/1", Time: &at}
		g.Expect(w.steps(t).Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotRunning))
	})
}

func describeAll(p reconcile.Plan) (all []string) {
	for _, s := range p.All() {
		all = append(all, s.Describe())
	}
	return all
}

// What goes with a stream alone is refused, with what to do.
func TestWhatASubscriberOfAScheduleMayNotDeclare(t *testing.T) {
	g := NewWithT(t)
	d := nightly(declared())
	g.Expect(d.notScheduled()).To(BeEmpty())
	d.Subscription.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	g.Expect(d.notScheduled()).To(ContainSubstring("take the annotation away"))
	g.Expect(d.compares()).To(BeFalse())
	d.Subscription.Spec.Objectives = &v1alpha1.SubscriptionObjectives{Latency: &metav1.Duration{Duration: time.Minute}}
	g.Expect(d.notScheduled()).To(HavePrefix("spec.objectives.latency"))
	d.Publication.Spec.Type = v1alpha1.PublicationTransactional
	g.Expect(d.notScheduled()).To(BeEmpty())
}

// A database that was restored says which snapshot it has, or that it has none: nothing is missing from a stream.
func TestARestoredCopyOfASchedule(t *testing.T) {
	g := NewWithT(t)
	w := copiedWorld(t, declared())
	w.o.Here.Fork = "another"
	w.marked(start.Add(17 * time.Hour))
	w.made()
	w.o.Mirror.Status = &files.Status{Subscription: "dublin", Generation: w.o.At.LastSnapshot, State: files.Verified}
	w.o.here(w.d).Transaction = []byte{0, 0, 7}
	w.report()
	g.Expect(w.d.Subscription.Status.Snapshot).To(BeNil())
	for range 3 {
		w.steps(t)
	}
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonInitializing))
	w.run()
	w.report()
	g.Expect(w.d.Subscription.Status.Snapshot.Transaction).To(Equal("0x0002"))
	g.Expect(plan(w.d, w.look()).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(initialization(w.d, w.look(), reconcile.Plan{}).RestoredAt).To(BeNil())
}

// An agent that fails is told as ever, and one that was given up has its next copy by the schedule.
func TestAnAgentOfAScheduleThatFails(t *testing.T) {
	g := NewWithT(t)
	w := copiedWorld(t, push(""))
	w.fails(mssql.RunFailed, time.Hour)
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonAgentFailed))
	w.fails(mssql.RunRetrying, time.Hour)
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonAgentRetrying))
	w.fails(0, 0)
	for i := range w.o.Publication.Subscriptions {
		w.o.Publication.Subscriptions[i].Status = mssql.SubscriptionInactive
	}
	p := plan(w.d, w.look())
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriptionInactive))
	g.Expect(p.Outcome.Message).To(ContainSubstring("it gets a new copy at 2026-11-21T03:00:00Z"))
}

// What is not known takes nothing from what status says the subscriber has.
func TestASnapshotThatIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		kept   bool
	}{
		"nothing":                         {func(*world) {}, true},
		"no Publication":                  {func(w *world) { w.d.Publication = nil }, true},
		"the distributor does not answer": {func(w *world) { w.o.AtErr = errors.New("no answer") }, true},
		"the database does not answer": {func(w *world) {
			w.o.HereErr, w.o.Here = errors.New("no answer"), Here{}
		}, true},
		"the distributor says nothing of it": {func(w *world) { w.o.Snapshot = mssql.SubscriptionSnapshot{} }, true},
		"a stream": {func(w *world) {
			w.d.Publication.Spec.Type = v1alpha1.PublicationTransactional
		}, false},
		"a restored database": {func(w *world) { w.o.here(w.d).Transaction = []byte{0, 0, 7} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := copiedWorld(t, declared())
			have := w.d.Subscription.Status.Snapshot.DeepCopy()
			o := w.look()
			c.change(w)
			w.o.Jobs = o.Jobs
			if !c.kept {
				have = nil
			}
			g.Expect(appliedSnapshot(w.d, w.o)).To(Equal(have))
			g.Expect(describe(w.d, w.o).Snapshot).To(Equal(have))
		})
	}
}

// A snapshot that is made for somebody else is for all who subscribe, or for nobody else (R-D29): the copy that is
// there serves either way.
func TestASnapshotForSomebodyElse(t *testing.T) {
	for name, marked := range map[string]bool{"for all": false, "for those that are marked": true} {
		for kind, d := range map[string]Desired{"pull": declared(), "push": push("")} {
			t.Run(name+", "+kind, func(t *testing.T) {
				g := NewWithT(t)
				w := copiedWorld(t, d)
				w.o.Now = start.Add(time.Hour)
				w.o.At.LastSnapshot, w.o.At.SnapshotAge, w.o.At.SnapshotBegan = "2026-11-20T11:00:00", 0, w.o.Now
				want := "0x0001"
				if !marked {
					want, w.o.Snapshot = "0x0002", mssql.SubscriptionSnapshot{Number: []byte{0, 2}, Known: true}
				}
				for range 8 {
					p := w.steps(t)
					g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
					if marked {
						g.Expect(w.d.Subscription.Status.Phase).To(Equal(phaseActive))
						g.Expect(underWay(w.d.Subscription.Status.Copy)).To(BeFalse())
					}
					if len(p.All()) == 0 {
						w.run()
					}
				}
				s := w.d.Subscription.Status
				g.Expect(s.Phase).To(Equal(phaseActive))
				g.Expect(underWay(s.Copy)).To(BeFalse())
				g.Expect(s.Snapshot.Transaction).To(Equal(want))
				g.Expect(w.jobs[w.d.agentServer()][job(w.d, w.look()).Name].Running).To(BeTrue())
			})
		}
	}
}

// A publication of the other type is not the one that is declared: nothing is registered to it, and nothing ended.
func TestASubscriberOfTheOtherType(t *testing.T) {
	for name, world := range map[string]func() *world{
		"streamed":      func() *world { return newWorld(declared()) },
		"by a schedule": func() *world { return scheduledWorld(declared()) },
	} {
		for what, copied := range map[string]bool{"before a copy": false, "with one": true} {
			t.Run(name+", "+what, func(t *testing.T) {
				g := NewWithT(t)
				w := world()
				if copied {
					w.settle(t, all)
					w.report()
				}
				w.o.Publication.Scheduled = !w.d.scheduled()
				p := plan(w.d, w.look())
				g.Expect(p.All()).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForPublication))
				g.Expect(p.Outcome.Message).To(ContainSubstring("Publication articles says what to do"))
			})
		}
	}
}

// Its only article was dropped to be added again: nothing is left of the registration, and the table is the schedule's
// copy. What the schedule has not brought stays.
func TestASubscriberOfADroppedArticle(t *testing.T) {
	for name, c := range map[string]struct {
		agreed []string
		left   string
	}{
		"all of its articles": {[]string{"dbo.Article", "dbo.Attachment"}, ""},
		"one of them":         {[]string{"dbo.Article"}, "still has dbo.Attachment. "},
		"none":                {nil, "still has dbo.Article, dbo.Attachment. "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := copiedWorld(t, declared())
			for key, a := range w.o.Publication.Articles {
				w.o.Here.Tables[key] = mssql.Table{Schema: a.Schema, Name: a.Table}
			}
			w.o.Publication.Subscriptions = nil
			done := &v1alpha1.PublicationReinitialization{}
			for _, table := range c.agreed {
				done.Copies = append(done.Copies, v1alpha1.RequestedCopy{Table: table,
					Subscribers: []string{"dubsub-0/Content", "quisub-0/Content"}})
			}
			w.d.Publication.Status.Reinitialized = done
			p := plan(w.d, w.look())
			if c.left != "" {
				g.Expect(p.All()).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
				g.Expect(p.Outcome.Message).To(ContainSubstring(c.left))
				return
			}
			g.Expect(registers(p)).To(BeTrue(), p.Outcome.Message)
			p, _ = w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
		})
	}
}
