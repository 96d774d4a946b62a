// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

func itoa(n int32) string { return strconv.Itoa(int(n)) }

func installDML(r *Registry) {
	on(r, (*Session).selectStatement)
	on(r, (*Session).insert)
	on(r, func(s *Session, ctx context.Context, n *ast.UpdateStatement, w tds.Writer) error {
		return s.change(ctx, n, func(b *bind.Binder) *bind.Plan { return b.Update(n) }, w)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DeleteStatement, w tds.Writer) error {
		return s.change(ctx, n, func(b *bind.Binder) *bind.Plan { return b.Delete(n) }, w)
	})
	on(r, (*Session).merge)
	on(r, (*Session).mergeInto)
	on(r, (*Session).truncate)
	on(r, (*Session).executeStatement)
}

func (s *Session) insert(ctx context.Context, n *ast.InsertStatement, w tds.Writer) error {
	if _, executes :=
		n.InsertSpecification.InsertSource.(*ast.ExecuteInsertSource); n.InsertSpecification.TopRowFilter != nil &&
		executes {
		return unsupported("INSERT TOP ... EXECUTE")
	}
	if src, ok := n.InsertSpecification.InsertSource.(*ast.ExecuteInsertSource); ok {
		return s.insertExecute(ctx, n, src, w)
	}
	if ref := nestedChange(n); ref != nil {
		return s.insertChanged(ctx, n, ref, w)
	}
	return s.change(ctx, n, func(b *bind.Binder) *bind.Plan { return b.Insert(n) }, w)
}

// change compiles and executes INSERT, UPDATE or DELETE.
func (s *Session) change(ctx context.Context, n ast.Statement, bind func(*bind.Binder) *bind.Plan, w tds.Writer) error {
	p, err := s.compile(ctx, n, bind)
	if err != nil {
		return err
	}
	return s.runChange(ctx, p, w)
}

func (s *Session) runChange(ctx context.Context, p *bind.Plan, w tds.Writer) error {
	if s.doomed {
		return sqlerr.New(3930, 1)
	}
	if err := s.allowRead(ctx, p); err != nil {
		return err
	}
	if s.settings.fmtOnly {
		return w.Done(s.completion(0))
	}
	if p.Modification.Instead {
		return s.together(ctx, func() error { return s.changeInstead(ctx, p, w) })
	}
	if len(p.Modification.Triggers) > 0 {
		return s.changeWithTriggers(ctx, p, w)
	}
	_, err := s.makeChange(ctx, p, w)
	if err != nil {
		return err
	}
	return w.Done(s.completion(s.rowCount))
}

// makeChange executes the statement itself and sends the rows of its OUTPUT clause.
func (s *Session) makeChange(ctx context.Context, p *bind.Plan, w tds.Writer) ([]*foundRow, error) {
	var out [][]any
	var count int64
	var rows []*foundRow
	err := s.writing(ctx, p.Modification, func(conn *sqlite.Conn) error {
		return s.judged(p.Modification, conn, func() (err error) {
			count, rows, err = s.step(ctx, p, conn, &out)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	s.inst.counters.rowsWritten.Add(count)
	s.rowCount = count
	if s.duplicatesIgnored {
		s.duplicatesIgnored = false
		if err := w.Message(sqlerr.New(3604, 0)); err != nil {
			return nil, err
		}
	}
	switch {
	case p.Modification.Into != nil:
		if err := s.outputInto(ctx, p, out); err != nil {
			return nil, err
		}
		s.rowCount = count
		if p.Modification.Shown != nil {
			if err := sendOutput(w, p.Columns, out, p.Modification.Stored); err != nil {
				return nil, err
			}
		}
	case p.Modification.Output:
		if err := sendOutput(w, p.Columns, out, 0); err != nil {
			return nil, err
		}
	case len(p.Modification.Assigned) > 0:
		if err := s.assignLast(p, rows, out); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// assignLast gives the variables of UPDATE ... SET @x = column = expression the values of the row changed last.
func (s *Session) assignLast(p *bind.Plan, rows []*foundRow, out [][]any) error {
	for i, a := range p.Modification.Assigned {
		var value any
		var t sqltype.Type
		switch {
		case len(out) > 0:
			value, t = out[len(out)-1][i], p.Columns[i].Type
		case len(rows) > 0:
			for at, c := range p.Modification.Rows.Image {
				if metadata.ColumnName(c.ID) == a.Operator {
					t = c.Type
					var err error
					if value, err = sqltype.Decode(t, rows[len(rows)-1].new[at]); err != nil {
						return err
					}
				}
			}
		default:
			return nil
		}
		v := s.variable(a.Variable)
		converted, e := s.Convert(value, t, v.typ, sqltype.Implicit)
		if e != nil {
			return e
		}
		v.value = converted
	}
	return nil
}

// writing runs f on the connection that writes to a statement's target, in the right transaction.
func (s *Session) writing(ctx context.Context, d *bind.Modification, f func(*sqlite.Conn) error) error {
	if d.Ruled {
		if err := s.indexOptions(d.Verb); err != nil {
			return err
		}
	}
	before := s.target
	s.target = &d.Target
	defer func() { s.target = before }()
	if d.Space == bind.TempSpace {
		conn, err := s.localConn()
		if err != nil {
			return err
		}
		_, done, err := s.attach(conn, func() {})
		if err != nil {
			return err
		}
		defer done()
		return f(conn)
	}
	if err := s.allow(ctx, databaseOf(&d.Target)); err != nil {
		return err
	}
	o, single, err := s.join(ctx, databaseOf(&d.Target))
	if err != nil {
		return err
	}
	err = s.inTx(ctx, o, func(tx *storage.Tx) error { return f(tx.Conn()) })
	if !single {
		return err
	}
	if err != nil {
		s.rollbackAll()
		return err
	}
	return s.commitAll(ctx)
}

// step executes the statement of a plan and collects the rows that it returns.
func (s *Session) step(ctx context.Context, p *bind.Plan, conn *sqlite.Conn, out *[][]any) (int64, []*foundRow, error) {
	keep := func(stmt *sqlite.Stmt) error {
		row := make([]any, len(p.Columns))
		for i := range p.Columns {
			v, err := sqltype.Decode(p.Columns[i].Type, storage.ColumnValue(stmt, i))
			if err != nil {
				return err
			}
			row[i] = v
		}
		*out = append(*out, row)
		return nil
	}
	if p.Modification.Identity && !p.Modification.Explicit && p.Modification.Verb == "INSERT" {
		s.lastIdentity = nil
	}
	if p.Modification.Rows != nil {
		rows, err := s.runRowwise(ctx, p, p.Modification.Rows, conn, keep)
		if err == nil && p.Modification.Identity {
			s.noteIdentity(p, conn)
		}
		return int64(len(rows)), rows, err
	}
	stmt, st, err := s.prepare(p, conn)
	if err != nil {
		return 0, nil, err
	}
	defer st.statements.put(p.SQL, stmt)
	for {
		more, err := stmt.Step()
		if err != nil {
			if e := st.take(); e != nil {
				return 0, nil, e
			}
			if ctx.Err() != nil {
				return 0, nil, ErrCancelled
			}
			if p.Modification.Slow != nil && bind.IsCollision(err) {
				*out = nil
				rows, err := s.runRowwise(ctx, p.Modification.Slow, p.Modification.Slow.Modification.Rows, conn, keep)
				return int64(len(rows)), nil, err
			}
			return 0, nil, s.changeError(p, conn, err)
		}
		if !more {
			break
		}
		if err := keep(stmt); err != nil {
			return 0, nil, err
		}
	}
	count := int64(conn.Changes())
	if p.Modification.Identity {
		s.noteIdentity(p, conn)
	}
	return count, nil, nil
}

// outputInto stores the rows of OUTPUT INTO.
func (s *Session) outputInto(ctx context.Context, p *bind.Plan, rows [][]any) error {
	var space int32
	var obj *metadata.Object
	b := newBinder(ctx, s, s.db.ID())
	err := bind.Safely(func() {
		if v := s.variable(p.Modification.Into.Name); v != nil && v.table != nil {
			space, obj = bind.TempSpace, s.localObject(v.table)
			return
		}
		space, _, obj = b.ResolveWrite(*p.Modification.Into)
		if obj == nil {
			b.Fail(208, p.Modification.Into.String())
		}
	})
	if err != nil {
		return err
	}
	columns := []*metadata.Column{}
	if len(p.Modification.IntoColumns) > 0 {
		for _, name := range p.Modification.IntoColumns {
			c := obj.Table.Column(name)
			if c == nil {
				return sqlerr.New(207, 1, name)
			}
			columns = append(columns, c)
		}
	} else {
		for _, c := range obj.Table.Columns {
			if c.Identity == nil && c.Computed == "" && c.Type.Kind != sqltype.RowVersion {
				columns = append(columns, c)
			}
		}
	}
	if len(columns) != p.Modification.Stored {
		return sqlerr.New(213, 1)
	}
	stored := make([][]any, len(rows))
	for i, row := range rows {
		stored[i] = row[:p.Modification.Stored]
	}
	_, e := s.insertValues(ctx, space, obj, columns, p.Columns[:p.Modification.Stored], stored, false)
	return e
}

// sendOutput sends the columns of OUTPUT's rows from one on.
func sendOutput(w tds.Writer, columns []tds.Column, rows [][]any, from int) error {
	if err := w.Columns(columns[from:]); err != nil {
		return err
	}
	for _, row := range rows {
		if err := w.Row(row[from:]); err != nil {
			return err
		}
	}
	return nil
}

// changeError is the SQL Server error for what SQLite said about a change.
func (s *Session) changeError(p *bind.Plan, conn *sqlite.Conn, err error) error {
	var e *sqlerr.Error
	if errors.As(err, &e) || errors.Is(err, ErrCancelled) {
		return err
	}
	var found map[int32]string
	if p.Modification.Verb == "INSERT" && bind.IsCollision(err) {
		found = s.collidedKeys(p, conn, p.Modification.Target.FailedIndex(err.Error()))
	}
	key := func(c *metadata.Column) string {
		if found != nil {
			return found[c.ID]
		}
		return s.keyValue(p, conn, c)
	}
	if e := s.constraintError(&p.Modification.Target, err, key); e != nil {
		return e
	}
	return err
}

// keyValue is the value that a single inserted row has in a column, for the message of 2627.
func (s *Session) keyValue(p *bind.Plan, conn *sqlite.Conn, c *metadata.Column) string {
	text, ok := p.Modification.Keys[c.ID]
	if !ok {
		return ""
	}
	stmt, _, err := conn.PrepareTransient("SELECT " + text)
	if err != nil {
		return ""
	}
	defer func() { _ = stmt.Finalize() }()
	for i := range p.Params {
		if i+1 > stmt.BindParamCount() {
			break
		}
		if p.Params[i].Column != nil && p.Params[i].Column.Identity != nil || p.Params[i].Variable == "" {
			continue
		}
		raw, err := s.paramValue(&p.Params[i])
		if err != nil {
			return ""
		}
		storage.BindValue(stmt, i+1, raw)
	}
	if more, err := stmt.Step(); err != nil || !more {
		return ""
	}
	return showKey(c.Type, storage.ColumnValue(stmt, 0))
}

// showKey writes a key's value as error messages do.
func showKey(t sqltype.Type, raw any) string {
	if raw == nil {
		return "<NULL>"
	}
	v, err := sqltype.Decode(t, raw)
	if err != nil {
		return ""
	}
	style := 0
	if t.Kind.IsBinary() {
		style = 1
	}
	out, e := sqltype.Convert(v, t, sqltype.NVarCharMax, style, sqltype.Explicit)
	if e != nil {
		return ""
	}
	text, _ := out.(string)
	return text
}
