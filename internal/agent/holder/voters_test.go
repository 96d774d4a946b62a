// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/tsql"
)

// A voter is replaced under a primary that serves; then it and another one fall silent, the primary's engine is killed,
// and the voter that came last and the one that is left elect another primary. No acknowledged write is lost.
func TestAVoterIsReplacedWhileThePrimaryServes(t *testing.T) {
	c := newTrio(t, tsql.SynchronousCommit)
	stop := c.writing()

	added, wanted := newLeaseServer(t), []string{"site0", "site1", "site3"}
	for _, ordered := range [][]string{nil, wanted} {
		for _, m := range c.members {
			c.tell(m, orders.Group{Voters: c.reached(m, c.voters...), Joining: c.reached(m, added), Wanted: ordered})
		}
	}
	var changed votes.Configuration
	for _, v := range []*leaseServer{added, c.voters[0], c.voters[1]} {
		c.g.Eventually(v.record, busy).Should(HaveField("State", votes.StateHeld))
		c.g.Eventually(func() votes.Configuration { changed = v.record().Configuration(); return changed }, busy).
			Should(And(HaveField("Voters", wanted), HaveField("Next", BeEmpty())))
	}
	c.g.Expect(added.record().Notes.Timelines).NotTo(BeEmpty(), "the history goes along")
	before := c.count()
	c.g.Eventually(c.count, busy).Should(BeNumerically(">", before+20))
	for _, m := range c.members {
		c.tell(m, orders.Group{Voters: c.reached(m, c.voters[0], c.voters[1], added), Configuration: &changed})
	}

	for _, m := range c.members {
		c.voters[2].cut(m.name, true)
		c.voters[0].cut(m.name, true)
	}
	holder := func() string { return added.record().Holder.Server }
	old := slices.IndexFunc(c.members, func(m *member) bool { return m.name == holder() })
	c.members[old].engine.Kill(t)
	c.g.Eventually(added.record, busy).
		Should(And(HaveField("State", votes.StateHeld), HaveField("Holder.Server", Not(Equal(c.members[old].name)))))
	before = c.count()
	c.g.Eventually(c.count, busy).Should(BeNumerically(">", before+20))

	for _, m := range c.members {
		c.voters[0].cut(m.name, false)
	}
	c.members[old].engine.Launch(t)
	c.synchronized(slices.IndexFunc(c.members, func(m *member) bool { return m.name == holder() }))
	stop()
	c.check()
}
