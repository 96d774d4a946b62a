// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Role of a replica as sys.dm_hadr_availability_replica_states.role_desc says it.
type Role string

// The roles.
const (
	RolePrimary   Role = "PRIMARY"
	RoleSecondary Role = "SECONDARY"
	RoleResolving Role = "RESOLVING"
)

// Mode of a replica as sys.availability_replicas.availability_mode_desc says it.
type Mode string

// The modes.
const (
	ModeSynchronous       Mode = "SYNCHRONOUS_COMMIT"
	ModeAsynchronous      Mode = "ASYNCHRONOUS_COMMIT"
	ModeConfigurationOnly Mode = "CONFIGURATION_ONLY"
)

// Votes says whether a replica of the mode takes part in configuration commits.
func (m Mode) Votes() bool { return m == ModeSynchronous || m == ModeConfigurationOnly }

// ErrNotSynchronized is the engine's refusal to become primary without all acknowledged writes (error 41142).
var ErrNotSynchronized = errors.New("the replica is not synchronized: the engine refused FAILOVER")

// ErrUnanswered says that the connection broke on which a statement was: the engine may have begun with it, or may
// begin yet.
var ErrUnanswered = errors.New("the engine has not said what became of it")

// Observation is what an engine says of one group and of itself, cheap enough to be asked every second.
type Observation struct {
	// Exists is false when the engine has no such group.
	Exists bool
	// Role of the local replica.
	Role Role
	// Mode of the local replica.
	Mode Mode
	// CommitPending is how long a configuration commit has been waiting for a majority; 0 when none is.
	CommitPending time.Duration
	// Skew is the engine's clock minus the agent's.
	Skew time.Duration
	// Suspended databases of the group on this replica, without those that a person suspended.
	Suspended []string
	// Standing are the databases of the group on a secondary that take no log although nobody suspended them.
	Standing []string
	// Connected says whether a secondary is connected to its primary.
	Connected bool
	// Primary is the server that this replica takes for the primary, empty for none.
	Primary string
}

// Inspection is what an engine knows of a group's replicas and databases.
type Inspection struct {
	// Sequence versions the group's configuration (sys.availability_groups.sequence_number); it is not a log position.
	Sequence int64 `json:"sequence"`
	// Required is REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT.
	Required int `json:"required"`
	// Replicas of the configuration.
	Replicas []Replica `json:"replicas,omitempty"`
	// Names of the group's databases.
	Names []string `json:"names,omitempty"`
	// Databases as far as this engine knows them: a secondary its own, the primary those of all replicas.
	Databases []DatabaseState `json:"databases,omitempty"`
}

// Mode of a server's replica, empty when it has none.
func (i Inspection) Mode(server string) Mode {
	for _, r := range i.Replicas {
		if strings.EqualFold(r.Server, server) {
			return r.Mode
		}
	}
	return ""
}

// Replica of a configuration.
type Replica struct {
	Server string `json:"server"`
	Mode   Mode   `json:"mode"`
}

// DatabaseState is one copy of one database.
type DatabaseState struct {
	Server string `json:"server"`
	Name   string `json:"name"`
	Local  bool   `json:"local,omitempty"`
	// State is SYNCHRONIZED, SYNCHRONIZING, NOT SYNCHRONIZING, REVERTING or INITIALIZING.
	State     string `json:"state,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	// HardenedLSN is last_hardened_lsn, numeric(25,0) in decimal; a block's position, comparable within one log.
	HardenedLSN string     `json:"hardenedLSN,omitempty"`
	LastCommit  *time.Time `json:"lastCommit,omitempty"`
	// Ready is is_failover_ready: the configuration that this engine knows calls the copy synchronized.
	Ready bool `json:"ready,omitempty"`
}

// Copy is a database on the local instance.
type Copy struct {
	Name string
	// State is ONLINE, RESTORING, RECOVERY_PENDING, ...
	State string
	// InGroup says that it is a database of the group that was asked about.
	InGroup bool
	// Other says whose it is, or may be, instead: of another group, as a clause; empty for nobody's.
	Other string
}

// Alone says that the copy may have rows that nobody else has: it is outside of the group and was not left to wait for
// log. One that is OFFLINE, RECOVERING or SUSPECT now may have been ONLINE there, and written to, a moment ago.
func (c Copy) Alone() bool { return !c.InGroup && c.State != "RESTORING" }

// Engine is the local SQL Server instance. A deadline that has passed and ErrUnanswered leave open whether the engine
// begins with a statement later.
type Engine interface {
	// Observe reads the state of the group.
	Observe(ctx context.Context, group string) (Observation, error)
	// Inspect reads what the engine knows of the group's replicas and databases.
	Inspect(ctx context.Context, group string) (Inspection, error)
	// RenewLease sets WRITE_LEASE_VALIDITY. The batch must itself refuse to run after the deadline, a time of day: a
	// renewal that was queued in a frozen engine must not revive a dead lease.
	RenewLease(ctx context.Context, group string, validity time.Duration, deadline time.Time) error
	// Failover renews the lease under the same guard, sets the session key external_cluster and issues FAILOVER. The
	// role changes later. ErrNotSynchronized when the engine refuses.
	Failover(ctx context.Context, group string, validity time.Duration, deadline time.Time) error
	// Force is Failover with FORCE_FAILOVER_ALLOW_DATA_LOSS: only for a request that allows data loss.
	Force(ctx context.Context, group string, validity time.Duration, deadline time.Time) error
	// Offline takes the local replica OFFLINE: its role becomes RESOLVING and nobody reads or writes.
	Offline(ctx context.Context, group string) error
	// BecomeSecondary makes a RESOLVING replica a secondary of the primary that another server became. The batch must
	// itself refuse to run after the deadline: it must not undo an OFFLINE that came later.
	BecomeSecondary(ctx context.Context, group string, deadline time.Time) error
	// Resume lets data movement of suspended databases go on.
	Resume(ctx context.Context, group string, databases []string) error
	// Copies are the databases of these names that the instance has, in the group or not, in whatever state.
	Copies(ctx context.Context, group string, databases []string) ([]Copy, error)
	// Reseed drops the local copies of the databases so that the primary seeds them anew: only for a request. It refuses
	// one that may have rows that nobody else has (Copy.Alone), and another group's (Copy.Other).
	Reseed(ctx context.Context, group string, databases []string) error
	// EndSessions ends the users' sessions in databases of the group that began within the given time.
	EndSessions(ctx context.Context, group string, within time.Duration) error
	// Kill ends the engine's process at once.
	Kill() error
}
