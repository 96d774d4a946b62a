// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"slices"
	"time"

	"geosql.dev/operator/standin/engine"
)

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
	tables := slices.Clone(distributorTables)
	slices.Reverse(tables)
	return dropTables(ctx, s, "msdb", tables)
}

// loggedOutWithin bounds the wait for the sessions of a link that was just dropped.
const loggedOutWithin = 10 * time.Second

// dropDistributorLogin drops the login distributor_admin as soon as nobody is logged in with it: the connections of a dropped link end by themselves.
func dropDistributorLogin(ctx context.Context, s *engine.Session) error {
	for until := time.Now().Add(loggedOutWithin); ; {
		err := s.Exec(ctx, "IF SUSER_ID(@p1) IS NOT NULL DROP LOGIN "+bracket(distributorLogin), distributorLogin)
		if numberOf(err) != 15434 || time.Now().After(until) || !pause(ctx, 20*time.Millisecond) {
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
