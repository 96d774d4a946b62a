// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// A busy machine is slow; what is waited for comes nevertheless.
func init() { SetDefaultEventuallyTimeout(time.Minute) }

// cluster is a group over three servers: two synchronous replicas and a third of the given mode.
type cluster struct {
	t       *testing.T
	servers []*server
}

const lease = 5 * time.Minute

func newCluster(t *testing.T, third group.AvailabilityMode, change func(*group.Configuration)) *cluster {
	g := NewWithT(t)
	c := &cluster{t: t, servers: newServers(t, "a", "b", "c")}
	a := c.servers[0]
	db := a.database("app")
	for i := range 3 {
		g.Expect(insert(t.Context(), db, i)).To(Succeed())
	}
	conf := &group.Configuration{Name: "ag", Options: group.Options{ClusterType: group.External}}
	for i, s := range c.servers {
		r := group.Replica{
			ID:                   uuid.New(),
			Server:               s.name,
			EndpointURL:          "TCP://" + s.m.Address(),
			Mode:                 group.Synchronous,
			FailoverMode:         "EXTERNAL",
			AutomaticSeeding:     true,
			SessionTimeout:       5,
			SecondaryConnections: "ALL",
			PrimaryConnections:   "ALL",
		}
		if i == 2 {
			r.Mode = third
		}
		conf.Replicas = append(conf.Replicas, r)
	}
	conf.Databases = []group.Database{{ID: uuid.New(), Name: "app", Family: db.Identity().Family}}
	if change != nil {
		change(conf)
	}
	_, err := a.m.Create(t.Context(), conf, replica.BootTime(), lease)
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range c.servers[1:] {
		j, err := s.m.Join(t.Context(), "ag", group.External)
		g.Expect(err).NotTo(HaveOccurred())
		if r := conf.Server(s.name); r.Data() {
			g.Expect(j.Grant(true, []byte{1})).To(Succeed())
		}
	}
	return c
}

func (c *cluster) group(i int) *replica.Group { return c.servers[i].m.Group("ag") }

// synchronized waits until the servers are called synchronized by the primary p. How long that takes is a matter of how
// much log there is and of the machine: it fails when nothing has moved for a while.
func (c *cluster) synchronized(p int, servers ...int) {
	c.t.Helper()
	const still = time.Minute
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last, moved := "", time.Now()
	for {
		missing, at := c.unsynchronized(p, servers)
		if missing == "" {
			return
		}
		if at != last {
			last, moved = at, time.Now()
		}
		if time.Since(moved) > still {
			c.t.Fatalf("%s is not synchronized, and nothing has moved for %s: %s", missing, still, at)
		}
		<-tick.C
	}
}

// unsynchronized is a server that the primary p does not call synchronized, and how far all of them are.
func (c *cluster) unsynchronized(p int, servers []int) (missing, at string) {
	conf := c.group(p).Configuration()
	for _, i := range servers {
		if !conf.SynchronizedAt(c.group(i).Self()) {
			missing = c.servers[i].name
		}
		if db := c.servers[i].Database("app"); db != nil {
			applied, _ := db.Applied()
			at += fmt.Sprintf("%s has log to %s, redone to %s; ", c.servers[i].name, db.Log().End(), applied)
		}
		d := c.copyAt(i, i)
		at += fmt.Sprintf("%s, suspended %t; ", d.State, d.Suspended)
	}
	return missing, at
}

func (c *cluster) role(i int) func() replica.Role {
	return func() replica.Role { return c.group(i).Role() }
}

func number(err error) int32 {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func TestSeedingAndSynchronousCommit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	app := c.servers[0].Database("app")
	for i := 10; i < 60; i++ {
		g.Expect(insert(t.Context(), app, i)).To(Succeed())
		// Acknowledged: on disk at both secondaries, before the next statement.
		lsn, _ := app.Applied()
		for _, s := range c.servers[1:] {
			g.Expect(lsn.Less(s.Database("app").Log().Hardened())).
				To(BeTrue(), "an acknowledged commit is not hardened at %s", s.name)
		}
	}
	for _, s := range c.servers[1:] {
		g.Eventually(func() (int64, error) { return count(t.Context(), s.Database("app")) }).Should(Equal(int64(53)))
		g.Expect(errors.Is(insert(t.Context(), s.Database("app"), 999), storage.ErrReadOnly)).To(BeTrue())
	}
}

func TestPlannedFailoverAndBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	g.Expect(insert(t.Context(), c.servers[0].Database("app"), 10)).To(Succeed())
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Expect(c.role(0)()).To(Equal(replica.Resolving))
	g.Expect(number(insert(t.Context(), c.servers[0].Database("app"), 11))).To(Equal(int32(983)))
	_, err := count(t.Context(), c.servers[0].Database("app"))
	g.Expect(number(err)).To(Equal(int32(983)))
	g.Expect(number(c.group(1).Failover(t.Context()))).To(Equal(int32(41104)), "no lease yet")
	for i := range 3 {
		g.Expect(c.group(i).SetLease(replica.BootTime(), lease)).To(Succeed())
	}
	g.Expect(number(c.group(2).Failover(t.Context()))).To(Equal(int32(47109)))
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(1)).Should(Equal(replica.Primary))
	g.Expect(count(t.Context(), c.servers[1].Database("app"))).To(Equal(int64(4)))
	g.Expect(insert(t.Context(), c.servers[1].Database("app"), 12)).To(Succeed())

	// The old primary follows only when told to.
	g.Consistently(c.role(0), "300ms").Should(Equal(replica.Resolving))
	g.Expect(number(c.group(0).Failover(t.Context()))).To(Equal(int32(41142)), "it lacks a commit now")
	g.Expect(c.role(1)()).To(Equal(replica.Primary), "a refused failover must not disturb the primary")
	g.Expect(c.group(0).BecomeSecondary(t.Context())).To(Succeed())
	c.synchronized(1, 0)
	g.Eventually(func() (int64, error) { return count(t.Context(), c.servers[0].Database("app")) }).Should(Equal(int64(5)))
	g.Expect(c.group(0).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(0)).Should(Equal(replica.Primary))
	g.Eventually(c.role(1)).Should(Equal(replica.Resolving))
	g.Expect(count(t.Context(), c.servers[0].Database("app"))).To(Equal(int64(5)))
}

// Both questions of a promotion and the new primary's messages go over one connection to each of the others.
func TestAPromotionOpensOneConnectionToEach(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	before := c.servers[1].dialled.Load()
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	g.Expect(c.group(1).SetLease(replica.BootTime(), lease)).To(Succeed())
	g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(1), "60s").Should(Equal(replica.Primary))
	// With a connection for each question they would be eight.
	g.Expect(c.servers[1].dialled.Load()-before).
		To(BeNumerically("<=", 5), "two greeted, two asked before the greeting ended, and one of them once more")
	g.Expect(c.group(0).BecomeSecondary(t.Context())).To(Succeed())
	c.synchronized(1, 0)
}

func TestALostSecondaryIsGivenUpByConfigurationCommit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	before := c.group(0).Configuration().Sequence
	c.servers[1].stop()
	started := time.Now()
	g.Expect(insert(t.Context(), c.servers[0].Database("app"), 10)).To(Succeed())
	g.Expect(time.Since(started)).
		To(BeNumerically(">", 200*time.Millisecond), "the commit must have waited for the configuration")
	conf := c.group(0).Configuration()
	g.Expect(conf.Sequence).To(BeNumerically(">", before))
	g.Expect(conf.Databases[0].Synchronized).To(BeEmpty())
	g.Eventually(func() uint64 { return c.group(2).Configuration().Sequence }).Should(Equal(conf.Sequence))

	// It comes back, waits for its primary, and catches up by itself.
	c.servers[1].start()
	c.synchronized(0, 1)
	g.Eventually(func() (int64, error) { return count(t.Context(), c.servers[1].Database("app")) }).Should(Equal(int64(4)))
}

func TestASecondaryTakenOfflineIsGivenUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	g.Expect(c.group(1).Offline(t.Context())).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	g.Expect(insert(ctx, c.servers[0].Database("app"), 10)).To(Succeed())
	g.Expect(c.group(0).Configuration().SynchronizedAt(c.group(1).Self())).To(BeFalse())
	g.Expect(c.group(1).BecomeSecondary(t.Context())).To(Succeed())
	c.synchronized(0, 1)
}

func TestAnIsolatedPrimaryBlocks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	c.servers[1].stop()
	c.servers[2].stop()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err := insert(ctx, c.servers[0].Database("app"), 10)
	g.Expect(errors.Is(err, storage.ErrOutcomeUnknown)).To(BeTrue(), "%v", err)
	g.Expect(c.group(0).States().CommitPendingSince).NotTo(BeZero())
	c.servers[2].start()
	g.Expect(insert(t.Context(), c.servers[0].Database("app"), 11)).To(Succeed())
	g.Expect(c.group(0).States().CommitPendingSince).To(BeZero())
}

func TestTheLeaseEndsAndARestartedPrimaryResolves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	a := c.group(0)
	g.Expect(number(a.SetLease(replica.BootTime(), time.Second))).To(Equal(int32(47119)))
	c.servers[0].stop()
	c.servers[0].start()
	a = c.group(0)
	g.Expect(a.Role()).To(Equal(replica.Resolving))
	g.Expect(number(insert(t.Context(), c.servers[0].Database("app"), 10))).To(Equal(int32(983)))
	const lease = 1500 * time.Millisecond
	started := replica.BootTime()
	g.Expect(a.SetLease(started, lease)).To(Succeed())
	g.Expect(a.Failover(t.Context())).To(Succeed())
	g.Eventually(c.role(0)).Should(Equal(replica.Primary))
	// Its secondary follows it again by itself: it is the same server.
	c.synchronized(0, 1)
	g.Expect(insert(t.Context(), c.servers[0].Database("app"), 11)).To(Succeed())

	var last time.Duration
	id := 100
	g.Eventually(func() int32 {
		// When the answer comes says how busy this machine is.
		began := replica.BootTime()
		err := insert(t.Context(), c.servers[0].Database("app"), id)
		if err == nil {
			id++
			last = began
		}
		return number(err)
	}, "60s", "1ms").Should(Equal(int32(983)))
	g.Expect(last-started).To(BeNumerically("<", lease), "a commit was acknowledged after the lease")
	g.Eventually(c.role(0)).Should(Equal(replica.Resolving))
}

func TestForcedFailoverSuspendsAndTakesBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	c.servers[1].stop()
	app := c.servers[0].Database("app")
	for i := 10; i < 20; i++ {
		g.Expect(insert(t.Context(), app, i)).To(Succeed())
	}
	c.servers[0].stop()
	c.servers[1].start()
	b := c.group(1)
	g.Expect(b.SetLease(replica.BootTime(), lease)).To(Succeed())
	g.Expect(number(b.Failover(t.Context()))).To(Equal(int32(41142)), "it lacks acknowledged commits")
	g.Expect(b.Force(t.Context())).To(Succeed())
	g.Eventually(c.role(1)).Should(Equal(replica.Primary))
	g.Expect(insert(t.Context(), c.servers[1].Database("app"), 50)).To(Succeed())

	c.servers[0].start()
	g.Expect(c.group(0).BecomeSecondary(t.Context())).To(Succeed())
	g.Eventually(func() bool { return c.copyAt(0, 0).Suspended }).Should(BeTrue())
	g.Consistently(func() bool { return b.Configuration().SynchronizedAt(c.group(0).Self()) }, "500ms").Should(BeFalse())
	g.Expect(c.group(0).Resume("app")).To(Succeed())
	c.synchronized(1, 0)
	g.Eventually(func() (int64, error) { return count(t.Context(), c.servers[0].Database("app")) }).Should(Equal(int64(4)))
}

func TestRequiredSynchronizedSecondariesBlock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, func(c *group.Configuration) { c.Options.RequiredSynchronized = 1 })
	c.synchronized(0, 1, 2)
	c.servers[1].stop()
	g.Expect(insert(t.Context(), c.servers[0].Database("app"), 10)).To(Succeed())
	// The last secondary is suspended: a majority agrees that it is not synchronized, so only the requirement blocks.
	g.Expect(c.group(2).Suspend("app")).To(Succeed())
	g.Eventually(func() bool { return c.group(0).Configuration().SynchronizedAt(c.group(2).Self()) }).Should(BeFalse())
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	g.Expect(insert(ctx, c.servers[0].Database("app"), 11)).NotTo(Succeed())
	g.Expect(c.group(2).Resume("app")).To(Succeed())
	g.Expect(insert(t.Context(), c.servers[0].Database("app"), 12)).To(Succeed())
}

func TestSeedingNeedsTheGrant(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Asynchronous, nil)
	c.synchronized(0, 1)
	d := c.servers[0].database("later")
	g.Expect(c.group(1).Grant(false, nil)).To(Succeed())
	g.Expect(c.group(0).AddDatabase(t.Context(), "later")).To(Succeed())
	g.Eventually(func() int {
		for _, s := range c.servers[0].m.Seedings() {
			if s.Name == "later" && s.RemoteServer == "b" && s.State() == "FAILED" {
				return s.Failure
			}
		}
		return 0
	}).Should(Equal(203))
	g.Eventually(func() *storage.Database { return c.servers[2].Database("later") }).ShouldNot(BeNil())
	g.Expect(c.group(1).Grant(true, nil)).To(Succeed())
	g.Eventually(func() *storage.Database { return c.servers[1].Database("later") }).ShouldNot(BeNil())
	c.synchronized(0, 1)
	g.Expect(insert(t.Context(), d, 1)).To(Succeed())

	g.Expect(c.group(0).RemoveDatabase(t.Context(), "later")).To(Succeed())
	g.Eventually(func() storage.Mode { return c.servers[1].Database("later").Mode() }).Should(Equal(storage.Restoring))
	g.Expect(insert(t.Context(), d, 2)).To(Succeed())
}

// The client of ADD DATABASE left while the configuration was being committed: the commit stands, and so does all that
// follows from it.
func TestADatabaseIsWholeInItsGroupWhenTheClientHasLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	later := c.servers[0].database("later")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = c.group(0).AddDatabase(ctx, "later")
	g.Eventually(func() uuid.UUID { return c.servers[0].member("later") }).ShouldNot(Equal(uuid.Nil))
	g.Eventually(func() bool {
		conf := c.group(0).Configuration()
		return conf.DatabaseNamed("later") != nil && c.servers[1].Database("later") != nil &&
			conf.SynchronizedAt(c.group(1).Self())
	}).Should(BeTrue())
	c.servers[1].stop()
	c.servers[2].stop()
	ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	g.Expect(errors.Is(insert(ctx, later, 10), storage.ErrOutcomeUnknown)).To(BeTrue(), "nobody else has it")
}
