// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// await lets the first server's agent alone go on, for a group that nobody has made yet.
func (w *world) await(d time.Duration) {
	for end := w.now + d; w.now < end; w.advance(500 * time.Millisecond) {
		w.servers[0].step()
	}
}

// The first claim has one vote alone, and one voter does not answer. Renewed, the claim would get no vote more: it is
// made anew.
func TestTheFirstClaimIsMadeAnewWhereItHasNoMajority(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	first, one := w.servers[0], 1
	first.cut[2], first.swapsLeft = true, &one
	g.Expect(first.step().Err).To(MatchError(ContainSubstring("1 of 3 votes")))
	first.swapsLeft = nil
	w.await(30 * time.Second)
	g.Expect(w.voters[0].record.Term).To(BeNumerically(">", 0))
	g.Expect(w.voters[1].record.Term).To(Equal(w.voters[0].record.Term))

	first.cut[2] = false
	w.await(30 * time.Second)
	w.create()
	w.live(5)
	g.Expect(w.primary()).To(Equal(first))
	g.Expect(w.fault).NotTo(HaveOccurred())
}

// A voter answers only after the first claim has the others. It has what no round of that claim replaces: then the
// claim is made anew, above it. Nothing is served yet, and a group is made only once every voter has the first
// primary's claim.
func TestTheFirstClaimIsMadeAboveWhatIsLeft(t *testing.T) {
	left := func(server string, term int64, state votes.State) votes.Record {
		return votes.Record{
			Term:           term,
			State:          state,
			InitialPrimary: names[0],
			Holder:         votes.Holder{Server: server, PodUID: "former", Engine: "run1", Nonce: "n"},
		}
	}
	for name, record := range map[string]votes.Record{
		"released by a former run":           left(names[0], 5, votes.StateReleased),
		"claimed by a former run":            left(names[0], 5, votes.StateClaimed),
		"claimed by one in the very term":    left(names[0], 1, votes.StateClaimed),
		"held, by another of a former group": left(names[1], 5, votes.StateHeld),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(ballot.DefaultTimings())
			first := w.servers[0]
			first.cut[2] = true
			w.voters[2].record = record
			w.await(5 * time.Second)
			g.Expect(w.voters[1].record.Term).To(Equal(int64(1)))
			first.cut[2] = false
			w.await(30 * time.Second)
			for _, v := range w.voters {
				g.Expect(v.record).To(And(HaveField("Term", record.Term+1), HaveField("State", votes.StateClaimed)), v.name)
				g.Expect(v.record.Holder.SameRun(first.run.self)).To(BeTrue(), v.name)
			}
			w.create()
			w.live(5)
			g.Expect(w.primary()).To(Equal(first))
			g.Expect(w.voters[0].record).To(And(HaveField("Term", record.Term+1), HaveField("State", votes.StateHeld)))
			g.Expect(w.fault).NotTo(HaveOccurred())
		})
	}
}
