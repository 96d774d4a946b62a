// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// A replica's report is about its own copies: rows that its views show of others neither make it synchronized nor
// unmake it. The claimant here has the longer log and is not synchronized, so it yields.
func TestAReportCountsTheReplicasOwnDatabases(t *testing.T) {
	for name, all := range map[string]bool{"views of its own databases": false, "views of all replicas' databases": true} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			claimant, synchronized := w.servers[1], w.servers[2]
			w.servers[0].apart[claimant.name], claimant.apart[names[0]] = true, true
			w.live(3)
			w.servers[0].isolate(true)
			claimant.apart = map[string]bool{}
			claimant.config = synchronized.config
			g.Expect(claimant.config.synced).NotTo(HaveKey(claimant.name))
			for len(claimant.log) <= len(synchronized.log) {
				claimant.log = append(claimant.log, -1)
			}
			for _, s := range w.servers[1:] {
				s.run.tellsAll = all
			}
			synchronized.run.keeper.SetPolicy(false, true)
			w.live(25)
			g.Expect(w.primary()).To(Equal(synchronized), w.picture())
			g.Expect(w.timelines(g)).
				To(ContainElement(And(HaveField("To", claimant.name), HaveField("Outcome", votes.OutcomeFailed))))
		})
	}
}
