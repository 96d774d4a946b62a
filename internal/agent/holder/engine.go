// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

const (
	// notSynchronized is the engine's refusal of FAILOVER: the replica is not ready to become primary.
	notSynchronized = 41142
	// alreadyPrimary is its answer when an earlier FAILOVER, which returned before the role changed, has done it.
	alreadyPrimary = 41122
)

// sqlEngine is the pod's engine over loopback, as election.Engine.
type sqlEngine struct {
	connector *mssql.Connector
	target    mssql.Target
	process   Process

	mu    sync.Mutex
	roles map[string]election.Role
}

var _ election.Engine = (*sqlEngine)(nil)

// NewEngine is the engine of the target over T-SQL, ended through its process. The connector must be its own.
func NewEngine(connector *mssql.Connector, target mssql.Target, process Process) election.Engine {
	return &sqlEngine{connector: connector, target: target, process: process, roles: map[string]election.Role{}}
}

// ask runs f with the engine's pool and returns when ctx ends, whatever the driver does: a frozen engine answers neither
// the statement nor its cancellation. The connections of a call that ran out of time are given up.
func (e *sqlEngine) ask(ctx context.Context, f func(ctx context.Context, db *mssql.DB) error) error {
	ended := make(chan error, 1)
	go func() {
		db, err := e.connector.Open(ctx, e.target)
		if err == nil {
			err = f(ctx, db)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil && ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		return err
	case <-ctx.Done():
		e.connector.Forget(e.target.Namespace, e.target.Server)
		return fmt.Errorf("no answer from the engine in time: %w", ctx.Err())
	}
}

// Observe implements election.Engine.
func (e *sqlEngine) Observe(ctx context.Context, group string) (election.Observation, error) {
	var seen election.Observation
	err := e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		var o election.Observation
		before := time.Now()
		err := db.Query(ctx, tsql.HolderState(group), func(r mssql.Row) error {
			var role, connected string
			var commit sql.NullTime
			var clock time.Time
			if err := r.Scan(&role, &connected, &commit, &clock); err != nil {
				return err
			}
			o.Exists, o.Role, o.Connected = true, election.Role(role), connected == "CONNECTED"
			if commit.Valid {
				o.CommitPending = max(0, clock.Sub(commit.Time))
			}
			o.Skew = skew(clock, before, time.Now())
			return nil
		})
		if err == nil && o.Exists && o.Role != election.RolePrimary {
			o.Suspended, err = suspended(ctx, db, group)
		}
		if err == nil {
			seen = o
		}
		return err
	})
	if err == nil {
		e.mu.Lock()
		e.roles[group] = seen.Role
		e.mu.Unlock()
	}
	return seen, err
}

// skew is the engine's clock minus the agent's; the engine read its clock between before and after.
func skew(engine, before, after time.Time) time.Duration {
	engine = engine.UTC()
	switch {
	case engine.Before(before):
		return engine.Sub(before)
	case engine.After(after):
		return engine.Sub(after)
	}
	return 0
}

func suspended(ctx context.Context, db *mssql.DB, group string) ([]string, error) {
	var names []string
	err := db.Query(ctx, tsql.SuspendedDatabases(group), func(r mssql.Row) error {
		var name string
		err := r.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}

// RenewLease implements election.Engine. The deadline is the agent's clock plus notAfter; engine and agent share a
// machine, and the keeper renews nothing while their clocks differ.
func (e *sqlEngine) RenewLease(ctx context.Context, group string, validity, notAfter time.Duration) error {
	deadline := time.Now().Add(notAfter)
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		return db.Exec(ctx, tsql.RenewWriteLease(group, validity, deadline))
	})
}

// Failover implements election.Engine: lease, session key and FAILOVER on one connection, whose reset would forget the key.
func (e *sqlEngine) Failover(ctx context.Context, group string, validity, notAfter time.Duration) error {
	deadline := time.Now().Add(notAfter)
	err := e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		return db.Session(ctx, func(s *mssql.Session) error {
			for _, statement := range []tsql.Statement{
				tsql.RenewWriteLease(group, validity, deadline), tsql.SetExternalCluster(), tsql.Failover(group, deadline),
			} {
				if err := s.Exec(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		})
	})
	switch {
	case mssql.HasNumber(err, alreadyPrimary):
		return nil
	case mssql.HasNumber(err, notSynchronized):
		return fmt.Errorf("%w: %w", election.ErrNotSynchronized, err)
	}
	return err
}

// Offline implements election.Engine.
func (e *sqlEngine) Offline(ctx context.Context, group string) error {
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error { return db.Exec(ctx, tsql.TakeOffline(group)) })
}

// Follow implements election.Engine.
func (e *sqlEngine) Follow(ctx context.Context, group string, suspended []string) error {
	e.mu.Lock()
	role := e.roles[group]
	e.mu.Unlock()
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		if role == election.RoleResolving {
			return db.Exec(ctx, tsql.SetRoleSecondary(group))
		}
		var errs []error
		for _, name := range suspended {
			errs = append(errs, db.Exec(ctx, tsql.SetHADRResume(name)))
		}
		return errors.Join(errs...)
	})
}

// Kill implements election.Engine.
func (e *sqlEngine) Kill() error { return e.process.Kill() }
