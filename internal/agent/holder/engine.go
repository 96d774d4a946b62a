// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	mssqldriver "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

const (
	// notSynchronized is the engine's refusal of FAILOVER: the replica is not ready to become primary.
	notSynchronized = 41142
	// longerLease answers a renewal while an older lease runs for longer: a lease is never shortened.
	longerLease = 47119
	// noPrimaryYet answers SET (ROLE = SECONDARY) of an engine that knows of no primary of the group.
	noPrimaryYet = 41104
	// alreadyPrimary is its answer when an earlier FAILOVER, which returned before the role changed, has done it.
	alreadyPrimary = 41122
	// notInGroup answers SET HADR OFF of a copy that has left already.
	notInGroup = 35242
	// noAccess answers SET HADR OFF of a copy that was dropped already, and of one that the login may not alter.
	noAccess = 5011
)

// sqlEngine is the pod's engine over loopback, as keeper.Engine.
type sqlEngine struct {
	connector *mssql.Connector
	target    mssql.Target
	process   Process

	mu sync.Mutex
	// groups are the IDs of the groups by name, as last seen.
	groups map[string]string
	// primary are the groups of which the instance was the primary when they were last seen.
	primary  map[string]bool
	endpoint endpointState
	// ticks are those of the last observation; counted tells that they agree with those before.
	ticks   ticks
	counted bool
}

// identifier is an engine that tells which group of a name it had when it was last observed; empty for none that was
// seen.
type identifier interface{ GroupID(group string) string }

// GroupID implements identifier.
func (e *sqlEngine) GroupID(group string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.groups[group]
}

func (e *sqlEngine) saw(group, id string, role ballot.Role) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.groups[group], e.primary[group] = id, role == ballot.RolePrimary
}

// gone notes that a group is not there: its ID stays known.
func (e *sqlEngine) gone(group string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.primary, group)
}

var _ keeper.Engine = (*sqlEngine)(nil)

// NewEngine is the engine of the target over T-SQL, ended through its process. The connector must be its own.
func NewEngine(connector *mssql.Connector, target mssql.Target, process Process) keeper.Engine {
	return &sqlEngine{connector: connector, target: target, process: process, groups: map[string]string{},
		primary: map[string]bool{}}
}

// ask runs f with the engine's pool and returns when ctx ends, whatever the driver does: a frozen engine answers
// neither the statement nor its cancellation. The connections of a call that ran out of time are given up.
func (e *sqlEngine) ask(ctx context.Context, f func(ctx context.Context, db *mssql.DB) error) error {
	_, err := learn(ctx, e, func(ctx context.Context, db *mssql.DB) (struct{}, error) { return struct{}{}, f(ctx, db) })
	return err
}

// learn is ask with what f found out, which is nothing where there is an error. f may go on after learn has returned:
// what it finds out may go nowhere else.
func learn[T any](ctx context.Context, e *sqlEngine, f func(ctx context.Context, db *mssql.DB) (T, error)) (T, error) {
	type answer struct {
		found T
		err   error
	}
	var nothing T
	ended := make(chan answer, 1)
	go func() {
		var a answer
		db, err := e.connector.Open(ctx, e.target)
		if a.err = err; err == nil {
			a.found, a.err = f(ctx, db)
		}
		ended <- a
	}()
	select {
	case a := <-ended:
		switch {
		case a.err == nil:
			return a.found, nil
		case ctx.Err() != nil:
			return nothing, errors.Join(ctx.Err(), a.err)
		case mssql.Is(a.err, mssql.Unknown):
			return nothing, errors.Join(keeper.ErrUnanswered, a.err)
		}
		return nothing, a.err
	case <-ctx.Done():
		e.connector.Forget(e.target.Namespace, e.target.Server)
		return nothing, fmt.Errorf("no answer from the engine in time: %w", ctx.Err())
	}
}

// Observe implements keeper.Engine.
func (e *sqlEngine) Observe(ctx context.Context, group string) (ballot.Observation, error) {
	seen, err := learn(ctx, e, func(ctx context.Context, db *mssql.DB) (observed, error) {
		var o observed
		before := time.Now()
		err := db.Query(ctx, tsql.HolderState(group), func(r mssql.Row) error {
			var role, connected, mode string
			var commit sql.NullTime
			var clock time.Time
			var timeout sql.NullInt64
			if err := r.Scan(&role, &connected, &commit, &clock, &mode, &o.Primary, &o.id, &timeout,
				&o.ticks.count); err != nil {
				return err
			}
			o.SessionTimeout = time.Duration(timeout.Int64) * time.Second
			o.Exists, o.Role, o.Mode, o.Connected = true, ballot.Role(role), ballot.Mode(mode), connected == "CONNECTED"
			if commit.Valid {
				o.CommitPending = max(0, clock.Sub(commit.Time))
			}
			o.Skew = skew(clock, before, time.Now())
			o.ticks.at = ballot.BootClock{}.Now()
			return nil
		})
		if err == nil && o.Exists && o.Role != ballot.RolePrimary {
			err = moving(ctx, db, group, &o.Observation)
		}
		return o, err
	})
	switch {
	case err == nil && seen.Exists:
		e.saw(group, seen.id.String(), seen.Role)
		e.count(seen.ticks)
		e.startLeft(ctx)
	case err == nil:
		e.gone(group)
	}
	return seen.Observation, err
}

// observed is an observation with the ID of the group.
type observed struct {
	ballot.Observation
	id    mssqldriver.UniqueIdentifier
	ticks ticks
}

// Inspect implements keeper.Engine.
func (e *sqlEngine) Inspect(ctx context.Context, group string) (ballot.Inspection, error) {
	return learn(ctx, e, func(ctx context.Context, db *mssql.DB) (ballot.Inspection, error) {
		g, err := mssql.ReadGroup(ctx, db, group)
		if err != nil || g == nil {
			return ballot.Inspection{}, err
		}
		return inspection(g), nil
	})
}

func inspection(g *mssql.Group) ballot.Inspection {
	i := ballot.Inspection{Sequence: g.SequenceNumber, Required: g.RequiredSynchronizedSecondaries, Names: g.Databases,
		Seeding: g.Seeding}
	for _, r := range g.Replicas {
		i.Replicas = append(i.Replicas, ballot.Replica{Server: r.Server, Mode: ballot.Mode(r.Mode)})
	}
	for _, s := range g.States {
		i.Databases = append(i.Databases, ballot.DatabaseState{
			Server: s.Server, Name: s.Database, Local: s.Local, State: s.State, Suspended: s.Suspended,
			HardenedLSN: s.HardenedLSN, LastCommit: s.LastCommit, Ready: s.FailoverReady,
		})
	}
	return i
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

// moving reads which databases of a replica that is not primary take no log, and how far they are: those that are
// suspended, and the others; and whether one is being seeded.
func moving(ctx context.Context, db *mssql.DB, group string, o *ballot.Observation) error {
	var progress strings.Builder
	err := db.Query(ctx, tsql.StandingDatabases(group), func(r mssql.Row) error {
		var name string
		var suspended sql.NullBool
		var at sql.NullString
		err := r.Scan(&name, &suspended, &at)
		if suspended.Bool {
			o.Suspended = append(o.Suspended, name)
		} else {
			o.Standing = append(o.Standing, name)
		}
		fmt.Fprintf(&progress, "%s at %s; ", name, at.String)
		return err
	})
	if err != nil {
		return err
	}
	err = db.Query(ctx, tsql.SeedingsHere(group), func(r mssql.Row) error {
		var name, at sql.NullString
		err := r.Scan(&name, &at)
		o.Seeding = true
		fmt.Fprintf(&progress, "%s is seeded: %s; ", name.String, at.String)
		return err
	})
	o.Progress = progress.String()
	return err
}

// RenewLease implements keeper.Engine. The deadline is on the agent's clock; engine and agent share a machine, and
// the keeper renews nothing while their clocks differ.
func (e *sqlEngine) RenewLease(ctx context.Context, group string, validity time.Duration, deadline time.Time) error {
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		return renewLease(ctx, db, group, validity, e.until(deadline))
	})
}

// renewLease renews a lease, or finds one that runs for longer already. That one ends no later than a lease of this
// renewal could have ended, unless somebody has given a longer one: then the keeper has to know.
func renewLease(
	ctx context.Context,
	q mssql.Querier,
	group string,
	validity time.Duration,
	deadline tsql.Deadline,
) error {
	before := time.Now()
	refused := q.Exec(ctx, tsql.RenewWriteLease(group, validity, deadline))
	if !mssql.HasNumber(refused, longerLease) {
		return refused
	}
	var ticks sql.NullInt64
	if err := q.Query(ctx, tsql.LeaseLeft(group), func(r mssql.Row) error { return r.Scan(&ticks) }); err != nil {
		return errors.Join(refused, err)
	}
	left := tsql.TicksOf(ticks.Int64)
	switch {
	case !ticks.Valid || left < validity-time.Since(before)-maxTickError:
		return fmt.Errorf("how long it runs is not known (%d ticks): %w", ticks.Int64, refused)
	case left > validity:
		return keeper.LongerLease{Left: left, Err: refused}
	}
	return nil
}

// maxTickError is by how much a lease that is longer than the one that was refused may seem shorter.
const maxTickError = time.Second

// Failover implements keeper.Engine.
func (e *sqlEngine) Failover(ctx context.Context, group string, validity time.Duration, deadline time.Time) error {
	return e.asManager(ctx, group, validity, deadline, tsql.Failover)
}

// Force implements keeper.Engine.
func (e *sqlEngine) Force(ctx context.Context, group string, validity time.Duration, deadline time.Time) error {
	return e.asManager(ctx, group, validity, deadline, tsql.ForceFailover)
}

// asManager runs lease, session key and failover on one connection, whose reset would forget the key.
func (e *sqlEngine) asManager(
	ctx context.Context,
	group string,
	validity time.Duration,
	deadline time.Time,
	failover func(string, tsql.Deadline) tsql.Statement,
) error {
	err := e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		return db.Session(ctx, func(s *mssql.Session) error {
			if err := renewLease(ctx, s, group, validity, e.until(deadline)); err != nil {
				return err
			}
			if err := s.Exec(ctx, tsql.SetExternalCluster()); err != nil {
				return err
			}
			return refused(s.Exec(ctx, failover(group, e.until(deadline))))
		})
	})
	switch {
	case mssql.HasNumber(err, alreadyPrimary):
		return nil
	case mssql.HasNumber(err, notSynchronized):
		return fmt.Errorf("%w: %w", keeper.ErrNotSynchronized, err)
	}
	return err
}

// refused tells an answer of the engine to FAILOVER from none. That it came too late (tsql.Late) is no refusal, nor is
// that this replica is the primary already.
func refused(err error) error {
	if n := mssql.Number(err); n == 0 || mssql.HasNumber(err, tsql.Late, alreadyPrimary, notSynchronized) ||
		mssql.Is(err, mssql.Unknown) {
		return err
	}
	return fmt.Errorf("%w: %w", keeper.ErrRefused, err)
}

// Offline implements keeper.Engine.
func (e *sqlEngine) Offline(ctx context.Context, group string) error {
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error { return db.Exec(ctx, tsql.TakeOffline(group)) })
}

// BecomeSecondary implements keeper.Engine.
func (e *sqlEngine) BecomeSecondary(ctx context.Context, group string, deadline time.Time) error {
	err := e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		return db.Exec(ctx, tsql.SetRoleSecondary(group, e.until(deadline)))
	})
	if mssql.HasNumber(err, noPrimaryYet) {
		return fmt.Errorf("%w: %w", keeper.ErrNoPrimaryYet, err)
	}
	return err
}

// Resume implements keeper.Engine.
func (e *sqlEngine) Resume(ctx context.Context, _ string, databases []string) error {
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		var errs []error
		for _, name := range databases {
			errs = append(errs, db.Exec(ctx, tsql.SetHADRResume(name)))
		}
		return errors.Join(errs...)
	})
}

// Copies implements keeper.Engine. The agent's login may alter any database, so it sees every name.
func (e *sqlEngine) Copies(ctx context.Context, group string, databases []string) ([]keeper.Copy, error) {
	return learn(ctx, e, func(ctx context.Context, db *mssql.DB) (copies []keeper.Copy, err error) {
		for _, name := range databases {
			if copies, err = appendCopy(ctx, db, copies, group, name); err != nil {
				return nil, err
			}
		}
		return copies, nil
	})
}

// appendCopy adds the database of the name, if there is one.
func appendCopy(
	ctx context.Context,
	db *mssql.DB,
	copies []keeper.Copy,
	group, name string,
) ([]keeper.Copy, error) {
	err := db.Query(ctx, tsql.DatabaseCopy(group, name), func(r mssql.Row) error {
		var joined bool
		var has, other string
		c := keeper.Copy{Name: name}
		if err := r.Scan(&c.State, &joined, &has, &other); err != nil {
			return err
		}
		c.InGroup = joined && strings.EqualFold(has, group)
		switch {
		case c.InGroup:
		case joined && has == "":
			c.Other = "a database of an availability group that this instance does not know any more"
		case joined:
			c.Other = "a database of availability group " + has
		case other != "":
			c.Other = "outside of every group, and availability group " + other + " has a database of that name, too"
		}
		copies = append(copies, c)
		return nil
	})
	return copies, err
}

// Reseed implements keeper.Engine. A copy that is out of the group already is only dropped.
func (e *sqlEngine) Reseed(ctx context.Context, group string, databases []string) error {
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error {
		var errs []error
		for _, name := range databases {
			errs = append(errs, giveUp(ctx, db, group, name))
		}
		return errors.Join(errs...)
	})
}

// giveUp takes a copy out of its group and drops it. Another group's is never touched. One outside of a group that does
// not wait for log is somebody's own, whatever it was when it was last looked at.
func giveUp(ctx context.Context, db *mssql.DB, group, name string) error {
	copies, err := appendCopy(ctx, db, nil, group, name)
	switch {
	case err != nil:
		return err
	case len(copies) == 1 && copies[0].Other != "":
		return fmt.Errorf("database %s is %s: it is not given up for group %s", name, copies[0].Other, group)
	}
	refused := db.Exec(ctx, tsql.SetHADROff(name))
	if refused == nil {
		return db.Exec(ctx, tsql.DropDatabase(name))
	}
	if !mssql.HasNumber(refused, notInGroup, noAccess) {
		return refused
	}
	copies, err = appendCopy(ctx, db, nil, group, name)
	switch {
	case err != nil:
		return errors.Join(refused, err)
	case len(copies) == 0:
		return nil
	case mssql.HasNumber(refused, noAccess):
		return refused
	case copies[0].Other != "":
		return fmt.Errorf("database %s is %s: it is not given up for group %s", name, copies[0].Other, group)
	case copies[0].Alone():
		return fmt.Errorf(
			"database %s is %s outside of the group, and may have rows that nobody else has: %w",
			name,
			copies[0].State,
			refused,
		)
	}
	return db.Exec(ctx, tsql.DropDatabase(name))
}

// mostSessions is how many sessions are ended at one look: the keeper does nothing else meanwhile.
const mostSessions = 50

// EndSessions implements keeper.Engine. A session that has ended by itself meanwhile is no failure. Each is looked at
// again by the statement that ends it: where the replica is no secondary any more, its sessions are those of a primary.
func (e *sqlEngine) EndSessions(ctx context.Context, group string, within time.Duration) error {
	seconds := int(within / time.Second)
	_, err := e.endSessions(ctx, tsql.SessionsSince(group, seconds, mostSessions), func(id int) tsql.Statement {
		return tsql.EndSessionSince(group, seconds, id)
	})
	return err
}

// EndWriters implements keeper.Engine, as EndSessions does.
func (e *sqlEngine) EndWriters(ctx context.Context, group string) (int, error) {
	seconds := int(keeper.RefusedWithin / time.Second)
	return e.endSessions(ctx, tsql.RefusedWriters(group, seconds, mostSessions), func(id int) tsql.Statement {
		return tsql.EndRefusedWriter(group, seconds, id)
	})
}

// endSessions ends sessions until half of the time is over: those that are left are found at the next look. A call that
// ran out of time would cost the engine's connections.
func (e *sqlEngine) endSessions(
	ctx context.Context,
	which tsql.Statement,
	end func(id int) tsql.Statement,
) (int, error) {
	began := time.Now()
	return learn(ctx, e, func(ctx context.Context, db *mssql.DB) (ended int, err error) {
		sessions, err := mssql.ReadSessions(ctx, db, which)
		errs := []error{err}
		for _, id := range sessions {
			if until, ok := ctx.Deadline(); ok && time.Since(began) > time.Until(until) {
				break
			}
			switch err := db.Exec(ctx, end(id)); {
			case err == nil:
				ended++
			case !mssql.HasNumber(err, tsql.NoSession):
				errs = append(errs, err)
			}
		}
		return ended, errors.Join(errs...)
	})
}

// Kill implements keeper.Engine.
func (e *sqlEngine) Kill() error { return e.process.Kill() }
