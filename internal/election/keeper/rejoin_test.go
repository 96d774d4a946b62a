// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
)

// handOver has the primary's engine end while the third server cannot be fenced, and returns the next primary.
func (w *world) handOver(g *WithT, bystander *server) *server {
	before := w.primary()
	for _, name := range names {
		bystander.apart[name] = name != bystander.name
	}
	bystander.run.keeper.SetPolicy(true, false) // it stands by: paused
	before.crash()
	before.run.keeper.SetPolicy(true, false)
	w.live(4)
	for _, name := range names {
		bystander.apart[name] = false
	}
	before.run.keeper.SetPolicy(false, false)
	p := w.primary()
	g.Expect(p).NotTo(BeNil())
	g.Expect(p).NotTo(Equal(before))
	return p
}

// A third copy that could not be fenced follows each new primary in the end, whether its engine says that it is not
// connected to that one, or that it is although it takes no log.
func TestABystanderFollowsPrimariesInTurn(t *testing.T) {
	for name, nods := range map[string]bool{"disconnected": false, "connected and standing": true} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			third := w.servers[2]
			third.run.nods = nods
			for range 3 {
				p := w.handOver(g, third)
				g.Expect(third.run.follows).NotTo(Equal(p.name), "nobody told it")
				w.live(30)
				g.Expect(w.primary()).To(Equal(p))
				g.Expect(third.run.follows).To(Equal(p.name))
				g.Expect(third.log).To(Equal(p.log))
			}
			g.Expect(third.run.role).To(Equal(ballot.RoleSecondary))
		})
	}
}

// A replica that follows but takes no log has time to begin by itself. Its readers are never thrown out for that: it is
// made a secondary again, and then the endpoints are restarted, less and less often.
func TestAStandingReplicaKeepsItsReaders(t *testing.T) {
	w, g := held(t)
	third := w.servers[2]
	third.run.stands = true
	w.live(600)
	g.Expect(third.run.offlines).To(BeZero())
	g.Expect(third.run.restarts).To(Equal(2))
	g.Expect(w.servers[0].run.restarts).To(Equal(1))
	g.Expect(third.run.role).To(Equal(ballot.RoleSecondary))
}

// A statement without an answer may be begun by the engine after OFFLINE, and make the replica a secondary again of the
// primary that it has just given up. Nothing is reported before that can be no more, also by the keeper that takes the
// place of the one that has sent it, when other voters are ordered.
func TestAFenceWaitsForStatementsOfTheKeeperBefore(t *testing.T) {
	w, g := held(t)
	s := w.servers[2]
	s.run.role, s.run.follows, s.run.freezeNext = ballot.RoleResolving, "", true
	g.Expect(s.run.keeper.Step(t.Context()).Err).To(HaveOccurred())
	g.Expect(s.run.queued).To(HaveLen(1))
	s.run.frozen = false // for everything else
	fence := func() error {
		_, err := s.run.keeper.Fence(
			t.Context(),
			ballot.FenceRequest{Group: "content", Term: 5, Candidate: w.servers[1].run.self},
		)
		return err
	}
	g.Expect(fence()).To(MatchError(ContainSubstring("could undo it")))
	s.run.keeper = s.newKeeper(s.run.keeper)
	g.Expect(fence()).To(MatchError(ContainSubstring("could undo it")))
	w.advance(3 * time.Second)
	g.Expect(fence()).To(Succeed())
	s.run.thaw()
	g.Expect(s.run.role).To(Equal(ballot.RoleResolving))
}

// So it is where the connection has broken on which the statement was.
func TestAFenceWaitsForAStatementWhoseConnectionHasBroken(t *testing.T) {
	w, g := held(t)
	s := w.servers[2]
	s.run.role, s.run.follows, s.run.severNext = ballot.RoleResolving, "", true
	g.Expect(s.run.keeper.Step(t.Context()).Err).To(MatchError(keeper.ErrUnanswered))
	g.Expect(s.run.queued).To(HaveLen(1))
	s.run.severed = false
	fence := func() error {
		_, err := s.run.keeper.Fence(
			t.Context(),
			ballot.FenceRequest{Group: "content", Term: 5, Candidate: w.servers[1].run.self},
		)
		return err
	}
	g.Expect(fence()).To(MatchError(ContainSubstring("could undo it")))
	w.advance(3 * time.Second)
	g.Expect(fence()).To(Succeed())
	s.run.thaw()
	g.Expect(s.run.role).To(Equal(ballot.RoleResolving))
}
