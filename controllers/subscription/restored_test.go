// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// lookAfter plans and reports how the subscription was registered, some time later.
func (w *world) lookAfter(after time.Duration) reconcile.Plan {
	w.o.Now = w.o.Now.Add(after)
	p := plan(w.d, w.look())
	w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
	return p
}

func (w *world) initialization() *v1alpha1.SubscriptionInitialization {
	return w.d.Subscription.Status.Initialization
}

// withoutSnapshots is a subscription to a publication that makes no copies, registered an instant ago.
func withoutSnapshots(t *testing.T) *world {
	t.Helper()
	d := declared()
	d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	w := newWorld(d)
	w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
	w.settle(t, all)
	at := metav1.NewTime(w.o.Now)
	w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{
		Method: v1alpha1.InitializeReplicationSupportOnly, Publisher: w.o.At.Original, Time: &at}
	return w
}

// A backup from before the registration, or from before the first transaction, knows nothing of the subscription: that
// the database was restored from it shows by its recovery fork alone.
func TestSubscriberRestoredFromBeforeItsRegistration(t *testing.T) {
	for name, c := range map[string]struct {
		made   func(*testing.T) *world
		waits  bool
		behind bool
	}{
		"a copy that was kept":        {kept, false, true},
		"data that were there":        {withoutSnapshots, false, true},
		"a snapshot is to come":       {snapshotted, true, false},
		"a snapshot that was there":   {snapshotted, false, true},
		"no copy, and not active yet": {withoutSnapshots, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := c.made(t)
			w.o.Comparison, w.o.Here.Fork = nil, "one"
			w.lookAfter(time.Minute)
			w.o.Here.Fork = "two"
			for i := range w.o.Here.Subscriptions {
				w.o.Here.Subscriptions[i].Applied = false
			}
			if c.waits {
				for i := range w.o.Publication.Subscriptions {
					w.o.Publication.Subscriptions[i].Status = mssql.SubscriptionWaiting
				}
			}
			w.lookAfter(time.Minute)
			g.Expect(w.initialization().RestoredAt != nil).To(Equal(c.behind))
			p := w.lookAfter(time.Minute)
			g.Expect(p.Outcome.Reason == v1alpha1.ReasonSubscriberBehind).To(Equal(c.behind), p.Outcome.Message)
		})
	}
}

// snapshotted is a subscription that has got a snapshot.
func snapshotted(t *testing.T) *world {
	t.Helper()
	w := newWorld(declared())
	w.settle(t, all)
	at := metav1.NewTime(w.o.Now)
	w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{
		Method: v1alpha1.InitializeSnapshot, Publisher: w.o.At.Original, Time: &at}
	return w
}

// What is not registered is not delivered to: that it was restored meanwhile is known once it is registered again.
func TestSubscriberRestoredWhileItIsNotRegistered(t *testing.T) {
	g := NewWithT(t)
	w := withoutSnapshots(t)
	w.o.Here.Fork = "one"
	w.lookAfter(time.Minute)
	registrations := w.o.Publication.Subscriptions
	w.o.Publication.Subscriptions, w.o.Here.Fork = nil, "two"
	p := w.lookAfter(time.Minute)
	g.Expect(registers(p)).To(BeTrue(), p.Outcome.Message)
	w.o.Publication.Subscriptions = registrations
	w.lookAfter(time.Second)
	g.Expect(w.initialization().RestoredAt).NotTo(BeNil())
}

// Where a publication makes no copies nobody can ask for one: a person brings the data, and says when.
func TestDataThatAPersonHasBrought(t *testing.T) {
	g := NewWithT(t)
	w := withoutSnapshots(t)
	w.o.Here.Fork = "one"
	w.lookAfter(time.Minute)
	w.o.Here.Fork = "two"
	w.lookAfter(time.Minute)
	restored := w.o.Now
	says := func(value string) {
		w.d.Subscription.Annotations = map[string]string{v1alpha1.DataBroughtAnnotation: value}
	}
	stands := func(because string) {
		t.Helper()
		p := w.lookAfter(time.Minute)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberBehind), because)
		g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
		g.Expect(p.Outcome.Message).To(And(
			ContainSubstring("kubectl annotate subscription dublin -n web --overwrite "+v1alpha1.DataBroughtAnnotation+"="),
			Not(ContainSubstring("reinitialize"))))
	}
	stands("nobody has said anything")
	says("yes")
	stands("that is no time")
	says(restored.Add(-time.Second).Format(time.RFC3339))
	stands("it was restored later")
	says(w.o.Now.Add(24 * time.Hour).Format(time.RFC3339))
	stands("a time to come would hide the next restore")
	w.d.Subscription.Annotations = nil
	w.d.Subscription.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Time: &metav1.Time{Time: w.o.Now}}
	stands("nothing was copied")
	says(w.o.Now.UTC().Format(time.RFC3339))
	w.lookAfter(time.Second)
	g.Expect(w.lookAfter(time.Second).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))

	w.o.Here.Fork = "three"
	w.lookAfter(time.Minute)
	stands("what was brought before does not count for it")
}

// A subscription that is made anew without a copy, as one that becomes another type, lacks what it lacked before.
func TestWhatIsMissingStaysMissingWithoutACopy(t *testing.T) {
	add := replication.Plan{}
	add.Execute(publisher, "Content", tsql.AddSubscription(tsql.Subscription{}))
	reported := func(w *world) { w.d.Subscription.Status.Initialization.Publisher = "oldpub-0" }
	for name, c := range map[string]struct {
		made   func(*testing.T) *world
		change func(*world)
		plan   reconcile.Plan
		stays  bool
	}{
		"registered anew without a copy": {withoutSnapshots, func(w *world) { w.o.Publication.Subscriptions = nil }, add.Plan,
			true},
		"registered anew with a snapshot": {snapshotted, func(w *world) { w.o.Publication.Subscriptions = nil }, add.Plan,
			false},
		"found equal before it is": {kept, func(w *world) { w.o.Publication.Subscriptions = nil }, add.Plan, false},
		"found registered so":      {withoutSnapshots, reported, reconcile.Plan{}, true},
		"found with a kept copy":   {kept, reported, reconcile.Plan{}, true},
		"found with a snapshot":    {snapshotted, reported, reconcile.Plan{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := c.made(t)
			at := metav1.NewTime(w.o.Now)
			w.initialization().RestoredAt, w.initialization().RecoveryFork = &at, w.d.host()+" one"
			w.initialization().Skipped, w.initialization().SkippedAt = "20598", &at
			w.o.Here.Fork, w.o.Now = "one", w.o.Now.Add(time.Hour)
			c.change(w)
			w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), c.plan)
			w.o.Comparison = nil
			now := initialization(w.d, w.look(), reconcile.Plan{})
			g.Expect(now.RestoredAt != nil).To(Equal(c.stays))
			g.Expect(now.Skipped != "").To(Equal(c.stays))
		})
	}
}

// Tables that are all found equal after the restore lack nothing.
func TestRestoredCopyThatIsEqual(t *testing.T) {
	for name, c := range map[string]struct {
		same  *replication.Comparison
		known []string
		ends  bool
	}{
		"all of them":            {equal(), nil, true},
		"they differ":            {&replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"}, nil, false},
		"all that are not known": {equal(), []string{"first"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := kept(t)
			at := metav1.NewTime(w.o.Now)
			w.initialization().RestoredAt, w.initialization().RecoveryFork = &at, w.d.host()+" one"
			if c.known != nil {
				for _, a := range w.o.Publication.Articles {
					w.initialization().ValidatedArticles = []string{numbered(a)}
				}
			}
			w.o.Here.Fork, w.o.Comparison = "one", c.same
			w.lookAfter(time.Minute)
			g.Expect(w.initialization().RestoredAt == nil).To(Equal(c.ends))
		})
	}
}

// A message names no command that is refused.
func TestNoCopyIsAskedForWhereNoneIsMade(t *testing.T) {
	g := NewWithT(t)
	w := withoutSnapshots(t)
	at := metav1.NewTime(w.o.Now)
	w.initialization().Skipped, w.initialization().SkippedAt = "20598", &at
	messages := []string{skips(w.d, w.look()), inactive(w.d).Message}
	w.fails(mssql.RunFailed, time.Hour)
	w.o.Agent.ErrorCode = "20598"
	messages = append(messages, failed(w.d, w.look(), *w.look().failure(w.d)).Message)
	for _, m := range messages {
		g.Expect(m).NotTo(Or(BeEmpty(), ContainSubstring("reinitialize"), ContainSubstring("new copy")))
	}
	w.d.Subscription.Annotations = map[string]string{v1alpha1.DataBroughtAnnotation: w.o.Now.UTC().Format(time.RFC3339)}
	w.lookAfter(time.Second)
	g.Expect(w.initialization().Skipped).To(BeEmpty())
}
