// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"
	"strings"

	"zombiezen.com/go/sqlite"

	"geosql.dev/operator/standin/metadata"
	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/tds"
)

// insertRows stores rows whose values are of the columns' own types.
func (s *Session) insertRows(ctx context.Context, name objectName, obj *metadata.Object, columns []*metadata.Column, rows [][]any) (int64, error) {
	space := s.db.ID()
	if name.temporary() {
		space = tempSpace
	} else if name.database != "" {
		db := s.inst.Database(name.database)
		if db == nil {
			return 0, sqlerr.New(911, 1, name.database)
		}
		space = db.ID()
	}
	types := make([]tds.Column, len(columns))
	for i, c := range columns {
		types[i] = tds.Column{Name: c.Name, Type: c.Type}
	}
	return s.insertValues(ctx, space, obj, columns, types, rows, true)
}

// rowSource gives rows one after another; io.EOF ends them.
type rowSource func() ([]any, error)

func sliceSource(rows [][]any) rowSource {
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
func (s *Session) insertValues(ctx context.Context, space int32, obj *metadata.Object, columns []*metadata.Column, types []tds.Column, rows [][]any, keepIdentity bool) (int64, error) {
	return s.insertFrom(ctx, space, obj, columns, types, sliceSource(rows), keepIdentity)
}

func (s *Session) insertFrom(ctx context.Context, space int32, obj *metadata.Object, columns []*metadata.Column, types []tds.Column, next rowSource, keepIdentity bool) (int64, error) {
	b := newBinder(ctx, s, space)
	var p *plan
	raw := make([]any, len(columns))
	if e := bindSafely(func() {
		sch := b.schema(space)
		if cur := sch.Objects[obj.ID]; cur != nil {
			obj = cur
		}
		d := b.dmlPlan("INSERT", space, sch, obj)
		d.explicit = keepIdentity && obj.Table.IdentityColumn() != nil
		all := b.allColumns(obj, columns, d)
		d.identity = d.identity || d.explicit
		names, parts := make([]string, len(all)), make([]string, len(all))
		for i, c := range all {
			names[i] = metadata.ColumnName(c.ID)
			if i < len(columns) {
				at := i
				parts[i] = b.parameter("row "+c.Name, param{typ: sqltype.Type{}, value: func(*Session) any { return raw[at] }}).sql
			} else {
				parts[i] = b.automatic(sch, obj, c, d, true, 0)
			}
		}
		p = b.plan("INSERT INTO main." + obj.StorageName() + " (" + strings.Join(names, ",") + ") VALUES (" + strings.Join(parts, ",") + ")")
		p.dml = d
		p.home = space
	}); e != nil {
		return 0, e
	}
	count := int64(0)
	err := s.writing(ctx, p.dml, func(conn *sqlite.Conn) error {
		return s.judged(p.dml, conn, func() error {
			stmt, st, err := s.prepareRows(p, conn)
			if err != nil {
				return err
			}
			defer st.statements.put(p.sql, stmt)
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
			if p.dml.identity {
				return s.reserveIdentity(&p.dml.target, conn, p.dml.explicit)
			}
			return nil
		})
	})
	s.inst.counters.rowsWritten.Add(count)
	return count, err
}

func (s *Session) prepareRows(p *plan, conn *sqlite.Conn) (*sqlite.Stmt, *connState, error) {
	st := s.inst.conns.of(conn)
	if st == nil {
		return nil, nil, internalError(errors.New("a connection was not prepared"))
	}
	stmt, err := st.statements.take(conn, p.sql)
	return stmt, st, err
}

// storeRow converts a row to what its columns store.
func (s *Session) storeRow(p *plan, columns []*metadata.Column, types []tds.Column, row, raw []any) error {
	if len(row) < len(columns) {
		return sqlerr.New(213, 1)
	}
	for i, c := range columns {
		v := row[i]
		if v == nil {
			if !c.Nullable {
				return nullError(&p.dml.target, c)
			}
			raw[i] = nil
			continue
		}
		if types[i].Type != c.Type {
			out, e := s.convert(v, types[i].Type, c.Type, sqltype.Assign)
			if e != nil {
				return truncation(e, &p.dml.target, c, v)
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

func (s *Session) stepRow(ctx context.Context, p *plan, conn *sqlite.Conn, stmt *sqlite.Stmt, st *connState, columns []*metadata.Column, raw []any) error {
	for i := range p.params {
		if i < len(raw) && p.params[i].typ.Kind == sqltype.Unknown {
			storage.BindValue(stmt, i+1, raw[i])
			continue
		}
		v, err := s.paramValue(&p.params[i])
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
			return errCancelled
		}
		keys := map[int32]string{}
		for i, c := range columns {
			keys[c.ID] = showKey(c.Type, raw[i])
		}
		if e := s.constraintError(&p.dml.target, err, func(c *metadata.Column) string { return keys[c.ID] }); e != nil {
			return e
		}
		return err
	}
	return stmt.Reset()
}

// BulkInsert serves tds.Session: INSERT BULK table (column type, ...) WITH (...).
func (s *Session) BulkInsert(ctx context.Context, text string, cols []tds.Column, next func() ([]any, error)) (int64, error) {
	var count int64
	w := &discardWriter{}
	err := s.serve(ctx, text, w, func(ctx context.Context) error {
		name, keepIdentity, perr := bulkTarget(text)
		if perr != nil {
			return perr
		}
		f := &frame{variables: map[string]*variable{}}
		s.frames = append(s.frames, f)
		s.nest++
		defer s.popFrame()
		b := newBinder(ctx, s, s.db.ID())
		var space int32
		var sch *metadata.Catalog
		var obj *metadata.Object
		columns := make([]*metadata.Column, len(cols))
		if e := bindSafely(func() {
			space, sch, obj = b.tableToWrite(name, 208)
			b.require("INSERT", space, sch, obj)
			for i, c := range cols {
				if columns[i] = obj.Table.Column(c.Name); columns[i] == nil {
					b.fail(207, c.Name)
				}
			}
		}); e != nil {
			return e
		}
		kept := columns[:0:0]
		for _, c := range columns {
			if c.Identity == nil || keepIdentity {
				kept = append(kept, c)
			}
		}
		types := make([]tds.Column, 0, len(kept))
		for i, c := range cols {
			if columns[i].Identity == nil || keepIdentity {
				types = append(types, c)
			}
		}
		var err error
		count, err = s.insertFrom(ctx, space, obj, kept, types, func() ([]any, error) {
			row, err := next()
			if err != nil || len(kept) == len(columns) {
				return row, err
			}
			out := make([]any, 0, len(kept))
			for i, c := range columns {
				if c.Identity == nil {
					out = append(out, row[i])
				}
			}
			return out, nil
		}, keepIdentity)
		return err
	})
	if err == nil && w.err != nil {
		return 0, w.err
	}
	return count, err
}

// bulkTarget reads the table's name of INSERT BULK.
func bulkTarget(text string) (objectName, bool, *sqlerr.Error) {
	rest := strings.TrimSpace(text)
	if len(rest) < 11 || !strings.EqualFold(rest[:6], "insert") {
		return objectName{}, false, sqlerr.New(102, 1, "BULK")
	}
	rest = strings.TrimSpace(rest[6:])
	if len(rest) < 5 || !strings.EqualFold(rest[:4], "bulk") {
		return objectName{}, false, sqlerr.New(102, 1, "BULK")
	}
	rest = strings.TrimSpace(rest[4:])
	end, quoted := len(rest), byte(0)
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if quoted != 0 {
			if c == quoted {
				quoted = 0
			}
			continue
		}
		if c == '[' {
			quoted = ']'
		}
		if c == '"' {
			quoted = '"'
		}
		if c == '(' || c == ' ' {
			end = i
			break
		}
	}
	return splitName(rest[:end]), strings.Contains(strings.ToUpper(rest[end:]), "KEEP_IDENTITY") ||
		strings.Contains(strings.ToUpper(rest[end:]), "KEEPIDENTITY"), nil
}
