// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// A snapshot after which the distributor may have removed what came is not what a subscriber begins with, be it new or
// one that was lost.
func TestSnapshotThatIsTooOld(t *testing.T) {
	retention := time.Duration(declared().System.Retention) * time.Hour
	for name, c := range map[string]struct {
		age   time.Duration
		kept  int
		begin func(*testing.T, *world)
		steps int
	}{
		"young":                             {retention / 2, 72, nil, 0},
		"old":                               {retention, 72, nil, 1},
		"nearly too old":                    {retention*3/4 + time.Second, 72, nil, 1},
		"old by what the distributor keeps": {retention / 2, 24, nil, 1},
		"the subscriber's database was lost": {retention, 72, func(t *testing.T, w *world) {
			w.o.At.SnapshotAge = 0
			w.settle(t, all)
			w.o.Here.Subscriptions, w.o.Here.Tables, w.o.Here.Distributor = nil, map[string]mssql.Table{}, ""
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			if c.begin != nil {
				c.begin(t, w)
			}
			w.o.Servers[distributor].State.Distribution = []mssql.DistributionDatabase{{Name: "distribution", Retention: c.kept}}
			w.o.At.SnapshotAge = c.age
			var snapshots, registered int
			for range 100 {
				p := plan(w.d, w.look())
				for _, s := range p.Steps {
					w.do(t, s)
				}
				for _, line := range describeSteps(p) {
					isSnapshot, err := ContainSubstring("sp_startpublication_snapshot").Match(line)
					g.Expect(err).NotTo(HaveOccurred())
					if isSnapshot {
						g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSnapshotRunning))
						snapshots++
					}
					if is, _ := ContainSubstring("sp_addsubscription").Match(line); is {
						g.Expect(w.o.At.SnapshotAge).To(BeNumerically("<", c.age+1))
						g.Expect(snapshots).To(Equal(c.steps))
						registered++
					}
				}
				if len(p.Steps) == 0 {
					w.run()
				}
			}
			g.Expect(snapshots).To(Equal(c.steps))
			g.Expect(registered).To(Equal(1))
			g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
		})
	}

	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.o.At.SnapshotAge = 10 * retention
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "who has a copy needs none")
	w = newWorld(declared())
	w.o.At.SnapshotAge, w.o.At.Snapshot.Status = retention, mssql.RunInProgress
	for range 10 {
		p := plan(w.d, w.look())
		g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("snapshot")))
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	g.Expect(plan(w.d, w.look()).Outcome.Message).To(ContainSubstring("a new one is made"))
}

// What the engine says of a registration is judged: one that waits for a snapshot gets nothing, nor does one that was
// given up.
func TestStatusOfRegistrations(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		reason string
		stuck  bool
	}{
		"reinitialized": {func(w *world) { w.o.Publication.Subscriptions[0].Status = mssql.SubscriptionWaiting },
			v1alpha1.ReasonSnapshotRunning, false},
		"inactive": {func(w *world) { w.o.Publication.Subscriptions[1].Status = mssql.SubscriptionInactive },
			v1alpha1.ReasonSubscriptionInactive, true},
		"inactive by what the agent says": {func(w *world) {
			w.fails(mssql.RunFailed, time.Second)
			w.o.Agent.ErrorCode = "21074"
		}, v1alpha1.ReasonSubscriptionInactive, true},
		"failed for long": {func(w *world) { w.fails(mssql.RunFailed, time.Hour) }, v1alpha1.ReasonAgentFailed, true},
		"failed a moment ago": {func(w *world) { w.fails(mssql.RunFailed, time.Minute) }, v1alpha1.ReasonAgentFailed,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			c.change(w)
			w.d.Subscription.Status.MirroredSnapshot = w.o.At.LastSnapshot
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse), p.Outcome.Message)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Progress == conditions.Stuck).To(Equal(c.stuck), p.Outcome.Message)
			if c.reason == v1alpha1.ReasonSubscriptionInactive {
				g.Expect(p.Outcome.Message).To(ContainSubstring("kubectl geosql reinitialize"))
			}
		})
	}
}

// A subscription that was registered with a copy which is still to come, and came back as one that gets none, is left
// as it is: without its mirror nothing would ever be delivered. One that has its copy goes on.
func TestNoCopyAnyMore(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	none := &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	w.d.Subscription.Spec.Initialization = none
	p, _ := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)

	w = newWorld(declared())
	w.settle(t, all)
	w.o.Here.Subscriptions[0].Applied = false
	g.Expect(w.o.Mirror.ordered()).To(BeTrue())
	w.d.Subscription.Spec.Initialization = none
	p = plan(w.d, w.look())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonNotSupported))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("Subscription dublin says that it gets none"),
		ContainSubstring("method: Snapshot")))
}

// A copy that was registered without a table gets none: what is declared is not so before somebody has made it.
func TestTableThatNothingBrings(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	w.settle(t, all)
	delete(w.o.Here.Tables, "dbo.attachment")
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
	g.Expect(p.Outcome.Message).To(ContainSubstring("dbo.Attachment"))
}

// An agent that skips errors is told of, as long as its profile lets it: its copy is not what progress says.
func TestAgentThatSkipsErrors(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.d.Profile = &v1alpha1.AgentProfileSpec{Agent: v1alpha1.AgentDistribution, SkipErrors: []int32{20598, 2627}}
	w.settle(t, all)
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "it is so by declaration")
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("skips errors 20598, 2627:"), ContainSubstring("missing here")))
	w.o.Agent.ErrorCode, w.o.Agent.ErrorAge = "20598", 90*time.Second
	g.Expect(plan(w.d, w.look()).Outcome.Message).To(ContainSubstring("(the newest, 20598, 1m30s ago)"))
}

// What an agent has skipped stays missing when its profile skips no more: it is told until the subscriber has a new
// copy.
func TestWhatWasSkippedIsRemembered(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{
		Method: v1alpha1.InitializeSnapshot, Publisher: w.o.At.Original, Time: &metav1.Time{Time: start},
	}
	look := func(after time.Duration) reconcile.Plan {
		w.o.Now = w.o.Now.Add(after)
		if w.o.Agent != nil && w.o.Agent.ErrorCode != "" {
			w.o.Agent.ErrorAge += after
		}
		p := plan(w.d, w.look())
		w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
		return p
	}
	skipped := func() string { return w.d.Subscription.Status.Initialization.Skipped }
	w.o.Agent.ErrorCode, w.o.Agent.ErrorAge = "20598", 0
	look(time.Minute)
	g.Expect(skipped()).To(BeEmpty(), "its profile skips nothing: it has failed, and goes on with all of it")
	w.d.Profile = &v1alpha1.AgentProfileSpec{Agent: v1alpha1.AgentDistribution, SkipErrors: []int32{20598, 2627}}
	w.o.Agent.ErrorCode = ""
	look(time.Minute)
	g.Expect(skipped()).To(BeEmpty(), "it has met none")
	w.o.Agent.ErrorCode, w.o.Agent.ErrorAge = "20598", 0
	look(time.Second)
	g.Expect(skipped()).To(Equal("20598"))
	at := w.d.Subscription.Status.Initialization.SkippedAt
	look(30 * time.Second)
	g.Expect(w.d.Subscription.Status.Initialization.SkippedAt).To(Equal(at), "nothing is written that says nothing new")
	w.o.Agent.ErrorCode, w.o.Agent.ErrorAge = "2627", 0
	look(time.Hour)
	g.Expect(skipped()).To(Equal("20598, 2627"))

	w.d.Profile, w.o.Agent.ErrorCode = nil, ""
	for range 3 {
		p := look(24 * time.Hour)
		g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
		g.Expect(p.Outcome.Message).
			To(And(ContainSubstring("has skipped errors 20598, 2627"), ContainSubstring("missing here"),
				ContainSubstring("kubectl geosql reinitialize dublin")))
	}
	w.d.Subscription.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Time: &metav1.Time{Time: w.o.Now}}
	look(time.Second)
	g.Expect(skipped()).To(BeEmpty(), "it has a new copy")
	g.Expect(look(time.Second).Outcome.Message).NotTo(ContainSubstring("skipped"))
}

// A subscription database that was restored from a backup goes on from there: what it had received since is delivered
// again only where the distributor still has it, and nothing would tell of the rest.
func TestSubscriberThatWasRestored(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{
		Method: v1alpha1.InitializeSnapshot, Publisher: w.o.At.Original, Time: &metav1.Time{Time: start},
	}
	look := func() reconcile.Plan {
		w.o.Now = w.o.Now.Add(time.Minute)
		p := plan(w.d, w.look())
		w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
		return p
	}
	for _, fork := range []string{"", "one", "one", "", "one"} {
		w.o.Here.Fork = fork
		g.Expect(look().Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	}
	w.o.Here.Fork = "two"
	look()
	for _, fork := range []string{"two", "", "three"} {
		w.o.Here.Fork = fork
		p := look()
		g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("subscription")), "a new copy is asked for")
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberBehind))
		g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
		g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
		g.Expect(p.Outcome.Message).To(ContainSubstring("kubectl geosql reinitialize dublin"))
	}
	w.d.Subscription.Status.Reinitialization = &v1alpha1.SubscriptionReinitialization{Time: &metav1.Time{Time: w.o.Now}}
	look()
	g.Expect(look().Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))

	w.d.Subscription.Status.Initialization.RecoveryFork = "another-0 one"
	look()
	g.Expect(look().Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "another server's says nothing")
}

// A subscriber that is named in place of its group cannot be written to while it is a secondary, whether it takes
// readers or not.
func TestSubscriberThatIsASecondary(t *testing.T) {
	for name, change := range map[string]func(*Observed){
		"it takes readers": func(o *Observed) {
			database := o.Servers[subscriber].State.Databases["content"]
			database.Secondary = true
			o.Servers[subscriber].State.Databases["content"] = database
		},
		"it takes none": func(o *Observed) {
			o.Here, o.HereErr = Here{}, &mssql.Error{Class: mssql.Refused, Err: driver.Error{Number: 976}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			o := w.look()
			change(&o)
			p := plan(w.d, o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecondary))
			g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			g.Expect(p.Outcome.Message).To(ContainSubstring("a group is no subscriber"))
		})
	}
}
