// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/sqlerr"
)

// everyRow is the value of binder.sequenceRow where each row of a query takes a value of its own.
const everyRow = -1

// nextValue binds NEXT VALUE FOR: one value for each row
// (docs/t-sql/functions/next-value-for-transact-sql.md, General Remarks).
func (b *binder) nextValue(n *ast.NextValueForExpression) expr {
	space, _, o := b.resolve(nameOf(n.SequenceName))
	if o == nil {
		b.fail(208, nameOf(n.SequenceName).String())
	}
	if o.Kind != kindSequence {
		b.fail(11726, nameOf(n.SequenceName).String())
	}
	if b.sequenceRow == everyRow {
		b.locks = true // a reader joins the transaction that takes the values
		return expr{sql: fmt.Sprintf("tsql_sequence(%d,%d)", space, o.ID), typ: o.Sequence.Type, nullable: true}
	}
	db := b.s.inst.DatabaseByID(space)
	e := b.computed(fmt.Sprintf("next value for %d.%d of row %d", space, o.ID, b.sequenceRow), o.Sequence.Type, func(s *Session) any {
		v, err := s.nextSequenceValue(db, o)
		if err != nil {
			s.identityError = err
			return nil
		}
		return countedValue(o.Sequence.Type, v)
	})
	e.param = 0 // a parameter that is converted is taken once more
	return e
}

// nextOfSequence computes tsql_sequence(database, sequence).
func (st *connState) nextOfSequence(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil {
		return nil, internalError(fmt.Errorf("a value of a sequence is asked for outside of a statement"))
	}
	s := st.session
	space, id := int32(args[0].Int64()), int32(args[1].Int64())
	sch, err := s.schema(s.context(), space)
	if err != nil {
		return nil, asError(err)
	}
	o := sch.objects[id]
	if o == nil || o.Sequence == nil {
		return nil, sqlerr.New(208, 1, "")
	}
	v, err := s.nextSequenceValue(s.inst.DatabaseByID(space), o)
	if err != nil {
		return nil, asError(err)
	}
	return encodeResult(o.Sequence.Type, countedValue(o.Sequence.Type, v))
}

func (s *Session) nextSequenceValue(db *Database, o *Object) (int64, error) {
	q := o.Sequence
	next := q.Start
	if s.open[db.ID()] == nil && s.count > 0 {
		if _, _, err := s.join(s.context(), db); err != nil {
			return 0, err
		}
	}
	take := func(conn *sqlite.Conn) error {
		err := sqlitex.Execute(conn, "SELECT last FROM __identity WHERE id = ?", &sqlitex.ExecOptions{Args: []any{int64(o.ID)},
			ResultFunc: func(stmt *sqlite.Stmt) error { next = stmt.ColumnInt64(0) + q.Increment; return nil }})
		if err != nil {
			return err
		}
		if next > q.Max || next < q.Min {
			if !q.Cycle {
				return sqlerr.New(11728, 1, o.Name)
			}
			if next = q.Min; q.Increment < 0 {
				next = q.Max
			}
		}
		return sqlitex.Execute(conn, "INSERT OR REPLACE INTO __identity VALUES (?, ?)", &sqlitex.ExecOptions{Args: []any{int64(o.ID), next}})
	}
	if t := s.target; t != nil && t.db == db && s.open[db.ID()] != nil {
		// The running statement writes to this database: the value is taken within it.
		err := take(s.open[db.ID()].tx.Conn())
		return next, err
	}
	err := s.writeConnDo(s.context(), db, take)
	return next, err
}
