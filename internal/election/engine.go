// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
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

// ErrNotSynchronized is the engine's refusal to become primary without all acknowledged writes (error 41142).
var ErrNotSynchronized = errors.New("the replica is not synchronized: the engine refused FAILOVER")

// Observation is what an engine says of one group and of itself.
type Observation struct {
	// Exists is false when the engine has no such group.
	Exists bool
	// Role of the local replica.
	Role Role
	// CommitPending is how long a configuration commit has been waiting for a majority; 0 when none is.
	CommitPending time.Duration
	// Skew is the engine's clock minus the agent's.
	Skew time.Duration
	// Suspended databases of the group on this replica.
	Suspended []string
	// Connected says whether a secondary is connected to its primary.
	Connected bool
}

// Engine is the local SQL Server instance. An error other than those named leaves the outcome unknown.
type Engine interface {
	// Observe reads the state of the group.
	Observe(ctx context.Context, group string) (Observation, error)
	// RenewLease sets WRITE_LEASE_VALIDITY. The batch must itself refuse to run later than notAfter from now: a renewal
	// that was queued in a frozen engine must not revive a dead lease.
	RenewLease(ctx context.Context, group string, validity, notAfter time.Duration) error
	// Failover renews the lease under the same guard, sets the session key external_cluster and issues FAILOVER. The
	// role changes later. ErrNotSynchronized when the engine refuses.
	Failover(ctx context.Context, group string, validity, notAfter time.Duration) error
	// Offline takes the local replica OFFLINE: its role becomes RESOLVING and nobody reads or writes.
	Offline(ctx context.Context, group string) error
	// Follow makes a RESOLVING replica a secondary of the primary that another server became, and resumes the
	// suspended databases.
	Follow(ctx context.Context, group string, suspended []string) error
	// Kill ends the engine's process at once.
	Kill() error
}
