// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

// plan is a new configuration of group ag with these servers as synchronous replicas and the first one's database.
func plan(servers ...*server) *group.Configuration {
	c := &group.Configuration{Name: "ag", Options: group.Options{ClusterType: group.External}}
	for _, s := range servers {
		c.Replicas = append(
			c.Replicas,
			group.Replica{ID: uuid.New(), Server: s.name, EndpointURL: "TCP://" + s.m.Address(), Mode: group.Synchronous,
				FailoverMode: "EXTERNAL", SessionTimeout: 5, SecondaryConnections: "ALL", PrimaryConnections: "ALL"},
		)
	}
	c.Databases = []group.Database{{ID: uuid.New(), Name: "app", Family: servers[0].Database("app").Identity().Family}}
	return c
}

func (s *server) create(c *group.Configuration) (*replica.Group, error) {
	return s.m.Create(s.t.Context(), c, replica.BootTime(), lease)
}

// A CREATE AVAILABILITY GROUP that fails leaves the databases as they were, and may be run again.
func TestAGroupThatCouldNotBeMadeLeavesItsDatabases(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := newServers(t, "a")[0]
	app := a.database("app")
	a.refuse = errors.New("master cannot be written to")
	_, err := a.create(plan(a))
	g.Expect(err).To(MatchError(a.refuse))
	a.refuse = nil
	g.Expect(len(a.m.Groups())).To(BeZero())
	g.Expect(insert(t.Context(), app, 1)).To(Succeed(), "it is in no group")
	_, err = a.create(plan(a))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(insert(t.Context(), app, 2)).To(Succeed())
}

// Two JOINs wait for one primary: the second does not take the first one's place, whose promises may be on disk
// already.
func TestAGroupIsJoinedOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	servers := newServers(t, "a", "b")
	a, b := servers[0], servers[1]
	a.database("app")
	type joined struct {
		group *replica.Group
		err   error
	}
	both := make(chan joined)
	for range 2 {
		go func() {
			j, err := b.m.Join(t.Context(), "ag", group.External)
			both <- joined{j, err}
		}()
	}
	_, err := a.create(plan(a, b))
	g.Expect(err).NotTo(HaveOccurred())
	first, second := <-both, <-both
	if first.err != nil {
		first, second = second, first
	}
	g.Expect(first.err).NotTo(HaveOccurred())
	g.Expect(number(second.err)).To(Equal(int32(41106)))
	g.Expect(b.m.Group("ag") == first.group).To(BeTrue())
}

// Commits ask the distributed group also where nobody waited until it was made.
func TestADistributedGroupThatNobodyWaitedForIsAskedAll(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := newServers(t, "a")[0]
	a.database("app")
	local, err := a.create(plan(a))
	g.Expect(err).NotTo(HaveOccurred())
	c := &group.Configuration{Name: "dag", Options: group.Options{ClusterType: group.None}, Replicas: []group.Replica{
		{ID: uuid.New(), Server: "ag", EndpointURL: "TCP://" + a.m.Address(), Mode: group.Synchronous, SessionTimeout: 5},
		{ID: uuid.New(), Server: "far", EndpointURL: "TCP://127.0.0.1:1", Mode: group.Synchronous, SessionTimeout: 5},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.m.CreateDistributed(ctx, c, replica.DistributedSpec{Local: local}); err != nil {
		g.Expect(number(err)).To(Equal(int32(41149)))
	}
	g.Expect(local.Above() == a.m.Group("dag")).To(BeTrue(), "it is the one above")
	g.Eventually(a.m.Group("dag").Role).Should(Equal(replica.Primary))
	g.Expect(insert(t.Context(), a.Database("app"), 1)).To(Succeed())
}
