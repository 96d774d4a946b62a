// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// forge puts a vote at a voter that nobody has cast.
func (w *world) forge(i int, term int64, state votes.State, server string) {
	v := w.voters[i]
	forged := v.record
	forged.Term, forged.State = term, state
	forged.Holder = votes.Holder{Server: server, PodUID: "nobody", Engine: "forged", Nonce: "1"}
	v.record, v.version = forged, v.version+1
}

// Whoever may write one Lease names the last term of all: the holder goes on, takes the vote back, and is followed by
// another in the next term when it is gone.
func TestAForgedVoteStopsNoGroup(t *testing.T) {
	for name, term := range map[string]int64{"the last that a Lease takes": 1<<31 - 1, "the last of all": votes.MaxTerm,
		"just above what may be claimed": votes.Claimable(1) + 1} {
		for state, server := range map[votes.State]string{votes.StateHeld: names[2], votes.StateClaimed: "nobody-0"} {
			t.Run(name+", "+string(state), func(t *testing.T) {
				w, g := held(t)
				w.forge(2, term, state, server)
				out := w.servers[1].step()
				g.Expect(out.Beyond).To(ContainSubstring("site2 has a vote of term"), "it is named")
				w.live(5)
				g.Expect(w.primary()).To(Equal(w.servers[0]))
				g.Expect(w.voters[2].record).To(HaveField("Term", int64(1)), "its holder has it back")
				g.Expect(w.servers[1].step().Beyond).To(BeEmpty())

				w.servers[0].isolate(true)
				w.forge(2, term, state, server)
				w.live(30)
				g.Expect(w.primary()).To(Equal(w.servers[1]))
				// Just above what was believed is believed once there has been an election.
				g.Expect(w.voters[0].record.Term).To(BeNumerically("<", votes.Claimable(1)+10))
			})
		}
	}
}

// What is above the group's term by less than a step is believed, and comes to its end as any claim in vain.
func TestAClaimFarAboveIsOutgrown(t *testing.T) {
	w, g := held(t)
	w.forge(2, votes.Claimable(1), votes.StateClaimed, "nobody-0")
	w.live(30)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	for _, v := range w.voters {
		g.Expect(v.record.Term).To(BeNumerically(">=", votes.Claimable(1)))
		g.Expect(v.record.Holder.Server).To(Equal(names[0]))
	}
}

// A promise is kept for good, so that of a term which nobody can have claimed is not given, and who asked is named. The
// group elects as before. Whoever has read that a majority has come to such a term promises it.
func TestAForgedTermIsNotPromised(t *testing.T) {
	w, g := held(t)
	forger := votes.Holder{Server: names[1], PodUID: "nobody", Engine: "forged"}
	c := w.servers[2]
	for _, term := range []int64{votes.Promisable(1) + 1, votes.MaxTerm, 1<<31 - 1, 1 << 40} {
		_, err := c.fence(t, term, forger)
		g.Expect(err).To(MatchError(ContainSubstring("terms up to")))
		g.Expect(c.memory.Promise.Term).To(BeNumerically("<=", 1))
		g.Expect(c.run.role).To(Equal(ballot.RoleSecondary), "it follows on")
	}
	g.Expect(c.step().Beyond).To(ContainSubstring(names[1] + " has asked"))
	w.servers[0].isolate(true)
	w.live(30)
	g.Expect(w.primary()).NotTo(BeNil())
	g.Expect(w.voters[1].record.Term).To(BeNumerically("<", 10))
}

// The last request says whether a term was forged: one that is promised takes back what was said of one before it.
func TestTheLastRequestSaysWhetherATermWasForged(t *testing.T) {
	w, g := held(t)
	other := votes.Holder{Server: names[1], PodUID: "pod", Engine: "run"}
	c := w.servers[2]
	_, err := c.fence(t, votes.Promisable(1)+1, other)
	g.Expect(err).To(HaveOccurred())
	g.Expect(c.step().Beyond).To(ContainSubstring(names[1] + " has asked"))
	_, err = c.fence(t, votes.Promisable(1), other)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.step().Beyond).To(BeEmpty())
}

// The highest promise that a forger gets keeps nobody from being elected above it.
func TestTheHighestPromiseIsClaimedAbove(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers[1:] {
		_, err := s.fence(t, votes.Promisable(1), votes.Holder{Server: "nobody-0"})
		g.Expect(err).NotTo(HaveOccurred())
	}
	w.servers[0].isolate(true)
	w.live(60)
	g.Expect(w.primary()).NotTo(BeNil())
	g.Expect(w.voters[1].record.Term).To(BeNumerically("~", votes.Promisable(1), 100))
}

// A server that was away while the terms went on learns of them by what a majority of the votes says, however far they
// are, and promises; without the votes it does so within a step.
func TestWhoWasAwayLearnsHowFarTheTermsAre(t *testing.T) {
	w, g := held(t)
	const far = 50 * votes.TermStep
	c := w.servers[2]
	c.isolate(true)
	for i := range w.voters {
		w.forge(i, far, votes.StateHeld, names[1])
	}
	candidate := votes.Holder{Server: names[1], PodUID: "pod", Engine: "run"}
	_, err := c.fence(t, far+1, candidate)
	g.Expect(err).To(HaveOccurred(), "nothing tells it yet")
	c.isolate(false)
	c.step()
	beyond := c.run.keeper.Step(t.Context()).Beyond
	g.Expect(beyond).To(BeEmpty(), "neither the votes nor the request are beyond belief now")
	_, err = c.fence(t, far+1, candidate)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.memory.Promise).To(Equal(keeper.Promise{Term: far + 1, To: names[1]}))
	c.isolate(true)
	c.startAgent()
	_, err = c.fence(t, far+2, candidate)
	g.Expect(err).NotTo(HaveOccurred(), "an agent that begins anew goes on from its promise, without any voter")
}

// Where the terms are used up nobody claims, and what was claimed is never another term than was asked for.
func TestNoTermIsLeftAboveTheLast(t *testing.T) {
	w, g := held(t)
	for i := range w.voters {
		w.forge(i, votes.MaxTerm, votes.StateReleased, names[1])
	}
	w.live(30)
	g.Expect(w.primary()).To(BeNil())
	g.Expect(w.servers[1].step().Err).To(MatchError(ContainSubstring("terms-forged")))
}

// scheduleOfForgedTerms has somebody write votes at one voter, and ask servers for promises, in terms that nobody has
// claimed, in the middle of other faults. In the end the group serves, and has all its votes back.
func scheduleOfForgedTerms(rng *rand.Rand, timings ballot.Timings, b breaks, steps int) error {
	w := newWorld(timings)
	far := func() int64 {
		about := []int64{votes.MaxTerm - 3, votes.MaxTerm, 1<<31 - 1, 3 * votes.TermStep, 1 << 20}
		return about[rng.IntN(len(about))] + rng.Int64N(3) - 1
	}
	w.mislaid = &mislaid{forge: func(w *world) {
		switch rng.IntN(12) {
		case 0:
			state := []votes.State{votes.StateHeld, votes.StateClaimed, votes.StateReleased}[rng.IntN(3)]
			w.forge(0, far(), state, names[rng.IntN(3)])
		case 1:
			s := w.servers[rng.IntN(3)]
			if !s.run.dead && !s.run.asleep && s.run.keeper != nil {
				_, _ = peers{s}.Fence(context.Background(), s.name, ballot.FenceRequest{Group: "content", Term: far(),
					Candidate: votes.Holder{Server: names[rng.IntN(3)]}})
			}
		}
	}}
	return w.suffer(rng, b, steps)
}

func TestOneScheduleOfForgedTerms(t *testing.T) { scheduler(scheduleOfForgedTerms).one(t) }

func TestSchedulesOfForgedTerms(t *testing.T) {
	scheduler(scheduleOfForgedTerms).many(t, 1, breaks{})
}
