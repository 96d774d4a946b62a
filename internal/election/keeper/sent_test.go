// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/endpoint"
	"geosql.dev/operator/internal/election/votes"
)

// again is a keeper of the same run with the same disk, as of an agent that was restarted.
func (b *bench) again() {
	b.Keeper = New(Options{Group: "content", Self: own, Ballot: b.ballot, Engine: b, Peers: asPeers{b}, Memory: b,
		Clock: b.clock, Timings: ballot.DefaultTimings(), Nonce: b.nonce, Random: b.Keeper.random})
}

// FAILOVER is on disk before it is sent, and is not sent where that cannot be.
func TestAFailoverIsRememberedBeforeItIsSent(t *testing.T) {
	g := NewWithT(t)
	b := fencing(t)
	b.claim.fenced = true
	b.unsaved = errors.New("the disk is full")
	out := b.failOver(t.Context())
	g.Expect(out.Err).To(MatchError(ContainSubstring("the disk is full")))
	g.Expect(b.statements).To(BeEmpty())
	g.Expect(b.claim.issued).To(BeFalse())
	b.unsaved = nil
	marked := false
	b.follows = func(statement string) { marked = marked || statement == "FAILOVER" && b.saved.Sent != "" }
	b.refused = errAway
	b.failOver(t.Context())
	g.Expect(b.statements).To(Equal([]string{"FAILOVER"}))
	g.Expect(marked).To(BeTrue())
	g.Expect(b.saved.Sent).To(Equal(own.String()))
}

// What was remembered of a FAILOVER that came to be too late to be sent is forgotten: weeks later an agent that is
// restarted would take its replica OFFLINE for it. One that was sent before stays remembered.
func TestAFailoverThatTheDiskHeldUpIsForgotten(t *testing.T) {
	for name, before := range map[string]bool{"the first one": false, "after one without an answer": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			b.claim.fenced = true
			if before {
				b.refused = errAway
				b.failOver(t.Context())
				b.refused, b.statements = nil, nil
			}
			b.slow = b.timings.Acknowledge
			if before {
				b.clock.At += b.slow
			}
			out := b.failOver(t.Context())
			g.Expect(out.Err).To(MatchError(errLateVotes))
			g.Expect(b.statements).To(BeEmpty())
			g.Expect(b.saved.Sent != "").To(Equal(before))
		})
	}
}

// A FAILOVER of this run's is taken back by an agent that was restarted since, whichever role another candidate wants,
// and by one that was restarted once more between its promise and OFFLINE; one of a former run ended with it.
func TestAFailoverOfAnAgentBeforeIsFenced(t *testing.T) {
	former := own
	former.Engine = "run before"
	for name, c := range map[string]struct {
		sent     votes.Holder
		offlines int
	}{"of this run": {own, 1}, "of a run before": {former, 0}, "none": {votes.Holder{}, 0}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t)
			b.saved.Sent, b.seen.Role, b.seen.Connected = c.sent.String(), ballot.RoleResolving, false
			r := ballot.FenceRequest{Group: "content", Term: 5, Candidate: votes.Holder{Server: "third-0"},
				Bystanders: ballot.RoleSecondary}
			if c.offlines > 0 {
				b.refused = errAway
				_, err := b.Fence(t.Context(), r)
				g.Expect(err).To(MatchError(errAway))
				g.Expect(b.saved.Promise.Term).To(Equal(int64(5)))
				b.refused, b.statements = nil, nil
				b.again()
			}
			_, err := b.Fence(t.Context(), r)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.statements).To(HaveLen(c.offlines))
			if c.offlines > 0 {
				g.Expect(b.saved.Sent).To(BeEmpty())
			}
			b.again()
			_, err = b.Fence(t.Context(), r)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.statements).To(HaveLen(c.offlines), "once is enough")
		})
	}
}

// What the mark rests on: it goes with evidence alone, and stays where there is none.
func TestWhenAFailoverIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*testing.T, *bench)
		kept bool
	}{
		"the engine refuses it as not synchronized": {func(t *testing.T, b *bench) {
			b.refused = ErrNotSynchronized
			b.failOver(t.Context())
		}, false},
		"it refuses it for now": {func(t *testing.T, b *bench) {
			b.refused = ErrRefused
			b.failOver(t.Context())
		}, true},
		"it refuses one after another that had no answer": {func(t *testing.T, b *bench) {
			b.refused = ErrUnanswered
			b.failOver(t.Context())
			b.refused = ErrNotSynchronized
			b.failOver(t.Context())
		}, true},
		"the claim is overwritten": {func(t *testing.T, b *bench) {
			b.refused = errAway
			b.failOver(t.Context())
			b.forgo()
		}, true},
		"it is primary, and its lease acknowledged": {func(t *testing.T, b *bench) {
			b.failOver(t.Context())
			b.seen.Role, b.seen.Connected, b.refused = ballot.RolePrimary, false, nil
			b.hold(t.Context(), b.seen, nil)
			b.hold(t.Context(), b.seen, nil)
		}, true},
		"it has been primary until its databases have recovered": {func(t *testing.T, b *bench) {
			b.failOver(t.Context())
			b.seen.Role, b.seen.Connected, b.refused = ballot.RolePrimary, false, nil
			b.hold(t.Context(), b.seen, nil)
			b.clock.At += endpoint.Settling
			b.hold(t.Context(), b.seen, nil)
		}, false},
		"it is OFFLINE while a statement may yet be begun": {func(t *testing.T, b *bench) {
			b.refused = ErrUnanswered
			b.failOver(t.Context())
			b.refused, b.seen.Role = nil, ballot.RoleResolving
			_, err := b.offline(t.Context())
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		}, true},
		"it is OFFLINE after that": {func(t *testing.T, b *bench) {
			b.refused = ErrUnanswered
			b.failOver(t.Context())
			b.refused, b.seen.Role, b.clock.At = nil, ballot.RoleResolving, b.outstanding
			_, err := b.offline(t.Context())
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			b.claim.fenced = true
			c.do(t, b)
			g.Expect(b.statements).NotTo(BeEmpty())
			g.Expect(b.saved.Sent != "").To(Equal(c.kept))
			b.again()
			_, err := b.remembered()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.inFlight).To(Equal(c.kept))
		})
	}
}
