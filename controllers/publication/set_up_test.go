// SPDX-License-Identifier: Apache-2.0

package publication

import (
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

// raise gives the log reader the login.
func raise(w *world) {
	w.jobs[contentReader].Command = w.d.System.LogReaderCommand("tukpub-0", "Content", nil, true).Text()
	w.o.At.SetUpLogin = &mssql.SetUpLogin{SID: w.d.System.SetUpSID, PasswordRight: true, Sysadmin: true}
}

func TestWhenALogReaderSetsUp(t *testing.T) {
	raised := func(w *world) {
		raise(w)
		w.o.At.Pending = 13
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
			w.jobs[contentReader].Started = time.Hour
		}, false},
		"it was not given the right in time": {func(w *world) { w.o.At.Pending = 13 }, false},
		"and fails for it": {func(w *world) {
			w.o.At.Pending, w.o.At.LogReader.Failure = 13, mssql.RunRetrying
		}, true},
		"it fails for something else": {func(w *world) { w.o.At.LogReader.Failure = mssql.RunRetrying }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := reading(t)
			c.change(w)
			NewWithT(t).Expect(setsUp(w.d, w.look())).To(Equal(c.sets))
		})
	}
}

// Who was registered without a copy is subscribed so to what comes later, too.
func TestAnArticleForWhomBeganWithoutACopy(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
		{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Content", Status: 2, DataWasThere: true}}
	g.Expect(setsUp(w.d, w.look())).To(BeTrue())
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
