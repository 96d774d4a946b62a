// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"fmt"
	"strconv"
	"time"
)

// Source of the statements of this file: docs/t-sql/statements/create-availability-group-transact-sql.md and
// docs/t-sql/statements/alter-availability-group-transact-sql.md.

// ClusterType is a group's CLUSTER_TYPE.
type ClusterType string

// The cluster types that exist on Linux.
const (
	ClusterExternal ClusterType = "EXTERNAL"
	ClusterNone     ClusterType = "NONE"
)

// AvailabilityMode is a replica's AVAILABILITY_MODE.
type AvailabilityMode string

// The availability modes.
const (
	SynchronousCommit  AvailabilityMode = "SYNCHRONOUS_COMMIT"
	AsynchronousCommit AvailabilityMode = "ASYNCHRONOUS_COMMIT"
	ConfigurationOnly  AvailabilityMode = "CONFIGURATION_ONLY"
)

// Replica is one replica as CREATE AVAILABILITY GROUP and ADD REPLICA declare it.
type Replica struct {
	// Server is the instance's name.
	Server string
	// EndpointURL is TCP://host:port.
	EndpointURL string
	Mode        AvailabilityMode
	// Manual seeds by a restored backup, not by the primary.
	ManualSeeding bool
	// Readable allows read-only connections while secondary.
	Readable bool
	// SessionTimeout in whole seconds, 5 s or more; 0 leaves the engine's default, 10 s.
	SessionTimeout time.Duration
}

// Group is a group as CREATE AVAILABILITY GROUP declares it.
type Group struct {
	Name        string
	ClusterType ClusterType
	Contained   bool
	// Basic groups are those of Standard: two replicas with data, one database, no readable secondary
	// (docs/database-engine/availability-groups/windows/basic-availability-groups-always-on-availability-groups.md).
	Basic bool
	// WriteLease in whole seconds, for EXTERNAL only. A group that was created without it never gets one (error 47116).
	WriteLease time.Duration
	// RequiredSynchronizedSecondaries is REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT.
	RequiredSynchronizedSecondaries int
	Databases                       []string
	Replicas                        []Replica
}

// failoverMode follows from the cluster type.
func (t ClusterType) failoverMode() string {
	if t == ClusterExternal {
		return "EXTERNAL"
	}
	return "MANUAL"
}

// CreateGroup creates a group on its first primary.
func CreateGroup(g Group) Statement {
	b := new(builder).sql("CREATE AVAILABILITY GROUP ").name(g.Name).sql("\nWITH (CLUSTER_TYPE = ", string(g.ClusterType))
	if g.Contained {
		b.sql(", CONTAINED")
	}
	if g.Basic {
		b.sql(", BASIC")
	}
	if g.ClusterType == ClusterExternal {
		b.sql(", WRITE_LEASE_VALIDITY = ", seconds(g.WriteLease))
	}
	b.sql(", REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = ", strconv.Itoa(g.RequiredSynchronizedSecondaries), ")\nFOR ")
	for i, name := range g.Databases {
		if i == 0 {
			b.sql("DATABASE ")
		} else {
			b.sql(", ")
		}
		b.name(name)
	}
	if len(g.Databases) > 0 {
		b.sql("\n")
	}
	b.sql("REPLICA ON")
	for i, r := range g.Replicas {
		if i > 0 {
			b.sql(",")
		}
		b.sql("\n    ").replica(r, g.ClusterType)
	}
	return b.done("create availability group " + g.Name)
}

// replica appends one replica with its options. A configuration-only replica excludes FAILOVER_MODE and SEEDING_MODE.
func (b *builder) replica(r Replica, t ClusterType) *builder {
	b.str(r.Server).sql(" WITH (ENDPOINT_URL = ").str(r.EndpointURL).sql(", AVAILABILITY_MODE = ", string(r.Mode))
	if r.Mode != ConfigurationOnly {
		seeding := "AUTOMATIC"
		if r.ManualSeeding {
			seeding = "MANUAL"
		}
		b.sql(", FAILOVER_MODE = ", t.failoverMode(), ", SEEDING_MODE = ", seeding)
	}
	if r.SessionTimeout > 0 {
		b.sql(", SESSION_TIMEOUT = ", seconds(r.SessionTimeout))
	}
	if r.Mode != ConfigurationOnly {
		b.sql(", SECONDARY_ROLE (ALLOW_CONNECTIONS = ", allowConnections(r.Readable), ")")
	}
	return b.sql(")")
}

func allowConnections(readable bool) string {
	if readable {
		return "ALL"
	}
	return "NO"
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// alterGroup is ALTER AVAILABILITY GROUP followed by an action.
func alterGroup(group string) *builder {
	return new(builder).sql("ALTER AVAILABILITY GROUP ").name(group)
}

// JoinGroup joins the local instance to a group; it runs on a secondary.
func JoinGroup(group string, t ClusterType) Statement {
	return alterGroup(group).sql(" JOIN WITH (CLUSTER_TYPE = ", string(t), ")").done("join group " + group)
}

// GrantCreateAnyDatabase lets the group seed databases on this secondary. A configuration-only replica refuses it
// (error 47111).
func GrantCreateAnyDatabase(group string) Statement {
	return alterGroup(group).sql(" GRANT CREATE ANY DATABASE").done("let group " + group + " seed databases here")
}

// AddReplica adds a replica; it runs on the primary.
func AddReplica(group string, r Replica, t ClusterType) Statement {
	return alterGroup(group).sql(" ADD REPLICA ON ").replica(r, t).done("add replica " + r.Server)
}

// RemoveReplica removes a replica; it runs on the primary.
func RemoveReplica(group, server string) Statement {
	return alterGroup(group).sql(" REMOVE REPLICA ON ").str(server).done("remove replica " + server)
}

// SetReplicaMode changes a replica's AVAILABILITY_MODE; it runs on the primary.
func SetReplicaMode(group, server string, m AvailabilityMode) Statement {
	return alterGroup(group).sql(" MODIFY REPLICA ON ").str(server).sql(" WITH (AVAILABILITY_MODE = ", string(m), ")").
		done("make replica " + server + " " + string(m))
}

// SetReplicaReadable changes whether a secondary may be read; it runs on the primary.
func SetReplicaReadable(group, server string, readable bool) Statement {
	return alterGroup(group).sql(" MODIFY REPLICA ON ").str(server).
		sql(" WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = ", allowConnections(readable), "))").
		done(fmt.Sprintf("set readable = %t on replica %s", readable, server))
}

// SetReplicaSessionTimeout changes a replica's SESSION_TIMEOUT; it runs on the primary.
func SetReplicaSessionTimeout(group, server string, d time.Duration) Statement {
	return alterGroup(group).sql(" MODIFY REPLICA ON ").str(server).sql(" WITH (SESSION_TIMEOUT = ", seconds(d), ")").
		done("set the session time-out of replica " + server)
}

// SetReplicaSeeding sets SEEDING_MODE; setting AUTOMATIC again restarts a seeding that failed. It runs on the primary.
func SetReplicaSeeding(group, server string, manual bool) Statement {
	mode := "AUTOMATIC"
	if manual {
		mode = "MANUAL"
	}
	return alterGroup(group).sql(" MODIFY REPLICA ON ").str(server).sql(" WITH (SEEDING_MODE = ", mode, ")").
		done("set seeding " + mode + " on replica " + server)
}

// AddGroupDatabase adds a database to a group; it runs on the primary.
func AddGroupDatabase(group, database string) Statement {
	return alterGroup(group).sql(" ADD DATABASE ").name(database).done("add database " + database + " to group " + group)
}

// RemoveGroupDatabase removes a database from a group; it runs on the primary, where the database stays as it is.
func RemoveGroupDatabase(group, database string) Statement {
	return alterGroup(
		group,
	).sql(" REMOVE DATABASE ").
		name(database).
		done("remove database " + database + " from group " + group)
}

// SetRequiredSynchronizedSecondaries sets how many secondaries must harden a commit; it runs on the primary.
func SetRequiredSynchronizedSecondaries(group string, n int) Statement {
	return alterGroup(group).sql(" SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = ", strconv.Itoa(n), ")").
		done(fmt.Sprintf("require %d synchronized secondaries to commit", n))
}

// AddListener adds the listener with one address; it runs on the primary. On Linux the engine opens no socket for it:
// the object is what replication redirects to.
func AddListener(group, listener, ip, mask string, port int) Statement {
	return alterGroup(group).sql(" ADD LISTENER ").str(listener).
		sql(" (WITH IP ((").str(ip).sql(", ").str(mask).sql(")), PORT = ", strconv.Itoa(port), ")").
		done("add listener " + listener)
}

// SetListenerPort changes the listener's port; it runs on the primary.
func SetListenerPort(group, listener string, port int) Statement {
	return alterGroup(group).sql(" MODIFY LISTENER ").str(listener).sql(" (PORT = ", strconv.Itoa(port), ")").
		done("set the port of listener " + listener)
}

// RemoveListener removes the listener; it runs on the primary.
func RemoveListener(group, listener string) Statement {
	return alterGroup(group).sql(" REMOVE LISTENER ").str(listener).done("remove listener " + listener)
}

// DropGroup drops a group on the local instance; it must run on every replica. Databases stay.
// Source: docs/t-sql/statements/drop-availability-group-transact-sql.md.
func DropGroup(group string) Statement {
	return new(builder).sql("DROP AVAILABILITY GROUP ").name(group).done("drop group " + group)
}
