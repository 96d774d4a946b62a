// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"geosql.dev/operator/internal/election/ballot"
)

// ErrNotSynchronized is the engine's refusal to become primary without all acknowledged writes (error 41142).
var ErrNotSynchronized = errors.New("the replica is not synchronized: the engine refused FAILOVER")

// ErrRefused is any other refusal of FAILOVER by the engine, as 41104 where it found no majority. What state the
// replica is in is not known then: Microsoft's agent takes it for a failed primary.
var ErrRefused = errors.New("the engine refused FAILOVER")

// ErrUnanswered says that the connection broke on which a statement was: the engine may have begun with it, or may
// begin yet.
var ErrUnanswered = errors.New("the engine has not said what became of it")

// LongerLease is the engine's refusal of a renewal because its lease runs for longer already (error 47119), and longer
// than the renewal allows: not this keeper has given it.
type LongerLease struct {
	// Left is how long that lease still runs.
	Left time.Duration
	Err  error
}

// Error implements error.
func (l LongerLease) Error() string {
	return fmt.Sprintf("the write lease runs for %s already: %s", l.Left.Round(time.Millisecond), l.Err)
}

// Unwrap is the engine's error.
func (l LongerLease) Unwrap() error { return l.Err }

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
	Observe(ctx context.Context, group string) (ballot.Observation, error)
	// Inspect reads what the engine knows of the group's replicas and databases.
	Inspect(ctx context.Context, group string) (ballot.Inspection, error)
	// RenewLease sets WRITE_LEASE_VALIDITY. The batch must itself refuse to run after the deadline, a time of day, also
	// when that is set back meanwhile: a renewal that was queued in a frozen engine must not revive a dead lease. One
	// that changes nothing because the lease runs as long already, or longer within validity, has succeeded; LongerLease
	// when it runs for longer than that.
	RenewLease(ctx context.Context, group string, validity time.Duration, deadline time.Time) error
	// Failover renews the lease under the same guard, sets the session key external_cluster and issues FAILOVER. The
	// role changes later. ErrNotSynchronized or ErrRefused when the engine refuses.
	Failover(ctx context.Context, group string, validity time.Duration, deadline time.Time) error
	// Force is Failover with FORCE_FAILOVER_ALLOW_DATA_LOSS: only for a request that allows data loss.
	Force(ctx context.Context, group string, validity time.Duration, deadline time.Time) error
	// Offline takes the local replica OFFLINE: its role becomes RESOLVING and nobody reads or writes.
	Offline(ctx context.Context, group string) error
	// BecomeSecondary makes a RESOLVING replica a secondary of the primary that another server became. The batch must
	// itself refuse to run after the deadline: it must not undo an OFFLINE that came later. ErrNoPrimaryYet when the
	// engine knows of none. It cancels a seeding.
	BecomeSecondary(ctx context.Context, group string, deadline time.Time) error
	// RestartEndpoint stops and starts the endpoint that carries log between replicas: the group's connections, and those
	// of other groups, break and come back. It goes on when ctx ends, which is an error, until the endpoint is started. It
	// refuses where the instance is the primary of another group.
	RestartEndpoint(ctx context.Context, group string) error
	// Resume lets data movement of suspended databases go on.
	Resume(ctx context.Context, group string, databases []string) error
	// Copies are the databases of these names that the instance has, in the group or not, in whatever state.
	Copies(ctx context.Context, group string, databases []string) ([]Copy, error)
	// Reseed drops the local copies of the databases so that the primary seeds them anew: only for a request. It refuses
	// one that may have rows that nobody else has (Copy.Alone), and another group's (Copy.Other).
	Reseed(ctx context.Context, group string, databases []string) error
	// EndSessions ends the users' sessions in databases of the group that began within the given time, as many as it can
	// in half of the context's.
	EndSessions(ctx context.Context, group string, within time.Duration) error
	// EndWriters ends the users' sessions in databases of the group, of which the engine is a secondary, whose last error
	// is that they cannot write there, whose latest request ended within RefusedWithin, and in which none runs; as many
	// as it can in half of the context's time. It returns how many.
	EndWriters(ctx context.Context, group string) (int, error)
	// Kill ends the engine's process at once.
	Kill() error
}
