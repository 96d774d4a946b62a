// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"errors"
	"slices"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/tables"
)

// dropDistributionDB drops a distribution database. Its row goes last: until then the procedure may be called again,
// should it be cut off or the database be in use.
func (e *Extension) dropDistributionDB(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@database")
	if err := e.requireDistributor(ctx, s); err != nil {
		return err
	}
	r, err := s.Query(
		ctx,
		`SELECT (SELECT COUNT(*) FROM msdb.dbo.MSdistributiondbs WHERE name = @p1) AS there, (SELECT COUNT(*) FROM msdb.dbo.MSdistpublishers WHERE distribution_db = @p1) AS publishers`,
		name,
	)
	switch {
	case err != nil:
		return err
	case r.Int(0, "there") == 0:
		return raise(14117, 1, name)
	case r.Int(0, "publishers") > 0:
		return raise(14120, 1, name)
	}
	for _, job := range []string{"Distribution clean up: " + name, "Agent history clean up: " + name} {
		if err := e.deleteJob(ctx, s, job); err != nil {
			return err
		}
	}
	if db := e.inst.Database(name); db != nil {
		if err := e.dropUnmarked(ctx, s, db); err != nil {
			return errors.Join(err, e.addCleanupJobs(ctx, s, name))
		}
	}
	return s.Exec(ctx, "DELETE FROM msdb.dbo.MSdistributiondbs WHERE name = @p1", name)
}

// dropUnmarked drops a database that could not be dropped as long as it is marked as a distribution database, and marks
// it again where it is in use.
func (e *Extension) dropUnmarked(ctx context.Context, s *engine.Session, db *engine.Database) error {
	mark := func(distributor bool) error {
		return db.Update(ctx, func(i *engine.DatabaseInfo) { i.Distributor = distributor })
	}
	if err := mark(false); err != nil {
		return err
	}
	if err := s.Exec(ctx, "DROP DATABASE "+bracket(db.Name())); err != nil {
		return errors.Join(err, mark(true))
	}
	return nil
}

func (e *Extension) dropDistributor(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	taken, err := linkExists(ctx, s)
	if err != nil {
		return err
	}
	local, err := e.isDistributor(ctx, s)
	if err != nil {
		return err
	}
	if !taken && !local {
		return raise(21043, 1)
	}
	if call.Bool("@no_checks") {
		if err := e.dropAllReplication(ctx, s, local); err != nil {
			return err
		}
	} else if local {
		r, err := s.Query(ctx, "SELECT name FROM msdb.dbo.MSdistributiondbs")
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return raise(14121, 1, e.serverName())
		}
	} else if len(e.publishedDatabases()) > 0 {
		return raise(21045, 1)
	}
	// Nothing is published any more, and no subscription expires.
	if err := e.deleteJob(ctx, s, expiryJob); err != nil {
		return err
	}
	if err := dropLink(ctx, s); err != nil || !local {
		return err
	}
	// Until the tables are gone the call may be repeated, should it be cut off.
	if err := dropDistributorLogin(ctx, s); err != nil {
		return err
	}
	made := slices.Clone(tables.Distributor)
	slices.Reverse(made)
	return tables.Drop(ctx, s, "msdb", made)
}

// loggedOutWithin bounds the wait for the sessions of a link that was just dropped.
const loggedOutWithin = 10 * time.Second

// dropDistributorLogin drops the login distributor_admin as soon as nobody is logged in with it: the connections of a
// dropped link end by themselves.
func dropDistributorLogin(ctx context.Context, s *engine.Session) error {
	for until := time.Now().Add(loggedOutWithin); ; {
		err := s.Exec(ctx, "IF SUSER_ID(@p1) IS NOT NULL DROP LOGIN "+bracket(distributorLogin), distributorLogin)
		if agent.NumberOf(err) != 15434 || time.Now().After(until) || !agent.Pause(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

// dropAllReplication drops what this server publishes and distributes, as @no_checks = 1 has it.
func (e *Extension) dropAllReplication(ctx context.Context, s *engine.Session, local bool) error {
	for _, db := range e.publishedDatabases() {
		if err := e.disablePublishing(ctx, s, db); err != nil {
			return err
		}
	}
	if !local {
		return nil
	}
	r, err := s.Query(ctx, "DELETE FROM msdb.dbo.MSdistpublishers; SELECT name FROM msdb.dbo.MSdistributiondbs")
	if err != nil {
		return err
	}
	for i := range r.Len() {
		if err := s.Exec(ctx, "EXEC sys.sp_dropdistributiondb @database = @p1", r.String(i, "name")); err != nil {
			return err
		}
	}
	return nil
}
