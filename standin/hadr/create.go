// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

const (
	// maxNameLength is the longest name of a group with CLUSTER_TYPE EXTERNAL or NONE.
	maxNameLength = 64
	// Bounds of FAILURE_CONDITION_LEVEL, and the least HEALTH_CHECK_TIMEOUT in milliseconds
	// (docs/t-sql/statements/create-availability-group-transact-sql.md, Arguments).
	minFailureConditionLevel = 1
	maxFailureConditionLevel = 5
	minHealthCheckTimeout    = 15000
)

// create is CREATE AVAILABILITY GROUP.
func (e *Extension) create(ctx context.Context, s *engine.Session, st syntax.Statement, _ tds.Writer) error {
	started := replica.BootTime()
	n := st.Node.(*syntax.CreateAvailabilityGroup)
	if err := e.mayDefine(s, createOperation); err != nil {
		return err
	}
	// The page asks for a member of sysadmin and one of the permissions; members have them all.
	if !s.Login().Sysadmin {
		return failure(15247)
	}
	if !n.Options.Distributed && len(n.Members) > 0 {
		return failure(19498)
	}
	if n.Options.Distributed {
		return e.createDistributed(ctx, s, n)
	}
	c, err := newConfiguration(n)
	if err != nil {
		return err
	}
	if e.replicas().Group(n.Name) != nil {
		return failure(41114, n.Name)
	}
	now := time.Now().UTC()
	for i := range n.Replicas {
		r, err := newReplica(c, &n.Replicas[i], s.Login().SID, now)
		if err != nil {
			return err
		}
		c.Replicas = append(c.Replicas, *r)
	}
	self := c.Server(e.inst.ServerName())
	if self == nil {
		return failure(35237, n.Name)
	}
	if self.Mode == group.ConfigurationOnly {
		return failure(47109, n.Name)
	}
	if err := checkGroup(c, createOperation); err != nil {
		return err
	}
	if err := e.firstDatabases(c, n.Databases); err != nil {
		return err
	}
	if err := checkEdition(c, e.inst.Config().Edition); err != nil {
		return err
	}
	if n.Listener != nil {
		if err := e.hostable(*n.Listener); err != nil {
			return err
		}
		if err := addListener(c, *n.Listener); err != nil {
			return err
		}
	}
	lease := time.Duration(0)
	if v := n.Options.WriteLeaseValidity; v != nil {
		if *v <= 0 {
			return failure(47117, "WRITE_LEASE_VALIDITY", n.Name)
		}
		lease = time.Duration(*v) * time.Second
	}
	_, err = e.replicas().Create(ctx, c, started, lease)
	return err
}

// firstDatabases takes FOR DATABASE.
func (e *Extension) firstDatabases(c *group.Configuration, names []string) error {
	for _, name := range names {
		if c.DatabaseNamed(name) != nil {
			return failure(35234, name)
		}
		db, err := e.candidate(name, c.Name)
		if err != nil {
			return err
		}
		c.Databases = append(
			c.Databases,
			group.Database{ID: uuid.New(), Name: db.Name(), Family: db.Storage().Identity().Family},
		)
	}
	return nil
}

// newConfiguration takes the group's options.
func newConfiguration(n *syntax.CreateAvailabilityGroup) (*group.Configuration, error) {
	o := n.Options
	c := &group.Configuration{
		Name:    n.Name,
		Options: group.Options{BackupPreference: 2, FailureConditionLevel: 3, HealthCheckTimeout: 30000, Basic: o.Basic},
	}
	if o.ClusterType == nil || *o.ClusterType == "WSFC" {
		return nil, failure(35224)
	}
	c.Options.ClusterType = clusterType(*o.ClusterType)
	if len([]rune(n.Name)) > maxNameLength {
		return nil, failure(103, "identifier", n.Name, maxNameLength)
	}
	switch {
	case o.Contained:
		return nil, failure(41199, "CONTAINED")
	case o.ClusterConnectionOptions != nil:
		return nil, failure(47115, "CLUSTER_CONNECTION_OPTIONS", n.Name)
	case o.WriteLeaseValidity != nil && c.Options.ClusterType != group.External:
		return nil, failure(47115, "WRITE_LEASE_VALIDITY", n.Name)
	}
	return c, setOptions(c, o)
}

func clusterType(name string) group.ClusterType {
	switch name {
	case "EXTERNAL":
		return group.External
	case "NONE":
		return group.None
	}
	return group.WSFC
}

// setOptions takes the options that CREATE and SET have in common.
func setOptions(c *group.Configuration, o syntax.AvailabilityGroupOptions) error {
	if o.AutomatedBackupPreference != nil {
		c.Options.BackupPreference = map[string]uint8{"PRIMARY": 0, "SECONDARY_ONLY": 1, "SECONDARY": 2,
			"NONE": 3}[*o.AutomatedBackupPreference]
	}
	if level := o.FailureConditionLevel; level != nil {
		if *level < minFailureConditionLevel || *level > maxFailureConditionLevel {
			return failure(35228, c.Name, minFailureConditionLevel, maxFailureConditionLevel)
		}
		c.Options.FailureConditionLevel = int(*o.FailureConditionLevel)
	}
	if timeout := o.HealthCheckTimeout; timeout != nil {
		if *timeout < minHealthCheckTimeout {
			return failure(35229, c.Name, minHealthCheckTimeout)
		}
		c.Options.HealthCheckTimeout = *o.HealthCheckTimeout
	}
	if o.DBFailover != nil {
		c.Options.DBFailover = *o.DBFailover
	}
	if o.DTCSupport != nil && *o.DTCSupport != "NONE" {
		return failure(41199, "DTC_SUPPORT = PER_DB")
	}
	if o.RequiredSynchronizedCommits != nil {
		c.Options.RequiredSynchronized = int(*o.RequiredSynchronizedCommits)
	}
	return nil
}

// candidate checks that a database may be added to a group.
func (e *Extension) candidate(name, groupName string) (*engine.Database, error) {
	db := e.inst.Database(name)
	switch {
	case db == nil:
		return nil, failure(35238, name, groupName)
	case db.System():
		return nil, failure(35249, name)
	}
	if other := e.replicas().GroupOf(name); other != nil {
		if strings.EqualFold(other.Name(), groupName) {
			return nil, failure(35280, name, groupName)
		}
		return nil, failure(35244, name, groupName)
	}
	st := db.Storage()
	switch {
	case db.State() == engine.Restoring:
		return nil, failure(927, name)
	case st == nil || db.State() != engine.Online:
		return nil, failure(1467, name)
	case db.Info().ReadOnly:
		return nil, failure(1466, name)
	case st.RecoveryModel() != storage.Full:
		return nil, failure(1465, name)
	}
	if full, _ := st.BackupPositions(); full.IsZero() {
		return nil, failure(1475, name)
	}
	return db, nil
}

// drop is DROP AVAILABILITY GROUP.
func (e *Extension) drop(ctx context.Context, s *engine.Session, st syntax.Statement, _ tds.Writer) error {
	n := st.Node.(*syntax.DropAvailabilityGroup)
	if err := e.mayDefine(s, "DROP AVAILABILITY GROUP"); err != nil {
		return err
	}
	g := e.replicas().Group(n.Name)
	if g == nil {
		return failure(15151, "drop", "availability group", n.Name)
	}
	if !e.mayGroup(ctx, s, g, "CONTROL") {
		return failure(15151, "drop", "availability group", n.Name)
	}
	switch {
	case g.Distributed():
		return e.replicas().DropDistributed(ctx, g)
	case g.Above() != nil:
		return failure(
			41190,
			n.Name,
			"DROP AVAILABILITY GROUP",
			"(it is a member of the distributed availability group '"+g.Above().Name()+"', which has to be dropped first)",
		)
	}
	return e.replicas().Drop(ctx, g)
}

// mayGroup tells whether the session may alter the group.
func (e *Extension) mayGroup(ctx context.Context, s *engine.Session, g *replica.Group, permission string) bool {
	return e.security.MayServer(ctx, s, "ALTER ANY AVAILABILITY GROUP") ||
		e.security.MayOnGroup(ctx, s, permission, securableID(g))
}
