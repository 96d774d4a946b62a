// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// Agents keep what they have promised for good, also to a former group of the name: it may be of terms that this one
// comes to only much later. Whoever is refused for such a promise claims a term above it, and does not try each one in
// between.
func TestAClaimThatIsRefusedForAHigherPromiseIsMadeAboveIt(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers[1:] {
		s.memory.Promise = keeper.Promise{Term: 40, To: names[2]}
		s.startAgent()
	}
	for _, s := range w.servers {
		s.run.keeper.SetPolicy(false, true)
	}
	w.servers[0].crash()
	w.servers[0].run.keeper.SetPolicy(false, true)
	w.live(10)
	g.Expect(w.primary()).To(Equal(w.servers[0]), "with failoverPolicy Manual nobody else comes in its place")
	g.Expect(w.voters[0].record.Term).To(Equal(int64(41)))
}

// Whoever has claimed a term helps nobody to serve in that one or a lower, though it has promised no such: the refusal
// tells the term.
func TestAServerPromisesNothingBelowItsOwnTerm(t *testing.T) {
	for name, tc := range map[string]struct {
		term    int64
		to      string
		refused bool
	}{
		"a lower term, which it has promised": {term: 3, to: names[1], refused: true},
		"its own term, to a rival":            {term: 4, to: names[1], refused: true},
		"its own term":                        {term: 4, to: names[0]},
		"a higher term":                       {term: 5, to: names[1]},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(ballot.DefaultTimings())
			s := w.servers[0]
			s.memory.Promise = keeper.Promise{Term: 3, To: names[1]}
			g.Expect(s.step()).To(And(HaveField("Term", int64(4)), HaveField("State", votes.StateClaimed)))
			w.create()
			before := s.run.offlines
			_, err := s.run.keeper.Fence(
				t.Context(),
				ballot.FenceRequest{Group: "content", Term: tc.term, Candidate: votes.Holder{Server: tc.to}},
			)
			if !tc.refused {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(s.memory.Promise).To(Equal(keeper.Promise{Term: tc.term, To: tc.to}))
				return
			}
			g.Expect(err).To(MatchError(ballot.ErrPromised))
			g.Expect(ballot.PromisedTerm(err)).To(Equal(int64(4)))
			g.Expect(s.memory.Promise.Term).To(Equal(int64(3)))
			g.Expect(s.run.offlines).To(Equal(before))
		})
	}
}
