// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

// scan is how far the log of a published database was read.
type scan struct {
	// done is the last commit that the distributor has, read the last one that was given out.
	done, read storage.LSN
}

func (e *Extension) installLogReader(r *engine.Registry) {
	e.procedure(
		r,
		"sp_replcmds",
		owners,
		[]engine.Parameter{{Name: "@maxtrans", Type: sqltype.IntType, Default: int64(1)}, number("@maxcmds")},
		e.replCmds,
	)
	e.procedure(r, "sp_replshowcmds", owners, nil, e.replShowCmds)
	e.procedure(r, "sp_repldone", owners, nil, e.replDone)
	e.procedure(r, "sp_replflush", owners, nil, e.replFlush)
	e.procedure(r, "sp_repltrans", owners, nil, e.replTrans)
}

// transaction is the commands of one committed transaction; none when it touched no article.
type transaction struct {
	seqno    storage.LSN
	origin   stored.Origin
	commands []article.Replicated
}

// claim makes the session the database's only log reader: 18752 when another one is, 18757 when it is not published.
func (e *Extension) claim(ctx context.Context, call *engine.ProcCall) (*scan, error) {
	ok, err := tables.Exists(ctx, call.Session, bracket(call.Database.Name())+".dbo.syspublications")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, raise(18757, 1)
	}
	stored, err := call.Session.Query(ctx, "SELECT xact_seqno FROM dbo.MSreplposition WHERE id = 1")
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	id := call.Database.ID()
	if owner := e.readers[id]; owner != nil && owner != call.Session {
		return nil, raise(18752, 1, owner.SPID())
	}
	e.readers[id] = call.Session
	sc := e.scans[id]
	if sc == nil {
		sc = &scan{}
		copy(sc.done[:], stored.Bytes(0, "xact_seqno"))
		sc.read = sc.done
		e.scans[id] = sc
	}
	return sc, nil
}

// endSession gives up what a session holds.
func (e *Extension) endSession(s *engine.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.marked, s)
	for id, owner := range e.readers {
		if owner == s {
			delete(e.readers, id)
			if sc := e.scans[id]; sc != nil {
				sc.read = sc.done
			}
		}
	}
}

// limit is the position up to which the log may be read: hardened here and, in a group, on its secondaries.
func (e *Extension) limit(db *engine.Database) storage.LSN {
	if e.options.Limit != nil {
		if lsn, ok := e.options.Limit(db); ok {
			return lsn
		}
		if db.Info().ReplicaID != uuid.Nil {
			return storage.LSN{} // in a group, and not its primary now
		}
	}
	return db.Storage().Log().Hardened()
}

// readLog reads up to n transactions with commands after a position, and ends after the one with which there are most
// commands (0 is no bound). scanned is the last commit looked at.
func (e *Extension) readLog(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	from storage.LSN,
	n, most int,
) (out []transaction, scanned storage.LSN, err error) {
	// The limit comes first: what the articles were for all transactions below it is known then.
	limit := e.limit(db)
	articles, err := e.logArticles(ctx, s, db)
	if err != nil {
		return nil, from, err
	}
	scanned = from
	const maxBytes = 4 << 20
	size, count := 0, 0
	for t, err := range db.Storage().Log().ReadCommitted(ctx, from, limit) {
		if errors.Is(err, storage.ErrLogTruncated) {
			return nil, from, raise(18846, 1, from.VLF(), from.Block(), from.Slot(), 0, 0, 0)
		}
		if err != nil {
			return nil, from, err
		}
		commands, err := articles.CommandsOf(ctx, t)
		if err != nil {
			return nil, from, fmt.Errorf("replicate the transaction %s: %w", t.Commit, err)
		}
		scanned = t.Commit
		if len(commands) == 0 {
			continue
		}
		from, err := originOf(t)
		if err != nil {
			return nil, scanned, err
		}
		out = append(out, transaction{seqno: t.Commit, origin: from, commands: commands})
		for _, c := range commands {
			size += len(c.Command)
		}
		count += len(commands)
		if len(out) >= n || size >= maxBytes || most > 0 && count >= most {
			break
		}
	}
	return out, scanned, nil
}

// column declares a column of a result set of this package's own.
func column(name string, t sqltype.Type) tds.Column {
	return tds.Column{Name: name, Type: t, Nullable: true}
}

// replCmds gives the next transactions to the log reader, a row for each command, and last a row with the position up
// to which the log was looked at (kind 0).
func (e *Extension) replCmds(ctx context.Context, call *engine.ProcCall) error {
	sc, err := e.claim(ctx, call)
	if err != nil {
		return err
	}
	list, scanned, err := e.readLog(
		ctx,
		call.Session,
		call.Database,
		sc.read,
		int(max(call.Int("@maxtrans"), 1)),
		int(call.Int("@maxcmds")),
	)
	if err != nil {
		return err
	}
	cols := []tds.Column{
		column("xact_seqno", sqltype.VarBinaryOf(16)),
		column("xact_id", sqltype.VarBinaryOf(16)),
		column("commit_time", sqltype.DateTime2Type),
		column(
			"type",
			sqltype.IntType,
		),
		column("article_id", sqltype.IntType),
		column("publication_id", sqltype.IntType),
		column("command", sqltype.VarBinaryMax),
		column("originator_srvname", sqltype.Sysname),
		column("originator_db", sqltype.Sysname),
	}
	if err := call.Writer.Columns(cols); err != nil {
		return err
	}
	n := int64(0)
	for _, t := range list {
		for _, c := range t.commands {
			n++
			if err := call.Writer.Row([]any{c.Seqno[:], c.Begin[:], c.Time, c.Kind, c.Article, c.Publication, c.Command,
				t.origin.Server, t.origin.Database}); err != nil {
				return err
			}
		}
	}
	if err := call.Writer.Row([]any{scanned[:], scanned[:], nil, int64(0), nil, nil, nil, nil, nil}); err != nil {
		return err
	}
	e.mu.Lock()
	sc.read = scanned
	e.mu.Unlock()
	return call.Writer.Done(tds.Rows(n + 1))
}

func (e *Extension) replShowCmds(ctx context.Context, call *engine.ProcCall) error {
	sc, err := e.claim(ctx, call)
	if err != nil {
		return err
	}
	list, _, err := e.readLog(ctx, call.Session, call.Database, sc.done, int(max(call.Int("@maxtrans"), 1)), 0)
	if err != nil {
		return err
	}
	cols := []tds.Column{
		column("xact_seqno", sqltype.BinaryOf(10)),
		column("originator_id", sqltype.IntType),
		column("publisher_database_id", sqltype.IntType),
		column("article_id", sqltype.IntType),
		column("type", sqltype.IntType),
		column("command", sqltype.NVarCharOf(1024)),
	}
	var out [][]any
	for _, t := range list {
		for _, c := range t.commands {
			out = append(
				out,
				[]any{c.Seqno[:], int64(0), int64(0), c.Article, c.Kind, stored.Clip(stored.ShowCommand(c.Kind, c.Command), 1024)},
			)
		}
	}
	return call.ResultSet(cols, out)
}

func (e *Extension) replTrans(ctx context.Context, call *engine.ProcCall) error {
	sc, err := e.claim(ctx, call)
	if err != nil {
		return err
	}
	list, _, err := e.readLog(ctx, call.Session, call.Database, sc.done, 10000, 0)
	if err != nil {
		return err
	}
	var out [][]any
	for _, t := range list {
		out = append(out, []any{t.commands[0].Begin[:], t.seqno[:]})
	}
	return call.ResultSet(
		[]tds.Column{column("xdesid", sqltype.VarBinaryOf(10)), column("xact_seqno", sqltype.VarBinaryOf(10))},
		out,
	)
}

// replDone notes that the distributor has everything up to a commit; the log before it is not needed any more.
func (e *Extension) replDone(ctx context.Context, call *engine.ProcCall) error {
	sc, err := e.claim(ctx, call)
	if err != nil {
		return err
	}
	db := call.Database
	var lsn storage.LSN
	if call.Int("@reset") == 1 {
		lsn, _ = db.Storage().Applied()
	} else {
		b := call.Bytes("@xact_seqno")
		if len(b) != len(lsn) {
			return raise(18765, 1, "xact_seqno")
		}
		copy(lsn[:], b)
	}
	if end := db.Storage().Log().End(); end.Less(lsn) {
		return raise(18846, 1, lsn.VLF(), lsn.Block(), lsn.Slot(), end.VLF(), end.Block(), end.Slot())
	}
	e.mu.Lock()
	before := sc.done
	sc.done = lsn
	if sc.read.Less(lsn) || call.Int("@numtrans") == 0 {
		sc.read = lsn
	}
	e.mu.Unlock()
	return e.hold(ctx, call.Session, db, before, lsn)
}

// hold keeps the log from a position on. The position is written into the database when it comes into another virtual
// log file, because only whole ones can be freed.
func (e *Extension) hold(ctx context.Context, s *engine.Session, db *engine.Database, before, lsn storage.LSN) error {
	if lsn.IsZero() {
		return nil
	}
	if err := db.Storage().HoldLog(storage.HoldReplication, lsn); err != nil {
		return err
	}
	if before.VLF() == lsn.VLF() {
		return nil
	}
	if err := s.Exec(ctx,
		"UPDATE dbo.MSreplposition SET xact_seqno = @p1 WHERE id = 1; IF @@ROWCOUNT = 0 INSERT INTO dbo.MSreplposition "+
			"VALUES (1, @p1)", lsn[:]); err != nil {
		return err
	}
	if ok, err := tables.Exists(ctx, s, "dbo.MSreplarticleversions"); err != nil || !ok {
		return err
	}
	return s.Exec(ctx, "DELETE FROM dbo.MSreplarticleversions WHERE xact_seqno < @p1", lsn[:])
}

func (e *Extension) replFlush(ctx context.Context, call *engine.ProcCall) error {
	e.endSession(call.Session)
	return nil
}

// databaseEvent keeps the log of published databases that come up, forgets databases that go away, and forbids to drop
// or rename one that is published or a distribution database.
func (e *Extension) databaseEvent(ctx context.Context, ev engine.DatabaseEvent) error {
	switch ev.Kind {
	case engine.DatabaseOpened:
		return e.opened(ctx, ev.Database)
	case engine.DatabaseDropping:
		if ev.Database.Info().Published {
			return raise(3724, 3, "drop", "database", ev.Database.Name())
		}
		if ev.Database.Info().Distributor {
			return raise(3724, 4, "drop", "database", ev.Database.Name())
		}
	case engine.DatabaseAltering:
		if info := ev.Database.Info(); ev.Option == "NAME" && (info.Published || info.Distributor) {
			return raise(18855, 1)
		}
		return nil
	case engine.DatabaseClosing:
	default:
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.scans, ev.Database.ID())
	delete(e.readers, ev.Database.ID())
	return nil
}

// objectEvent refuses changes of published tables that subscribers would not get. ALTER is alterPublished's.
func (e *Extension) objectEvent(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	word string,
	id int32,
) error {
	if !db.Info().Published {
		return nil
	}
	o, err := s.Object(ctx, db, id)
	if err != nil || o == nil {
		return err
	}
	if o.DefinitionPublished() {
		return moduleEvent(o, word)
	}
	if o.Table == nil || !o.Table.Replicated {
		return nil
	}
	switch word {
	case "ALTER", "REBUILD", "TRIGGER":
		return nil
	case "DISABLE TRIGGER ALL":
		return raise(21541, 1)
	case "SWITCH": // no publication allows it (@allow_partition_switch)
		return raise(21867, 1, o.Name)
	case "TRUNCATE":
		logged := false
		err := s.AsSystem(func() error {
			prefix := bracket(db.Name()) + ".dbo."
			r, err := s.Query(
				ctx,
				"SELECT COUNT(*) AS n FROM "+prefix+"sysarticles AS a JOIN "+prefix+"syspublications AS p ON p.pubid = a.pubid "+
					"WHERE a.objid = @p1 AND p.repl_freq = 0",
				int64(id),
			)
			logged = r.Int(0, "n") > 0
			return err
		})
		if err != nil || !logged {
			return err
		}
		return raise(4711, 1, o.Name)
	case "DROP":
		return raise(3724, 1, "drop", "table", o.Name)
	case "RENAME":
		return raise(15051, 1)
	}
	return raise(4929, 1, "table", o.Name)
}
