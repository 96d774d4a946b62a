// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election"
)

// When other voters are ordered, another keeper takes the place of the one that serves. An engine that does not answer meanwhile is
// killed when it would have been, and not at once where it has answered since.
func TestAFrozenEngineIsKilledByTheKeeperThatTakesOver(t *testing.T) {
	for name, answered := range map[string]bool{"it has never answered since": false, "it has": true} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			timings := election.DefaultTimings()
			s := w.servers[0]
			by := w.now + time.Duration(float64(timings.Expiry)*(1-timings.Drift)) - timings.Kill
			s.run.frozen = true
			s.step()
			w.advance(by - w.now - 2*timings.APITimeout)
			s.step()
			s.run.keeper = s.newKeeper(s.run.keeper)
			if answered {
				s.run.frozen = false
				g.Expect(s.step().Action).To(Equal("resumed"))
				s.step()
				s.run.frozen = true
			}
			s.step()
			g.Expect(s.run.dead).To(BeFalse(), "not before its time")
			w.advance(by - w.now)
			s.step()
			g.Expect(s.run.dead).To(Equal(!answered))
		})
	}
}
