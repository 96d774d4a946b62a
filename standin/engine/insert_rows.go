// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

// insertRows stores rows whose values are of the columns' own types.
func (s *Session) insertRows(
	ctx context.Context,
	name bind.ObjectName,
	obj *metadata.Object,
	columns []*metadata.Column,
	rows [][]any,
) (int64, error) {
	space := s.db.ID()
	if name.Temporary() {
		space = bind.TempSpace
	} else if name.Database != "" {
		db := s.inst.Database(name.Database)
		if db == nil {
			return 0, sqlerr.New(911, 1, name.Database)
		}
		space = db.ID()
	}
	types := make([]tds.Column, len(columns))
	for i, c := range columns {
		types[i] = tds.Column{Name: c.Name, Type: c.Type}
	}
	return s.insertValues(ctx, space, obj, columns, types, rows, true)
}

// RowSource gives rows one after another; io.EOF ends them.
type RowSource func() ([]any, error)

func sliceSource(rows [][]any) RowSource {
	i := 0
	return func() ([]any, error) {
		if i >= len(rows) {
			return nil, io.EOF
		}
		i++
		return rows[i-1], nil
	}
}

// insertValues stores rows in columns of a table. keepIdentity takes given identity values.
func (s *Session) insertValues(
	ctx context.Context,
	space int32,
	obj *metadata.Object,
	columns []*metadata.Column,
	types []tds.Column,
	rows [][]any,
	keepIdentity bool,
) (int64, error) {
	return s.InsertFrom(ctx, space, obj, columns, types, sliceSource(rows), keepIdentity)
}

// InsertFrom stores the rows of a source in columns of a table, and gives their number. keepIdentity takes given
// identity values.
func (s *Session) InsertFrom(
	ctx context.Context,
	space int32,
	obj *metadata.Object,
	columns []*metadata.Column,
	types []tds.Column,
	next RowSource,
	keepIdentity bool,
) (int64, error) {
	b := newBinder(ctx, s, space)
	var p *bind.Plan
	raw := make([]any, len(columns))
	if e := bind.Safely(func() {
		sch := b.Catalog(space)
		if cur := sch.Objects[obj.ID]; cur != nil {
			obj = cur
		}
		d := b.Modification("INSERT", space, sch, obj)
		d.Explicit = keepIdentity && obj.Table.IdentityColumn() != nil
		all := b.AllColumns(obj, columns, d)
		d.Identity = d.Identity || d.Explicit
		names, parts := make([]string, len(all)), make([]string, len(all))
		for i, c := range all {
			names[i] = metadata.ColumnName(c.ID)
			if i < len(columns) {
				at := i
				value := func(bind.Session) any { return raw[at] }
				parts[i] = b.Parameter("row "+c.Name, bind.Parameter{Type: sqltype.Type{}, Value: value}).SQL
			} else {
				parts[i] = b.Automatic(sch, obj, c, d, true, 0)
			}
		}
		p = b.Plan("INSERT INTO main." + obj.StorageName() + " (" + strings.Join(names, ",") + ") VALUES (" +
			strings.Join(parts, ",") + ")")
		p.Modification = d
		p.Home = space
	}); e != nil {
		return 0, e
	}
	count := int64(0)
	err := s.writing(ctx, p.Modification, func(conn *sqlite.Conn) error {
		return s.judged(p.Modification, conn, func() error {
			stmt, st, err := s.prepareRows(p, conn)
			if err != nil {
				return err
			}
			defer st.statements.put(p.SQL, stmt)
			for {
				row, err := next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return err
				}
				if err := s.storeRow(p, columns, types, row, raw); err != nil {
					return err
				}
				if err := s.stepRow(ctx, p, conn, stmt, st, columns, raw); err != nil {
					return err
				}
				count++
			}
			if p.Modification.Identity {
				return s.reserveIdentity(&p.Modification.Target, conn, p.Modification.Explicit)
			}
			return nil
		})
	})
	s.inst.counters.rowsWritten.Add(count)
	return count, err
}

func (s *Session) prepareRows(p *bind.Plan, conn *sqlite.Conn) (*sqlite.Stmt, *connState, error) {
	st := s.inst.conns.of(conn)
	if st == nil {
		return nil, nil, internalError(errors.New("a connection was not prepared"))
	}
	stmt, err := st.statements.take(conn, p.SQL)
	return stmt, st, err
}

// storeRow converts a row to what its columns store.
func (s *Session) storeRow(p *bind.Plan, columns []*metadata.Column, types []tds.Column, row, raw []any) error {
	if len(row) < len(columns) {
		return sqlerr.New(213, 1)
	}
	for i, c := range columns {
		v := row[i]
		if v == nil {
			if !c.Nullable {
				return bind.NullError(&p.Modification.Target, c)
			}
			raw[i] = nil
			continue
		}
		if types[i].Type != c.Type {
			out, e := s.Convert(v, types[i].Type, c.Type, sqltype.Assign)
			if e != nil {
				return bind.TruncationError(e, &p.Modification.Target, c, v)
			}
			v = out
		}
		var err error
		if raw[i], err = sqltype.Encode(c.Type, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) stepRow(
	ctx context.Context,
	p *bind.Plan,
	conn *sqlite.Conn,
	stmt *sqlite.Stmt,
	st *connState,
	columns []*metadata.Column,
	raw []any,
) error {
	for i := range p.Params {
		if i < len(raw) && p.Params[i].Type.Kind == sqltype.Unknown {
			storage.BindValue(stmt, i+1, raw[i])
			continue
		}
		v, err := s.paramValue(&p.Params[i])
		if err != nil {
			return err
		}
		storage.BindValue(stmt, i+1, v)
	}
	if _, err := stmt.Step(); err != nil {
		if e := st.take(); e != nil {
			return e
		}
		if ctx.Err() != nil {
			return ErrCancelled
		}
		keys := map[int32]string{}
		for i, c := range columns {
			keys[c.ID] = showKey(c.Type, raw[i])
		}
		key := func(c *metadata.Column) string { return keys[c.ID] }
		if e := s.constraintError(&p.Modification.Target, err, key); e != nil {
			return e
		}
		return err
	}
	return stmt.Reset()
}

// BulkInsert serves tds.Session: INSERT BULK table (column type, ...) WITH (...).
func (s *Session) BulkInsert(
	ctx context.Context,
	text string,
	cols []tds.Column,
	next func() ([]any, error),
) (int64, error) {
	var count int64
	w := &discardWriter{}
	err := s.serve(ctx, text, w, func(ctx context.Context) error {
		statement, perr := parseBulkStatement(text)
		if perr != nil {
			return perr
		}
		f := &frame{variables: map[string]*variable{}}
		s.frames = append(s.frames, f)
		s.nest++
		defer s.popFrame()
		b := newBinder(ctx, s, s.db.ID())
		var space int32
		var obj *metadata.Object
		columns := make([]*metadata.Column, len(cols))
		defaults := make([]ast.ScalarExpression, len(cols))
		keepIdentity := false
		if e := bind.Safely(func() {
			var sch *metadata.Catalog
			space, sch, obj = b.TableToWrite(statement.table, 208)
			b.Require("INSERT", space, sch, obj)
			for _, t := range sch.Children(obj.ID) {
				if statement.fireTriggers && t.Kind == metadata.KindTrigger && !t.Disabled &&
					strings.Contains(t.Properties[metadata.TriggerEvents], "INSERT") {
					b.Refuse("FIRE_TRIGGERS of INSERT BULK on a table that has triggers")
				}
			}
			for i, c := range cols {
				if columns[i] = obj.Table.Column(c.Name); columns[i] == nil {
					b.Fail(207, c.Name)
				}
				keepIdentity = keepIdentity || columns[i].Identity != nil
				if o := sch.Objects[columns[i].Default]; o != nil && !statement.keepNulls {
					defaults[i] = bind.ParseExpression(o.Definition)
				}
			}
		}); e != nil {
			return e
		}
		var err error
		count, err = s.InsertFrom(
			ctx,
			space,
			obj,
			columns,
			cols,
			s.defaulted(ctx, columns, cols, defaults, next),
			keepIdentity,
		)
		return err
	})
	if err == nil && w.err != nil {
		return 0, w.err
	}
	return count, err
}

// defaulted gives rows in which the default of a column takes the place of NULL.
func (s *Session) defaulted(
	ctx context.Context,
	columns []*metadata.Column,
	types []tds.Column,
	defaults []ast.ScalarExpression,
	next RowSource,
) RowSource {
	if !slices.ContainsFunc(defaults, func(e ast.ScalarExpression) bool { return e != nil }) {
		return next
	}
	return func() ([]any, error) {
		row, err := next()
		for i := range row {
			if row[i] != nil || defaults[i] == nil {
				continue
			}
			if row[i], err = s.evaluate(ctx, defaults[i], types[i].Type); err != nil {
				return nil, err
			}
		}
		return row, err
	}
}

// TableToFill is the table of a name that the session may insert rows into.
func (s *Session) TableToFill(
	ctx context.Context,
	name bind.ObjectName,
) (space int32, sch *metadata.Catalog, table *metadata.Object, err error) {
	b := newBinder(ctx, s, s.db.ID())
	if e := bind.Safely(func() {
		space, sch, table = b.TableToWrite(name, 208)
		b.Require("INSERT", space, sch, table)
	}); e != nil {
		return 0, nil, nil, e
	}
	return space, sch, table, nil
}

// DoneRows ends a statement that inserted rows.
func (s *Session) DoneRows(count int64, w tds.Writer) error {
	s.rowCount = count
	return w.Done(s.completion(count))
}
