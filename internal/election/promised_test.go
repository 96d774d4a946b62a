// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election"
)

// Agents keep what they have promised for good, also to a former group of the name: it may be of terms that this one comes to only much
// later. Whoever is refused for such a promise claims a term above it, and does not try each one in between.
func TestAClaimThatIsRefusedForAHigherPromiseIsMadeAboveIt(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers[1:] {
		s.memory.Promise = election.Promise{Term: 40, To: names[2]}
		s.startAgent()
	}
	for _, s := range w.servers {
		s.run.keeper.SetPolicy(false, true)
	}
	w.servers[0].crash()
	w.servers[0].run.keeper.SetPolicy(false, true)
	w.live(10)
	g.Expect(w.primary()).To(Equal(w.servers[0]), "with failoverPolicy Manual nobody else comes in its place")
	g.Expect(w.voters[0].record.Term).To(Equal(int64(41)))
}
