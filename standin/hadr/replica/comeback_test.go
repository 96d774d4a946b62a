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

// restartEndpoint closes and opens the endpoint of server i.
func (c *cluster) restartEndpoint(i int) {
	g := NewWithT(c.t)
	address := c.servers[i].m.Address()
	g.Expect(c.servers[i].m.Listen("")).To(Succeed())
	g.Eventually(func() error { return c.servers[i].m.Listen(address) }, "10s").Should(Succeed())
}

// localRole is the role that server i shows of itself.
func (c *cluster) localRole(i int) func() replica.Role {
	return func() replica.Role {
		for _, r := range c.group(i).States().Replicas {
			if r.Local {
				return r.Role
			}
		}
		return replica.Resolving
	}
}

// A former primary that is latched needs OFFLINE and both endpoints opened anew, also where it answers nobody after
// OFFLINE; none of these alone is enough, nor a restart.
func TestALatchedFormerPrimary(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) { latched(t, config.FormerPrimaryLatched) })
	t.Run("silent", func(t *testing.T) { latched(t, config.FormerPrimaryLatched, config.OfflineIsSilent) })
}

func latched(t *testing.T, answers ...config.Answer) {
	t.Helper()
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(answers...)
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Expect(c.group(1).SetLease(replica.BootTime(), time.Hour)).To(Succeed())
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(1), "60s").Should(Equal(replica.Primary))
	refused := func() int32 { return number(c.group(0).BecomeSecondary(t.Context())) }
	g.Expect(refused()).To(Equal(int32(41104)))
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Expect(refused()).To(Equal(int32(41104)), "OFFLINE alone")
	c.restartEndpoint(0)
	g.Expect(refused()).To(Equal(int32(41104)), "this endpoint alone")
	c.restartEndpoint(1)
	g.Eventually(refused, "60s").Should(BeZero())
	g.Expect(c.group(2).BecomeSecondary(t.Context())).To(Succeed(), "it never led")
	c.synchronized(1, 0, 2)
}

// A lease that nobody has renewed in time does not come back, also while the primary has not seen that it is over.
func TestAnExpiredLeaseDoesNotComeBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(config.LeaseOverrun)
	c.servers[1].stop()
	c.servers[1].start()
	c.synchronized(0, 1)
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	began := replica.BootTime()
	g.Expect(c.group(1).SetLease(began, 2*time.Second)).To(Succeed())
	g.Expect(number(c.group(1).SetLease(began, time.Second))).To(Equal(int32(47119)), "it is not shortened")
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(1), "60s").Should(Equal(replica.Primary))
	g.Eventually(func() int32 { return number(c.group(1).SetLease(replica.BootTime(), 0)) }, "60s").
		Should(Equal(int32(47118)))
	g.Eventually(replica.BootTime, "10s", "10ms").Should(BeNumerically(">", began+2*time.Second))
	g.Expect(number(c.group(1).SetLease(replica.BootTime(), time.Minute))).To(Equal(int32(19407)))
	g.Eventually(c.role(1), "60s").Should(Equal(replica.Resolving))
}

// A replica that has joined a group with CLUSTER_TYPE = EXTERNAL is RESOLVING until its primary has reached it again.
func TestAJoinedReplicaIsResolvingAtFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	g.Eventually(c.role(1), "60s").Should(Equal(replica.Secondary))
	g.Expect(c.servers[1].m.Drop(t.Context(), c.group(1))).To(Succeed())
	j, err := c.servers[1].m.Join(t.Context(), "ag", group.External)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(j.States().Configuration.Options.ClusterType).To(Equal(group.External))
	g.Eventually(c.role(1), "60s").Should(Equal(replica.Secondary))
}

// OFFLINE and SET (ROLE = SECONDARY) end a seeding that is under way. It begins again.
func TestAChangeOfRoleEndsASeeding(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*replica.Group, context.Context) error{
		"OFFLINE": (*replica.Group).Offline, "SET (ROLE = SECONDARY)": (*replica.Group).BecomeSecondary,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, group.Synchronous, nil)
			c.synchronized(0, 1, 2)
			c.servers[1].slow.Store(true)
			c.servers[0].database("later")
			g.Expect(c.group(0).AddDatabase(t.Context(), "later")).To(Succeed())
			seeding := func() (states []string) {
				for _, s := range c.servers[1].m.Seedings() {
					if s.Name == "later" {
						states = append(states, s.State())
					}
				}
				return states
			}
			g.Eventually(c.servers[1].stuck.Load, "60s").Should(BeTrue())
			g.Expect(change(c.group(1), t.Context())).To(Succeed())
			g.Eventually(seeding, "60s").Should(ContainElement("FAILED"))
			c.servers[1].slow.Store(false)
			g.Expect(c.group(1).BecomeSecondary(t.Context())).To(Succeed())
			g.Eventually(seeding, "60s").Should(ContainElement("COMPLETED"))
		})
	}
}

// What a restarted former primary shows of itself for a moment, and a secondary of its primary, where they do so.
func TestWhatReplicasShowOtherwise(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.answering(config.PrimaryAfterRestart, config.NoPrimaryName, config.HardenedUnknown, config.HalfKnownReplicas)
	g.Expect(c.group(1).States().Nameless).To(BeTrue())
	c.servers[0].stop()
	c.servers[0].start()
	g.Expect(c.localRole(0)()).To(Equal(replica.Primary))
	g.Expect(c.role(0)()).To(Equal(replica.Resolving), "it serves nobody")
	st := c.group(0).States()
	g.Expect([]bool{st.HalfKnown, st.HardenedUnknown, st.Nameless}).To(Equal([]bool{true, true, false}))
	g.Expect(c.group(0).Offline(context.Background())).To(Succeed())
	g.Expect(c.localRole(0)()).To(Equal(replica.Resolving))
}
