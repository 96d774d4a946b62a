// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

// answering has all servers of a cluster answer these questions the other way.
func (c *cluster) answering(names ...config.Answer) {
	for _, s := range c.servers {
		s.mu.Lock()
		s.answers = config.Answers{}
		for _, name := range names {
			s.answers[name] = true
		}
		s.mu.Unlock()
	}
}

// leased gives every replica a write lease.
func (c *cluster) leased() {
	g := NewWithT(c.t)
	for i := range c.servers {
		g.Expect(c.group(i).SetLease(replica.BootTime(), lease)).To(Succeed())
	}
}

// Bystanders that are OFFLINE make no majority where such replicas are silent; those that are SECONDARY do, and so does
// one that was restarted since.
func TestOfflineReplicasAreSilent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(config.OfflineIsSilent)
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Expect(c.group(2).Offline(t.Context())).To(Succeed())
	c.leased()
	g.Expect(number(c.group(1).Failover(t.Context()))).To(Equal(int32(41104)), "nobody else answers")
	c.servers[2].stop()
	c.servers[2].start()
	g.Expect(c.role(2)()).To(Equal(replica.Resolving))
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(1)).Should(Equal(replica.Primary))
	g.Expect(c.group(2).BecomeSecondary(t.Context())).To(Succeed())
	c.synchronized(1, 2)
}

// A replica that is OFFLINE begins to follow a primary that reaches it, where RESOLVING replicas do so by themselves.
func TestResolvingReplicasFollow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	g.Expect(c.group(2).Offline(t.Context())).To(Succeed())
	g.Consistently(c.role(2), "500ms").Should(Equal(replica.Resolving), "unless it is said otherwise")
	c.answering(config.ResolvingFollows)
	g.Eventually(c.role(2)).Should(Equal(replica.Secondary))
	c.synchronized(0, 2)
	g.Expect(insert(t.Context(), c.servers[0].Database("app"), 10)).To(Succeed())
}

// What is ready for a failover is not shown without a primary, and FAILOVER goes by the configuration all the same.
func TestReadinessIsNotShownWithoutAPrimary(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(config.UnreadyWhenDisconnected)
	unready := func(i int) func() bool { return func() bool { return c.group(i).States().Unready } }
	g.Expect(unready(0)()).To(BeFalse())
	g.Eventually(unready(1)).Should(BeFalse())
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Eventually(unready(1)).Should(BeTrue())
	c.leased()
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(1)).Should(Equal(replica.Primary))
}

// FAILOVER waits for the recovery that SET (ROLE = SECONDARY) has begun; whoever gives it up has changed nothing.
func TestFailoverWaitsForTheRecoveryOfASecondary(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(config.RoleBlocksFailover)
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Expect(c.group(1).BecomeSecondary(t.Context())).To(Succeed())
	began := time.Now()
	c.leased()
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	g.Expect(c.group(1).Failover(soon)).To(MatchError(context.DeadlineExceeded))
	g.Expect(c.role(1)()).To(Equal(replica.Secondary))
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Expect(time.Since(began)).To(BeNumerically(">", 3*time.Second))
	g.Eventually(c.role(1)).Should(Equal(replica.Primary))
}

// A first connection that has failed is the last one where that counts, until the endpoint of the replica is restarted.
func TestAFirstConnectionThatFailedIsTheLast(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(config.FirstConnectionCounts)
	c.servers[2].stop()
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Expect(c.group(1).SetLease(replica.BootTime(), lease)).To(Succeed())
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(1)).Should(Equal(replica.Primary))
	connected := func() bool {
		for _, r := range c.group(1).States().Replicas {
			if r.ID == c.group(2).Self() {
				return r.Connected
			}
		}
		return false
	}
	failed := func() int32 {
		for _, r := range c.group(1).States().Replicas {
			if !r.Local && r.ErrorNumber != 0 {
				return r.ErrorNumber
			}
		}
		return 0
	}
	g.Eventually(failed).ShouldNot(BeZero())
	c.servers[2].start()
	g.Expect(c.group(2).BecomeSecondary(t.Context())).To(Succeed())
	g.Consistently(connected, "2500ms").Should(BeFalse())
	address := c.servers[2].m.Address()
	g.Expect(c.servers[2].m.Listen("")).To(Succeed())
	g.Expect(c.servers[2].m.Listen(address)).To(Succeed())
	g.Eventually(connected, "20s").Should(BeTrue())
	c.synchronized(1, 2)
}

// OFFLINE that takes its time does nothing where it is given up.
func TestOfflineTakesTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(config.OfflineTakesTime)
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	g.Expect(c.group(2).Offline(soon)).To(MatchError(context.DeadlineExceeded))
	g.Expect(c.role(2)()).To(Equal(replica.Secondary))
	began := time.Now()
	g.Expect(c.group(2).Offline(t.Context())).To(Succeed())
	g.Expect(time.Since(began)).To(BeNumerically(">", 5*time.Second))
	g.Expect(c.role(2)()).To(Equal(replica.Resolving))
}
