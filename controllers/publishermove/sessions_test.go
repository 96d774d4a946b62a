// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/replication"
)

// Sessions of a distributor that was cut off stay at the new publisher until the network's time-outs end them, and a
// login that is logged in is not dropped (15434): its sessions end first.
func TestSessionsOfTheFormerAgentsEndBeforeTheirLogin(t *testing.T) {
	g := NewWithT(t)
	var p replication.Plan
	p.EndLogin("dubsub", "geosql_replication_main", []int{57, 61})
	var done []string
	for _, s := range p.Steps {
		done = append(done, s.Describe())
	}
	g.Expect(done).
		To(HaveExactElements(ContainSubstring("KILL 57"), ContainSubstring("KILL 61"),
			ContainSubstring("DROP LOGIN [geosql_replication_main]")))
}
