// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// sequenceRows are the values of sequences that the running statement has given to its rows. NEXT VALUE FOR one
// sequence is the same value wherever a row has it, in columns and in defaults.
type sequenceRows struct {
	// execution tells one run of a query from the next (each clause of MERGE is one); filled is the run that the rest is
	// of.
	execution, filled int64
	values            map[[2]int32][]int64
	// reached is the row, from 0, that each use of a sequence in the statement is at.
	reached map[int64]int
}

// row is the place, from 0, of the row that a use of a sequence is bound for: a number above 0 is the row's own, one
// below stands for the use, which goes on by one row with each call.
func (r *sequenceRows) row(execution, use int64) int {
	if r.filled != execution {
		r.filled, r.values, r.reached = execution, map[[2]int32][]int64{}, map[int64]int{}
	}
	if use > 0 {
		return int(use) - 1
	}
	r.reached[use]++
	return r.reached[use] - 1
}

// nextOfSequence computes tsql_sequence(database, sequence, execution, row).
func (st *connState) nextOfSequence(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil {
		return nil, internalError(fmt.Errorf("a value of a sequence is asked for outside of a statement"))
	}
	s := st.session
	space, id := int32(args[0].Int64()), int32(args[1].Int64())
	sch, err := s.schema(s.context(), space)
	if err != nil {
		return nil, AsError(err)
	}
	o := sch.Objects[id]
	if o == nil || o.Sequence == nil {
		return nil, sqlerr.New(208, 1, "")
	}
	row, of := s.sequenceRows.row(args[2].Int64(), args[3].Int64()), [2]int32{space, id}
	for len(s.sequenceRows.values[of]) <= row {
		v, err := s.nextSequenceValue(s.inst.DatabaseByID(space), o)
		if err != nil {
			return nil, AsError(err)
		}
		s.sequenceRows.values[of] = append(s.sequenceRows.values[of], v)
	}
	return encodeResult(o.Sequence.Type, bind.CountedValue(o.Sequence.Type, s.sequenceRows.values[of][row]))
}

// reached are the values that sequences have given out last. A transaction that is rolled back gives none of them back
// (docs/t-sql/statements/create-sequence-transact-sql.md, General Remarks), and takes their record in __identity with
// it.
type reached struct {
	mu     sync.Mutex
	values map[definition]int64
}

// definition is a sequence as one statement has made it. Values of another one, as of an ALTER that was rolled back, do
// not count.
type definition struct {
	id       int32
	modified time.Time
}

func definitionOf(o *metadata.Object) definition { return definition{o.ID, o.Modified} }

// last is the value that a sequence has given out last; used is false before the first one.
func (r *reached) last(conn *sqlite.Conn, o *metadata.Object) (value int64, used bool, err error) {
	r.mu.Lock()
	value, used = r.values[definitionOf(o)]
	r.mu.Unlock()
	if used {
		return value, true, nil
	}
	err = sqlitex.Execute(conn, "SELECT last FROM __identity WHERE id = ?", &sqlitex.ExecOptions{Args: []any{int64(o.ID)},
		ResultFunc: func(stmt *sqlite.Stmt) error { value, used = stmt.ColumnInt64(0), true; return nil }})
	return value, used, err
}

func (r *reached) take(o *metadata.Object, value int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = map[definition]int64{}
	}
	r.values[definitionOf(o)] = value
}

func (s *Session) nextSequenceValue(db *Database, o *metadata.Object) (next int64, err error) {
	err = s.draw(db, o, func(last int64, used bool) (int64, error) {
		var ok bool
		if next, _, ok = o.Sequence.Next(last, used); !ok {
			return 0, sqlerr.New(11728, 1, o.Name)
		}
		return next, nil
	})
	return next, err
}

// draw takes values of a sequence: take is told the last one that was given out, and gives the one that is to be the
// last.
func (s *Session) draw(db *Database, o *metadata.Object, take func(last int64, used bool) (int64, error)) error {
	if s.open[db.ID()] == nil && s.count > 0 {
		if _, _, err := s.join(s.context(), db); err != nil {
			return err
		}
	}
	all := &s.identities(db).sequences
	within := func(conn *sqlite.Conn) error {
		last, used, err := all.last(conn, o)
		if err != nil {
			return err
		}
		if last, err = take(last, used); err != nil {
			return err
		}
		all.take(o, last)
		return sqlitex.Execute(
			conn,
			"INSERT OR REPLACE INTO __identity VALUES (?, ?)",
			&sqlitex.ExecOptions{Args: []any{int64(o.ID), last}},
		)
	}
	if t := s.target; t != nil && databaseOf(t) == db && s.open[db.ID()] != nil {
		// The running statement writes to this database: the value is taken within it.
		return within(s.open[db.ID()].tx.Conn())
	}
	return s.writeConnDo(s.context(), db, within)
}

// LastSequenceValue is the last value that a sequence of the view's database gave out, if it gave out one.
func (s *Session) LastSequenceValue(ctx context.Context, o *metadata.Object) (last int64, used bool, err error) {
	db := s.viewDatabase()
	conn, release, err := s.connection(ctx, db.ID())
	if err != nil {
		return 0, false, err
	}
	defer release()
	return s.identities(db).sequences.last(conn, o)
}

// LastOfSequence is the value that a sequence gave last, and whether it gave one.
func (d *SchemaChange) LastOfSequence(o *metadata.Object) (last int64, used bool, err error) {
	return d.s.identities(d.db).sequences.last(d.conn, o)
}
