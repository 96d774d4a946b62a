// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A renewal that the engine refuses because its lease runs for longer already counts as one while that lease is over
// before the votes expire; else the primary may serve no more in the end.
func TestALeaseThatRunsForLonger(t *testing.T) {
	timings := ballot.DefaultTimings()
	safe := timings.HolderBound() - timings.Overrun - timings.Kill
	for name, c := range map[string]struct {
		refused error
		counts  bool
	}{
		"within the votes":     {LongerLease{Left: safe, Err: errAway}, true},
		"beyond the votes":     {LongerLease{Left: safe + 1, Err: errAway}, false},
		"for ever":             {LongerLease{Left: 1<<63 - 1, Err: errAway}, false},
		"refused for a reason": {errors.New("no memory"), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(votes.Record{Term: 5, State: votes.StateHeld, Holder: own})...)
			b.seen.Role, b.seen.Primary = ballot.RolePrimary, "own-0"
			for b.Keeper.state != votes.StateHeld {
				b.Step(t.Context())
			}
			b.refused = c.refused
			for range 12 {
				b.clock.At += time.Second
				if b.Step(t.Context()).Action == takenOffline {
					break
				}
			}
			if c.counts {
				g.Expect(b.Keeper.unanswered).To(BeZero())
				g.Expect(b.statements).NotTo(ContainElement("OFFLINE"))
			} else {
				g.Expect(b.statements).To(ContainElement("OFFLINE"))
			}
		})
	}
}
