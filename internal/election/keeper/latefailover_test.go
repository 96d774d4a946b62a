// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
)

// A FAILOVER that the engine has begun, and whose answer was lost, completes beside no other primary: the replica is
// OFFLINE before it stands beside whoever goes on, also where its agent was restarted meanwhile.
func TestALateFailoverMakesNoSecondPrimary(t *testing.T) {
	for name, restarted := range map[string]bool{"the agent lives on": false, "the agent is restarted": true} {
		t.Run(name, func(t *testing.T) {
			w, g := answered(t, ways{late: 3 * time.Second})
			second, third := w.servers[1], w.servers[2]
			third.run.keeper.SetPolicy(false, true)
			w.servers[0].run.dead = true
			for range 200 {
				w.advance(100 * time.Millisecond)
				if second.step(); second.run.coming > 0 {
					break
				}
			}
			g.Expect(second.run.coming).NotTo(BeZero(), w.picture())
			if restarted {
				second.startAgent()
			}
			var err error
			for range 20 {
				w.advance(100 * time.Millisecond)
				if _, err = second.run.keeper.Fence(t.Context(), ballot.FenceRequest{Group: "content",
					Candidate: third.run.self, Term: w.voters[0].record.Term + 1,
					Bystanders: ballot.RoleSecondary}); err == nil {
					break
				}
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(second.run.coming).To(BeZero())
			w.advance(4 * time.Second)
			g.Expect(second.run.role).NotTo(Equal(ballot.RolePrimary))
		})
	}
}
