// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"
)

// CreateAvailabilityGroup is CREATE AVAILABILITY GROUP
// (docs/t-sql/statements/create-availability-group-transact-sql.md).
type CreateAvailabilityGroup struct {
	own
	Name      string
	Options   AvailabilityGroupOptions
	Databases []string
	Replicas  []ReplicaSpec
	Listener  *ListenerSpec
	// Members are the two groups of a distributed one.
	Members []DistributedMember
}

// AvailabilityGroupOptions are WITH's and SET's options; nil is not given.
type AvailabilityGroupOptions struct {
	// AutomatedBackupPreference is PRIMARY, SECONDARY_ONLY, SECONDARY or NONE.
	AutomatedBackupPreference *string
	// FailureConditionLevel is any whole number: who executes it knows the range (35228).
	FailureConditionLevel *int64
	// HealthCheckTimeout is in milliseconds; who executes it knows the least (35229).
	HealthCheckTimeout *int64
	DBFailover         *bool
	// DTCSupport is PER_DB or NONE.
	DTCSupport                  *string
	Basic                       bool
	Distributed                 bool
	Contained                   bool
	ReuseSystemDatabases        bool
	AutoseedingSystemDatabases  bool
	RequiredSynchronizedCommits *int64 // REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT
	// ClusterType is WSFC, EXTERNAL or NONE.
	ClusterType *string
	// WriteLeaseValidity is in seconds.
	WriteLeaseValidity       *int64
	ClusterConnectionOptions *string
	// Role is SECONDARY; ALTER only.
	Role *string
}

// ReplicaSpec is a replica with its options; nil is not given.
type ReplicaSpec struct {
	Server      string
	EndpointURL *string
	// AvailabilityMode is SYNCHRONOUS_COMMIT, ASYNCHRONOUS_COMMIT or CONFIGURATION_ONLY.
	AvailabilityMode *string
	// FailoverMode is AUTOMATIC, MANUAL or EXTERNAL.
	FailoverMode *string
	// SeedingMode is AUTOMATIC or MANUAL.
	SeedingMode *string
	// BackupPriority is any whole number: who executes it knows the range (35209).
	BackupPriority *int64
	// SessionTimeout is in seconds.
	SessionTimeout *int64
	PrimaryRole    *RoleSpec
	SecondaryRole  *RoleSpec
}

// RoleSpec is PRIMARY_ROLE ( ... ) or SECONDARY_ROLE ( ... ); nil is not given.
type RoleSpec struct {
	// AllowConnections is READ_WRITE or ALL for the primary role, NO, READ_ONLY or ALL for the secondary role.
	AllowConnections *string
	// ReadOnlyRoutingURL is for the secondary role; an empty one is NONE.
	ReadOnlyRoutingURL *string
	// ReadOnlyRoutingList is for the primary role: load-balanced sets in their order; HasRoutingList tells a given
	// empty list (NONE) from none given.
	ReadOnlyRoutingList [][]string
	HasRoutingList      bool
	// ReadWriteRoutingURL is for the primary role; an empty one is NONE.
	ReadWriteRoutingURL *string
}

// DistributedMember is a member of a distributed availability group; nil is not given.
type DistributedMember struct {
	Group            string
	ListenerURL      *string
	AvailabilityMode *string
	FailoverMode     *string
	SeedingMode      *string
}

// ListenerSpec is LISTENER 'name' ( ... ).
type ListenerSpec struct {
	Name string
	DHCP bool
	// Subnet is the network of DHCP ON ( ... ).
	Subnet *ListenerAddress
	IPs    []ListenerAddress
	// Port is any whole number, nil when not given.
	Port *int64
}

// ListenerAddress is an address with its IPv4 mask; Mask is empty for IPv6.
type ListenerAddress struct{ IP, Mask string }

// AlterAvailabilityGroup is ALTER AVAILABILITY GROUP (docs/t-sql/statements/alter-availability-group-transact-sql.md).
type AlterAvailabilityGroup struct {
	own
	Name string
	// Action is one of the AG... types below.
	Action any
}

type (
	// AGSet is SET ( option ).
	AGSet struct{ Options AvailabilityGroupOptions }
	// AGAddDatabase and AGRemoveDatabase are ADD and REMOVE DATABASE.
	AGAddDatabase    struct{ Databases []string }
	AGRemoveDatabase struct{ Databases []string }
	// AGAddReplica, AGModifyReplica and AGRemoveReplica are ADD, MODIFY and REMOVE REPLICA ON.
	AGAddReplica    struct{ Replicas []ReplicaSpec }
	AGModifyReplica struct{ Replica ReplicaSpec }
	AGRemoveReplica struct{ Servers []string }
	// AGJoin is JOIN [WITH (CLUSTER_TYPE = type)]; ClusterType is empty when not given.
	AGJoin struct{ ClusterType string }
	// AGJoinDistributed and AGModifyDistributed are JOIN and MODIFY AVAILABILITY GROUP ON.
	AGJoinDistributed   struct{ Members []DistributedMember }
	AGModifyDistributed struct{ Members []DistributedMember }
	// AGGrantCreateAnyDatabase is GRANT (or, with Deny, DENY) CREATE ANY DATABASE.
	AGGrantCreateAnyDatabase struct{ Deny bool }
	// AGFailover is FAILOVER, AGForceFailover FORCE_FAILOVER_ALLOW_DATA_LOSS, AGOffline OFFLINE.
	AGFailover      struct{}
	AGForceFailover struct{}
	AGOffline       struct{}
	// AGAddListener is ADD LISTENER; AGModifyListener MODIFY LISTENER with one of the two given;
	// AGRestartListener and AGRemoveListener name a listener.
	AGAddListener    struct{ Listener ListenerSpec }
	AGModifyListener struct {
		Name  string
		AddIP *ListenerAddress
		Port  *int64
	}
	AGRestartListener struct{ Name string }
	AGRemoveListener  struct{ Name string }
)

// DropAvailabilityGroup is DROP AVAILABILITY GROUP (docs/t-sql/statements/drop-availability-group-transact-sql.md).
type DropAvailabilityGroup struct {
	own
	Name string
}

func parseAvailabilityGroup(p *parser) ast.Statement {
	switch {
	case p.accept("CREATE", "AVAILABILITY", "GROUP"):
		return p.createAvailabilityGroup()
	case p.accept("ALTER", "AVAILABILITY", "GROUP"):
		n := &AlterAvailabilityGroup{Name: p.name()}
		n.Action = p.availabilityGroupAction()
		return n
	case p.accept("DROP", "AVAILABILITY", "GROUP"):
		return &DropAvailabilityGroup{Name: p.name()}
	}
	return nil
}

func (p *parser) createAvailabilityGroup() ast.Statement {
	n := &CreateAvailabilityGroup{Name: p.name()}
	if p.accept("WITH") {
		seen := map[string]bool{}
		p.list(func() { p.availabilityGroupOption(&n.Options, seen, true) })
	}
	if n.Options.Distributed || p.is("AVAILABILITY", "GROUP", "ON") {
		p.expect("AVAILABILITY", "GROUP", "ON")
		n.Members = p.distributedMembers(true)
		return n
	}
	p.expect("FOR")
	if p.accept("DATABASE") {
		n.Databases = p.names()
	}
	p.expect("REPLICA", "ON")
	n.Replicas = p.replicaSpecs()
	if p.accept("LISTENER") {
		l := p.listener()
		n.Listener = &l
	}
	return n
}

func (p *parser) availabilityGroupAction() any {
	switch {
	case p.accept("SET"):
		a := AGSet{}
		p.expect("(")
		p.availabilityGroupOption(&a.Options, map[string]bool{}, false)
		p.expect(")")
		return a
	case p.accept("ADD", "DATABASE"):
		return AGAddDatabase{p.names()}
	case p.accept("REMOVE", "DATABASE"):
		return AGRemoveDatabase{p.names()}
	case p.accept("ADD", "REPLICA", "ON"):
		return AGAddReplica{p.replicaSpecs()}
	case p.accept("MODIFY", "REPLICA", "ON"):
		return AGModifyReplica{p.modifiedReplica()}
	case p.accept("REMOVE", "REPLICA", "ON"):
		servers := []string{p.serverName()}
		for p.accept(",") {
			servers = append(servers, p.serverName())
		}
		return AGRemoveReplica{servers}
	case p.accept("JOIN", "AVAILABILITY", "GROUP", "ON"):
		return AGJoinDistributed{p.distributedMembers(true)}
	case p.accept("MODIFY", "AVAILABILITY", "GROUP", "ON"):
		return AGModifyDistributed{p.distributedMembers(false)}
	case p.accept("JOIN"):
		a := AGJoin{}
		if p.accept("WITH") {
			p.expect("(", "CLUSTER_TYPE", "=")
			a.ClusterType = p.oneOf("EXTERNAL", "NONE", "WSFC")
			p.expect(")")
		}
		return a
	case p.accept("GRANT", "CREATE", "ANY", "DATABASE"):
		return AGGrantCreateAnyDatabase{}
	case p.accept("DENY", "CREATE", "ANY", "DATABASE"):
		return AGGrantCreateAnyDatabase{Deny: true}
	case p.accept("FAILOVER"):
		return AGFailover{}
	case p.accept("FORCE_FAILOVER_ALLOW_DATA_LOSS"):
		return AGForceFailover{}
	case p.accept("OFFLINE"):
		return AGOffline{}
	}
	return p.listenerAction()
}

func (p *parser) listenerAction() any {
	switch {
	case p.accept("ADD", "LISTENER"):
		return AGAddListener{p.listener()}
	case p.accept("MODIFY", "LISTENER"):
		a := AGModifyListener{Name: p.stringLiteral()}
		p.expect("(")
		if p.accept("ADD", "IP") {
			ip := p.listenerAddress()
			a.AddIP = &ip
		} else {
			p.expect("PORT", "=")
			a.Port = ptr(p.integer())
		}
		p.expect(")")
		return a
	case p.accept("RESTART", "LISTENER"):
		return AGRestartListener{p.stringLiteral()}
	case p.accept("REMOVE", "LISTENER"):
		return AGRemoveListener{p.stringLiteral()}
	}
	p.refuse()
	return nil
}

func (p *parser) listener() ListenerSpec {
	l := ListenerSpec{Name: p.stringLiteral()}
	p.expect("(", "WITH")
	if p.accept("DHCP") {
		l.DHCP = true
		if p.accept("ON") {
			a := p.listenerAddress()
			l.Subnet = &a
		}
	} else {
		p.expect("IP")
		p.list(func() { l.IPs = append(l.IPs, p.listenerAddress()) })
		if p.accept(",") {
			p.expect("PORT", "=")
			l.Port = ptr(p.integer())
		}
	}
	p.expect(")")
	return l
}

func (p *parser) listenerAddress() ListenerAddress {
	p.expect("(")
	a := ListenerAddress{IP: p.stringLiteral()}
	if p.accept(",") {
		a.Mask = p.stringLiteral()
	}
	p.expect(")")
	return a
}

func ptr[T any](v T) *T { return &v }
