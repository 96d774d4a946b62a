// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

const jobOfAll = "geosql-tukpub-0-Content-articles-dubsub-0-Content"

func TestPullSubscription(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	p, done := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	j := w.jobs[subscriber][jobOfAll]
	g.Expect(j.Running && j.Enabled && j.HasServer && j.Scheduled).To(BeTrue())
	g.Expect(j.Command).To(ContainSubstring("-Distributor [dist-0] -DistributorSecurityMode 0"))
	g.Expect(j.Command).
		To(ContainSubstring("-Subscriber [dubsub-0] -SubscriberDB [Content] -SubscriberSecurityMode 0"),
			"the default is Windows authentication, error 18452")
	g.Expect(j.Command).To(ContainSubstring("-SubscriptionType 1 "))
	g.Expect(w.jobs[distributor]).To(BeEmpty())
	g.Expect(w.o.Servers[publisher].State.Linked).To(HaveKey("dubsub-0"))
	g.Expect(w.o.Servers[secondary].State.Linked).To(HaveKey("dubsub-0"), "whoever is primary next")
	g.Expect(w.o.Mirror.Told.Folder).To(Equal("tukpub-0_Content_articles"))
	g.Expect(w.o.Mirror.Told.Source).To(Equal("dist-0.web.svc:8443"))
	g.Expect(strings.Join(done, "\n")).NotTo(ContainSubstring("secret"))
	s := describe(w.d, w.look())
	g.Expect(s.Phase).To(Equal(phaseActive))
	g.Expect(s.MirroredSnapshot).To(Equal("2026-11-20T10:00:00"))
	g.Expect(s.Latency.OverallSeconds).To(HaveValue(BeEquivalentTo(1)))
}

// A database that nobody declares gets the published one's collation; one that its server declares is only used.
func TestWhoMakesTheSubscribersDatabase(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	g.Expect(w.o.Servers[subscriber].State.Databases["content"].Collation).To(Equal("Latin1_General_100_CI_AS"))

	w = newWorld(declared())
	w.d.DatabaseDeclared = true
	var p reconcile.Plan
	for range 10 {
		p = plan(w.d, w.look())
		for _, s := range p.Steps {
			g.Expect(s.Describe()).NotTo(ContainSubstring("CREATE DATABASE"))
			w.do(t, s)
		}
		w.run()
	}
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForDatabase))
	g.Expect(p.Outcome.Message).To(ContainSubstring("SQLServer dubsub declares database Content"))
	w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE"}
	used, _ := w.settle(t, all)
	g.Expect(used.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), used.Outcome.Message)
}

func TestPushSubscriptions(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(push(""))
	p, _ := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.jobs[distributor][jobOfAll].Running).To(BeTrue())
	g.Expect(w.jobs[distributor][jobOfAll].Command).To(ContainSubstring("-SubscriptionType 0 "))
	g.Expect(w.jobs[subscriber]).To(BeEmpty())
	g.Expect(w.o.Mirror.Told).To(BeNil(), "the agent is where the snapshot is")

	w = newWorld(push(v1alpha1.AgentAtSubscriber))
	p, _ = w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.jobs[subscriber][jobOfAll].Running).To(BeTrue())
	g.Expect(w.jobs[distributor][jobOfAll].Enabled).To(BeFalse())
	g.Expect(w.jobs[distributor][jobOfAll].Running).To(BeFalse(), "one agent, not two")
	g.Expect(w.o.Mirror.Told).NotTo(BeNil())
}

// Once the agent reads the snapshot where it is made, no sidecar copies it over the WAN any more, nor keeps the right
// to.
func TestOrdersOfAMirrorThatNobodyReads(t *testing.T) {
	g := NewWithT(t)
	mirrored := func() *world {
		w := newWorld(push(v1alpha1.AgentAtSubscriber))
		w.settle(t, all)
		g.Expect(w.o.Mirror.ordered()).To(BeTrue())
		w.d.Subscription.Spec.AgentAt = v1alpha1.AgentAtDistributor
		return w
	}
	w := mirrored()
	p, _ := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.o.Mirror.ordered()).To(BeFalse())

	w = mirrored()
	w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	for p = planDelete(w.d, w.look()); len(p.Steps) > 0; p = planDelete(w.d, w.look()) {
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(w.o.Mirror.ordered()).To(BeFalse(), "deleted before the orders were taken")

	w = mirrored()
	w.o.Mirror.Err = errors.New("site dublin does not answer")
	p, _ = w.settle(t, all)
	g.Expect(p.Outcome.Reason).
		To(Equal(v1alpha1.ReasonDelivering), "what is delivered needs no mirror: %s", p.Outcome.Message)
}

// Whatever step is the last one of a process, the end is the same.
func TestEveryStepMayBeTheLast(t *testing.T) {
	kinds := []func() Desired{
		declared,
		func() Desired { return push("") },
		func() Desired { return push(v1alpha1.AgentAtSubscriber) },
	}
	// Streamed, and copied by a schedule.
	types := map[bool]func(Desired) *world{false: newWorld, true: scheduledWorld}
	want := map[bool][]*world{}
	for scheduled, world := range types {
		for _, kind := range kinds {
			w := world(kind())
			w.settle(t, all)
			want[scheduled] = append(want[scheduled], w)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		scheduled := rapid.Bool().Draw(t, "it is copied by a schedule")
		first, second := rapid.IntRange(0, 2).Draw(t, "kind"), rapid.IntRange(0, 2).Draw(t, "kind afterwards")
		want, w := want[scheduled], types[scheduled](kinds[first]())
		for _, kind := range []int{first, second} {
			status, publication := w.d.Subscription.Status, w.d.Publication
			w.d = kinds[kind]()
			w.d.Publication = publication
			w.d.Subscription.Status, w.d.Subscription.Spec.Reinitialization = status, v1alpha1.ReinitializeAutomatic
			w.settle(t, crashes(t))
			if o := w.look(); phase(w.d, o) != phaseActive || len(o.registrations(w.d)) != 2 {
				t.Fatalf("phase %s", phase(w.d, o))
			}
			for _, server := range []v1alpha1.ServerName{distributor, subscriber} {
				for name, j := range want[kind].jobs[server] {
					if have := w.jobs[server][name]; have == nil || *have != *j {
						t.Fatalf("job %s on %s is %+v", name, server, have)
					}
				}
				if len(w.jobs[server]) != len(want[kind].jobs[server]) {
					t.Fatalf("jobs on %s: %v", server, w.jobs[server])
				}
			}
		}
	})
}

func TestForeignData(t *testing.T) {
	foreign := func(tables ...string) func(*world) {
		return func(w *world) {
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE"}
			for _, name := range tables {
				w.o.Here.Tables["dbo."+strings.ToLower(name)] = mssql.Table{Schema: "dbo", Name: name}
			}
		}
	}
	other := mssql.SubscriptionHere{Publisher: "tukpub-0", PublisherDatabase: "Content", Publication: "other", Pull: true}
	for name, c := range map[string]struct {
		change func(*world)
		reason string
	}{
		"an empty database":             {foreign(), v1alpha1.ReasonDelivering},
		"a table of the article's name": {foreign("Article"), v1alpha1.ReasonSubscriberNotEmpty},
		"any other table":               {foreign("Orders"), v1alpha1.ReasonSubscriberNotEmpty},
		"tables of another subscription": {func(w *world) {
			foreign("Orders")(w)
			w.o.Here.Subscriptions = []mssql.SubscriptionHere{other}
		}, v1alpha1.ReasonDelivering},
		"the same table from another subscription": {func(w *world) {
			foreign("Article")(w)
			w.o.Here.Subscriptions, w.o.Here.Owner = []mssql.SubscriptionHere{other},
				replication.Owner{User: w.d.System.Login, IsOwner: true}
		}, v1alpha1.ReasonSubscriberNotEmpty},
		"told to adopt": {func(w *world) {
			foreign("Article")(w)
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		}, v1alpha1.ReasonDelivering},
		"the data is there": {func(w *world) {
			foreign("Article")(w)
			w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
		}, v1alpha1.ReasonDelivering},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			c.change(w)
			p, _ := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			if c.reason == v1alpha1.ReasonSubscriberNotEmpty {
				g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
				g.Expect(p.Outcome.Message).To(ContainSubstring(v1alpha1.AdoptAnnotation + "=true"))
				g.Expect(w.dropped).To(BeZero())
				g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
			}
		})
	}
}

// Tables that stay after a subscription has ended are the user's: a new subscription does not replace them.
func TestDeletionKeepsTheTables(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	g.Expect(planDelete(w.d, w.look())).
		To(Equal(reconcile.Plan{Done: true}), "everything goes on unless the policy says Delete")
	w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	var p reconcile.Plan
	for range 5 {
		if p = planDelete(w.d, w.look()); p.Done {
			break
		}
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(w.jobs[subscriber]).To(BeEmpty())
	g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
	g.Expect(w.o.Here.Subscriptions).To(BeEmpty())
	g.Expect(w.o.Here.Tables).To(HaveLen(2))
	g.Expect(w.o.Mirror.Told).To(BeNil())
	w.d.Subscription.Status = v1alpha1.SubscriptionStatus{}
	again, _ := w.settle(t, all)
	g.Expect(again.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty))
}

func TestSubscriptionPlan(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		reason string
		ready  metav1.ConditionStatus
		phase  string
	}{
		"a group receives": {func(w *world) { w.d.Unsupported = "no" }, v1alpha1.ReasonNotSupported,
			metav1.ConditionFalse, phasePending},
		"no publication": {func(w *world) { w.o.Publication = nil }, v1alpha1.ReasonWaitingForPublication,
			metav1.ConditionFalse, phasePending},
		"somebody's": {func(w *world) { w.o.Publication.Description = "by hand" },
			v1alpha1.ReasonWaitingForPublication, metav1.ConditionFalse, phasePending},
		"no article": {func(w *world) { w.o.Publication.Articles = nil }, v1alpha1.ReasonWaitingForPublication,
			metav1.ConditionFalse, phasePending},
		"no snapshot yet": {func(w *world) { w.o.At.LastSnapshot = "" }, v1alpha1.ReasonSnapshotRunning,
			metav1.ConditionFalse, phaseSnapshot},
		"sidecars unknown": {func(w *world) { w.o.Mirror.Err = errors.New("site dublin does not answer") },
			v1alpha1.ReasonSiteUnreachable, metav1.ConditionUnknown, phaseMirroring},
		"subscriber silent": {func(w *world) {
			w.o.Servers[subscriber] = replication.Server{Err: &mssql.Error{Class: mssql.Unknown}}
		}, v1alpha1.ReasonEngineNotAnswering, metav1.ConditionUnknown, phaseUnknown},
		"publisher's unknown": {func(w *world) { w.o.PublicationErr = errors.New("time-out") },
			v1alpha1.ReasonEngineNotAnswering, metav1.ConditionUnknown, phaseUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			c.change(w)
			p, _ := w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
			g.Expect(phase(w.d, w.look())).To(Equal(c.phase))
			for _, jobs := range w.jobs {
				for _, j := range jobs {
					g.Expect(j.Running).To(BeFalse())
				}
			}
		})
	}
}

func TestMirrorThatFails(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	// The sidecar gets nowhere.
	for range 30 {
		p := plan(w.d, w.look())
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	w.o.Mirror.Status = &files.Status{
		State:      files.Failing,
		Generation: w.o.At.LastSnapshot,
		Message:    "no space left on device",
	}
	p := plan(w.d, w.look())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonMirroring))
	g.Expect(p.Outcome.Message).To(ContainSubstring("no space left"))
	g.Expect(w.jobs[subscriber][jobOfAll].Enabled).To(BeFalse())
	w.o.Mirror.Status = &files.Status{State: files.Verified, Generation: "2026-11-20T09:00:00"}
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonMirroring), "an older snapshot is not enough")
}

func TestAgentThatFails(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Subscription.Status.MirroredSnapshot = w.o.At.LastSnapshot
	w.fails(mssql.RunFailed, time.Second)
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
	g.Expect(p.Outcome.Message).To(ContainSubstring("20598"))
	w.jobs[subscriber][jobOfAll].Running = false
	_, done := w.settle(t, all)
	g.Expect(done).To(HaveLen(1), "it is started again")
}

// What an agent does again by itself is an outage that may pass; the object is not ready when it lasts, or when rows
// must not be late for that long. Nothing changes when an attempt begins.
func TestFailuresOfAnAgent(t *testing.T) {
	const second = time.Second
	newest := func(w *world) { w.o.At.LastSnapshot, w.o.Mirror.Status = "2026-11-20T11:00:00", nil }
	within := func(latency time.Duration) func(*world) {
		return func(w *world) {
			w.d.Subscription.Spec.Objectives = &v1alpha1.SubscriptionObjectives{Latency: &metav1.Duration{Duration: latency}}
		}
	}
	job := func(change func(*mssql.Job)) func(*world) {
		return func(w *world) { change(w.jobs[subscriber][jobOfAll]) }
	}
	between := job(func(j *mssql.Job) { j.BetweenRetries, j.Started = true, 5*second })
	both := func(one, other func(*world)) func(*world) {
		return func(w *world) {
			one(w)
			other(w)
		}
	}
	quiet := func(w *world) { w.d.Profile = &v1alpha1.AgentProfileSpec{HistoryVerboseLevel: ptr.To[int32](0)} }
	for name, c := range map[string]struct {
		failure mssql.RunStatus
		since   time.Duration
		change  func(*world)
		reason  string
		ready   metav1.ConditionStatus
		phase   string
		steps   int
	}{
		"delivers": {0, 0, nil, v1alpha1.ReasonDelivering, metav1.ConditionTrue, phaseActive, 0},
		"tried again": {mssql.RunRetrying, 5 * second, between, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionTrue, phaseActive, 0},
		"another attempt": {mssql.RunRetrying, 30 * second, nil, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionTrue, phaseActive, 0},
		"hurried": {mssql.RunRetrying, 30 * second,
			job(func(j *mssql.Job) { j.BetweenRetries, j.Started = true, 20*second }), v1alpha1.ReasonAgentRetrying,
			metav1.ConditionTrue, phaseActive, 2},
		"tried again for long": {mssql.RunRetrying, 61 * second, between, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionFalse, phaseActive, 0},
		"another attempt after long": {mssql.RunRetrying, 61 * second, nil, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionFalse, phaseActive, 0},
		"rows must be there in 3 s": {mssql.RunRetrying, 5 * second, within(3 * second), v1alpha1.ReasonAgentRetrying,
			metav1.ConditionFalse, phaseActive, 0},
		"rows must be there in 30 s": {mssql.RunRetrying, 5 * second, within(30 * second), v1alpha1.ReasonAgentRetrying,
			metav1.ConditionTrue, phaseActive, 0},
		"rows must be there in an hour": {mssql.RunRetrying, 61 * second, within(time.Hour), v1alpha1.ReasonAgentRetrying,
			metav1.ConditionFalse, phaseActive, 0},
		"failed": {mssql.RunFailed, second, between, v1alpha1.ReasonAgentFailed,
			metav1.ConditionFalse, phaseFailed, 0},
		"failed, another attempt": {mssql.RunFailed, second, nil, v1alpha1.ReasonAgentFailed, metav1.ConditionFalse,
			phaseFailed, 0},
		"nobody was told of it": {0, 0, between, v1alpha1.ReasonAgentRetrying, metav1.ConditionTrue, phaseActive,
			0},
		"waits for the newest snapshot": {mssql.RunFailed, 5 * second, newest, v1alpha1.ReasonMirroring,
			metav1.ConditionTrue, phaseMirroring, 0},
		"waits for it for long": {mssql.RunFailed, 61 * second, newest, v1alpha1.ReasonMirroring,
			metav1.ConditionFalse, phaseMirroring, 0},
		"nobody was told, in 3 s": {0, 5 * second, both(between, within(3*second)), v1alpha1.ReasonAgentRetrying,
			metav1.ConditionFalse, phaseActive, 0},
		"nobody was told of it for long": {0, 121 * second, between, v1alpha1.ReasonAgentRetrying, metav1.ConditionFalse,
			phaseActive, 0},
		"writes no history": {mssql.RunFailed, time.Hour, quiet, v1alpha1.ReasonDelivering,
			metav1.ConditionTrue, phaseActive, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			w.d.Subscription.Status.MirroredSnapshot = w.o.At.LastSnapshot
			if c.change != nil {
				c.change(w)
			}
			for range 3 { // what the change asks for, but not what happens by itself
				if p := plan(w.d, w.look()); c.steps == 0 {
					for _, s := range p.Steps {
						w.do(t, s)
					}
				}
			}
			w.fails(c.failure, c.since)
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
			g.Expect(p.Steps).To(HaveLen(c.steps))
			s := describe(w.d, w.look())
			g.Expect(s.Phase).To(Equal(c.phase))
			if c.reason != v1alpha1.ReasonDelivering {
				g.Expect(p.Outcome.Progress).To(Equal(conditions.Working))
			}
			if c.failure != 0 && c.phase != phaseMirroring && c.reason != v1alpha1.ReasonDelivering {
				g.Expect(p.Outcome.Message).To(ContainSubstring("20598"))
				g.Expect(s.Agent.State).To(Equal(c.failure.String()))
				g.Expect(s.Agent.Message).To(ContainSubstring("20598"))
			}
		})
	}
}

func TestChangesOfASubscription(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Profile = &v1alpha1.AgentProfileSpec{
		Agent:           v1alpha1.AgentDistribution,
		CommitBatchSize: ptr.To[int32](500),
		SkipErrors:      []int32{2601, 2627},
	}
	w.settle(t, all)
	j := w.jobs[subscriber][jobOfAll]
	g.Expect(j.Command).To(HaveSuffix("-Continuous -CommitBatchSize 500 -SkipErrors 2601:2627"))
	g.Expect(j.Running).To(BeTrue())

	// A newer snapshot is mirrored while the agent goes on.
	w.o.At.LastSnapshot = "2026-11-20T11:00:00"
	w.o.Mirror.Status = nil
	w.do(t, plan(w.d, w.look()).Steps[0])
	g.Expect(w.o.Mirror.Told.Generation).To(Equal("2026-11-20T11:00:00"))
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	w.run()
	w.fails(mssql.RunRetrying, time.Second)
	p := plan(w.d, w.look())
	g.Expect(p.Steps).To(HaveLen(1), "it need not wait for its next attempt")
	g.Expect(p.Steps[0].Describe()).To(ContainSubstring("sp_stop_job"))
	w.d.Subscription.Status.MirroredSnapshot = w.o.At.LastSnapshot
	g.Expect(plan(w.d, w.look()).Steps).To(BeEmpty(), "once is enough")
}

func TestTracerTokens(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	g.Expect(w.o.Tokens).To(HaveLen(1))
	w.o.Now = start.Add(59 * time.Second)
	w.settle(t, all)
	g.Expect(w.o.Tokens).To(HaveLen(1))
	w.o.Now = start.Add(61 * time.Second)
	w.settle(t, all)
	g.Expect(w.o.Tokens).To(HaveLen(2))
}

// The age of a token is that by the publisher's clock, whatever the manager's says.
func TestTracerTokensOfAPublisherWithAnotherClock(t *testing.T) {
	for _, ahead := range []time.Duration{-2 * time.Minute, 2 * time.Hour} {
		g := NewWithT(t)
		w := newWorld(declared())
		w.ahead = ahead
		w.settle(t, all)
		g.Expect(w.o.Tokens).To(HaveLen(1), "%s", ahead)
		w.o.Now = start.Add(59 * time.Second)
		w.settle(t, all)
		g.Expect(w.o.Tokens).To(HaveLen(1), "%s", ahead)
		w.o.Now = start.Add(61 * time.Second)
		w.settle(t, all)
		g.Expect(w.o.Tokens).To(HaveLen(2), "%s", ahead)
		w.ahead -= time.Hour // another replica is primary now
		w.settle(t, all)
		g.Expect(w.o.Tokens).To(HaveLen(3), "%s: one from the future does not stop them for ever", ahead)
	}
}

// The agent of a push subscription writes the subscriber's row by itself, once more perhaps while the subscription is
// being changed: what it leaves does not stand in the way of a pull subscription.
func TestPushLeavesARowToPull(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(push(""))
	w.settle(t, all)
	w.d.Subscription.Spec.Type, w.d.Subscription.Spec.Reinitialization = v1alpha1.SubscriptionPull,
		v1alpha1.ReinitializeAutomatic
	p := plan(w.d, w.look())
	for _, s := range p.Steps {
		w.do(t, s)
	}
	w.o.Here.Subscriptions = []mssql.SubscriptionHere{
		{Publisher: "tukpub-0", PublisherDatabase: "Content", Publication: "articles"},
	}
	p, done := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	g.Expect(done[0]).To(ContainSubstring("sp_subscription_cleanup"))
	g.Expect(w.o.Here.Subscriptions).To(HaveLen(1))
	g.Expect(w.o.Here.Subscriptions[0].Pull).To(BeTrue())
	g.Expect(w.o.Here.Distributor).To(Equal("dist-0"))
}

// An agent that waits for its next attempt is not waited for when the servers answer, but not hurried either.
func TestAgentBetweenAttempts(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	j := w.jobs[subscriber][jobOfAll]
	j.BetweenRetries, j.Started = true, 5*time.Second
	g.Expect(plan(w.d, w.look()).Steps).To(BeEmpty())
	j.Started = 20 * time.Second
	steps := plan(w.d, w.look()).Steps
	g.Expect(steps).To(HaveLen(2))
	g.Expect(steps[0].Describe()).To(ContainSubstring("sp_stop_job"))
	g.Expect(steps[1].Describe()).To(ContainSubstring("sp_start_job"))
}

// What is not read from the log does not come, whatever the distribution agent says.
func TestLogThatIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		reason string
		ready  metav1.ConditionStatus
	}{
		"no job": {func(w *world) { w.o.LogReaderJob = nil }, v1alpha1.ReasonLogReaderNotRunning,
			metav1.ConditionFalse},
		"does not run": {func(w *world) { w.o.LogReaderJob.Running = false }, v1alpha1.ReasonLogReaderNotRunning,
			metav1.ConditionFalse},
		"failed": {func(w *world) { w.o.At.LogReader.Failure = mssql.RunFailed }, v1alpha1.ReasonLogReaderNotRunning,
			metav1.ConditionFalse},
		"tried again": {func(w *world) { w.o.At.LogReader.Failure = mssql.RunRetrying }, v1alpha1.ReasonAgentRetrying,
			metav1.ConditionTrue},
		"tried again for long": {func(w *world) {
			w.o.At.LogReader.Failure, w.o.At.LogReader.FailingFor = mssql.RunRetrying, 2*time.Minute
		}, v1alpha1.ReasonAgentRetrying, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			c.change(w)
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
		})
	}
}

// The engine attaches no second job to a push subscription's agent: one that was deleted is made again, and the plan
// ends.
func TestDeletedPushJob(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(push(""))
	w.settle(t, all)
	delete(w.jobs[distributor], jobOfAll)
	w.o.Agent.Job = ""
	p, done := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.jobs[distributor][jobOfAll].Running).To(BeTrue())
	g.Expect(done).NotTo(ContainElement(ContainSubstring("sp_addpushsubscription_agent")))
}
