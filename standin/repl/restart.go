// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"errors"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

func (e *Extension) installRestart(r *engine.Registry) {
	e.procedure(r, "sp_replrestart", owners, []engine.Parameter{}, e.restart)
	e.procedure(
		r,
		"sp_vupgrade_replication",
		sysadmins,
		[]engine.Parameter{{Name: "@login", Type: sqltype.Sysname}, {Name: "@password", Type: sqltype.Sysname},
			{
				Name: "@ver_old",
				Type: sqltype.IntType,
			}, {Name: "@force_remove", Type: sqltype.BitType}, {Name: "@security_mode", Type: sqltype.BitType}},
		e.upgrade,
	)
}

// maxForks bounds how far the log of a restored database is moved on: as many virtual log files.
const maxForks = 1000

// restart makes the log of a publication database that was restored go on behind what its distributor has of the log
// that it had before: the log reader begins with the next change, and what the backup lacked is not taken back
// (docs/relational-databases/system-stored-procedures/sp-replrestart-transact-sql.md, Remarks).
func (e *Extension) restart(ctx context.Context, call *engine.ProcCall) error {
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	sc, err := e.claim(ctx, call)
	if err != nil {
		return err
	}
	defer e.endSession(call.Session)
	const database = `(SELECT d.id FROM dbo.MSpublisher_databases AS d JOIN dbo.MSreplservers AS v ON v.srvid = d.publisher_id WHERE v.srvname = ? AND d.publisher_db = ?)`
	// Snapshots and the begin of subscriptions have numbers in the log as well.
	r, err := e.inDistributionOf(
		ctx,
		call.Session,
		p,
		"DECLARE @database int = "+database+`; SELECT MAX(n.xact_seqno) AS last FROM (SELECT MAX(xact_seqno) AS xact_seqno FROM dbo.MSrepl_transactions
		WHERE publisher_database_id = @database UNION ALL SELECT MAX(subscription_seqno) FROM dbo.MSsubscriptions WHERE publisher_database_id = @database) AS n`,
		p.server,
		p.db.Name(),
	)
	if err != nil {
		return err
	}
	var last storage.LSN
	copy(last[:], r.Bytes(0, "last"))
	position, _ := p.db.Storage().Applied()
	for n := 0; !last.Less(position); n++ {
		if n == maxForks {
			return errors.New("the log of the distributor is too far ahead of the database's")
		}
		if _, err := p.db.Storage().BeginFork(ctx); err != nil {
			return err
		}
		position, _ = p.db.Storage().Applied()
	}
	// The log reader goes on where the distributor's newest transaction is.
	if _, err := e.inDistributionOf(ctx, call.Session, p, `DECLARE @database int = `+database+`;
		IF @database IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dbo.MSrepl_transactions WHERE publisher_database_id = @database AND xact_seqno = ?)
		INSERT INTO dbo.MSrepl_transactions VALUES (@database, ?, ?, GETDATE())`, p.server, p.db.Name(), position[:], position[:], position[:]); err != nil {
		return err
	}
	e.mu.Lock()
	before := sc.done
	sc.done, sc.read = position, position
	e.mu.Unlock()
	return e.hold(ctx, call.Session, p.db, before, position)
}

// upgrade makes what databases of an older program lack: tables and views of publications and of distribution databases
// (docs/relational-databases/system-stored-procedures/sp-vupgrade-replication-transact-sql.md).
func (e *Extension) upgrade(ctx context.Context, call *engine.ProcCall) error {
	for _, db := range e.inst.Databases() {
		if db.State() != engine.Online || db.Storage() == nil || db.Storage().Mode() != storage.Primary {
			continue
		}
		if db.Info().Distributor {
			if err := tables.Make(ctx, call.Session, db.Name(), tables.Distribution); err != nil {
				return err
			}
		}
		if db.Info().Published {
			if err := tables.MakePublication(ctx, call.Session, db.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
