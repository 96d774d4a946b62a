// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// late loses a voter's Lease, and creates one by what the manager saw before the voters changed: a Create that was sent
// long ago and arrives only now.
func (w *world) late(voter int) {
	record, err := votes.DecodeLease(votes.NewLease("web", "content", names[0], w.began()))
	if err != nil {
		panic(err)
	}
	v := w.voters[voter]
	v.record, v.gone, v.version = record, false, v.version+1
	if trace != nil {
		trace("%s %s lost, and made late", w.now, v.name)
	}
}

// A site has voted, its Lease is lost, and a Create of before makes another one. The holder of the term before, which
// was cut off and whose engine and agent were started anew, meets that Lease first. It must not take it for a vote that
// nobody has: the primary that has just lost it serves on until its write lease ends.
func TestALeaseThatIsMadeLateGrantsNothing(t *testing.T) {
	for _, granted := range []bool{true, false} {
		t.Run(fmt.Sprintf("granted %t", granted), func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(ballot.DefaultTimings())
			former := w.servers[0]
			former.step()
			w.create()
			w.live(2)
			w.growTo(4)
			w.order([]string{"site0", "site1", "site3"}, w.servers...)
			w.live(5)
			g.Expect(w.configured().Voters).To(Equal([]string{"site0", "site1", "site3"}))
			g.Expect(w.voters[3].record.Term).To(Equal(int64(1)))

			for i := range former.cut {
				former.cut[i] = true
			}
			w.servers[1].cut[1], w.servers[2].cut[1] = true, true
			w.live(20)
			primary := w.primary()
			g.Expect(primary).To(BeElementOf(w.servers[1], w.servers[2]), "by the votes of two sites")
			other := w.servers[3-slices.Index(w.servers, primary)]

			w.breaks.grantNew = granted
			w.late(3)
			primary.run.asleep = true // its agent stands still, and does not see at once that it has lost a vote
			former.crash()
			former.cut = [maxVoters]bool{true}
			former.apart[primary.name], other.apart[primary.name] = true, true
			other.cut[1] = false
			w.live(5)
			if granted {
				g.Expect(w.fault).To(MatchError(ContainSubstring("two engines are writable")))
				return
			}
			g.Expect(w.fault).NotTo(HaveOccurred())
			g.Expect(w.recover()).To(Succeed())
		})
	}
}

// A vote of a former group of the name keeps the first term from being claimed. The agent does not call that the loss
// of a group's votes: there is no group.
func TestNoVotesWereLostWhereThereIsNoGroup(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	w.voters[2].record.Term, w.voters[2].record.State = 5, votes.StateHeld
	w.voters[2].record.Holder = votes.Holder{Server: names[0], PodUID: "former", Engine: "run1", Nonce: "n"}
	w.advance(time.Minute)
	for range 3 {
		g.Expect(w.servers[0].step().Err).To(MatchError(ContainSubstring("fewer voters answer")))
	}
	g.Expect(w.voters[0].record.Term).To(BeZero())
}

// Whose Lease was made late votes again when its site has been left out and taken in again.
func TestALeaseThatIsMadeLateVotesAgain(t *testing.T) {
	w, g := held(t)
	w.late(2)
	w.servers[0].startAgent()
	w.live(5)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[2].record.Term).To(BeZero())
	w.order([]string{"site0"}, w.servers...)
	w.live(5)
	w.order([]string{"site0", "site1", "site2"}, w.servers...)
	w.live(5)
	g.Expect(w.configured()).To(And(HaveField("Voters", HaveLen(3)), HaveField("Next", BeEmpty())))
	g.Expect(w.voters[2].record).To(And(HaveField("Term", int64(1)), HaveField("State", votes.StateHeld)))
}

// The holder has its vote at the sites that are to vote before their votes are needed: if it ends in between, others
// can wait for that vote to expire, and could not claim one that there never was.
func TestNewVotersHaveTheHoldersVoteFirst(t *testing.T) {
	w, g := held(t)
	w.growTo(6)
	added := []string{"site3", "site4", "site5"}
	w.order(added, w.servers...)
	g.Expect(w.servers[0].step().Action).To(Equal("resumed"))
	w.servers[0].unsure = unsureLost
	g.Expect(w.servers[0].step().Err).To(HaveOccurred(), "what it would make cannot be remembered")
	for _, v := range w.voters[3:] {
		g.Expect(v.record).To(And(HaveField("Term", int64(1)), HaveField("Holder.Server", names[0])))
		g.Expect(v.record.Configuration().Sites()).NotTo(ContainElement(v.name))
	}
	w.live(5)
	g.Expect(w.configured().Voters).To(Equal(added))
}

// scheduleOfLateLeases loses a vote now and then, and a Create of long ago makes a Lease in its place at once. What was
// lost so is a majority in the end, or was needed for a change of the voters: then there need not be a primary.
func scheduleOfLateLeases(rng *rand.Rand, timings ballot.Timings, b breaks, steps int) error {
	w := newWorld(timings)
	w.grow()
	w.lates = true
	err := w.suffer(rng, b, steps)
	if unused := slices.ContainsFunc(w.voters,
		func(v *leaseStore) bool { return !v.gone && v.record.Term == 0 }); unused &&
		errors.Is(err, errNoProgress) {
		return nil
	}
	return err
}

func TestOneScheduleOfLateLeases(t *testing.T) { scheduler(scheduleOfLateLeases).one(t) }

func TestSchedulesOfLateLeases(t *testing.T) { scheduler(scheduleOfLateLeases).many(t, 1, breaks{}) }
