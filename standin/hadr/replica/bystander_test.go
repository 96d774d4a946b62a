// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

// connected tells whether server i says of its own replica that it is connected to its primary.
func (c *cluster) connected(i int) func() bool {
	return func() bool {
		for _, r := range c.group(i).States().Replicas {
			if r.Local {
				return r.Connected
			}
		}
		return false
	}
}

// handOver takes the primary offline and promotes another, as a cluster manager does that reaches only those two.
func (c *cluster) handOver(from, to int) {
	c.t.Helper()
	g := NewWithT(c.t)
	g.Expect(c.group(from).Offline(c.t.Context())).To(Succeed())
	g.Expect(c.group(to).SetLease(replica.BootTime(), lease)).To(Succeed())
	g.Expect(c.group(to).Failover(c.t.Context())).To(Succeed())
	g.Eventually(c.role(to), "60s").Should(Equal(replica.Primary))
	g.Expect(c.group(from).BecomeSecondary(c.t.Context())).To(Succeed())
	c.synchronized(to, from)
}

// A bystander that nobody told of the new primary takes none of its log, and must not say that it is connected to it: a
// cluster manager goes by that. It catches up once it is taken OFFLINE and made a secondary, after any number of
// primaries in turn.
func TestABystanderOfTwoPrimariesInTurnIsDisconnectedUntilItIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	g.Eventually(c.connected(2), "60s").Should(BeTrue())

	id := 100
	from, to := 0, 1
	for range 3 {
		c.handOver(from, to)
		g.Expect(insert(t.Context(), c.servers[to].Database("app"), id)).To(Succeed())
		id++
		g.Eventually(func() uint64 { return c.group(2).Configuration().Sequence }, "60s").
			Should(Equal(c.group(to).Configuration().Sequence), "the bystander keeps hearing of the configuration")
		g.Expect(c.connected(2)()).To(BeFalse(), "it takes no log of its new primary")
		g.Expect(c.group(to).Configuration().SynchronizedAt(c.group(2).Self())).To(BeFalse())

		g.Expect(c.group(2).Offline(t.Context())).To(Succeed())
		g.Expect(c.group(2).BecomeSecondary(t.Context())).To(Succeed())
		c.synchronized(to, 2)
		g.Eventually(c.connected(2), "60s").Should(BeTrue())
		g.Eventually(func() (int64, error) { return count(t.Context(), c.servers[2].Database("app")) }, "60s").
			Should(Equal(int64(3 + id - 100)))
		from, to = to, from
	}
}
