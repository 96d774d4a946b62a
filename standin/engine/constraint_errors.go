// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// raised is what a trigger of the engine raises: "tsql:547:<object_id of the constraint>".
const raised = "tsql:547:"

// constraintError translates a violated constraint; nil when the error is something else.
func (s *Session) constraintError(t *bind.Target, err error, key func(*metadata.Column) string) *sqlerr.Error {
	text := err.Error()
	if i := strings.Index(text, raised); i >= 0 {
		digits := text[i+len(raised):]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r != '-' && (r < '0' || r > '9') }); end >= 0 {
			digits = digits[:end]
		}
		id, convErr := strconv.ParseInt(digits, 10, 32)
		if convErr == nil {
			return s.conflict(t, int32(id))
		}
	}
	switch sqlite.ErrCode(err) {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID:
		return s.duplicate(t, text, key)
	case sqlite.ResultConstraintNotNull:
		if c := t.FailedColumn(text); c != nil {
			return bind.NullError(t, c)
		}
	}
	return nil
}

// databaseOf is the database of a table that is changed, nil for a temporary one.
func databaseOf(t *bind.Target) *Database {
	db, _ := t.Database.(*Database)
	return db
}

// duplicate is 2627 or 2601.
func (s *Session) duplicate(t *bind.Target, text string, key func(*metadata.Column) string) *sqlerr.Error {
	index := t.FailedIndex(text)
	if index == nil {
		return nil
	}
	values := make([]string, len(index.Keys))
	known := true
	for i, k := range index.Keys {
		c := t.Object.Table.ColumnByID(k.Column)
		values[i] = key(c)
		known = known && values[i] != "" && c.Computed == ""
	}
	shown := "(" + strings.Join(values, ", ") + ")"
	if !known {
		shown = "(not known)"
	}
	if index.PrimaryKey || index.Constraint != 0 {
		kind := "UNIQUE KEY"
		if index.PrimaryKey {
			kind = "PRIMARY KEY"
		}
		return sqlerr.New(2627, 1, kind, index.Name, t.String(), shown)
	}
	return sqlerr.New(2601, 1, t.String(), index.Name, shown)
}

// conflict is 547 for a foreign key or check constraint.
func (s *Session) conflict(t *bind.Target, id int32) *sqlerr.Error {
	space := bind.TempSpace
	if db := databaseOf(t); db != nil {
		space = db.ID()
	}
	sch, err := s.schema(s.context(), space)
	if err != nil {
		return AsError(err)
	}
	o := sch.Objects[id]
	if o == nil {
		return sqlerr.New(547, 0, t.Verb, "CHECK", strconv.Itoa(int(id)), t.DatabaseName, t.String(), "", "", "")
	}
	table := sch.Objects[o.Parent]
	kind, column := "CHECK", int32(0)
	switch {
	case o.Kind == metadata.KindCheck:
		column = o.Column
	case o.Parent != t.Object.ID:
		kind = "REFERENCE"
		column = o.ForeignKey.Columns[0]
	case t.Verb == "DELETE":
		kind, column = "SAME TABLE REFERENCE", o.ForeignKey.Columns[0]
	default:
		kind, column = "FOREIGN KEY", o.ForeignKey.RefColumns[0]
		table = sch.Objects[o.ForeignKey.Referenced]
		if o.ForeignKey.Referenced == o.Parent {
			kind = "FOREIGN KEY SAME TABLE"
		}
	}
	label, name, end := "", "", ""
	if column != 0 && table != nil && (o.ForeignKey == nil || len(o.ForeignKey.Columns) == 1) {
		if c := table.Table.ColumnByID(column); c != nil {
			label, name, end = ", column '", c.Name, "'"
		}
	}
	where := t.String()
	if table != nil {
		where = sch.SchemaName(table) + "." + table.ShownName()
	}
	return sqlerr.New(547, 0, t.Verb, kind, o.Name, t.DatabaseName, where, label, name, end)
}

// storeError is the error of a parameter's conversion to a column's type.
func (s *Session) storeError(e *sqlerr.Error, c *metadata.Column, v any) error {
	if s.target == nil {
		copied := *e
		return &copied
	}
	return bind.TruncationError(e, s.target, c, v)
}

func (s *Session) nullError(c *metadata.Column) error {
	if s.target == nil {
		return sqlerr.New(515, 2, c.Name, "", "INSERT")
	}
	return bind.NullError(s.target, c)
}

// nullInColumn is the error of tsql_notnull.
func (st *connState) nullInColumn(_, column int32) *sqlerr.Error {
	if st.session != nil && st.session.target != nil {
		if c := st.session.target.Object.Table.ColumnByID(column); c != nil {
			return bind.NullError(st.session.target, c)
		}
	}
	return sqlerr.New(515, 2, "", "", "INSERT")
}

// store computes tsql_store(x, from, to, column).
func (st *connState) store(args []sqlite.Value) (any, *sqlerr.Error) {
	raw := storage.ArgumentValue(args[0])
	from, to, column := sqltype.Unpack(args[1].Int64()), sqltype.Unpack(args[2].Int64()), int32(args[3].Int64())
	var c *metadata.Column
	if st.session != nil && st.session.target != nil {
		c = st.session.target.Object.Table.ColumnByID(column)
	}
	if raw == nil {
		if c != nil && !c.Nullable {
			return nil, bind.NullError(st.session.target, c)
		}
		return nil, nil
	}
	v, err := sqltype.Decode(from, raw)
	if err != nil {
		return nil, internalError(err)
	}
	out, e := st.session.Convert(v, from, to, sqltype.Assign)
	if st.session.cuts(e) {
		out, e = st.session.Convert(v, from, to, sqltype.Explicit)
	}
	if e != nil {
		if c != nil {
			return nil, bind.TruncationError(e, st.session.target, c, v)
		}
		copied := *e
		return nil, &copied
	}
	return encodeResult(to, out)
}

// classify is the SQL Server error for any Go error that reaches a client.
func classify(err error) *sqlerr.Error {
	var e *sqlerr.Error
	var suspect *storage.Suspect
	var full *storage.LogFull
	var damaged *storage.DamagedLog
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, storage.ErrReadOnly):
		return sqlerr.New(3906, 1, databaseIn(err))
	case errors.As(err, &full):
		return sqlerr.New(
			9002,
			4,
			databaseIn(err),
			full.Reuse,
			fmt.Sprintf("(%d:%d:%d)", full.Holdup.VLF(), full.Holdup.Block(), full.Holdup.Slot()),
		)
	case errors.Is(err, storage.ErrClosed):
		return sqlerr.New(952, 1, databaseIn(err))
	case errors.As(err, &damaged):
		return sqlerr.New(9004, 1, databaseIn(err))
	case errors.As(err, &suspect):
		return sqlerr.New(926, 1, suspect.Database)
	case errors.Is(err, context.DeadlineExceeded):
		return sqlerr.New(1222, 51)
	case errors.Is(err, ErrCancelled), errors.Is(err, context.Canceled):
		return &sqlerr.Error{Number: 0, Class: 11, State: 0, Message: "Operation cancelled by user."}
	case sqlite.ErrCode(err) == sqlite.ResultInterrupt:
		// Not the client's doing: a database that was read changes its role or closes.
		return sqlerr.New(952, 1, databaseIn(err))
	case tooComplex(err):
		return sqlerr.New(191, 1)
	}
	return internalError(err)
}

// tooComplex tells that an expression is deeper than SQLite takes one (sqlite.org/limits.html, Maximum Depth Of An
// Expression Tree).
func tooComplex(err error) bool {
	return sqlite.ErrCode(err) == sqlite.ResultError && strings.Contains(err.Error(), "Expression tree is too large")
}

// databaseIn is the database that an error of storage names in quotes.
func databaseIn(err error) string {
	_, rest, ok := strings.Cut(err.Error(), `database "`)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
