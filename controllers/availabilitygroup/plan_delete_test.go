// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// going is a group that is up and is to be dropped with its object.
func going(t testing.TB, group *v1alpha1.AvailabilityGroup) *environ {
	group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	e := newEnviron(t, group)
	e.settle(everything)
	e.done = nil
	return e
}

// idle is of a server whose agent has no orders, and says so.
func idle() Orders { return Orders{Word: reconcile.Read(Word{Idle: true})} }

// agent is what a server's agent was told, and what it says to have heard: all of it, unless it is deaf.
func (e *environ) agent(name v1alpha1.ServerName, told *orders.Group) Orders {
	heard := told
	if old, deaf := e.deaf[name]; deaf {
		heard = old
	}
	word := Word{Idle: heard == nil, State: orders.StateGiven}
	if heard != nil && heard.Ending {
		word.State, word.EndingID = orders.StateEnding, heard.EndingID
	}
	return Orders{Told: told, Word: reconcile.Read(word)}
}

// order is what an agent is told.
func (e *environ) order(step reconcile.Step) {
	switch s := step.(type) {
	case TakeOrders:
		delete(e.orders, s.Server)
	case MarkEnding:
		told := *e.orders[s.Server]
		told.Ending, told.EndingID = s.Ending, s.ID
		e.orders[s.Server] = &told
	}
}

// Whoever is silent and whichever step is the last: where the primary's databases go on without the group, no other
// server has it, that could be elected. The group loses its secondaries and its votes before, and in the end nobody has
// anything of it.
func TestAGroupThatIsDroppedHasNoSecondPrimary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := going(t, rapid.SampledFrom([]func() *v1alpha1.AvailabilityGroup{declared, three}).Draw(rt, "group")())
		alone := false
		step := func(s reconcile.Step) error {
			told := e.orders["tukpub"]
			if x, ok := s.(mssql.Execute); ok {
				heard, deaf := e.deaf[x.Server]
				if deaf && heard != nil && (x.Server != "tukpub" || !heard.Ending) {
					rt.Fatalf("%s, and its agent goes by former orders: %q", s.Describe(), e.done)
				}
			}
			err := e.do(s)
			if e.group == nil && !alone && !told.Ending {
				rt.Fatalf("the primary's agent takes the group for dropped by hand, and ends the engine: %q", e.done)
			}
			alone = alone || e.group == nil
			for _, server := range e.d.servers() {
				if alone && server != "tukpub" && e.servers[server].joined {
					rt.Fatalf("tukpub is writable without the group, and %s has it\nafter %q", server, e.done)
				}
			}
			if alone && len(e.leases) == 0 && e.orders["tukpub"] != nil {
				rt.Fatalf("the votes are gone before the primary's agent has none to renew: %q", e.done)
			}
			return err
		}
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			for _, server := range e.d.servers() {
				e.silent[server] = rapid.IntRange(0, 3).Draw(rt, "silent") == 0
				e.cut[homes[server]] = rapid.IntRange(0, 3).Draw(rt, "cut") == 0
			}
			e.deaf = map[v1alpha1.ServerName]*orders.Group{}
			for server, told := range e.orders {
				if rapid.IntRange(0, 3).Draw(rt, "deaf") == 0 {
					e.deaf[server] = told
				}
			}
			most := rapid.IntRange(0, 3).Draw(rt, "steps")
			for i, s := range planDelete(e.d, e.observe()).Steps {
				if i == most || step(s) != nil {
					break
				}
			}
		}
		clear(e.silent)
		clear(e.cut)
		clear(e.deaf)
		for range 10 {
			p := planDelete(e.d, e.observe())
			if p.Done {
				break
			}
			for _, s := range p.Steps {
				if err := step(s); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if !planDelete(e.d, e.observe()).Done || len(e.leases) > 0 || len(e.orders) > 0 || !alone {
			rt.Fatalf("leases %v, orders %v, after %q", e.leases, e.orders, e.done)
		}
	})
}

// The mark comes alone, so that a manager that ends after any step leaves an agent that knows before the group is gone;
// and it goes with the consent.
func TestTheAgentIsToldBeforeItsGroupIsDropped(t *testing.T) {
	g := NewWithT(t)
	e := going(t, declared())
	dropping := func() reconcile.Plan {
		for range 10 {
			p := planDelete(e.d, e.observe())
			for _, s := range p.Steps {
				if s == (MarkEnding{Server: "tukpub", Ending: true, ID: "6a8b"}) {
					return p
				}
				g.Expect(e.do(s)).To(Succeed())
			}
		}
		return reconcile.Plan{}
	}
	for range 2 {
		for _, s := range planDelete(e.d, e.observe()).Steps {
			g.Expect(e.do(s)).To(Succeed())
		}
	}
	delete(e.orders, "tukpub")
	e.d.Group.Status.Timings = nil
	p := planDelete(e.d, e.observe())
	g.Expect(p.Steps).To(BeEmpty(), "nothing tells by what its agent counts")
	g.Expect(p.Outcome).To(And(HaveField("Reason", "TimingsDiffer"),
		HaveField("Message", ContainSubstring("kubectl edit --subresource=status availabilitygroup content -n web"))))
	has := ballot.DefaultTimings()
	e.d.Group.Status.Timings = orders.Recorded(has)
	e.d.Group.Spec.Timings = &v1alpha1.GroupTimings{VoteExpiry: &metav1.Duration{Duration: time.Minute}}
	g.Expect(e.observe().Orders.Timings).To(HaveValue(Equal(has)), "not what is declared of a group that is there")
	p = planDelete(e.d, e.observe())
	g.Expect(p.Steps).To(HaveExactElements(BeAssignableToTypeOf(GiveOrders{})), "its agent goes by the former ones")
	p = dropping()
	g.Expect(p.Steps).To(Equal([]reconcile.Step{MarkEnding{Server: "tukpub", Ending: true, ID: "6a8b"}}))
	for server, s := range e.servers {
		g.Expect(s.joined).To(Equal(server == "tukpub"), "%s: nobody else has the group by then", server)
	}
	g.Expect(e.do(p.Steps[0])).To(Succeed())
	g.Expect(steps(planDelete(e.d, e.observe()))).To(ContainSubstring("DROP AVAILABILITY GROUP"))

	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
	p = planDelete(e.d, e.observe())
	g.Expect(p.Steps).To(Equal([]reconcile.Step{MarkEnding{Server: "tukpub"}}))
	g.Expect(p.Done).To(BeTrue())
	g.Expect(e.do(p.Steps[0])).To(Succeed())
	g.Expect(planDelete(e.d, e.observe()).Steps).To(BeEmpty())

	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	for _, s := range dropping().Steps {
		g.Expect(e.do(s)).To(Succeed())
	}
	dropped := planDelete(e.d, e.observe()).Steps
	g.Expect(e.do(dropped[0])).To(Succeed())
	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
	p = planDelete(e.d, e.observe())
	g.Expect(p.Steps).To(Equal([]reconcile.Step{TakeOrders{Server: "tukpub"}}),
		"the group is gone: the mark stays to the end")
	wanted := *e.orders["tukpub"]
	wanted.Ending = false
	marked := wanted
	marked.Ending = true
	g.Expect(upToDate(wanted, wanted, e.now)).To(BeTrue())
	g.Expect(upToDate(marked, wanted, e.now)).To(BeFalse(), "a group that is declared again loses the mark")
}

// Nothing is dropped on less than the whole evidence.
func TestDeletionWaitsForWhoCouldBeElected(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*environ, *Observed)
		waits  string
	}{
		"a secondary does not answer": {func(_ *environ, o *Observed) { o.Instances["quisec"] = Instance{Err: errSilent} },
			"quisec-0"},
		"the primary alone answers": {func(_ *environ, o *Observed) {
			o.Instances["quisec"], o.Instances["dubcfg"] = Instance{Err: errSilent}, Instance{Err: errSilent}
		}, "quisec-0, dubcfg-0"},
		"the primary does not answer": {func(_ *environ, o *Observed) { o.Instances["tukpub"] = Instance{Err: errSilent} },
			"tukpub-0"},
		"the orders of a secondary are out of reach": {func(_ *environ,
			o *Observed) {
			o.Agents["quisec"] = Orders{Err: errSilent}
		},
			"the site of quisec-0"},
		"a former primary has not noticed": {func(_ *environ, o *Observed) {
			alter(*o, "quisec", func(i *Instance) { i.Group.Role = "PRIMARY" })
		}, "quisec-0, which calls itself primary and is to step down"},
		"a site is lost": {func(_ *environ, o *Observed) {
			o.Instances["quisec"], o.Agents["quisec"] = Instance{Err: sites.ErrSiteLost}, Orders{Err: sites.ErrSiteLost}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := going(t, declared())
			o := e.observe()
			c.change(e, &o)
			p := planDelete(e.d, o)
			if c.waits == "" {
				g.Expect(p.Steps).NotTo(BeEmpty())
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Outcome.Message).
				To(And(ContainSubstring("waiting for an answer from "+c.waits), ContainSubstring("Lost")))
		})
	}
}

// A replica that leaves has no orders any more when its engine loses the group.
func TestAReplicaThatLeavesGivesUpItsOrdersFirst(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Group.Spec.Replicas = three().Spec.Replicas
	e.done = nil
	e.settle(everything)
	g.Expect(at(t, e.done, "take the orders from the agent of dubcfg")).
		To(BeNumerically("<", at(t, e.done, "on dubcfg-0 as sa: drop")))

	e.d.Group.Spec.Replicas = declared().Spec.Replicas
	for range 20 {
		o := e.observe()
		o.Agents["dubthird"] = Orders{Err: errSilent}
		p := plan(e.d, o)
		g.Expect(steps(p)).
			NotTo(And(ContainSubstring("on dubthird-0"), ContainSubstring("DROP AVAILABILITY GROUP")),
				"nobody knows whether its agent has orders")
		for _, s := range p.Steps {
			g.Expect(e.do(s)).To(Succeed())
		}
		e.work()
	}
	g.Expect(e.group.replicas).NotTo(HaveKey("dubthird-0"))
}

func TestDeletion(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	g.Expect(planDelete(e.d, e.observe())).
		To(Equal(reconcile.Plan{Done: true}), "a deleted object leaves its group running")
	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	e.silent["dubcfg"] = true
	remove := func() reconcile.Plan {
		var p reconcile.Plan
		for range 10 {
			p = planDelete(e.d, e.observe())
			for _, s := range p.Steps {
				g.Expect(e.do(s)).To(Succeed())
			}
		}
		return p
	}
	p := remove()
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionUnknown))
	g.Expect(p.Outcome.Message).To(ContainSubstring("dubcfg-0"))
	g.Expect(e.leases).To(HaveLen(3), "the votes stay while a replica may have the group")
	clear(e.silent)
	g.Expect(remove().Done).To(BeTrue())
	g.Expect(e.leases).To(BeEmpty())
	g.Expect(e.servers["quisec"].joined).To(BeFalse())
	g.Expect(e.servers["tukpub"].mirroring.Databases).To(HaveKey("Content"), "databases are never dropped")
}

// A former replica that was away when it was to forget the group forgets it with the group: one of the same name would
// be taken for it.
func TestDeletionWaitsForFormerReplicas(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, three())
	e.settle(everything)
	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	e.silent["dubthird"] = true
	e.d.Group.Spec.Replicas = declared().Spec.Replicas
	e.later(time.Second)
	g.Expect(e.group.replicas).NotTo(HaveKey("dubthird-0"))
	remove := func() (p reconcile.Plan) {
		for range 10 {
			p = planDelete(e.d, e.observe())
			for _, s := range p.Steps {
				g.Expect(e.do(s)).To(Succeed())
			}
		}
		return p
	}
	p := remove()
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("dubthird-0"))
	clear(e.silent)
	g.Expect(remove().Done).To(BeTrue())
	g.Expect(e.servers["dubthird"].joined).To(BeFalse())
	g.Expect(e.orders).To(BeEmpty())
}

// A group whose engines never started can be deleted; one that may have been made waits for every server.
func TestDeletingAGroupWhoseEnginesNeverStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*environ)
		done   bool
	}{
		"nothing was made": {func(*environ) {}, true},
		"votes that nobody ever held": {func(e *environ) {
			for _, site := range homes {
				e.leases[site] = &votes.Record{State: votes.StateReleased, InitialPrimary: "tukpub-0"}
			}
			e.orders["tukpub"] = &orders.Group{Name: "content"}
		}, true},
		"a term was claimed": {func(e *environ) {
			e.leases["dublin"] = &votes.Record{State: votes.StateClaimed, Term: 1,
				Holder: votes.Holder{Server: "tukpub-0"}}
		}, false},
		"a voter does not answer":   {func(e *environ) { e.cut["dublin"] = true }, false},
		"the group was seen before": {func(e *environ) { e.d.Group.Status.GroupID = "6a8b" }, false},
		"no votes, and the servers stay": {func(e *environ) {
			e.d.Group.Spec.ClusterType = v1alpha1.ClusterNone
		}, false},
		"no votes, and the servers go, too": {func(e *environ) {
			e.d.Group.Spec.ClusterType, e.d.NeverAnswered = v1alpha1.ClusterNone, every(e.d.servers())
		}, true},
		"the group was seen before, and the servers go, too": {func(e *environ) {
			e.d.Group.Spec.ClusterType, e.d.NeverAnswered = v1alpha1.ClusterNone, every(e.d.servers())
			e.d.Group.Status.GroupID = "6a8b"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
			for _, server := range e.d.servers() {
				e.silent[server] = true
			}
			tc.before(e)
			var p reconcile.Plan
			for range 10 {
				p = planDelete(e.d, e.observe())
				for _, s := range p.Steps {
					g.Expect(e.do(s)).To(Succeed())
				}
			}
			g.Expect(p.Done).To(Equal(tc.done))
			if tc.done {
				g.Expect(e.leases).To(BeEmpty())
				g.Expect(e.orders).To(BeEmpty())
			}
		})
	}
}

func every(servers []v1alpha1.ServerName) map[v1alpha1.ServerName]bool {
	all := map[v1alpha1.ServerName]bool{}
	for _, s := range servers {
		all[s] = true
	}
	return all
}

// A group waits for servers that are not ready only as long as it is to be made.
func TestWhichServersAreWaitedFor(t *testing.T) {
	g := NewWithT(t)
	group, server := three(), &v1alpha1.SQLServer{}
	g.Expect(awaited(group, server)).NotTo(BeEmpty())
	going := group.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: begin}
	g.Expect(awaited(going, server)).To(BeEmpty(), "a group that goes asks engines that are there")
	made := group.DeepCopy()
	made.Status.GroupID = "6a8b"
	g.Expect(awaited(made, server)).To(BeEmpty())
	server.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	g.Expect(awaited(group, server)).To(BeEmpty())
	for reason, waits := range map[string]bool{v1alpha1.ReasonCertificateInvalid: true,
		v1alpha1.ReasonCertificateKept: false, v1alpha1.ReasonVolumeCannotGrow: false, v1alpha1.ReasonPartnerTrusted: false,
		v1alpha1.ReasonDatabaseDiffers: false, v1alpha1.ReasonSecretKept: false} {
		server.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
			Reason: reason}}
		g.Expect(awaited(group, server) != "").To(Equal(waits), reason)
	}
}
