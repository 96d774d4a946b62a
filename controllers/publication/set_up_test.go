// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

const contentReader = "geosql-tukpub-0-Content-logreader"

// reading is a publication as declared, whose log reader runs.
func reading(t *testing.T) *world {
	t.Helper()
	w := newWorld(declared(true))
	w.d.System.SetUpPassword = "set-up-secret"
	w.settle(t, all)
	return w
}

// A log reader that sets a subscriber up takes a login of its own, in sysadmin, and gives it back. Whatever step is the
// last one of a process, the next plan has the rest.
func TestSetUpOfASubscriberTakesALoginOfItsOwn(t *testing.T) {
	const login, role, stop, step = "CREATE LOGIN [geosql_replication_main_setup]",
		"ALTER SERVER ROLE [sysadmin] ADD MEMBER [geosql_replication_main_setup]", "sp_stop_job", "sp_update_jobstep"
	right := func(w *world) *mssql.SetUpLogin {
		return &mssql.SetUpLogin{SID: w.d.System.SetUpSID, PasswordRight: true, Sysadmin: true}
	}
	for name, c := range map[string]struct {
		change func(*world)
		steps  []string
		reason string
		says   string
	}{
		"nobody waits": {func(w *world) { w.d.Awaiting = nil }, nil, v1alpha1.ReasonPublished, ""},
		"nothing is there": {func(*world) {}, []string{login, role, stop, step}, v1alpha1.ReasonConfiguring,
			"with login geosql_replication_main_setup, in sysadmin on dist-0"},
		"a login without the right": {func(w *world) { w.o.At.SetUpLogin = right(w); w.o.At.SetUpLogin.Sysadmin = false },
			[]string{role, stop, step}, v1alpha1.ReasonConfiguring, "in sysadmin"},
		"another password": {func(w *world) { w.o.At.SetUpLogin = right(w); w.o.At.SetUpLogin.PasswordRight = false },
			[]string{"ALTER LOGIN", stop, step}, v1alpha1.ReasonConfiguring, "in sysadmin"},
		"somebody else's login": {func(w *world) { w.o.At.SetUpLogin = &mssql.SetUpLogin{SID: []byte{1}} }, nil,
			v1alpha1.ReasonLoginConflict, "another SID"},
		"the login is right": {func(w *world) { w.o.At.SetUpLogin = right(w) }, []string{stop, step},
			v1alpha1.ReasonConfiguring, "in sysadmin"},
		"the reader has stopped": {func(w *world) {
			w.o.At.SetUpLogin, w.jobs[contentReader].Running = right(w), false
		},
			[]string{step}, v1alpha1.ReasonConfiguring, "in sysadmin"},
		"it has it, and does not run": {func(w *world) { raise(w); w.jobs[contentReader].Running = false },
			[]string{"sp_start_job"}, v1alpha1.ReasonConfiguring, "is being started"},
		"it runs": {raise, nil, v1alpha1.ReasonPublished, "its log reader runs with login geosql_replication_main_setup"},
		"it runs, and the login is gone": {func(w *world) { raise(w); w.o.At.SetUpLogin = nil }, []string{login, role},
			v1alpha1.ReasonConfiguring, "being set up"},
		"it is done": {func(w *world) { raise(w); w.d.Awaiting = nil }, []string{stop, step}, v1alpha1.ReasonConfiguring,
			"without login geosql_replication_main_setup"},
		"somebody else's reader": {func(w *world) { w.jobs[contentReader].Description = "nightly" }, nil,
			v1alpha1.ReasonPublished, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := reading(t)
			w.d.Awaiting = []string{"dublin"}
			c.change(w)
			p := plan(w.d, w.look())
			if p.Note == (recording{}) {
				g.Expect(p.Steps).To(BeEmpty(), "a right that is given is known of afterwards, whatever ends in between")
				w.recordRight()
				p = plan(w.d, w.look())
			}
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			g.Expect(p.Steps).To(HaveLen(len(c.steps)))
			for i, s := range p.Steps {
				g.Expect(s.Describe()).To(ContainSubstring(c.steps[i]))
				g.Expect(s.Describe()).NotTo(ContainSubstring("secret"))
			}
		})
	}
}

// recordRight writes the time of the right, as a report does.
func (w *world) recordRight() { w.d.Publication.Status.LogReaderRight = right(w.d, w.look()) }

// held is the record of a right that was given some time ago.
func held(before time.Duration) *v1alpha1.LogReaderRight {
	at := metav1.NewTime(start.Add(-before))
	return &v1alpha1.LogReaderRight{Since: &at}
}

// raise gives the log reader the login.
func raise(w *world) {
	w.d.Publication.Status.LogReaderRight = held(0)
	w.jobs[contentReader].Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, true).Text()
	w.o.At.SetUpLogin = &mssql.SetUpLogin{SID: w.d.System.SetUpSID, PasswordRight: true, Sysadmin: true}
}

func TestWhenALogReaderSetsUp(t *testing.T) {
	raised := func(w *world) {
		raise(w)
		w.o.Pending = 13
	}
	fails := func(w *world, code string) {
		a := w.o.At.LogReader
		w.o.Pending, a.Failure, a.ErrorCode, a.ErrorCodes = 13, mssql.RunRetrying, code, []string{code}
		a.Time, a.ErrorTime, a.FailureMessage = start, start, "it failed"
	}
	over := func(w *world) {
		since := metav1.NewTime(start.Add(-setUpFor))
		now := metav1.NewTime(start)
		w.d.Publication.Status.LogReaderRight = &v1alpha1.LogReaderRight{
			Since: &since, Ended: &now, Left: w.o.Pending}
	}
	for name, c := range map[string]struct {
		change func(*world)
		sets   bool
	}{
		"nothing is to be set up": {func(*world) {}, false},
		"a Subscription waits":    {func(w *world) { w.d.Awaiting = []string{"dublin"} }, true},
		"it has not come to it":   {raised, true},
		"it has set up":           {raise, false},
		"it has not for an hour": {func(w *world) {
			raised(w)
			w.d.Publication.Status.LogReaderRight = held(time.Hour)
		}, false},
		"started again and again, it has not for an hour": {func(w *world) {
			raised(w)
			w.d.Publication.Status.LogReaderRight, w.jobs[contentReader].Started = held(time.Hour), 0
		}, false},
		"nobody knows why it has it": {func(w *world) {
			raised(w)
			w.d.Publication.Status.LogReaderRight = nil
		}, false},
		"it was not given the right in time": {func(w *world) { w.o.Pending = 13 }, false},
		"and fails for it":                   {func(w *world) { fails(w, "21089") }, true},
		"and fails for it otherwise":         {func(w *world) { fails(w, "14126") }, true},
		"and the engine itself refuses":      {func(w *world) { fails(w, "229") }, true},
		"and fails for something else":       {func(w *world) { fails(w, "18456") }, false},
		"and failed for it long ago": {func(w *world) {
			fails(w, "21089")
			w.o.At.LogReader.ErrorTime = start.Add(-24 * time.Hour)
		}, false},
		"and fails for it, with nothing to set up": {func(w *world) { fails(w, "21089"); w.o.Pending = 0 }, false},
		"and fails for it after its hour":          {func(w *world) { fails(w, "21089"); over(w) }, false},
		"somebody waits still after its hour":      {func(w *world) { w.d.Awaiting = []string{"dublin"}; over(w) }, false},
		"somebody begins to wait after another's hour": {func(w *world) {
			w.o.Pending = 13
			over(w)
			w.recordRight()
			w.d.Awaiting = []string{"dublin"}
		}, true},
		"it fails, and nothing is to be set up": {func(w *world) {
			w.o.At.LogReader.Failure = mssql.RunRetrying
		}, false},
		"another Publication of the database needs it": {func(w *world) { w.d.Claims = []string{"orders"} }, true},
		"the Publication is suspended": {func(w *world) {
			raised(w)
			w.d.Suspended = "spec.suspend is true"
		}, false},
		"the Publication is being deleted": {func(w *world) {
			raised(w)
			w.d.Publication.DeletionTimestamp = &metav1.Time{Time: start}
		}, false},
		"the Distributor is being deleted": {func(w *world) { raised(w); w.d.Ending = true }, false},
		"the Publication is suspended, and another one needs it": {func(w *world) {
			raised(w)
			w.d.Suspended, w.d.Claims = "spec.suspend is true", []string{"orders"}
		}, true},
		"it is copied by a schedule": {func(w *world) {
			raised(w)
			w.d.Publication.Spec.Type, w.d.Publication.Spec.Schedule = v1alpha1.PublicationSnapshot, "0 3 * * *"
		}, false},
		"it is copied by a schedule, and another one needs it": {func(w *world) {
			w.d.Publication.Spec.Type, w.d.Publication.Spec.Schedule = v1alpha1.PublicationSnapshot, "0 3 * * *"
			w.d.Claims = []string{"orders"}
		}, true},
		"another one needs it, and it is somebody else's": {func(w *world) {
			w.jobs[contentReader].Description, w.d.Claims = "nightly", []string{"orders"}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := reading(t)
			c.change(w)
			NewWithT(t).Expect(setsUp(w.d, w.look())).To(Equal(c.sets))
		})
	}
}

// What is needed by one Publication of a database is needed by all, which share the log reader: by its record, while
// that may be trusted.
func TestWhichPublicationsClaimTheRight(t *testing.T) {
	now := metav1.NewTime(start)
	for name, c := range map[string]struct {
		change func(*v1alpha1.Publication)
		claims bool
	}{
		"one that needs it":           {func(*v1alpha1.Publication) {}, true},
		"one that needs it no more":   {func(p *v1alpha1.Publication) { p.Status.LogReaderRight.Since = nil }, false},
		"one whose hour is over":      {func(p *v1alpha1.Publication) { p.Status.LogReaderRight = held(setUpFor) }, false},
		"one from which it was taken": {func(p *v1alpha1.Publication) { p.Status.LogReaderRight.Ended = &now }, false},
		"one without":                 {func(p *v1alpha1.Publication) { p.Status.LogReaderRight = nil }, false},
		"one that is being deleted":   {func(p *v1alpha1.Publication) { p.DeletionTimestamp = &now }, false},
		"one of snapshots":            {func(p *v1alpha1.Publication) { p.Spec.Type = v1alpha1.PublicationSnapshot }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := declared(true).Publication.DeepCopy()
			p.Status.LogReaderRight = held(time.Minute)
			c.change(p)
			NewWithT(t).Expect(claims(p, start)).To(Equal(c.claims))
		})
	}
}

// Two Publications of a database come to the same command line whatever one of them needs, also where its publication
// copies for somebody and one Subscription keeps what it has.
func TestPublicationsOfOneDatabaseAgree(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	copied, kept := v1alpha1.Subscription{}, v1alpha1.Subscription{}
	copied.Name, kept.Name = "copied", "kept"
	kept.Spec.Subscriber.Server, kept.Spec.Database = "dubsub", "Content"
	kept.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	w.d.Subscriptions = []v1alpha1.Subscription{copied, kept}
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Status: 2}}
	who := w.look().lacking()
	g.Expect(who).To(HaveLen(1))
	g.Expect(w.look().dataIsThere(w.d, who[0])).To(BeTrue())
	g.Expect(setsUp(w.d, w.look())).To(BeTrue(), "what it is subscribed with is what asks for the right")
	w.recordRight()
	g.Expect(claims(w.d.Publication, start)).To(BeTrue())
	beside := reading(t)
	beside.d.Claims = []string{w.d.name()}
	g.Expect(logReaderJob(beside.d, beside.look()).Command).To(Equal(logReaderJob(w.d, w.look()).Command))
}

// The right is taken back after an hour without success, which is said, and is not given again for the same; a person
// has it given again.
func TestARightThatIsOfNoAvail(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		says   string
	}{
		"a Subscription waits still": {func(w *world) { w.d.Awaiting = []string{"dublin"} }, "still wait for it: dublin"},
		"an article waits": {func(w *world) {
			w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
				{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Status: 2, DataWasThere: true}}
		}, "subscribers wait for new articles"},
		"the log reader fails without": {func(w *world) {
			a := w.o.At.LogReader
			w.o.Pending, a.Failure, a.ErrorCode, a.Time, a.ErrorTime = 13, mssql.RunFailed, "21089", start, start
			a.FailureMessage = "only members of sysadmin"
		}, "fails for want of it: only members of sysadmin"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := reading(t)
			c.change(w)
			raise(w)
			w.d.Publication.Status.LogReaderRight = held(setUpFor)
			p := plan(w.d, w.look())
			g.Expect(described(p)).To(HaveExactElements(ContainSubstring("sp_stop_job"), ContainSubstring("sp_update_jobstep")))
			g.Expect(p.Outcome.Message).To(ContainSubstring("without login geosql_replication_main_setup"))
			for range 3 {
				p, _ = w.settle(t, all)
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSetUpFailed), p.Outcome.Message)
				g.Expect(p.Outcome.Message).To(And(ContainSubstring(c.says), ContainSubstring("spec.suspend")))
				g.Expect(w.d.System.SetsUp(w.jobs[contentReader])).To(BeFalse())
				g.Expect(w.jobs[contentReader].Running).To(BeTrue())
				w.o.Now = w.o.Now.Add(24 * time.Hour)
				w.o.At.LogReader.Time, w.o.At.LogReader.ErrorTime = w.o.Now, w.o.Now
			}
			w.d.Suspended = "spec.suspend is true"
			w.recordRight()
			w.recordRight()
			w.d.Suspended = ""
			g.Expect(setsUp(w.d, w.look())).To(BeTrue(), "a person has it tried again")
		})
	}
}

// What is left over of former set-ups asks for nothing by itself, also where the log reader fails for something else.
func TestLeftoversAskForNoRight(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	raise(w)
	w.o.Pending = 13
	w.d.Publication.Status.LogReaderRight = held(setUpFor)
	for range 3 {
		p, _ := w.settle(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished), p.Outcome.Message)
		g.Expect(w.d.System.SetsUp(w.jobs[contentReader])).To(BeFalse())
		w.o.Now = w.o.Now.Add(time.Hour)
	}
	w.o.At.LogReader.Failure = mssql.RunRetrying
	g.Expect(setsUp(w.d, w.look())).To(BeFalse())
	w.o.At.LogReader.Failure, w.o.Pending = 0, 0
	w.settle(t, all)
	g.Expect(w.d.Publication.Status.LogReaderRight).To(BeNil())
}

// The right is taken back though the publisher has no primary: the distributor's answer is all that it takes.
func TestARightIsTakenBackWithoutAPrimary(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	raise(w)
	w.elect("")
	g.Expect(described(plan(w.d, w.look()))).To(HaveExactElements(ContainSubstring("sp_stop_job"),
		ContainSubstring("sp_update_jobstep")))
}

// Who was registered without a copy is subscribed so to what comes later, too.
func TestAnArticleForWhomBeganWithoutACopy(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Status: 2, DataWasThere: true}}
	g.Expect(setsUp(w.d, w.look())).To(BeTrue())
	w.recordRight()
	p := plan(w.d, w.look())
	g.Expect(strings.Join(described(p), "\n")).To(And(ContainSubstring("CREATE LOGIN"),
		Not(ContainSubstring("sp_refreshsubscriptions"))), "first the right")
	raise(w)
	p = plan(w.d, w.look())
	g.Expect(strings.Join(described(p), "\n")).To(ContainSubstring("sp_refreshsubscriptions"))
	w.o.Database.Publication.Subscriptions[0].DataWasThere = false
	g.Expect(setsUp(w.d, w.look())).To(BeFalse(), "a snapshot takes no right")
}

func TestWhichSubscriptionsWaitForTheLogReader(t *testing.T) {
	g := NewWithT(t)
	s := &v1alpha1.Subscription{}
	g.Expect(awaitsLogReader(s)).To(BeFalse())
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonWaitingForLogReader}}
	g.Expect(awaitsLogReader(s)).To(BeTrue())
	s.DeletionTimestamp = &metav1.Time{}
	g.Expect(awaitsLogReader(s)).To(BeFalse())
	s.DeletionTimestamp = nil
	s.Status.Conditions[0].Reason = v1alpha1.ReasonSuspended
	g.Expect(awaitsLogReader(s)).To(BeFalse())
}

// A Publication looks at once when a Subscription of it begins to wait for what it brings, and when that is over.
func TestWhatAPublicationHearsOf(t *testing.T) {
	g := NewWithT(t)
	s := func(reason string, phase v1alpha1.CopyPhase) *v1alpha1.Subscription {
		s := &v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{Publication: "articles"}}
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason}}
		if phase != "" {
			s.Status.Copy = &v1alpha1.SubscriptionCopy{Phase: phase}
		}
		return s
	}
	delivers := s(v1alpha1.ReasonDelivering, v1alpha1.CopyDone)
	waits, copied := s(v1alpha1.ReasonWaitingForLogReader, ""), s(v1alpha1.ReasonSnapshotRunning, v1alpha1.CopySnapshot)
	g.Expect(heard()).To(HaveLen(1))
	seen := reconcile.Changes(heard()[0].Says)
	for _, c := range []struct {
		was, is *v1alpha1.Subscription
		looks   bool
	}{
		{delivers, waits, true}, {waits, delivers, true}, {delivers, copied, true}, {copied, delivers, true},
		{delivers, delivers, false}, {waits, waits, false},
		{copied, s(v1alpha1.ReasonAgentFailed, v1alpha1.CopySnapshot), false},
		{s(v1alpha1.ReasonMirroring, v1alpha1.CopyTransfer), s(v1alpha1.ReasonInitializing, v1alpha1.CopyApply), false},
	} {
		g.Expect(seen.Update(event.UpdateEvent{ObjectOld: c.was, ObjectNew: c.is})).To(Equal(c.looks), "%v, %v", c.was, c.is)
	}
	g.Expect(seen.Create(event.CreateEvent{Object: waits})).To(BeTrue())
	g.Expect(seen.Create(event.CreateEvent{Object: delivers})).To(BeFalse())
	g.Expect(seen.Delete(event.DeleteEvent{Object: waits})).To(BeTrue())
	g.Expect(heard()[0].Of(waits)).To(BeEquivalentTo("articles"))
	gone := waits.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{}
	g.Expect(awaits(gone)).To(BeEmpty(), "nobody brings it anything")
}

// Whatever ends or rests with the Publication, its log reader gives the right back first, and runs on.
func TestTheRightIsTakenBackByWhoeverDoesNothingMore(t *testing.T) {
	stop, update, begin := "sp_stop_job", "sp_update_jobstep", "sp_start_job"
	deleted := func(policy v1alpha1.ReclaimPolicy) func(*world) {
		return func(w *world) {
			w.d.Publication.Spec.ReclaimPolicy, w.d.Publication.DeletionTimestamp = policy, &metav1.Time{Time: start}
		}
	}
	for name, c := range map[string]struct {
		change func(*world)
		plan   func(Desired, Observed) reconcile.Plan
		steps  []string
		done   bool
		says   string
	}{
		"deleted with Retain": {deleted(v1alpha1.ReclaimRetain), planDelete, []string{stop, update, begin}, true, ""},
		"deleted beside a publication of snapshots": {func(w *world) {
			deleted(v1alpha1.ReclaimDelete)(w)
			w.o.Database.Publications, w.o.At.Others = []string{"articles", "nightly"}, true
		}, planDelete, []string{stop, update, begin, "sp_delete_job", "sp_droppublication"}, true, ""},
		"deleted, and another one needs it": {func(w *world) {
			deleted(v1alpha1.ReclaimRetain)(w)
			w.d.Claims = []string{"orders"}
		}, planDelete, nil, true, ""},
		"deleted, and Subscriptions end still": {func(w *world) {
			deleted(v1alpha1.ReclaimRetain)(w)
			one := v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{ReclaimPolicy: v1alpha1.ReclaimDelete}}
			one.DeletionTimestamp = &metav1.Time{Time: start}
			w.d.Subscriptions = append(w.d.Subscriptions, one)
		}, planDelete, []string{stop, update, begin}, false, "Subscriptions end first"},
		"suspended": {func(w *world) { w.d.Suspended = "spec.suspend is true" }, planYield,
			[]string{stop, update, begin}, false, ""},
		"suspended, and being deleted": {func(w *world) {
			deleted(v1alpha1.ReclaimDelete)(w)
			w.d.Suspended = "spec.suspend is true"
		}, planYield, []string{stop, update, begin}, false, ""},
		"suspended, and its password is not known": {func(w *world) {
			w.d.Suspended, w.d.PasswordsErr = "spec.suspend is true", errors.New("no Secret")
		}, planYield, nil, false, "no Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(false))
			w.d.System.SetUpPassword = "set-up-secret"
			w.settle(t, all)
			raise(w)
			c.change(w)
			var done []string
			var p reconcile.Plan
			for range 10 {
				p = c.plan(w.d, w.look())
				recorded := right(w.d, w.look())
				done = append(done, described(p)...)
				for _, s := range p.Steps {
					w.do(t, s)
				}
				w.d.Publication.Status.LogReaderRight = recorded
			}
			g.Expect(len(done)).To(BeNumerically(">=", len(c.steps)), "%q", done)
			for i, step := range c.steps {
				g.Expect(done[i]).To(ContainSubstring(step))
			}
			g.Expect(p.Done).To(Equal(c.done), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			if job := w.jobs[contentReader]; len(c.steps) > 0 {
				g.Expect(w.d.System.SetsUp(job)).To(BeFalse())
				g.Expect(job.Running).To(BeTrue())
				g.Expect(w.d.Publication.Status.LogReaderRight).To(BeNil())
			}
		})
	}
}

// A log reader whose former run still stops is not taken for one that runs without the right.
func TestALogReaderThatStopsIsStartedAgain(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.settle(t, all)
	ended := metav1.NewTime(start)
	w.d.Publication.Status.LogReaderRight = &v1alpha1.LogReaderRight{Ended: &ended}
	w.d.Publication.Spec.ReclaimPolicy, w.d.Publication.DeletionTimestamp = v1alpha1.ReclaimRetain, &ended
	job := w.jobs[contentReader]
	job.Started, w.o.Now = time.Hour, start.Add(time.Second)
	p := planDelete(w.d, w.look())
	g.Expect(described(p)).To(BeEmpty())
	g.Expect(p.Done).To(BeFalse())
	w.o.Now = start.Add(stopsWithin)
	g.Expect(described(planDelete(w.d, w.look()))).To(HaveExactElements(ContainSubstring("sp_stop_job")))
	job.Running = false
	g.Expect(described(planDelete(w.d, w.look()))).To(HaveExactElements(ContainSubstring("sp_start_job")))
	job.Running, job.Started = true, time.Second
	g.Expect(planDelete(w.d, w.look()).Done).To(BeTrue())
}
