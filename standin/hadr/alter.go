// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// alter is ALTER AVAILABILITY GROUP.
func (e *Extension) alter(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
	started := replica.BootTime()
	n := st.Node.(*syntax.AlterAvailabilityGroup)
	if err := e.mayDefine(s, "ALTER AVAILABILITY GROUP"); err != nil {
		return err
	}
	switch join := n.Action.(type) {
	case syntax.AGJoin:
		return e.join(ctx, s, n.Name, join)
	case syntax.AGJoinDistributed:
		return e.joinDistributed(ctx, s, n.Name, join)
	}
	g := e.replicas().Group(n.Name)
	if g == nil || !e.mayGroup(ctx, s, g, "ALTER") {
		return failure(15151, "alter", "availability group", n.Name)
	}
	if g.Distributed() {
		return e.alterDistributed(ctx, g, n.Action)
	}
	switch a := n.Action.(type) {
	case syntax.AGSet:
		return e.set(ctx, g, a.Options, started)
	case syntax.AGGrantCreateAnyDatabase:
		return g.Grant(!a.Deny, s.Login().SID)
	case syntax.AGFailover, syntax.AGForceFailover, syntax.AGOffline:
		return e.changeRole(ctx, s, g, a)
	case syntax.AGModifyDistributed:
		return failure(19512, n.Name)
	}
	if err := onPrimary(g); err != nil {
		return err
	}
	switch a := n.Action.(type) {
	case syntax.AGAddDatabase:
		return e.addDatabases(ctx, g, a.Databases)
	case syntax.AGRemoveDatabase:
		return removeDatabases(ctx, g, a.Databases)
	case syntax.AGAddReplica:
		return e.addReplicas(ctx, s, g, a.Replicas)
	case syntax.AGModifyReplica:
		return modifyReplica(ctx, g, a.Replica)
	case syntax.AGRemoveReplica:
		return removeReplicas(ctx, g, a.Servers)
	}
	if a, ok := n.Action.(syntax.AGAddListener); ok {
		if err := e.hostable(a.Listener); err != nil {
			return err
		}
	}
	return alterListener(ctx, g, n.Action)
}

// onPrimary is 41140 elsewhere.
func onPrimary(g *replica.Group) error {
	if g.Role() != replica.Primary {
		return failure(41140, g.Name())
	}
	return nil
}

// joinTimeout is how long JOIN waits for the primary to connect.
const joinTimeout = 20 * time.Second

// join is JOIN WITH (CLUSTER_TYPE = ...).
func (e *Extension) join(ctx context.Context, s *engine.Session, name string, a syntax.AGJoin) error {
	if !e.security.MayServer(ctx, s, "ALTER ANY AVAILABILITY GROUP") {
		return failure(15247)
	}
	if a.ClusterType == "" || a.ClusterType == "WSFC" {
		return failure(35224)
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	_, err := e.replicas().Join(ctx, name, clusterType(a.ClusterType))
	return err
}

// set is SET ( option ).
func (e *Extension) set(
	ctx context.Context,
	g *replica.Group,
	o syntax.AvailabilityGroupOptions,
	started time.Duration,
) error {
	switch {
	case o.Role != nil:
		return g.BecomeSecondary(ctx)
	case o.WriteLeaseValidity != nil:
		return g.SetLease(started, time.Duration(*o.WriteLeaseValidity)*time.Second)
	case o.ClusterConnectionOptions != nil:
		return failure(47115, "CLUSTER_CONNECTION_OPTIONS", g.Name())
	}
	if err := onPrimary(g); err != nil {
		return err
	}
	return g.Alter(ctx, func(c *group.Configuration) error {
		if err := setOptions(c, o); err != nil {
			return err
		}
		return checkGroup(c, "ALTER AVAILABILITY GROUP")
	})
}

// changeRole is FAILOVER, FORCE_FAILOVER_ALLOW_DATA_LOSS and OFFLINE.
func (e *Extension) changeRole(ctx context.Context, s *engine.Session, g *replica.Group, action any) error {
	if _, ok := action.(syntax.AGOffline); ok {
		return g.Offline(ctx)
	}
	_, force := action.(syntax.AGForceFailover)
	cluster := g.Configuration().Options.ClusterType
	// Only the cluster manager moves an EXTERNAL group: it shows itself by this session key (mssql-server-ha).
	if key, _ := s.Context("external_cluster").(string); cluster == group.External && !strings.EqualFold(key, "yes") {
		return failure(47104, g.Name())
	}
	if force {
		return g.Force(ctx)
	}
	if cluster == group.None {
		return failure(47122, g.Name())
	}
	return g.Failover(ctx)
}

func (e *Extension) addDatabases(ctx context.Context, g *replica.Group, names []string) error {
	if c := g.Configuration(); c.Options.Basic && len(c.Databases)+len(names) > maxBasicDatabases {
		return failure(41199, "more than one database")
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[strings.ToLower(name)] {
			return failure(35234, name)
		}
		seen[strings.ToLower(name)] = true
		if _, err := e.candidate(name, g.Name()); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := g.AddDatabase(ctx, e.inst.Database(name).Name()); err != nil {
			return err
		}
	}
	return nil
}

// stepwise changes a configuration in steps that each have to be agreed on: none is taken unless all of them can be.
func stepwise(ctx context.Context, g *replica.Group, steps []func(*group.Configuration) error) error {
	rehearsed := g.Configuration().Clone()
	for _, step := range steps {
		if err := step(rehearsed); err != nil {
			return err
		}
	}
	for _, step := range steps {
		if err := g.Alter(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func removeDatabases(ctx context.Context, g *replica.Group, names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		switch c := g.Configuration(); {
		case seen[strings.ToLower(name)]:
			return failure(35234, name)
		case c.DatabaseNamed(name) == nil:
			return failure(35281, name, c.Name)
		}
		seen[strings.ToLower(name)] = true
	}
	for _, name := range names {
		if err := g.RemoveDatabase(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// addReplicas adds one replica after another: a configuration changes one voter at a time.
func (e *Extension) addReplicas(
	ctx context.Context,
	s *engine.Session,
	g *replica.Group,
	specs []syntax.ReplicaSpec,
) error {
	var steps []func(*group.Configuration) error
	for i := range specs {
		steps = append(steps, func(c *group.Configuration) error {
			if c.Server(specs[i].Server) != nil {
				return failure(35282, specs[i].Server, c.Name)
			}
			r, err := newReplica(c, &specs[i], s.Login().SID, time.Now().UTC())
			if err != nil {
				return err
			}
			c.Replicas = append(c.Replicas, *r)
			return checkGroup(c, "ADD REPLICA")
		})
	}
	return stepwise(ctx, g, steps)
}

// modifyReplica is MODIFY REPLICA ON with its one option.
func modifyReplica(ctx context.Context, g *replica.Group, spec syntax.ReplicaSpec) error {
	return g.Alter(ctx, func(c *group.Configuration) error {
		r := c.Server(spec.Server)
		if r == nil {
			return failure(35210, spec.Server, c.Name)
		}
		if r.Mode == group.ConfigurationOnly && spec.SessionTimeout == nil {
			return failure(47112)
		}
		if spec.AvailabilityMode != nil && availabilityMode(*spec.AvailabilityMode) == group.ConfigurationOnly {
			return failure(47113, "AVAILABILITY_MODE", spec.Server)
		}
		if err := setReplica(c, r, &spec, "MODIFY REPLICA"); err != nil {
			return err
		}
		r.Modified = time.Now().UTC()
		return checkGroup(c, "MODIFY REPLICA")
	})
}

func removeReplicas(ctx context.Context, g *replica.Group, servers []string) error {
	var steps []func(*group.Configuration) error
	for _, server := range servers {
		steps = append(steps, func(c *group.Configuration) error {
			r := c.Server(server)
			switch {
			case r == nil:
				return failure(35283, server, c.Name)
			case r.ID == c.Primary:
				return failure(35284, server, c.Name)
			}
			gone := r.ID
			c.Replicas = slices.DeleteFunc(c.Replicas, func(o group.Replica) bool { return o.ID == gone })
			for i := range c.Replicas {
				dropRoute(&c.Replicas[i], server)
			}
			return checkGroup(c, "REMOVE REPLICA")
		})
	}
	return stepwise(ctx, g, steps)
}

// dropRoute takes a removed server out of a routing list.
func dropRoute(r *group.Replica, server string) {
	var kept [][]string
	for _, set := range r.ReadOnlyRoutingList {
		var names []string
		for _, n := range set {
			if !equal(n, server) {
				names = append(names, n)
			}
		}
		if len(names) > 0 {
			kept = append(kept, names)
		}
	}
	r.ReadOnlyRoutingList = kept
}

func equal(a, b string) bool { return strings.EqualFold(a, b) }

// setHADR is ALTER DATABASE ... SET HADR.
func (e *Extension) setHADR(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	action any,
	_ tds.Writer,
) error {
	if err := e.enabled(); err != nil {
		return err
	}
	a, ok := action.(syntax.DBSetHADR)
	if !ok {
		return fmt.Errorf("SET HADR got a %T", action)
	}
	if db.System() {
		return failure(35261, db.Name())
	}
	if a.Action == "JOIN" {
		g, err := e.group(a.Group)
		if err != nil {
			return err
		}
		if other := e.replicas().GroupOf(db.Name()); other != nil && other != g && other.Above() != g {
			return failure(35259, db.Name())
		}
		return g.JoinDatabase(ctx, db.Name())
	}
	g := e.replicas().GroupOf(db.Name())
	if g == nil {
		return failure(35242, db.Name())
	}
	// The forwarder's copy moves as the distributed group's.
	if d := g.Above(); d != nil && g.Role() == replica.Primary && d.Role() == replica.Secondary && d.Has(db.Name()) {
		g = d
	}
	switch a.Action {
	case "SUSPEND":
		return g.Suspend(db.Name())
	case "RESUME":
		return g.Resume(db.Name())
	}
	return g.LeaveDatabase(ctx, db.Name())
}
