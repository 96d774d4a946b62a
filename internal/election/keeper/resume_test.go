// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// say lets all votes be of a term, state and run.
func (w *world) say(term int64, state votes.State, holder votes.Holder) {
	for _, v := range w.voters {
		v.record.Term, v.record.State, v.record.Holder, v.version = term, state, holder, v.version+1
	}
}

// An agent that begins anew beside a primary goes on in the term that the votes say is its own, unless it has promised
// otherwise.
func TestWhatARestartedAgentResumes(t *testing.T) {
	for name, c := range map[string]struct {
		promise keeper.Promise
		action  string
	}{
		"nothing was promised":           {keeper.Promise{}, "resumed"},
		"its own term, to itself":        {keeper.Promise{Term: 1, To: names[0]}, "resumed"},
		"its own term, nobody knows who": {keeper.Promise{Term: 1}, "resumed"},
		"its own term, to another":       {keeper.Promise{Term: 1, To: names[1]}, "taken offline"},
		"a higher term":                  {keeper.Promise{Term: 5, To: names[1]}, "taken offline"},
		"a higher term, to itself":       {keeper.Promise{Term: 5, To: names[0]}, "taken offline"},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			s := w.servers[0]
			s.memory.Promise = c.promise
			s.startAgent()
			g.Expect(s.run.keeper.Step(t.Context()).Action).To(Equal(c.action))
		})
	}
}

// A primary whose votes are another run's is taken OFFLINE, whatever the state of those.
func TestAPrimaryWithoutVotesOfItsOwnIsTakenOffline(t *testing.T) {
	for _, state := range []votes.State{votes.StateHeld, votes.StateClaimed, votes.StateReleased} {
		t.Run(string(state), func(t *testing.T) {
			w, g := held(t)
			w.say(2, state, w.servers[1].run.self)
			w.servers[0].startAgent()
			g.Expect(w.servers[0].run.keeper.Step(t.Context()).Action).To(Equal("taken offline"))
		})
	}
}

// A claim that is there for this run is gone on with, unless this server has promised a higher term. A term that it
// held is not: what was held is over once the replica serves nobody, and only a new term may be served.
func TestWhatIsTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		state   votes.State
		promise keeper.Promise
		taken   bool
	}{
		"a claim":                        {state: votes.StateClaimed, taken: true},
		"a claim, a higher one promised": {state: votes.StateClaimed, promise: keeper.Promise{Term: 3, To: names[2]}},
		"a term that was held":           {state: votes.StateHeld},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			s := w.servers[1]
			s.memory.Promise = c.promise
			s.startAgent()
			w.servers[0].run.asleep = true
			w.say(2, c.state, s.run.self)
			out := s.run.keeper.Step(t.Context())
			if c.taken {
				g.Expect(out.Action).To(Equal("took over the claim of term 2"))
			} else {
				g.Expect(out.Action).NotTo(ContainSubstring("took over"))
				g.Expect(out.Term).NotTo(Equal(int64(2)))
			}
		})
	}
}

// A server whose promises cannot be read takes no part: a primary is taken OFFLINE, another replica stays as it is.
func TestWithoutItsMemoryAServerTakesNoPart(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers {
		s.unreadable = true
		s.startAgent()
	}
	g.Expect(w.servers[1].run.keeper.Step(t.Context())).
		To(And(HaveField("Action", ""), HaveField("Err", MatchError(errUnreadable))))
	g.Expect(w.servers[1].run.offlines).To(BeZero())
	g.Expect(w.servers[0].run.keeper.Step(t.Context())).
		To(And(HaveField("Action", "taken offline"), HaveField("Err", MatchError(errUnreadable))))
	_, err := w.servers[2].fence(t, 5, votes.Holder{Server: names[1]})
	g.Expect(err).To(MatchError(errUnreadable))
	w.live(30)
	g.Expect(w.writers()).To(BeEmpty())
}

// Only a primary is taken OFFLINE that nobody can speak for: another replica serves nobody.
func TestASecondaryThatReadsNoMajorityStaysAsItIs(t *testing.T) {
	w, g := held(t)
	s := w.servers[2]
	s.startAgent()
	s.isolate(true)
	for until := w.now + 3*w.timings.WriteLease; w.now < until; {
		w.advance(500 * time.Millisecond)
		s.step()
	}
	g.Expect(s.run.offlines).To(BeZero())
}

// Votes of a former pod of the same server are waited for like anybody's: that pod may serve somewhere still.
func TestVotesOfAFormerPodExpireFirst(t *testing.T) {
	w, g := held(t)
	s := w.servers[0]
	for _, other := range w.servers[1:] {
		other.run.keeper.SetPolicy(true, false)
	}
	s.run.dead = true
	s.pod++
	s.start()
	w.live(5)
	g.Expect(w.voters[0].record).To(And(HaveField("Term", int64(1)), HaveField("State", votes.StateHeld)))
	w.live(20)
	g.Expect(w.primary()).To(Equal(s))
	g.Expect(w.voters[0].record.Term).To(BeNumerically(">", 1))
}
