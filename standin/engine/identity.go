// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"sync"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// identityCounter is the identity of one table. Values are taken in memory; how far they may go is written ahead in
// steps (SQL Server's identity cache), so that a crash leaves a gap and never repeats a value.
type identityCounter struct {
	id        int32
	increment int64

	// mu guards what follows: the session that has the database's write transaction changes it, and others ask.
	mu sync.Mutex
	// last is the value taken last, used is false while none was taken.
	last int64
	used bool
	// reserved is how far the record in __identity reaches.
	reserved int64
	fresh    bool // nothing is recorded yet
}

// identityCache is how many values are reserved at once
// (docs/t-sql/statements/alter-database-scoped-configuration-transact-sql.md, IDENTITY_CACHE).
const identityCache = 1000

// identities are the counters of a space, valid for one recovery fork, and the values that its sequences have reached.
type identities struct {
	fork      uuid.UUID
	sequences reached

	mu       sync.Mutex
	counters map[int32]*identityCounter
}

// of is a table's counter; nil when none is kept.
func (i *identities) of(table int32) *identityCounter {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counters[table]
}

// keep keeps a table's counter, none where that is nil.
func (i *identities) keep(table int32, c *identityCounter) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c == nil {
		delete(i.counters, table)
		return
	}
	i.counters[table] = c
}

// all are the counters that are kept, by table.
func (i *identities) all() map[int32]*identityCounter {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.counters)
}

func (s *Session) identities(db *Database) *identities {
	if db == nil {
		if s.localIdentities == nil {
			s.localIdentities = &identities{counters: map[int32]*identityCounter{}}
		}
		return s.localIdentities
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	fork := uuid.Nil
	if forks := db.storage.Identity().Forks; len(forks) > 0 {
		fork = forks[len(forks)-1].ID
	}
	if db.idents == nil || db.idents.fork != fork {
		db.idents = &identities{fork: fork, counters: map[int32]*identityCounter{}}
	}
	return db.idents
}

// forgetIdentity is for a new table: one that was rolled back may have had its number.
func (d *SchemaChange) forgetIdentity(o *metadata.Object) {
	db := d.db
	if d.space == bind.TempSpace {
		db = nil
	}
	d.s.identities(db).keep(o.ID, nil)
}

// identityCounter is a table's counter, loaded through the connection that writes to it.
func (s *Session) identityCounter(t *bind.Target, conn *sqlite.Conn) (*identityCounter, error) {
	all := s.identities(databaseOf(t))
	if c := all.of(t.Object.ID); c != nil {
		return c, nil
	}
	c, err := loadIdentity(t, conn)
	if err != nil {
		return nil, err
	}
	all.keep(t.Object.ID, c)
	return c, nil
}

// takenIdentity is the identity value that a table has given out last; used is false before the first. Whoever only
// reads may see less than a writer does who is at work, and keeps no counter for it.
func (s *Session) takenIdentity(t *bind.Target, conn *sqlite.Conn) (last int64, used bool, err error) {
	c := s.identities(databaseOf(t)).of(t.Object.ID)
	if c == nil {
		if c, err = loadIdentity(t, conn); err != nil {
			return 0, false, err
		}
	}
	last, used = c.taken()
	return last, used, nil
}

// loadIdentity reads how far a table's values have gone.
func loadIdentity(t *bind.Target, conn *sqlite.Conn) (*identityCounter, error) {
	col := t.Object.Table.IdentityColumn()
	if col == nil {
		return nil, fmt.Errorf("table %s has no identity column", t.Object.Name)
	}
	c := &identityCounter{
		id:        t.Object.ID,
		increment: col.Identity.Increment,
		last:      col.Identity.Seed - col.Identity.Increment,
		fresh:     true,
	}
	if databaseOf(t) != nil {
		err := sqlitex.Execute(
			conn,
			"SELECT last FROM __identity WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{int64(c.id)},
				ResultFunc: func(stmt *sqlite.Stmt) error {
					c.last, c.used, c.fresh = stmt.ColumnInt64(0), true, false
					c.reserved = c.last
					return nil
				}},
		)
		if err != nil {
			return nil, err
		}
	}
	// Where agents insert, the table's values say nothing of those that were taken here.
	if c.fresh || !col.Identity.NotForReplication {
		if err := c.reachTable(t, conn); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// taken is the value that was taken last; used is false while none was.
func (c *identityCounter) taken() (last int64, used bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.used
}

// take takes the next value, if it may be.
func (c *identityCounter) take(may func(next int64) error) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.last + c.increment
	if err := may(next); err != nil {
		return 0, err
	}
	c.last, c.used = next, true
	return next, nil
}

// reserve moves the record in __identity on by a step of values, where the last one lies beyond it. undo takes that
// back.
func (c *identityCounter) reserve(step func() int64) (reach int64, undo func(), moved bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	within := c.increment > 0 && c.last <= c.reserved || c.increment < 0 && c.last >= c.reserved
	if !c.used || !c.fresh && within {
		return 0, nil, false
	}
	before, fresh := c.reserved, c.fresh
	c.reserved, c.fresh = c.last+step()*c.increment, false
	return c.reserved, func() { c.restore(before, fresh) }, true
}

func (c *identityCounter) restore(reserved int64, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved, c.fresh = reserved, fresh
}

// exact lets the record be the last value, from which it differs. undo takes that back.
func (c *identityCounter) exact() (last int64, undo func(), differs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used || c.fresh || c.reserved == c.last {
		return 0, nil, false
	}
	before := c.reserved
	c.reserved = c.last
	return c.last, func() { c.restore(before, false) }, true
}

// reachTable moves the counter to the outermost value that the table has.
func (c *identityCounter) reachTable(t *bind.Target, conn *sqlite.Conn) error {
	found, outermost, err := c.outermost(t, conn)
	if found {
		c.reach(outermost)
	}
	return err
}

// outermost is the table's greatest value of the identity column, or its least one where values descend.
func (c *identityCounter) outermost(t *bind.Target, conn *sqlite.Conn) (found bool, value int64, err error) {
	extreme := "max"
	if c.increment < 0 {
		extreme = "min"
	}
	col := t.Object.Table.IdentityColumn()
	err = sqlitex.Execute(
		conn,
		fmt.Sprintf("SELECT %s(%s) FROM main.%s", extreme, metadata.ColumnName(col.ID), t.Object.StorageName()),
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			found, value = stmt.ColumnType(0) == sqlite.TypeInteger, stmt.ColumnInt64(0)
			if stmt.ColumnType(0) != sqlite.TypeBlob {
				return nil
			}
			d, err := sqltype.DecodeDecimal(storage.ColumnValue(stmt, 0).([]byte))
			found, value = err == nil, d.IntPart()
			return err
		}},
	)
	return found, value, err
}

// reach moves the counter to a value that is in use.
func (c *identityCounter) reach(v int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used && c.fresh || c.increment > 0 && v > c.last || c.increment < 0 && v < c.last {
		if c.fresh && !c.used && (c.increment > 0 && v < c.last || c.increment < 0 && v > c.last) {
			return
		}
		c.last, c.used = v, true
	}
}

// takeIdentity is the next value for the target of the running statement.
func (s *Session) takeIdentity(t *bind.Target) any {
	v, err := s.nextIdentityOf(t)
	if err != nil {
		s.identityError = err
		return nil
	}
	return v
}

func (s *Session) nextIdentityOf(t *bind.Target) (int64, error) {
	conn, err := s.writeConn(t)
	if err != nil {
		return 0, err
	}
	c, err := s.identityCounter(t, conn)
	if err != nil {
		return 0, err
	}
	col := t.Object.Table.IdentityColumn()
	n, err := c.take(func(n int64) error {
		if col.Type.Kind.IsInteger() && !sqltype.FitsInteger(col.Type.Kind, n) {
			return sqlerr.New(8115, 1, "IDENTITY", col.Type.Kind)
		}
		if lo, hi := WholeBounds(col.Type); n < lo || n > hi {
			return sqlerr.New(8115, 1, "IDENTITY", sqltype.NumericWord(col.Type))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	s.lastIdentity = n
	if f := s.frame(); f != nil {
		f.identity = n
	}
	return n, nil
}

// writeConn is the connection of the running change.
func (s *Session) writeConn(t *bind.Target) (*sqlite.Conn, error) {
	if databaseOf(t) == nil {
		return s.localConn()
	}
	o := s.open[databaseOf(t).ID()]
	if o == nil {
		return nil, fmt.Errorf("no transaction is open in database %q", t.DatabaseName)
	}
	return o.tx.Conn(), nil
}

func (st *connState) nextIdentity([]sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil || st.session.target == nil {
		return nil, internalError(fmt.Errorf("an identity value is asked for outside of a statement"))
	}
	if st.search != nil {
		return st.search.identity(), nil
	}
	n, err := st.session.nextIdentityOf(st.session.target)
	if err != nil {
		return nil, AsError(err)
	}
	return n, nil
}

// noteIdentity records, in the statement's transaction, how far a counter may go.
func (s *Session) noteIdentity(p *bind.Plan, conn *sqlite.Conn) {
	if err := s.reserveIdentity(&p.Modification.Target, conn, p.Modification.Explicit); err != nil {
		s.inst.log.Warn("identity values could not be reserved", "table", p.Modification.Object.Name, "error", err.Error())
	}
}

func (s *Session) reserveIdentity(t *bind.Target, conn *sqlite.Conn, explicit bool) error {
	c, err := s.identityCounter(t, conn)
	if err != nil {
		return err
	}
	if explicit && s.givesIdentity(t.Object.Table.IdentityColumn()) {
		return nil // what an agent inserts takes no values away
	}
	if explicit {
		// The table's values tell how far explicit ones went.
		if err := c.reachTable(t, conn); err != nil {
			return err
		}
		last, _ := c.taken()
		s.lastIdentity = last
		if f := s.frame(); f != nil {
			f.identity = last
		}
	}
	if databaseOf(t) == nil {
		return nil
	}
	reach, undo, moved := c.reserve(func() int64 { return s.identityStep(databaseOf(t)) })
	if !moved {
		return nil
	}
	if o := s.open[databaseOf(t).ID()]; o != nil {
		o.undo = append(o.undo, undo)
	}
	return sqlitex.Execute(
		conn,
		"INSERT OR REPLACE INTO __identity VALUES (?, ?)",
		&sqlitex.ExecOptions{Args: []any{int64(c.id), reach}},
	)
}

// setIdentity is DBCC CHECKIDENT RESEED and TRUNCATE TABLE: the next value is last + increment, or the seed itself.
func (s *Session) setIdentity(t *bind.Target, conn *sqlite.Conn, last int64) error {
	col := t.Object.Table.IdentityColumn()
	all := s.identities(databaseOf(t))
	c := &identityCounter{id: t.Object.ID, increment: col.Identity.Increment, last: last, used: true, reserved: last}
	old := all.of(c.id)
	all.keep(c.id, c)
	if databaseOf(t) == nil {
		if !t.Object.IsVariable() {
			s.local.whenUndone(func() { all.keep(c.id, old) })
		}
		return nil
	}
	if o := s.open[databaseOf(t).ID()]; o != nil {
		o.undo = append(o.undo, func() { all.keep(c.id, old) })
	}
	return sqlitex.Execute(
		conn,
		"INSERT OR REPLACE INTO __identity VALUES (?, ?)",
		&sqlitex.ExecOptions{Args: []any{int64(c.id), last}},
	)
}

// saveIdentities writes the exact values at an orderly stop, so that no gap is left.
func (db *Database) saveIdentities() {
	db.mu.RLock()
	idents, st := db.idents, db.storage
	db.mu.RUnlock()
	if idents == nil || st.Mode() != storage.Primary || db.InGroup() || db.ID() == 2 || db.Info().ReadOnly {
		return
	}
	ctx := context.Background()
	tx, err := st.Begin(ctx)
	if err != nil {
		return
	}
	defer tx.Rollback()
	leave, err := tx.Use(ctx)
	if err != nil {
		return
	}
	for id, c := range idents.all() {
		last, _, differs := c.exact()
		if !differs {
			continue
		}
		if err := sqlitex.Execute(tx.Conn(), "UPDATE __identity SET last = ? WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{last, int64(id)}}); err != nil {
			leave()
			return
		}
	}
	leave()
	if _, err := tx.Commit(ctx); err != nil {
		db.inst.log.Warn("identity values were not saved", "database", db.Name(), "error", err.Error())
	}
}

// noRowVersion is the last row version of a database that has used none.
const noRowVersion = 2000

func rowVersionValue(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// lastRowVersion is the last one that the current database has used, as a connection to it sees that.
func (s *Session) lastRowVersion(
	connect func(context.Context, int32) (*sqlite.Conn, func(), error),
) (n int64, ok bool) {
	conn, release, err := connect(s.context(), s.db.ID())
	if err != nil {
		return 0, false
	}
	defer release()
	n = noRowVersion
	err = sqlitex.Execute(conn, "SELECT last FROM __identity WHERE id = 0",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil }})
	return n, err == nil
}

// nextRowVersion is the next value of a rowversion column: a counter of the database.
func (st *connState) nextRowVersion([]sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil || st.session.target == nil {
		return nil, internalError(fmt.Errorf("a row version is asked for outside of a statement"))
	}
	t := st.session.target
	n := int64(0)
	if databaseOf(t) == nil {
		n = int64(transactionIDs.Add(1))
	} else {
		err := sqlitex.Execute(st.conn,
			"INSERT INTO __identity VALUES (0, ?) ON CONFLICT (id) DO UPDATE SET last = last + 1 RETURNING last",
			&sqlitex.ExecOptions{Args: []any{int64(noRowVersion + 1)},
				ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil }})
		if err != nil {
			return nil, internalError(err)
		}
	}
	return rowVersionValue(n), nil
}

// LastIdentity is the last identity value of a table; nil when none was taken.
func (s *Session) LastIdentity(ctx context.Context, o *metadata.Object) any {
	db := s.viewDatabase()
	t := &bind.Target{Object: o, Database: db, DatabaseName: db.Name()}
	space := db.ID()
	if o.ID < 0 {
		t.Database, space = nil, bind.TempSpace
	}
	conn, release, err := s.connection(ctx, space)
	if err != nil {
		return nil
	}
	defer release()
	last, used, err := s.takenIdentity(t, conn)
	if err != nil || !used {
		return nil
	}
	return last
}
