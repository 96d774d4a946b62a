// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// stray is what a rival's claim has left that one voter alone granted, in a term above the one that is held.
func (w *world) stray(voter int, rival *server, above int64) {
	v := w.voters[voter]
	r := v.record
	r.Term, r.State, r.Holder = r.Term+above, votes.StateClaimed, rival.run.self
	r.Holder.Nonce = "stray"
	line, err := json.Marshal(
		[]votes.Timeline{
			{
				Term:    r.Term,
				Cause:   votes.CauseAutomatic,
				From:    r.Holder.Server,
				To:      rival.name,
				Outcome: votes.OutcomeAccepted,
			},
		},
	)
	if err != nil {
		panic(err)
	}
	r.Notes.Timelines = string(line)
	v.record, v.changed, v.version = r, w.now, v.version+1
}

// strayClaim has such a claim be made now and then, of a vote that was released or has expired: only its one swap
// arrives.
func (w *world) strayClaim(rng *rand.Rand) {
	if !w.strays || rng.IntN(10) > 0 {
		return
	}
	voter, rival := rng.IntN(3), w.servers[rng.IntN(3)]
	v := w.voters[voter]
	expired := w.now-v.changed >= w.timings.SuspectAfter()+100*time.Millisecond
	if v.gone || v.absent || rival.run.dead || v.record.Term == 0 || v.record.State != votes.StateReleased && !expired {
		return
	}
	w.stray(voter, rival, 1+rng.Int64N(3))
}

// A vote that a rival has claimed in vain in a higher term comes back to the holder, which serves all the time: without
// it the holder is one lost voter from losing its lease, and everybody else takes the claim for the group's state.
func TestAHigherClaimThatCameToNothingIsOutgrown(t *testing.T) {
	for name, above := range map[string]int64{"the next term": 1, "a term far above": 1000} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.stray(2, w.servers[1], above)
			for range 20 {
				w.live(1)
				g.Expect(w.primary()).To(Equal(w.servers[0]), "it serves on")
			}
			for _, v := range w.voters {
				g.Expect(v.record.State).To(Equal(votes.StateHeld), v.name)
				g.Expect(v.record.Term).To(Equal(above+2), v.name)
				g.Expect(v.record.Holder.SameRun(w.servers[0].run.self)).To(BeTrue(), v.name)
			}
			// Its end is known at once, as that of every holder.
			w.servers[0].crash()
			w.live(4)
			g.Expect(w.primary()).NotTo(BeNil())
		})
	}
}

// An agent that was started again knows nothing of a claim of its own at a voter that it could not read, and has got a
// lower term since.
func TestAForgottenClaimOfItsOwnIsOutgrown(t *testing.T) {
	w, g := held(t)
	w.stray(2, w.servers[0], 1)
	for range 20 {
		w.live(1)
		g.Expect(w.primary()).To(Equal(w.servers[0]), "it serves on")
	}
	for _, v := range w.voters {
		g.Expect(v.record.State).To(Equal(votes.StateHeld), v.name)
		g.Expect(v.record.Term).To(Equal(w.voters[0].record.Term), v.name)
	}
}

// Where a round of the new term reached one voter alone, and a successor that does not know of it claimed the same term
// at the others, either has votes of one term that it does not get back in that one.
func TestAVoteOfTheSameTermIsOutgrown(t *testing.T) {
	w, g := held(t)
	h := w.servers[0]
	w.stray(2, w.servers[1], 1)
	w.voters[2].record.Holder.PodUID = "gone"
	for range 4 {
		w.advance(500 * time.Millisecond)
		h.step()
	}
	w.advance(550 * time.Millisecond)
	h.cut[1], h.cut[2] = true, true
	h.step()
	g.Expect(w.voters[0].record.Term).To(Equal(int64(3)), "the round of the new term has reached this one alone")
	h.isolate(true)
	h.cut[0] = false
	w.servers[1].cut[0], w.servers[2].cut[0] = true, true
	w.live(40)
	successor := w.primary()
	g.Expect(successor).NotTo(Or(BeNil(), Equal(h)))
	g.Expect(w.voters[1].record.Term).To(Equal(int64(3)), "in the same term")
	h.isolate(false)
	w.servers[1].cut[0], w.servers[2].cut[0] = false, false
	w.live(20)
	for _, v := range w.voters {
		g.Expect(v.record.Holder.SameRun(successor.run.self)).To(BeTrue(), v.name)
	}
	w.voters[2].gone = true
	w.live(20)
	g.Expect(w.primary()).To(Equal(successor), "one lost voter of three costs it nothing")
}

// A rival that does not see all votes, and so takes its own claim for the leading one, asks again and again: the holder
// gets the vote before that, once, and terms do not run away.
func TestARivalThatComesBackIsOutgrownOnce(t *testing.T) {
	w, g := held(t)
	w.servers[1].cut[0] = true
	w.stray(2, w.servers[1], 1)
	w.live(60)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[0].record.Term).To(BeNumerically("<", 10))
	for _, v := range w.voters {
		g.Expect(v.record.Holder.SameRun(w.servers[0].run.self)).To(BeTrue(), v.name)
	}
}

// The vote of a site whose etcd was restored from a backup counts for nobody at first: somebody else may have had it
// since. A holder that has a majority without it takes it back, and goes on when another voter is lost.
func TestARestoredVoteIsTakenBack(t *testing.T) {
	w, g := held(t)
	old := w.voters[2].record
	w.servers[0].crash()
	w.live(5)
	holder := w.primary()
	g.Expect(holder).NotTo(BeNil())
	w.voters[2].record, w.voters[2].version = old, w.voters[2].version+1
	w.live(3)
	g.Expect(w.voters[2].record.Term).To(Equal(w.voters[0].record.Term))
	g.Expect(w.voters[2].record.Holder.SameRun(holder.run.self)).To(BeTrue())
	w.voters[0].gone = true
	for range 20 {
		w.live(1)
		g.Expect(w.primary()).To(Equal(holder), "it serves on with the vote")
	}
}

// scheduleOfStrays is schedule with claims that one voter alone grants.
func scheduleOfStrays(rng *rand.Rand, timings ballot.Timings, b breaks, steps int) error {
	w := newWorld(timings)
	w.strays = true
	return w.suffer(rng, b, steps)
}

func TestOneScheduleOfStrayClaims(t *testing.T) { scheduler(scheduleOfStrays).one(t) }

func TestSchedulesOfStrayClaims(t *testing.T) { scheduler(scheduleOfStrays).many(t, 1, breaks{}) }

func TestNothingIsLostWithoutClocksWithStrayClaims(t *testing.T) {
	scheduler(scheduleOfStrays).many(t, 3, withoutClocks)
}
