// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// rowwise is a change whose rows are found first and then changed one by one. It is what SQLite's own statements
// cannot do: MERGE, an OUTPUT clause that names old values, tables with triggers, and updates after which a unique key
// holds although it would not hold between two of their rows.
type rowwise struct {
	finds []rowFind
	// image are the columns that the table stores, in the order of a row's old and new values.
	image []*metadata.Column
	// output is the SELECT that makes a row of the OUTPUT clause, from parameters numbered from rowParameters on: the
	// new values, the old ones, those of the other tables, and the action.
	output  string
	sources int
	// limit, when set, gives the number of rows that are changed at most.
	limit string
	// referenced are columns that foreign keys refer to.
	referenced map[int32]bool
}

// rowFind is one way in which rows are found and changed.
type rowFind struct {
	// action is INSERT, UPDATE or DELETE.
	action string
	// query gives the row's number, the values of set, the old values and those of the other tables. Of an insert that
	// is direct it is the INSERT itself, which returns the new values.
	query  string
	direct bool
	set    []*metadata.Column
	// variables get the values that follow those of set.
	variables []string
	apply     string
	// once refuses rows that are found twice (8672); else the first finding counts.
	once bool
}

// rowParameters is above the number of parameters that a request can have.
const rowParameters = 2200

// foundRow is a row to change; values have the form in which they are stored.
type foundRow struct {
	find                     *rowFind
	number                   int64
	values, old, source, new []any
	marked, ignored          bool
}

// storedColumns are the columns of a table that are not computed.
func storedColumns(o *metadata.Object) []*metadata.Column {
	var out []*metadata.Column
	for _, c := range o.Table.Columns {
		if c.Computed == "" {
			out = append(out, c)
		}
	}
	return out
}

func (b *binder) newRowwise(sch *metadata.Catalog, obj *metadata.Object) *rowwise {
	r := &rowwise{image: storedColumns(obj), referenced: map[int32]bool{}}
	for _, o := range sch.Objects {
		if o.ForeignKey != nil && o.ForeignKey.Referenced == obj.ID {
			for _, c := range o.ForeignKey.RefColumns {
				r.referenced[c] = true
			}
		}
	}
	return r
}

func (r *rowwise) imageNames(prefix string) []string {
	out := make([]string, len(r.image))
	for i, c := range r.image {
		out[i] = prefix + metadata.ColumnName(c.ID)
	}
	return out
}

// add completes a find: its statement for one row.
func (r *rowwise) add(f rowFind, obj *metadata.Object) {
	table := "main." + obj.StorageName()
	returning := " RETURNING " + strings.Join(r.imageNames(""), ", ")
	switch f.action {
	case "DELETE":
		f.apply = "DELETE FROM " + table + " WHERE rowid = ?1"
	case "UPDATE":
		sets := make([]string, len(f.set))
		for i, c := range f.set {
			sets[i] = fmt.Sprintf("%s = ?%d", metadata.ColumnName(c.ID), i+2)
		}
		f.apply = "UPDATE " + table + " SET " + strings.Join(sets, ", ") + " WHERE rowid = ?1" + returning
	case "INSERT":
		names, values := make([]string, len(f.set)), make([]string, len(f.set))
		for i, c := range f.set {
			names[i], values[i] = metadata.ColumnName(c.ID), fmt.Sprintf("?%d", i+2)
		}
		f.apply = "INSERT INTO " + table + " (" + strings.Join(
			names,
			", ",
		) + ") VALUES (" + strings.Join(
			values,
			", ",
		) + ")" + returning
	}
	r.finds = append(r.finds, f)
}

// runRowwise finds the rows, changes them and gives what became of each. out gets the rows of the OUTPUT clause.
func (s *Session) runRowwise(
	ctx context.Context,
	p *plan,
	r *rowwise,
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
		for i, name := range row.find.variables {
			v := s.variable(name)
			if v == nil {
				return nil, sqlerr.New(137, 2, name)
			}
			if v.value, err = sqltype.Decode(v.typ, row.values[len(row.find.set)+i]); err != nil {
				return nil, err
			}
		}
	}
	if r.output == "" {
		return rows, nil
	}
	return rows, s.outputRows(ctx, p, r, conn, rows, out)
}

func (s *Session) findRows(ctx context.Context, p *plan, r *rowwise, conn *sqlite.Conn) ([]*foundRow, error) {
	var all []*foundRow
	seen := map[int64]bool{}
	for i := range r.finds {
		f := &r.finds[i]
		err := s.eachRaw(ctx, p, f.query, conn, nil, func(stmt *sqlite.Stmt) error {
			row := &foundRow{find: f}
			take := func(from, n int) []any {
				list := make([]any, n)
				for i := range list {
					list[i] = storage.ColumnValue(stmt, from+i)
				}
				return list
			}
			if f.direct {
				row.new = take(0, len(r.image))
				all = append(all, row)
				return nil
			}
			at := 1
			row.values = take(at, len(f.set)+len(f.variables))
			at += len(row.values)
			if f.action == "INSERT" {
				row.source = take(at, r.sources)
				all = append(all, row)
				return nil
			}
			row.number = stmt.ColumnInt64(0)
			if seen[row.number] {
				if f.once {
					return sqlerr.New(8672, 1)
				}
				return nil
			}
			seen[row.number] = true
			row.old = take(at, len(r.image))
			row.source = take(at+len(r.image), r.sources)
			all = append(all, row)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if r.limit == "" {
		return all, nil
	}
	err := s.eachRaw(ctx, p, r.limit, conn, nil, func(stmt *sqlite.Stmt) error {
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
	p *plan,
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
	for i := range p.params {
		if i >= stmt.BindParamCount() {
			break
		}
		raw, err := s.paramValue(&p.params[i])
		if err != nil {
			return err
		}
		storage.BindValue(stmt, i+1, raw)
	}
	for i, v := range row {
		if rowParameters+i <= stmt.BindParamCount() {
			storage.BindValue(stmt, rowParameters+i, v)
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
func (s *Session) prepareText(p *plan, text string, conn *sqlite.Conn) (*sqlite.Stmt, *connState, error) {
	st := s.inst.conns.of(conn)
	if st == nil {
		return nil, nil, internalError(fmt.Errorf("a connection was not prepared"))
	}
	for _, n := range p.needs {
		var err error
		switch {
		case n.packed > 0:
			err = st.ensureRows(n.packed)
		case n.object != nil:
			_, err = st.ensureForeign(n.space, n.version, n.object)
		default:
			_, err = st.ensureView(n.view, n.args, n.columns)
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
func (s *Session) applyRows(p *plan, r *rowwise, conn *sqlite.Conn, rows []*foundRow) error {
	var updates, inserts []*foundRow
	for _, row := range rows {
		switch row.find.action {
		case "DELETE":
			if err := s.applyRow(p, r, conn, row); err != nil {
				return s.rowError(p, r, row, err)
			}
		case "UPDATE":
			updates = append(updates, row)
		case "INSERT":
			if !row.find.direct {
				inserts = append(inserts, row)
			}
		}
	}
	if err := s.applyUpdates(p, r, conn, updates); err != nil {
		return err
	}
	for _, row := range inserts {
		err := s.applyRow(p, r, conn, row)
		if err != nil && p.dml.ignored(err) {
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
func (s *Session) applyUpdates(p *plan, r *rowwise, conn *sqlite.Conn, pending []*foundRow) error {
	for len(pending) > 0 {
		var collided []*foundRow
		var first error
		for _, row := range pending {
			err := s.applyRow(p, r, conn, row)
			switch {
			case err == nil:
			case isCollision(err):
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
			if pending[0].marked || len(pending) == 1 && p.dml.object.Table.NeedsSetOptions() {
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

func isCollision(err error) bool {
	switch sqlite.ErrCode(err) {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID:
		return true
	}
	return false
}

func (s *Session) applyRow(p *plan, r *rowwise, conn *sqlite.Conn, row *foundRow) error {
	stmt, st, err := s.prepareText(p, row.find.apply, conn)
	if err != nil {
		return err
	}
	defer st.statements.put(row.find.apply, stmt)
	if row.find.action != "INSERT" {
		stmt.BindInt64(1, row.number)
	}
	for i := range row.find.set {
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
		row.new = make([]any, len(r.image))
		for i := range row.new {
			row.new[i] = storage.ColumnValue(stmt, i)
		}
	}
}

// rowError is changeError for one row, whose key is known.
func (s *Session) rowError(p *plan, r *rowwise, row *foundRow, err error) error {
	if known := new(sqlerr.Error); errors.As(err, &known) {
		return err
	}
	target := p.dml.target
	target.verb = row.find.action
	value := func(c *metadata.Column) string {
		for i, set := range row.find.set {
			if set.ID == c.ID {
				return showKey(c.Type, row.values[i])
			}
		}
		for i, col := range r.image {
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
func (s *Session) setAside(p *plan, r *rowwise, conn *sqlite.Conn, rows []*foundRow) error {
	st := s.inst.conns.of(conn)
	st.quiet = true
	defer func() { st.quiet = false }()
	keys := map[int32]bool{}
	for _, i := range p.dml.object.Table.Indexes {
		if i.Unique {
			for _, k := range i.Keys {
				if p.dml.object.Table.ColumnByID(k.Column).Computed != "" {
					return unsupported("Exchanging the values of a key on a computed column")
				}
				keys[k.Column] = true
			}
		}
	}
	table := "main." + p.dml.object.StorageName()
	least := int64(0)
	if err := sqlitex.Execute(conn, "SELECT ifnull(min(rowid), 0) FROM "+table, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { least = stmt.ColumnInt64(0); return nil }}); err != nil {
		return err
	}
	least = min(least, 0)
	for n, row := range rows {
		number := row.number
		var sets []string
		for _, c := range row.find.set {
			if !keys[c.ID] {
				continue
			}
			if r.referenced[c.ID] {
				return unsupported("Exchanging the values of a key that foreign keys refer to")
			}
			if c.ID == p.dml.object.Table.RowidColumn {
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
	p *plan,
	r *rowwise,
	conn *sqlite.Conn,
	rows []*foundRow,
	out func(*sqlite.Stmt) error,
) error {
	width := len(r.image)
	for _, row := range rows {
		values := make([]any, 2*width+r.sources+1)
		copy(values, row.new)
		copy(values[width:], row.old)
		copy(values[2*width:], row.source)
		values[2*width+r.sources] = row.find.action
		if err := s.eachRaw(ctx, p, r.output, conn, values, out); err != nil {
			return err
		}
	}
	return nil
}
