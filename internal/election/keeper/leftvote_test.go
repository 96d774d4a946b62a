// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// leave is what a former group of the name has left at a site that was lost when it was deleted.
func (w *world) leave(site int, r votes.Record, c votes.Configuration) {
	lease := votes.NewLease("web", "content", names[0], c)
	told, err := votes.DecodeLease(lease)
	if err != nil {
		panic(err)
	}
	r.InitialPrimary, r.Voters = told.InitialPrimary, told.Voters
	v := w.voters[site]
	v.record, v.gone, v.left, v.version = r, false, r.Voters, v.version+1
}

// former is a holder of a former group's.
var former = votes.Holder{Server: names[1], PodUID: "former", Engine: "run1", Nonce: "n"}

// A site is to vote at which a former group of the name has left its vote. The holder neither believes what that tells
// of voters nor makes a configuration that needs it where it cannot replace it: it says so, serves on, and goes on when
// the Lease has been deleted.
func TestAVoteThatAFormerGroupHasLeftIsInTheWay(t *testing.T) {
	other := votes.Configuration{Term: 7, Number: 2, Voters: []string{"site3"}}
	for name, left := range map[string]struct {
		record        votes.Record
		configuration votes.Configuration
		says          string
	}{
		"a higher term": {votes.Record{Term: 9, State: votes.StateHeld, Holder: former},
			votes.Configuration{}, "site3 (the vote there is of term 9 of quisec-0, and cannot be replaced in term 1)"},
		"a higher term, released": {votes.Record{Term: 9, State: votes.StateReleased, Holder: former},
			votes.Configuration{}, "cannot be replaced in term 1"},
		"the same term": {votes.Record{Term: 1, State: votes.StateHeld, Holder: former},
			votes.Configuration{}, "cannot be replaced in term 1"},
		"other voters": {votes.Record{Term: 9, State: votes.StateHeld, Holder: former}, other,
			"the vote there needs a majority of site3, in term 9"},
		"other voters, never used": {votes.Record{State: votes.StateReleased}, other,
			"the vote there needs a majority of site3, in term 0"},
		"other voters from the first": {votes.Record{State: votes.StateReleased},
			votes.Configuration{Voters: []string{"site3"}}, "neither is newer"},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.growTo(4)
			w.leave(3, left.record, left.configuration)
			before := w.voters[3].record
			w.order([]string{"site0", "site1", "site3"}, w.servers...)
			w.live(30)
			g.Expect(w.fault).NotTo(HaveOccurred())
			g.Expect(w.primary()).To(Equal(w.servers[0]))
			g.Expect(w.configured()).To(Equal(w.began()))
			g.Expect(w.voters[3].record).To(Equal(before))
			g.Expect(w.servers[0].step().Waiting).To(ContainSubstring(left.says))
			g.Expect(w.voters[0].record.Term).To(Equal(int64(1)), "it has served all the time")

			w.voters[3].gone = true
			w.order([]string{"site0", "site1", "site3"}, w.servers...)
			w.live(10)
			g.Expect(w.primary()).To(Equal(w.servers[0]))
			g.Expect(w.configured()).
				To(Equal(votes.Configuration{Term: 1, Number: 2, Voters: []string{"site0", "site1", "site3"}}))
		})
	}
}

// A vote of an earlier term is replaced, as one of the group's own from before is: the site may have voted in it.
func TestAVoteOfAnEarlierTermIsReplaced(t *testing.T) {
	w, g := held(t)
	w.growTo(4)
	w.servers[0].crash()
	w.live(5)
	term := w.voters[0].record.Term
	g.Expect(term).To(BeNumerically(">", 1))
	w.leave(
		3,
		votes.Record{Term: 1, State: votes.StateHeld, Holder: former},
		votes.Configuration{Term: 1, Number: 3, Voters: []string{"site3"}},
	)
	w.order([]string{"site0", "site1", "site3"}, w.servers...)
	w.live(10)
	g.Expect(w.fault).NotTo(HaveOccurred())
	g.Expect(w.configured()).
		To(Equal(votes.Configuration{Term: term, Number: 2, Voters: []string{"site0", "site1", "site3"}}))
	g.Expect(w.voters[3].record.Term).To(Equal(term))
}

// scheduleOfLeftVotes is scheduleOfChanges where a former group has left votes at the sites that do not vote at first.
func scheduleOfLeftVotes(rng *rand.Rand, timings ballot.Timings, b breaks, steps int) error {
	w := newWorld(timings)
	w.grow()
	for site := 3; site < len(w.voters); site++ {
		if rng.IntN(4) == 0 {
			continue
		}
		r := votes.Record{Term: rng.Int64N(8), State: votes.StateReleased}
		if r.Term > 0 {
			r.State = []votes.State{votes.StateReleased, votes.StateClaimed, votes.StateHeld}[rng.IntN(3)]
			r.Holder = former
			if rng.IntN(2) == 0 {
				r.Holder = w.servers[rng.IntN(3)].run.self
			}
		}
		var c votes.Configuration
		if made := rng.Int64N(r.Term + 1); made > 0 {
			c = votes.Configuration{Term: made, Number: 1 + rng.Int64N(3)}
			for _, i := range rng.Perm(len(w.voters))[:1+2*rng.IntN(2)] {
				c.Voters = append(c.Voters, w.voters[i].name)
			}
			if rng.IntN(3) == 0 {
				c.Next = []string{fmt.Sprint("site", rng.IntN(len(w.voters)))}
			}
		}
		w.leave(site, r, c)
	}
	return w.suffer(rng, b, steps)
}

func TestOneScheduleOfLeftVotes(t *testing.T) { scheduler(scheduleOfLeftVotes).one(t) }

func TestSchedulesOfLeftVotes(t *testing.T) { scheduler(scheduleOfLeftVotes).many(t, 1, breaks{}) }
