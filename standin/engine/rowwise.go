// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// foundRow is a row to change; values have the form in which they are stored.
type foundRow struct {
	find                     *bind.Finding
	number                   int64
	values, old, source, new []any
	marked, ignored          bool
}

// runRowwise finds the rows, changes them and gives what became of each. out gets the rows of the OUTPUT clause.
func (s *Session) runRowwise(
	ctx context.Context,
	p *bind.Plan,
	r *bind.RowByRow,
	conn *sqlite.Conn,
	out func(*sqlite.Stmt) error,
) (rows []*foundRow, err error) {
	defer sqlitex.Save(conn)(&err)
	if rows, err = s.findRows(ctx, p, r, conn); err != nil {
		return nil, err
	}
	if err = s.applyRows(p, r, conn, rows); err != nil {
		return nil, err
	}
	if kept := withoutIgnored(rows); len(kept) < len(rows) {
		rows, s.duplicatesIgnored = kept, true
	}
	for _, row := range rows {
		for i, name := range row.find.Variables {
			v := s.variable(name)
			if v == nil {
				return nil, sqlerr.New(137, 2, name)
			}
			if v.value, err = sqltype.Decode(v.typ, row.values[len(row.find.Set)+i]); err != nil {
				return nil, err
			}
		}
	}
	if r.Output == "" {
		return rows, nil
	}
	return rows, s.outputRows(ctx, p, r, conn, rows, out)
}

func (s *Session) findRows(
	ctx context.Context,
	p *bind.Plan,
	r *bind.RowByRow,
	conn *sqlite.Conn,
) ([]*foundRow, error) {
	var all []*foundRow
	seen := map[int64]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		err := s.eachRaw(ctx, p, f.Query, conn, nil, func(stmt *sqlite.Stmt) error {
			row := &foundRow{find: f}
			take := func(from, n int) []any {
				list := make([]any, n)
				for i := range list {
					list[i] = storage.ColumnValue(stmt, from+i)
				}
				return list
			}
			if f.Direct {
				row.new = take(0, len(r.Image))
				all = append(all, row)
				return nil
			}
			at := 1
			row.values = take(at, len(f.Set)+len(f.Variables))
			at += len(row.values)
			if f.Action == "INSERT" {
				row.source = take(at, r.Sources)
				all = append(all, row)
				return nil
			}
			row.number = stmt.ColumnInt64(0)
			if seen[row.number] {
				if f.Once {
					return sqlerr.New(8672, 1)
				}
				return nil
			}
			seen[row.number] = true
			row.old = take(at, len(r.Image))
			row.source = take(at+len(r.Image), r.Sources)
			all = append(all, row)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if r.Limit == "" {
		return all, nil
	}
	err := s.eachRaw(ctx, p, r.Limit, conn, nil, func(stmt *sqlite.Stmt) error {
		if n := stmt.ColumnInt64(0); n >= 0 && n < int64(len(all)) {
			all = all[:n]
		}
		return nil
	})
	return all, err
}

// eachRaw runs a text of a plan with the plan's parameters and those of row, if any.
func (s *Session) eachRaw(
	ctx context.Context,
	p *bind.Plan,
	text string,
	conn *sqlite.Conn,
	row []any,
	f func(*sqlite.Stmt) error,
) error {
	stmt, st, err := s.prepareText(p, text, conn)
	if err != nil {
		return err
	}
	defer st.statements.put(text, stmt)
	for i := range p.Params {
		if i >= stmt.BindParamCount() {
			break
		}
		raw, err := s.paramValue(&p.Params[i])
		if err != nil {
			return err
		}
		storage.BindValue(stmt, i+1, raw)
	}
	for i, v := range row {
		if bind.RowParameters+i <= stmt.BindParamCount() {
			storage.BindValue(stmt, bind.RowParameters+i, v)
		}
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			if e := st.take(); e != nil {
				return e
			}
			if ctx.Err() != nil {
				return ErrCancelled
			}
			return s.changeError(p, conn, err)
		}
		if !more {
			return nil
		}
		if err := f(stmt); err != nil {
			return err
		}
	}
}

// prepareText readies a text of a plan, with the plan's virtual tables, and binds nothing.
func (s *Session) prepareText(p *bind.Plan, text string, conn *sqlite.Conn) (*sqlite.Stmt, *connState, error) {
	st := s.inst.conns.of(conn)
	if st == nil {
		return nil, nil, internalError(fmt.Errorf("a connection was not prepared"))
	}
	for _, n := range p.Needs {
		var err error
		switch {
		case n.Packed > 0:
			err = st.ensureRows(n.Packed)
		case n.Object != nil:
			_, err = st.ensureForeign(n.Space, n.Version, n.Object)
		default:
			_, err = st.ensureView(n.View, n.Args, n.Columns)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	stmt, err := st.statements.take(conn, text)
	if err != nil {
		return nil, nil, s.sqliteError(st, err)
	}
	return stmt, st, nil
}

// applyRows makes the changes: deletes first, then updates, then inserts, so that a key that one row gives up is free
// for another.
func (s *Session) applyRows(p *bind.Plan, r *bind.RowByRow, conn *sqlite.Conn, rows []*foundRow) error {
	var updates, inserts []*foundRow
	for _, row := range rows {
		switch row.find.Action {
		case "DELETE":
			if err := s.applyRow(p, r, conn, row); err != nil {
				return s.rowError(p, r, row, err)
			}
		case "UPDATE":
			updates = append(updates, row)
		case "INSERT":
			if !row.find.Direct {
				inserts = append(inserts, row)
			}
		}
	}
	if err := s.applyUpdates(p, r, conn, updates); err != nil {
		return err
	}
	for _, row := range inserts {
		err := s.applyRow(p, r, conn, row)
		if err != nil && p.Modification.Ignored(err) {
			row.ignored = true
			continue
		}
		if err != nil {
			return s.rowError(p, r, row, err)
		}
	}
	return nil
}

// withoutIgnored are the rows that were not left out as duplicates.
func withoutIgnored(rows []*foundRow) []*foundRow {
	kept := rows[:0:0]
	for _, row := range rows {
		if !row.ignored {
			kept = append(kept, row)
		}
	}
	return kept
}

// applyUpdates updates the rows in an order in which no unique key collides on the way. Rows that exchange their keys
// in a ring have no such order: their keys are set aside first.
func (s *Session) applyUpdates(p *bind.Plan, r *bind.RowByRow, conn *sqlite.Conn, pending []*foundRow) error {
	for len(pending) > 0 {
		var collided []*foundRow
		var first error
		for _, row := range pending {
			err := s.applyRow(p, r, conn, row)
			switch {
			case err == nil:
			case bind.IsCollision(err):
				if first == nil {
					first = s.rowError(p, r, row, err)
				}
				// The next round goes backwards: a shifted sequence collides with its successor only.
				collided = append(collided, row)
			default:
				return s.rowError(p, r, row, err)
			}
		}
		if len(collided) == len(pending) {
			if pending[0].marked || len(pending) == 1 && p.Modification.Object.Table.NeedsSetOptions() {
				return first
			}
			if err := s.setAside(p, r, conn, collided); err != nil {
				return err
			}
		}
		for i, j := 0, len(collided)-1; i < j; i, j = i+1, j-1 {
			collided[i], collided[j] = collided[j], collided[i]
		}
		pending = collided
	}
	return nil
}

func (s *Session) applyRow(p *bind.Plan, r *bind.RowByRow, conn *sqlite.Conn, row *foundRow) error {
	stmt, st, err := s.prepareText(p, row.find.Apply, conn)
	if err != nil {
		return err
	}
	defer st.statements.put(row.find.Apply, stmt)
	if row.find.Action != "INSERT" {
		stmt.BindInt64(1, row.number)
	}
	for i := range row.find.Set {
		storage.BindValue(stmt, i+2, row.values[i])
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			if e := st.take(); e != nil {
				return e
			}
			return err
		}
		if !more {
			return nil
		}
		row.new = make([]any, len(r.Image))
		for i := range row.new {
			row.new[i] = storage.ColumnValue(stmt, i)
		}
	}
}

// rowError is changeError for one row, whose key is known.
func (s *Session) rowError(p *bind.Plan, r *bind.RowByRow, row *foundRow, err error) error {
	if known := new(sqlerr.Error); errors.As(err, &known) {
		return err
	}
	target := p.Modification.Target
	target.Verb = row.find.Action
	value := func(c *metadata.Column) string {
		for i, set := range row.find.Set {
			if set.ID == c.ID {
				return showKey(c.Type, row.values[i])
			}
		}
		for i, col := range r.Image {
			if col.ID == c.ID && row.old != nil {
				return showKey(c.Type, row.old[i])
			}
		}
		return "<NULL>"
	}
	if e := s.constraintError(&target, err, value); e != nil {
		return e
	}
	return err
}

// setAside gives the unique keys of rows values that nothing else has, without constraints being judged: each of the
// rows gets its own values next, or the statement is undone.
func (s *Session) setAside(p *bind.Plan, r *bind.RowByRow, conn *sqlite.Conn, rows []*foundRow) error {
	st := s.inst.conns.of(conn)
	st.quiet = true
	defer func() { st.quiet = false }()
	keys := map[int32]bool{}
	for _, i := range p.Modification.Object.Table.Indexes {
		if i.Unique {
			for _, k := range i.Keys {
				if p.Modification.Object.Table.ColumnByID(k.Column).Computed != "" {
					return unsupported("Exchanging the values of a key on a computed column")
				}
				keys[k.Column] = true
			}
		}
	}
	table := "main." + p.Modification.Object.StorageName()
	least := int64(0)
	if err := sqlitex.Execute(conn, "SELECT ifnull(min(rowid), 0) FROM "+table, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { least = stmt.ColumnInt64(0); return nil }}); err != nil {
		return err
	}
	least = min(least, 0)
	for n, row := range rows {
		number := row.number
		var sets []string
		for _, c := range row.find.Set {
			if !keys[c.ID] {
				continue
			}
			if r.Referenced[c.ID] {
				return unsupported("Exchanging the values of a key that foreign keys refer to")
			}
			if c.ID == p.Modification.Object.Table.RowidColumn {
				number = least - int64(n) - 1
				sets = append(sets, fmt.Sprintf("%s = %d", metadata.ColumnName(c.ID), number))
				continue
			}
			sets = append(sets, fmt.Sprintf("%s = x'00736574206173696465%016x'", metadata.ColumnName(c.ID), n))
		}
		row.marked = true
		if len(sets) == 0 {
			continue
		}
		if err := sqlitex.Execute(conn, "UPDATE "+table+" SET "+strings.Join(sets, ", ")+" WHERE rowid = ?",
			&sqlitex.ExecOptions{Args: []any{row.number}}); err != nil {
			return err
		}
		row.number = number
	}
	return nil
}

// outputRows makes the rows of the OUTPUT clause.
func (s *Session) outputRows(
	ctx context.Context,
	p *bind.Plan,
	r *bind.RowByRow,
	conn *sqlite.Conn,
	rows []*foundRow,
	out func(*sqlite.Stmt) error,
) error {
	width := len(r.Image)
	for _, row := range rows {
		values := make([]any, 2*width+r.Sources+1)
		copy(values, row.new)
		copy(values[width:], row.old)
		copy(values[2*width:], row.source)
		values[2*width+r.Sources] = row.find.Action
		if err := s.eachRaw(ctx, p, r.Output, conn, values, out); err != nil {
			return err
		}
	}
	return nil
}
