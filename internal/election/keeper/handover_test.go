// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
)

// When other voters are ordered, another keeper takes the place of the one that serves. An engine that does not answer
// meanwhile is killed when it would have been, and not at once where it has answered since.
func TestAFrozenEngineIsKilledByTheKeeperThatTakesOver(t *testing.T) {
	for name, c := range map[string]struct{ noticed, answered bool }{
		"it has never answered since":             {noticed: true},
		"it has":                                  {noticed: true, answered: true},
		"it had answered the keeper before":       {},
		"it had, and answers the one that is new": {answered: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			timings := ballot.DefaultTimings()
			s := w.servers[0]
			by := w.now + time.Duration(float64(timings.Expiry)*(1-timings.Drift)) - timings.Kill
			s.run.frozen = true
			if c.noticed {
				s.step()
				w.advance(by - w.now - 2*timings.APITimeout)
				s.step()
			}
			s.run.keeper = s.newKeeper(s.run.keeper)
			w.advance(timings.Renew)
			if c.answered {
				s.run.frozen = false
				g.Expect(s.step().Action).To(Equal("resumed"))
				s.step()
				s.run.frozen = true
			}
			s.step()
			g.Expect(s.run.dead).To(BeFalse(), "not before its time")
			w.advance(by - w.now)
			s.step()
			g.Expect(s.run.dead).To(Equal(!c.answered))
		})
	}
}

// An agent is restarted beside an engine that does not answer: it kills that one as the agent before would have.
func TestAFrozenEngineIsKilledByTheNextAgent(t *testing.T) {
	w, g := held(t)
	timings := ballot.DefaultTimings()
	s := w.servers[0]
	s.run.frozen = true
	s.startAgent()
	s.step()
	w.advance(time.Duration(float64(timings.Expiry)*(1-timings.Drift)) - timings.Kill - timings.Renew)
	s.step()
	g.Expect(s.run.dead).To(BeFalse())
	w.advance(timings.Renew)
	s.step()
	g.Expect(s.run.dead).To(BeTrue())
	other := w.servers[1]
	other.run.frozen = true
	other.startAgent()
	for range 30 {
		other.step()
		w.advance(timings.Renew)
	}
	g.Expect(other.run.dead).To(BeFalse(), "a secondary serves by no votes")
}

// A former primary that was cut off has been taken OFFLINE. That its engine did not answer before that is no reason to
// kill it when it is slow once later: nobody is served.
func TestAnEngineThatWasTakenOfflineIsNotKilledForLater(t *testing.T) {
	w, g := held(t)
	timings := ballot.DefaultTimings()
	s := w.servers[0]
	s.run.frozen = true
	s.step()
	s.run.frozen = false
	for i := range s.cut {
		s.cut[i] = true
	}
	for range 20 {
		w.advance(timings.Renew)
		s.step()
	}
	g.Expect(s.run.dead).To(BeFalse())
	g.Expect(s.run.role).To(Equal(ballot.RoleResolving))
	s.run.frozen = true
	s.step()
	g.Expect(s.run.dead).To(BeFalse(), "it has answered meanwhile")
}
