// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
)

// outlived is a group whose primary's agent has fallen asleep and whose write lease never ends: the primary goes on
// serving while another server is elected.
func outlived(t *testing.T, broken breaks) (w *world, g *WithT) {
	t.Helper()
	g = NewWithT(t)
	w = newWorld(ballot.DefaultTimings())
	w.breaks = broken
	w.breaks.endless = true
	for _, s := range w.servers {
		s.run.keeper.SetRoleAtFailover(broken.atFailover)
	}
	w.servers[0].step()
	w.create()
	w.live(2)
	w.servers[0].run.asleep = true
	return w, g
}

// promote lets the second server's agent work until its engine is primary. between is called after each of its steps.
func (w *world) promote(t *testing.T, g *WithT, between func(keeper.Outcome)) *server {
	t.Helper()
	candidate := w.servers[1]
	for range 400 {
		w.advance(100 * time.Millisecond)
		between(candidate.run.keeper.Step(t.Context()))
		if candidate.run.role == ballot.RolePrimary {
			return candidate
		}
		w.replicate()
		w.write()
	}
	g.Expect(candidate.run.role).To(Equal(ballot.RolePrimary), "it is elected in the end")
	return candidate
}

// Where the other replicas are OFFLINE at FAILOVER what one has reported is all it has, also for engines that believe
// themselves: nothing may be acknowledged with it afterwards by the primary of before. A report before the fence is
// noticed.
func TestNothingIsAcknowledgedAfterAReport(t *testing.T) {
	for name, broken := range map[string]breaks{
		"the fence comes first":     {ways: ways{atFailover: ballot.RoleResolving}},
		"a report before the fence": {ways: ways{atFailover: ballot.RoleResolving}, reportBeforeFence: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := outlived(t, broken)
			acknowledged := -1
			// The candidate has fenced when its FAILOVER is on its way.
			w.servers[1].run.lag = 100 * time.Millisecond
			w.meanwhile = func() {
				// The primary gives the candidate up, if the other replica agrees.
				acknowledged = len(w.acked)
				w.servers[0].apart[names[1]] = true
				w.write()
			}
			w.promote(t, g, func(keeper.Outcome) {})
			g.Expect(acknowledged).To(BeNumerically(">", 0), "the candidate has fenced")
			if broken.reportBeforeFence {
				g.Expect(w.fault).To(MatchError(ContainSubstring("became primary without the acknowledged write")))
				return
			}
			g.Expect(w.fault).NotTo(HaveOccurred())
			g.Expect(w.acked).To(HaveLen(acknowledged))
		})
	}
}

// A replica follows the new primary as soon as the votes say Held. FAILOVER takes a majority, so by then the primary of
// before does not get it back, even where the two are cut off from each other at that moment.
func TestAFollowerIsNotWonBack(t *testing.T) {
	w, g := outlived(t, breaks{})
	old, follower := w.servers[0], w.servers[2]
	old.apart[follower.name] = true
	candidate := w.promote(t, g, func(keeper.Outcome) {})
	follower.apart[candidate.name] = true
	clear(old.apart)
	for range 100 {
		w.advance(100 * time.Millisecond)
		candidate.run.keeper.Step(t.Context())
		follower.run.keeper.Step(t.Context())
		w.replicate()
		w.write()
	}
	g.Expect(follower.run.follows).NotTo(Equal(old.name))
	g.Expect(follower.config.epoch()).To(Equal(candidate.config.epoch()))
	follower.apart = map[string]bool{}
	w.replicate()
	g.Expect(w.fault).NotTo(HaveOccurred())
}

// An agent that begins anew beside a primary, and reads no majority, knows no lease that would end it. The primary is
// left alone for as long as a lease may last, and taken OFFLINE then, though the engine's clock has stopped.
func TestAPrimaryThatNobodyCanSpeakForIsTakenOffline(t *testing.T) {
	w, g := held(t)
	w.breaks.endless = true
	p := w.servers[0]
	before := p.run.offlines
	p.startAgent()
	p.isolate(true)
	from := w.now
	for w.now < from+w.timings.WriteLease {
		w.advance(500 * time.Millisecond)
		p.step()
		if w.now <= from+w.timings.WriteLease {
			g.Expect(p.run.offlines).To(Equal(before), "after %s", w.now-from)
		}
	}
	// The first step beside it was half a second after.
	w.advance(500 * time.Millisecond)
	g.Expect(p.step()).
		To(And(HaveField("Action", "taken offline"), HaveField("Err", MatchError(ContainSubstring("fewer voters answer")))))
	g.Expect(p.run.role).To(Equal(ballot.RoleResolving))
}
