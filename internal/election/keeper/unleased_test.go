// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// What keeps a holder from giving its engine a lease, in the simulation: the engine is not silent in any of them.
var unleased = map[string]func(s *server){
	"the engine refuses its agent": func(s *server) { s.run.severed = true },
	"the engine refuses its lease": func(s *server) { s.run.refusesLease = true },
	"the group was dropped by hand": func(s *server) {
		s.exists = false
		s.run.role, s.run.ready = "", false
	},
	"a configuration commit gets no majority":  func(s *server) { s.run.pending = time.Hour },
	"the clocks of engine and agent disagree":  func(s *server) { s.run.skew = time.Minute },
	"the role of the replica cannot be learnt": func(s *server) { s.run.role = "" },
}

// A holder that can give its engine no lease serves nobody, and nobody else is elected while it renews its votes: it
// ends what it has once its lease has run out.
func TestAHolderWithoutALeaseIsReplaced(t *testing.T) {
	for name, befalls := range unleased {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			befalls(w.servers[0])
			w.live(9)
			g.Expect(w.voters[0].record.Holder.Server).To(Equal(names[0]), "nothing is given up while a lease may last")
			w.live(21)
			p := w.primary()
			g.Expect(p).NotTo(BeNil())
			g.Expect(p.name).NotTo(Equal(names[0]))
			g.Expect(w.writers()).To(ConsistOf(p.name))
			g.Expect(w.fault).NotTo(HaveOccurred())
		})
	}
}

// A replica is RESOLVING for a moment while its group is dropped. Whoever comes to see that claims the next term, which
// comes to nothing: it is no first term, whose group the manager has yet to make.
func TestAGroupThatIsDroppedByWayOfResolvingIsServedElsewhere(t *testing.T) {
	w, g := held(t)
	first := w.servers[0]
	first.run.role, first.run.ready = ballot.RoleResolving, false
	first.run.keeper.Step(t.Context())
	g.Expect(w.voters[0].record).To(And(HaveField("Term", int64(2)), HaveField("State", votes.StateClaimed)))
	first.gone(true)
	run := first.run
	w.live(10)
	g.Expect(run.dead).To(BeTrue(), "what the engine serves it serves outside of the group")
	w.live(20)
	g.Expect(w.primary()).To(And(Not(BeNil()), Not(Equal(first))))
	g.Expect(w.fault).NotTo(HaveOccurred())
}

// An engine that answers is asked for OFFLINE: it need not be ended, and what else it serves goes on.
func TestAnEngineThatAnswersIsTakenOffline(t *testing.T) {
	w, g := held(t)
	r := w.servers[0].run
	r.refusesLease = true
	w.live(30)
	g.Expect(r.dead).To(BeFalse())
	g.Expect(r.offlines).To(BeNumerically(">", 0))
}

// What passes before the lease has run out costs nobody anything.
func TestAMomentWithoutALeaseIsSurvived(t *testing.T) {
	for _, befalls := range []func(*run, bool){func(r *run, now bool) { r.severed = now },
		func(r *run, now bool) { r.refusesLease = now }} {
		w, g := held(t)
		r := w.servers[0].run
		for range 3 {
			befalls(r, true)
			w.live(4)
			befalls(r, false)
			w.live(4)
		}
		g.Expect(r.dead).To(BeFalse())
		g.Expect(w.primary()).To(Equal(w.servers[0]))
		g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
	}
}

// A person's failover is carried out without a word about fencing: the agent of the engine that refuses it sees to
// that.
func TestAFailoverIsCarriedOutWhenTheEngineRefusesItsAgent(t *testing.T) {
	w, g := held(t)
	w.servers[0].run.severed = true
	w.live(5)
	w.ask(votes.Request{ID: "r", Kind: votes.RequestFailover, To: names[1]})
	w.live(30)
	g.Expect(w.primary()).To(Equal(w.servers[1]))
}

// Before there is a group its first term is no reason to end an engine that refuses its agent: the manager is making
// its logins.
func TestAFirstTermEndsNoEngine(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	g.Expect(w.servers[0].step().Term).To(Equal(int64(1)))
	w.servers[0].run.severed = true
	w.live(60)
	g.Expect(w.servers[0].run.dead).To(BeFalse())
	w.servers[0].run.thaw()
	w.live(5)
	w.create()
	w.live(5)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
}

// gone lets the group be dropped on a server, and there gives it back.
func (s *server) gone(gone bool) {
	s.exists = !gone
	if s.run.role, s.run.ready = "", false; !gone {
		s.run.role = ballot.RoleResolving
	}
}

// A group that is dropped as the manager has told is no fault: its databases go on alone, however long nobody comes to
// take the orders, and whether the voters answer or not.
func TestAGroupThatIsDroppedAsOrderedEndsNoEngine(t *testing.T) {
	for name, cut := range map[string]int{"the voters answer": 0, "most are cut off": 2, "the agent is restarted": 0,
		"the order is taken back": 0} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			first := w.servers[0]
			first.ending = true
			first.run.keeper.SetEnding(true)
			w.live(5)
			g.Expect(w.primary()).To(Equal(first), "it serves while it is there")
			// The secondaries have lost group and orders before.
			for _, s := range w.servers[1:] {
				s.gone(true)
				s.run.asleep = true
			}
			first.gone(true)
			if name == "the agent is restarted" {
				first.startAgent()
			}
			for i := range cut {
				first.cut[i] = true
			}
			w.live(5)
			if name == "the order is taken back" {
				first.ending = false
				first.run.keeper.SetEnding(false)
			}
			w.live(120)
			g.Expect(first.run.dead).To(BeFalse())
			if cut == 0 {
				g.Expect(w.voters[0].record.Holder.Server).To(Equal(names[0]), "nobody else is elected meanwhile")
			}
		})
	}
}

// The mark takes nothing from what stands against a second primary while there is the group.
func TestAGroupThatIsToBeDroppedIsFencedAsEver(t *testing.T) {
	for name, befalls := range map[string]func(s *server){
		"the voters are cut off":       func(s *server) { s.cut[0], s.cut[1] = true, true },
		"the engine refuses its lease": func(s *server) { s.run.refusesLease = true },
		"the engine hangs":             func(s *server) { s.run.frozen = true },
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			first := w.servers[0]
			first.ending = true
			first.run.keeper.SetEnding(true)
			befalls(first)
			w.live(40)
			g.Expect(w.writers()).NotTo(ContainElement(names[0]))
			g.Expect(first.run.dead || first.run.offlines > 0).To(BeTrue())
			g.Expect(w.fault).NotTo(HaveOccurred())
		})
	}
}
