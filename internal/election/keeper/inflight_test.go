// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A claim whose FAILOVER was sent goes to nobody before the replica is OFFLINE: the engine may complete it at any time.
func TestAFailoverInFlightIsTakenBackBeforeAnotherGoesOn(t *testing.T) {
	more := func(b *bench) { b.reporting("third-0", 1, "9") }
	newer := func(b *bench) { b.reporting("third-0", 2, "4") }
	begins := func(b *bench) { more(b); b.outstanding = b.clock.At + 1 }
	refuses := func(b *bench) { more(b); b.refused = errAway }
	for name, c := range map[string]struct {
		reports func(*bench)
		action  string
	}{
		"another has more":               {more, "handed term 4 over to third-0"},
		"another has a newer one":        {newer, "handed term 4 over to third-0"},
		"a higher term was promised":     {refusing(8), "term 8 was promised to another: claimed term 9"},
		"the engine may begin with it":   {begins, "claim not handed over"},
		"the engine does not go OFFLINE": {refuses, "claim not handed over"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			b.claim.issued, b.claim.doubtful = true, true
			c.reports(b)
			out := b.fenceAll(t.Context())
			g.Expect(out.Action).To(Equal(c.action))
			if c.action == "claim not handed over" {
				g.Expect(b.term).To(Equal(int64(3)))
				g.Expect(b.claim.issued).To(BeTrue())
				return
			}
			g.Expect(b.statements).To(Equal([]string{"OFFLINE"}))
			g.Expect(b.claim.issued || b.inFlight).To(BeFalse())
		})
	}
}

// A replica whose own FAILOVER may yet complete is OFFLINE before it reports to another candidate, whichever role that
// one wants, also where the first fencing fails or the claim was forgone before.
func TestAFailoverInFlightIsFenced(t *testing.T) {
	for name, forgone := range map[string]bool{"in its claim": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			b.claim.issued = true
			if forgone {
				b.forgo()
			}
			r := ballot.FenceRequest{Group: "content", Term: 5, Candidate: votes.Holder{Server: "third-0"},
				Bystanders: ballot.RoleSecondary}
			b.refused = errAway
			_, err := b.Fence(t.Context(), r)
			g.Expect(err).To(HaveOccurred())
			b.refused = nil
			_, err = b.Fence(t.Context(), r)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.statements).To(Equal([]string{"OFFLINE", "OFFLINE"}))
			_, err = b.Fence(t.Context(), r)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.statements).To(HaveLen(2), "once is enough")
		})
	}
}

// What an agent before this one has sent nobody knows; a claim that was made within this one's life has had nothing.
func TestWhichClaimsMayHaveHadAFailover(t *testing.T) {
	for name, c := range map[string]struct {
		first    *votes.Record
		inFlight bool
		issued   bool
	}{
		"the agent began with it":       {nil, false, true},
		"it was handed over":            {&votes.Record{Term: 2, State: votes.StateHeld, Holder: rival}, false, false},
		"it was, after one was unclear": {&votes.Record{Term: 2, State: votes.StateHeld, Holder: rival}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			claimed := votes.Record{Term: 3, State: votes.StateClaimed, Holder: own}
			first := claimed
			if c.first != nil {
				first = *c.first
			}
			b := newBench(t, alike(first)...)
			if b.inFlight = c.inFlight; c.first != nil {
				b.Step(t.Context())
				b.vote(claimed)
			}
			g.Expect(b.Step(t.Context()).Action).To(Equal("took over the claim of term 3"))
			g.Expect(b.claim.issued).To(Equal(c.issued))
		})
	}
}

// A claim after a term that was served ends an engine only where the group was seen to be gone from it: one that merely
// refuses its agent has it RESOLVING, and serves nobody. That holds for the claim that follows upon it, too.
func TestAServedClaimEndsNoEngineThatHasTheGroup(t *testing.T) {
	for name, gone := range map[string]bool{"the group is gone": true, "it refuses its agent": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			b.claim.served = true
			b.claimNext(t.Context(), b.leadingOf(), votes.CauseRestart, nil)
			g.Expect(b.term).To(Equal(int64(4)))
			g.Expect(b.claim.served).To(BeTrue())
			since := b.clock.At
			seen, refused := ballot.Observation{}, errAway
			if gone {
				refused = nil
			}
			b.refused = errAway
			b.hold(t.Context(), seen, refused)
			b.unanswered = since
			b.clock.At += b.timings.HolderBound() - b.timings.Kill
			out := b.hold(t.Context(), seen, refused)
			if gone {
				g.Expect(b.statements).To(ContainElement("KILL"))
				return
			}
			g.Expect(out.Action).To(Equal("claim given up"))
			g.Expect(b.statements).To(BeEmpty())
		})
	}
}
