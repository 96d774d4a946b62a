// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"math"

	"geosql.dev/standin/syntax/token"
)

const (
	groupOption       = "AVAILABILITY GROUP"
	replicaOption     = "AVAILABILITY GROUP REPLICA"
	distributedOption = "DISTRIBUTED AVAILABILITY GROUP"
)

// availabilityGroupOption parses one option of WITH (create) or SET.
func (p *parser) availabilityGroupOption(o *AvailabilityGroupOptions, seen map[string]bool, create bool) {
	option := p.peek()
	p.once(seen, option.Fold)
	if create && p.creationOption(o) {
		return
	}
	switch {
	case p.accept("AUTOMATED_BACKUP_PREFERENCE", "="):
		o.AutomatedBackupPreference = ptr(p.oneOf("PRIMARY", "SECONDARY_ONLY", "SECONDARY", "NONE"))
	case p.accept("FAILURE_CONDITION_LEVEL", "="):
		o.FailureConditionLevel = ptr(p.integer())
	case p.accept("HEALTH_CHECK_TIMEOUT", "="):
		o.HealthCheckTimeout = ptr(p.integerIn(0, math.MaxUint32))
	case p.accept("DB_FAILOVER", "="):
		o.DBFailover = ptr(p.onOff())
	case p.accept("DTC_SUPPORT", "="):
		o.DTCSupport = ptr(p.oneOf("PER_DB", "NONE"))
	case p.accept("REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT", "="):
		o.RequiredSynchronizedCommits = ptr(p.integer())
	case p.accept("WRITE_LEASE_VALIDITY", "="):
		o.WriteLeaseValidity = ptr(p.integerIn(0, math.MaxInt32))
	case p.accept("CLUSTER_CONNECTION_OPTIONS", "="):
		o.ClusterConnectionOptions = ptr(p.stringLiteral())
	case !create && p.accept("ROLE", "="):
		o.Role = ptr(p.oneOf("SECONDARY"))
	default:
		p.unknownOption(groupOption)
	}
}

// creationOption parses the options that only CREATE has.
func (p *parser) creationOption(o *AvailabilityGroupOptions) bool {
	switch {
	case p.accept("CLUSTER_TYPE", "="):
		o.ClusterType = ptr(p.oneOf("WSFC", "EXTERNAL", "NONE"))
	case p.accept("BASIC"):
		o.Basic = true
	case p.accept("DISTRIBUTED"):
		o.Distributed = true
	case p.accept("CONTAINED"):
		o.Contained = true
	case o.Contained && p.accept("REUSE_SYSTEM_DATABASES"):
		o.ReuseSystemDatabases = true
	case o.Contained && p.accept("AUTOSEEDING_SYSTEM_DATABASES"):
		o.AutoseedingSystemDatabases = true
	default:
		return false
	}
	return true
}

func (p *parser) replicaSpecs() []ReplicaSpec {
	var all []ReplicaSpec
	for {
		r := ReplicaSpec{Server: p.serverName()}
		p.expect("WITH")
		seen := map[string]bool{}
		p.list(func() { p.replicaOption(&r, seen) })
		all = append(all, r)
		if !p.accept(",") {
			return all
		}
	}
}

// modifiedReplica parses MODIFY REPLICA ON's server and its one option.
func (p *parser) modifiedReplica() ReplicaSpec {
	r := ReplicaSpec{Server: p.serverName()}
	p.expect("WITH", "(")
	p.replicaOption(&r, map[string]bool{})
	p.expect(")")
	return r
}

func (p *parser) replicaOption(r *ReplicaSpec, seen map[string]bool) {
	p.once(seen, p.peek().Fold)
	switch {
	case p.accept("ENDPOINT_URL", "="):
		r.EndpointURL = ptr(p.stringLiteral())
	case p.accept("AVAILABILITY_MODE", "="):
		r.AvailabilityMode = ptr(p.oneOf("SYNCHRONOUS_COMMIT", "ASYNCHRONOUS_COMMIT", "CONFIGURATION_ONLY"))
	case p.accept("FAILOVER_MODE", "="):
		r.FailoverMode = ptr(p.oneOf("AUTOMATIC", "MANUAL", "EXTERNAL"))
	case p.accept("SEEDING_MODE", "="):
		r.SeedingMode = ptr(p.oneOf("AUTOMATIC", "MANUAL"))
	case p.accept("BACKUP_PRIORITY", "="):
		r.BackupPriority = ptr(p.integer())
	case p.accept("SESSION_TIMEOUT", "="):
		r.SessionTimeout = ptr(p.integerIn(0, math.MaxInt32))
	case p.accept("PRIMARY_ROLE"):
		r.PrimaryRole = p.role(p.primaryRoleOption)
	case p.accept("SECONDARY_ROLE"):
		r.SecondaryRole = p.role(p.secondaryRoleOption)
	default:
		p.unknownOption(replicaOption)
	}
}

// role parses ( option [,] option ... ): the documented commas between role options may be left out.
func (p *parser) role(option func(*RoleSpec)) *RoleSpec {
	r := &RoleSpec{}
	seen := map[string]bool{}
	p.expect("(")
	for {
		p.once(seen, p.peek().Fold)
		option(r)
		if p.accept(")") {
			return r
		}
		p.accept(",")
	}
}

func (p *parser) primaryRoleOption(r *RoleSpec) {
	switch {
	case p.accept("ALLOW_CONNECTIONS", "="):
		r.AllowConnections = ptr(p.oneOf("READ_WRITE", "ALL"))
	case p.accept("READ_ONLY_ROUTING_LIST", "="):
		r.HasRoutingList = true
		if p.accept("NONE") {
			return
		}
		p.list(func() { r.ReadOnlyRoutingList = append(r.ReadOnlyRoutingList, p.routingSet()) })
	case p.accept("READ_WRITE_ROUTING_URL", "="):
		r.ReadWriteRoutingURL = ptr(p.routingURL())
	default:
		p.unknownOption(replicaOption)
	}
}

func (p *parser) secondaryRoleOption(r *RoleSpec) {
	switch {
	case p.accept("ALLOW_CONNECTIONS", "="):
		r.AllowConnections = ptr(p.oneOf("NO", "READ_ONLY", "ALL"))
	case p.accept("READ_ONLY_ROUTING_URL", "="):
		r.ReadOnlyRoutingURL = ptr(p.routingURL())
	default:
		p.unknownOption(replicaOption)
	}
}

func (p *parser) routingURL() string {
	if p.accept("NONE") {
		return ""
	}
	return p.stringLiteral()
}

// routingSet parses one server or a parenthesized set that is balanced
// (docs/database-engine/availability-groups/windows/configure-read-only-routing-for-an-availability-group-sql-server.md).
func (p *parser) routingSet() []string {
	var set []string
	if p.is("(") {
		p.list(func() { set = append(set, p.routingServer()) })
		return set
	}
	return []string{p.routingServer()}
}

// routingServer is a server of a routing list: a string, or a name as in the last example of
// docs/t-sql/statements/create-availability-group-transact-sql.md.
func (p *parser) routingServer() string {
	if p.peek().Kind == token.String {
		return p.stringLiteral()
	}
	return p.name()
}

// distributedMembers parses the two members of a distributed group; complete demands the options that CREATE and JOIN
// do.
func (p *parser) distributedMembers(complete bool) []DistributedMember {
	var all []DistributedMember
	for {
		m := DistributedMember{Group: p.serverName()}
		p.expect("WITH")
		seen := map[string]bool{}
		p.list(func() { p.distributedOption(&m, seen) })
		if complete && (m.ListenerURL == nil || m.AvailabilityMode == nil || m.FailoverMode == nil) {
			p.refuse()
		}
		all = append(all, m)
		if !p.accept(",") {
			return all
		}
		if len(all) == 2 {
			p.refuse()
		}
	}
}

func (p *parser) distributedOption(m *DistributedMember, seen map[string]bool) {
	p.once(seen, p.peek().Fold)
	switch {
	case p.accept("LISTENER_URL", "="), p.accept("LISTENER", "="):
		m.ListenerURL = ptr(p.stringLiteral())
	case p.accept("AVAILABILITY_MODE", "="):
		m.AvailabilityMode = ptr(p.oneOf("SYNCHRONOUS_COMMIT", "ASYNCHRONOUS_COMMIT"))
	case p.accept("FAILOVER_MODE", "="):
		m.FailoverMode = ptr(p.oneOf("MANUAL"))
	case p.accept("SEEDING_MODE", "="):
		m.SeedingMode = ptr(p.oneOf("AUTOMATIC", "MANUAL"))
	default:
		p.unknownOption(distributedOption)
	}
}
