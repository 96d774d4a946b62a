// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// Where a claim may not go on to another replica this one's engine is asked again, whatever it has said before;
// elsewhere for as long as what it said may still be so.
func TestWhoIsAskedAgainAfterARefusal(t *testing.T) {
	paused := votes.Notes{Paused: "true"}
	for name, c := range map[string]struct {
		manual, paused bool
		notes          votes.Notes
		voters         int
		age            time.Duration
		sent           bool
	}{
		"it may go on":             {voters: 3},
		"it was long ago":          {voters: 3, age: 30 * time.Second, sent: true},
		"manual":                   {voters: 3, manual: true, sent: true},
		"paused":                   {voters: 3, paused: true, sent: true},
		"paused by the votes":      {voters: 3, notes: paused, sent: true},
		"fewer than three voters":  {voters: 1, sent: true},
		"it was almost long ago":   {voters: 3, age: 30*time.Second - 1},
		"manual, a moment before":  {voters: 3, age: time.Second, manual: true, sent: true},
		"fewer, and it is old too": {voters: 1, age: time.Hour, sent: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			vote := votes.Record{Term: 3, State: votes.StateClaimed, Holder: own, Notes: c.notes}
			b := newBench(t, alike(vote)[:c.voters]...)
			b.term, b.state, b.voted, b.agreed = 3, votes.StateClaimed, votes.StateClaimed, true
			b.seen = ballot.Observation{Exists: true, Role: ballot.RoleResolving, Mode: ballot.ModeSynchronous}
			b.claim = claim{at: b.clock.At, round: b.clock.At}
			b.unready, b.unreadyAt = 1, b.clock.At-c.age
			b.SetPolicy(c.paused, c.manual)
			b.reporting("third-0", 1, "4")
			b.fenceAll(t.Context())
			if c.sent {
				g.Expect(b.statements).To(ContainElement("FAILOVER"))
			} else {
				g.Expect(b.statements).NotTo(ContainElement("FAILOVER"))
				g.Expect(b.term).To(BeZero(), "another one goes on")
			}
		})
	}
}

// A refusal does not shorten the time of a FAILOVER before it that was taken, or had no answer; 41142 ends it.
func TestARefusalLeavesAnEarlierFailoverItsTime(t *testing.T) {
	refused := fmt.Errorf("%w: 41104", ErrRefused)
	for name, c := range map[string]struct {
		answers []error
		overdue bool
	}{
		"never sent":                       {nil, true},
		"accepted":                         {[]error{nil}, false},
		"accepted, then refused":           {[]error{nil, refused}, false},
		"no answer, then refused twice":    {[]error{context.DeadlineExceeded, refused, refused}, false},
		"refused":                          {[]error{refused, refused}, true},
		"refused, then no answer":          {[]error{refused, ErrUnanswered}, false},
		"no answer, then not synchronized": {[]error{ErrUnanswered, ErrNotSynchronized}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			for _, err := range c.answers {
				b.claim.note(b.clock.At, err)
			}
			b.clock.At += b.timings.Expiry + 1
			g.Expect(b.overdue(b.clock.At)).To(Equal(c.overdue))
			b.clock.At += b.timings.FailoverWithin()
			g.Expect(b.overdue(b.clock.At)).To(BeTrue())
		})
	}
}

// A way is kept until the engine has refused it twice, and for 2 x Renew; the last one is not final, and none is left
// once the engine has taken a FAILOVER.
func TestHowLongAWayIsKept(t *testing.T) {
	g := NewWithT(t)
	b := fencing(t)
	b.claim.reports = []ballot.Report{{Server: "third-0", Role: ballot.RoleResolving}}
	b.claim.fenced = true
	g.Expect(b.turn()).To(BeFalse(), "the first refusal")
	b.clock.At += 2*b.timings.Renew - 1
	g.Expect(b.turn()).To(BeFalse(), "too soon")
	b.clock.At++
	for _, next := range []stand{following, offline, following, offline} {
		g.Expect(b.turn()).To(BeTrue())
		g.Expect(b.by()).To(Equal(next))
		g.Expect(b.claim.fenced).To(BeFalse(), "the others are asked anew")
		g.Expect(b.turn()).To(BeFalse(), "the first refusal of a way")
		b.clock.At += 2 * b.timings.Renew
	}
	b.claim.open = b.clock.At
	g.Expect(b.turn()).To(BeTrue(), "one that had no answer may never have been begun")
	b.turn()
	b.clock.At += 2 * b.timings.Renew
	b.claim.answered = b.clock.At
	b.turn()
	b.clock.At += b.timings.FailoverWithin()
	g.Expect(b.turn()).To(BeFalse(), "one may be at work")

	b = fencing(t)
	b.claim.request = &votes.Request{ID: "f", FencedHolder: rival.String()}
	b.claim.reports = []ballot.Report{{Server: "third-0", Role: ballot.RoleResolving}}
	b.turn()
	b.clock.At += 2 * b.timings.Renew
	g.Expect(b.turn()).To(BeFalse(), "a person's word has no other way")
}

// A FAILOVER that had no answer and was at work all the same makes that replica primary which holds the votes of the
// term, in whichever way the others stand by meanwhile. The engine is asked for its role before each further one.
func TestAnUnansweredFailoverThatCompletesAfterATurn(t *testing.T) {
	g := NewWithT(t)
	b := fencing(t)
	b.reporting("third-0", 1, "4")
	b.claim.fenced, b.refused = true, ErrUnanswered
	b.follows = nil
	b.failOver(t.Context())
	g.Expect(b.claim.open).NotTo(BeZero())
	b.refused = nil
	b.turn()
	b.clock.At += 2 * b.timings.Renew
	g.Expect(b.turn()).To(BeTrue())
	b.statements, b.seen.Role, b.seen.Connected = nil, ballot.RolePrimary, false
	out := b.hold(t.Context(), b.seen, nil)
	g.Expect(out.Action).To(Equal("became holder"))
	g.Expect(b.state).To(Equal(votes.StateHeld))
	g.Expect(b.statements).To(Equal([]string{"LEASE"}), "neither FAILOVER nor OFFLINE")
}

// A request that goes by a person's word, or allows data loss, and comes when the others stood by already has them
// OFFLINE, with reports of their own; one that does neither changes nothing.
func TestARequestThatComesLaterHasTheOthersOffline(t *testing.T) {
	for name, c := range map[string]struct {
		request *votes.Request
		by      stand
		fenced  bool
	}{
		"a plain one":      {&votes.Request{ID: "f"}, staying, true},
		"a person's word":  {&votes.Request{ID: "f", FencedHolder: rival.String()}, offline, false},
		"with data loss":   {&votes.Request{ID: "f", AllowDataLoss: true}, offline, false},
		"none has come":    {nil, staying, true},
		"they are already": {&votes.Request{ID: "f", AllowDataLoss: true}, offline, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			if b.by(); name == "they are already" {
				b.claim.by = offline
			}
			b.claim.fenced, b.claim.request = true, c.request
			b.heed()
			g.Expect(b.by()).To(Equal(c.by))
			g.Expect(b.claim.fenced).To(Equal(c.fenced))
		})
	}
}
