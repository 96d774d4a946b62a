// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/syntax"
)

// createDistributed is CREATE AVAILABILITY GROUP ... WITH (DISTRIBUTED) AVAILABILITY GROUP ON
// (docs/t-sql/statements/create-availability-group-transact-sql.md, "Distributed availability groups").
func (e *Extension) createDistributed(ctx context.Context, s *engine.Session, n *syntax.CreateAvailabilityGroup) error {
	if onlyDistributed := (syntax.AvailabilityGroupOptions{Distributed: true}); n.Options != onlyDistributed {
		return failure(19497)
	}
	if other := e.replicas().Group(n.Name); other != nil {
		return failure(19509, n.Name)
	}
	local, err := e.member(n.Name, n.Members)
	if err != nil {
		return err
	}
	c := &group.Configuration{
		Name: n.Name,
		Options: group.Options{
			ClusterType:           group.None,
			BackupPreference:      2,
			FailureConditionLevel: 3,
			HealthCheckTimeout:    30000,
			Distributed:           true,
		},
	}
	now := time.Now().UTC()
	for i := range n.Members {
		m := &n.Members[i]
		r := group.Replica{
			ID:                   uuid.New(),
			Server:               m.Group,
			FailoverMode:         "MANUAL",
			BackupPriority:       50,
			SessionTimeout:       10,
			OwnerSID:             s.Login().SID,
			PrimaryConnections:   "ALL",
			SecondaryConnections: "ALL",
			Created:              now,
			Modified:             now,
		}
		r.MetadataID = metadataID(r.ID)
		if err := setMember(&r, m); err != nil {
			return err
		}
		c.Replicas = append(c.Replicas, r)
	}
	if len(local.Configuration().Databases) == 0 {
		for _, g := range e.replicas().Groups() {
			if g.Distributed() && g.Member() == local {
				return failure(19502, n.Name)
			}
		}
	}
	return e.replicas().CreateDistributed(ctx, c, replica.DistributedSpec{Local: local, Owner: s.Login().SID})
}

// member finds the one of a distributed group's two members that is a group of this server.
func (e *Extension) member(name string, members []syntax.DistributedMember) (*replica.Group, error) {
	if len(members) != 2 {
		return nil, failure(19508, "(one of two)", name)
	}
	if equal(members[0].Group, members[1].Group) {
		return nil, failure(35235, members[1].Group)
	}
	var local *replica.Group
	for i := range members {
		if g := e.replicas().Group(members[i].Group); g != nil && local == nil {
			local = g
		}
	}
	switch {
	case local == nil || local.Distributed():
		return nil, failure(19501)
	case local.Above() != nil && local.Above().Role() != replica.Primary:
		return nil, failure(19503, local.Name())
	case local.Above() != nil:
		return nil, failure(19502, local.Above().Name())
	}
	return local, nil
}

// setMember takes the given options of a member.
func setMember(r *group.Replica, m *syntax.DistributedMember) error {
	if m.ListenerURL != nil {
		if _, err := endpoint.ParseURL(*m.ListenerURL); err != nil {
			return failure(19499, *m.ListenerURL)
		}
		r.EndpointURL = *m.ListenerURL
	}
	if m.AvailabilityMode != nil {
		r.Mode = availabilityMode(*m.AvailabilityMode)
	}
	if m.SeedingMode != nil {
		r.AutomaticSeeding = *m.SeedingMode == "AUTOMATIC"
	}
	return nil
}

// joinDistributed is JOIN AVAILABILITY GROUP ON, at the primary of the second group.
func (e *Extension) joinDistributed(
	ctx context.Context,
	s *engine.Session,
	name string,
	a syntax.AGJoinDistributed,
) error {
	if !e.security.MayServer(ctx, s, "ALTER ANY AVAILABILITY GROUP") {
		return failure(15247)
	}
	if e.replicas().Group(name) != nil {
		return failure(19509, name)
	}
	local, err := e.member(name, a.Members)
	if err != nil {
		return err
	}
	for i := range a.Members {
		if err := setMember(&group.Replica{Server: a.Members[i].Group}, &a.Members[i]); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	return e.replicas().
		JoinDistributed(ctx, name, replica.DistributedSpec{Local: local, Owner: s.Login().SID},
			func(c *group.Configuration) error {
				for i := range a.Members {
					if c.Server(a.Members[i].Group) == nil {
						return failure(19508, a.Members[i].Group, name)
					}
				}
				return nil
			})
}

// alterDistributed is what a distributed group takes of ALTER AVAILABILITY GROUP
// (docs/database-engine/availability-groups/windows/configure-distributed-availability-groups.md).
func (e *Extension) alterDistributed(ctx context.Context, g *replica.Group, action any) error {
	switch a := action.(type) {
	case syntax.AGModifyDistributed:
		return g.ChangeDistributed(ctx, func(c *group.Configuration) error {
			for i := range a.Members {
				r := c.Server(a.Members[i].Group)
				if r == nil {
					return failure(19508, a.Members[i].Group, c.Name)
				}
				if err := setMember(r, &a.Members[i]); err != nil {
					return err
				}
				r.Modified = time.Now().UTC()
			}
			return nil
		})
	case syntax.AGSet:
		return setDistributed(ctx, g, a.Options)
	case syntax.AGFailover:
		return failure(19504, g.Name())
	case syntax.AGForceFailover:
		if m := g.Member(); m == nil || m.Role() != replica.Primary {
			return failure(41140, g.Name())
		}
		return g.Force(ctx)
	case syntax.AGGrantCreateAnyDatabase:
		return g.Grant(!a.Deny, nil)
	}
	return failure(
		41190,
		g.Name(),
		"ALTER AVAILABILITY GROUP",
		"(a distributed availability group takes MODIFY AVAILABILITY GROUP ON, SET (ROLE = SECONDARY), "+
			"SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT), FORCE_FAILOVER_ALLOW_DATA_LOSS and DROP only)",
	)
}

// setDistributed is SET ( option ) of a distributed group: REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT may be set at
// the old global primary while no side is primary.
func setDistributed(ctx context.Context, g *replica.Group, o syntax.AvailabilityGroupOptions) error {
	if m := g.Member(); m == nil || m.Role() != replica.Primary {
		return failure(41140, g.Name())
	}
	switch {
	case o.Role != nil:
		return g.BecomeSecondary(ctx)
	case o.RequiredSynchronizedCommits == nil:
		return failure(19497)
	}
	return g.ChangeDistributed(ctx, func(c *group.Configuration) error {
		required := *o.RequiredSynchronizedCommits
		if required < 0 || required > 1 {
			return failure(35248, "ALTER AVAILABILITY GROUP", required, 1, c.Name)
		}
		c.Options.RequiredSynchronized = int(required)
		return nil
	})
}

// memberGroup is sys.fn_hadr_distributed_ag_replica: the local group that is a distributed group's replica here
// (docs/relational-databases/system-functions/sys-fn-hadr-distributed-ag-replica-transact-sql.md). Of the other member
// this server has no group.
func (e *Extension) memberGroup(_ context.Context, _ *engine.Session, args []any) ([][]any, error) {
	if g := e.distributedByID(args[0]); g != nil && g.Member() != nil && args[1] == g.Self() {
		return [][]any{{g.Member().ID()}}, nil
	}
	return nil, nil
}

// memberDatabase is sys.fn_hadr_distributed_ag_database_replica: a distributed group's database as the local group
// knows it (docs/relational-databases/system-functions/sys-fn-hadr-distributed-ag-database-replica-transact-sql.md).
func (e *Extension) memberDatabase(_ context.Context, _ *engine.Session, args []any) ([][]any, error) {
	g := e.distributedByID(args[0])
	if g == nil || g.Member() == nil {
		return nil, nil
	}
	for _, d := range g.Configuration().Databases {
		if args[1] != d.ID {
			continue
		}
		for _, local := range g.Member().Configuration().Databases {
			if strings.EqualFold(local.Name, d.Name) {
				return [][]any{{local.ID}}, nil
			}
		}
	}
	return nil, nil
}

func (e *Extension) distributedByID(id any) *replica.Group {
	if e.replicas() == nil {
		return nil
	}
	for _, g := range e.replicas().Groups() {
		if g.Distributed() && id == g.ID() {
			return g
		}
	}
	return nil
}
