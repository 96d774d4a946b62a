// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// functionKey begins the keys of virtual tables that are multi-statement table-valued functions.
const functionKey = "function:"

// returnedTable has the columns of a multi-statement table-valued function, whose definition is tried out.
func (s *Session) returnedTable(ctx context.Context, ret ast.FunctionReturnType) (*metadata.Table, error) {
	body := ret.(*ast.TableValuedFunctionReturnType).DeclareTableVariableBody
	if body == nil || body.VariableName == nil || body.Definition == nil {
		return nil, sqlerr.New(102, 1, "TABLE")
	}
	trial, err := s.TableOfDefinition(ctx, "@returns", body.Definition)
	if err != nil {
		return nil, err
	}
	table := &metadata.Table{NextColumn: trial.Table.NextColumn}
	for _, c := range trial.Table.Columns {
		copied := *c
		copied.Default = 0
		table.Columns = append(table.Columns, &copied)
	}
	return table, nil
}

// multiStatement binds a multi-statement table-valued function: a virtual table whose arguments are the function's.
func (b *binder) multiStatement(
	sc *scope,
	space int32,
	sch *metadata.Catalog,
	o *metadata.Object,
	args []ast.ScalarExpression,
	alias string,
	names []*ast.Identifier,
) string {
	b.require("SELECT", space, sch, o)
	_, node, perr := parseModule(o)
	if perr != nil {
		b.failWith(perr)
	}
	params := partsOf(node).parameters
	if len(args) < len(params) {
		b.failWith(sqlerr.New(313, 3, o.Name))
	}
	if len(args) > len(params) {
		b.failWith(sqlerr.New(8144, 3, o.Name))
	}
	terms := make([]string, len(args))
	for i, a := range args {
		if _, isDefault := a.(*ast.DefaultLiteral); isDefault {
			if params[i].Value == nil {
				b.fail(201, o.Name, params[i].VariableName.Value)
			}
			a = params[i].Value
		}
		e := b.convert(b.scalar(sc, a), b.dataType(params[i].DataType, false), sqltype.Implicit, 0, false)
		terms[i] = e.sql
	}
	src := &source{alias: alias, sqlite: b.nextAlias()}
	if alias == "" {
		src.alias, src.schema = o.Name, sch.SchemaName(o)
	}
	columns := make([]tds.Column, len(o.Table.Columns))
	for i, c := range o.Table.Columns {
		columns[i] = tds.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
		name := c.Name
		if len(names) == len(columns) {
			name = names[i].Value
		}
		src.addColumn(name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, true, c.CollationKey(), nil)
	}
	if len(names) > 0 && len(names) != len(columns) {
		b.fail(pick(len(names) > len(columns), 8159, 8158), alias)
	}
	sc.add(src)
	key := fmt.Sprintf("%s%d:%d:%x", functionKey, space, o.ID, uint64(sch.Version))
	return b.virtualTable(src, need{view: key, columns: columns}, terms...)
}

// functionRows runs a multi-statement table-valued function; raw are its arguments as they are stored.
func (s *Session) functionRows(ctx context.Context, key string, raw []any) ([]tds.Column, [][]any, error) {
	parts := strings.Split(strings.TrimPrefix(key, functionKey), ":")
	space, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil {
		return nil, nil, err
	}
	id, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return nil, nil, err
	}
	sch, err := s.schema(ctx, int32(space))
	if err != nil {
		return nil, nil, err
	}
	o := sch.Objects[int32(id)]
	if o == nil || o.Kind != metadata.KindTableFunction {
		return nil, nil, sqlerr.New(208, 1, key)
	}
	if s.nest >= maxNesting {
		return nil, nil, sqlerr.New(217, 1, maxNesting)
	}
	batch, node, perr := parseModule(o)
	if perr != nil {
		return nil, nil, perr
	}
	f := s.moduleFrame(o, batch)
	f.table = true
	before, line := s.db, s.line
	if db := s.inst.DatabaseByID(int32(space)); db != nil {
		s.db = db
	}
	s.frames = append(s.frames, f)
	s.nest++
	s.tryDepth++
	var columns []tds.Column
	var rows [][]any
	err = s.asOf(ctx, o, func() (err error) {
		columns, rows, err = s.runTableFunction(ctx, partsOf(node), f, raw)
		return err
	})
	s.tryDepth--
	s.popFrame()
	s.db, s.line = before, line
	return columns, rows, err
}

func (s *Session) runTableFunction(
	ctx context.Context,
	m moduleParts,
	f *frame,
	raw []any,
) ([]tds.Column, [][]any, error) {
	for i, p := range m.parameters {
		var t sqltype.Type
		b := newBinder(ctx, s, s.db.ID())
		if e := bindSafely(func() { t = b.dataType(p.DataType, false) }); e != nil {
			return nil, nil, e
		}
		v, err := sqltype.Decode(t, raw[i])
		if err != nil {
			return nil, nil, err
		}
		f.variables[lower(p.VariableName.Value)] = &variable{name: p.VariableName.Value, typ: t, value: v}
	}
	body := m.returns.(*ast.TableValuedFunctionReturnType).DeclareTableVariableBody
	var columns []tds.Column
	var rows [][]any
	err := s.inFunctionSpace(func() error {
		name := body.VariableName.Value
		o, err := s.TableOfDefinition(ctx, name, body.Definition)
		if err != nil {
			return err
		}
		s.declare(name, o.Table.Columns[0].Type, nil).table = o
		if err := s.functionStatements(m); err != nil {
			return err
		}
		columns, rows, err = s.allRows(ctx, name, o)
		return err
	})
	return columns, rows, err
}

// allRows reads a table variable.
func (s *Session) allRows(ctx context.Context, name string, o *metadata.Object) ([]tds.Column, [][]any, error) {
	p, err := s.compile(ctx, nil, func(b *binder) *plan {
		sc := &scope{}
		from := b.baseTable(sc, tempSpace, b.schema(tempSpace), b.s.localObject(o), name, ObjectName{Name: name})
		var list []string
		var columns []tds.Column
		for _, c := range sc.sources[0].columns {
			list = append(list, c.sql)
			columns = append(columns, tds.Column{Name: c.name, Type: c.typ, Nullable: true})
		}
		p := b.plan("SELECT " + strings.Join(list, ", ") + " FROM " + from)
		p.columns = columns
		return p
	})
	if err != nil {
		return nil, nil, err
	}
	var rows [][]any
	err = s.queryPlan(ctx, p, func(values []any) error {
		rows = append(rows, append([]any(nil), values...))
		return nil
	})
	return p.columns, rows, err
}

// refusedFunctions are documented table-valued functions that the stand-in does not have: they are refused by name, not
// as unknown.
var refusedFunctions = map[string]bool{
	"fn_dblog":                    true,
	"fn_dump_dblog":               true,
	"fn_trace_gettable":           true,
	"fn_xe_file_target_read_file": true,
	"fn_get_audit_file":           true,

	"dm_db_page_info":        true,
	"dm_fts_parser":          true,
	"fn_validate_plan_guide": true,
	"fn_get_sql":             true,
	"dm_exec_cursors":        true,
}

// splitType is the type of what STRING_SPLIT gives: Unicode where an argument is, as long as the text
// (docs/t-sql/functions/string-split-transact-sql.md, Remarks).
func splitType(args []expr) sqltype.Type {
	t := sqltype.Type{Kind: sqltype.VarChar, Length: max(1, args[0].typ.Length)}
	if args[0].typ.Length == sqltype.MaxLength {
		t.Length = sqltype.MaxLength
	}
	if args[0].typ.Kind.IsUnicode() || args[1].typ.Kind.IsUnicode() {
		t.Kind = sqltype.NVarChar
		if t.Length > 4000 {
			t.Length = 4000
		}
	}
	return t
}

// tableFunction binds a system table function with its arguments.
func (b *binder) tableFunction(
	sc *scope,
	name ObjectName,
	args []ast.ScalarExpression,
	alias string,
	names []*ast.Identifier,
) string {
	schema := name.Schema
	if schema == "" {
		schema = "sys"
	}
	key := lower(schema + "." + name.Name)
	splits := key == "sys.string_split"
	if splits && len(args) == 3 {
		if n, ok := args[2].(*ast.IntegerLiteral); ok && n.Value == "1" {
			key += " ordinal"
		} else {
			args = args[:2]
		}
	}
	series := key == "sys.generate_series"
	if series {
		if len(args) == 3 {
			key += " step"
		}
	}
	f := b.s.inst.registry.tableFunctions[key]
	if f == nil {
		if refusedFunctions[lower(name.Name)] && (schema == "sys" || name.Schema == "") {
			b.refuse(name.Name)
		}
		return b.userTableFunction(sc, name, args, alias, names)
	}
	if len(args) < len(f.Parameters) {
		b.failWith(sqlerr.New(313, 3, name.String()))
	}
	if len(args) > len(f.Parameters) {
		b.failWith(sqlerr.New(8144, 3, name.String()))
	}
	src := &source{alias: alias, sqlite: b.nextAlias()}
	if alias == "" {
		src.alias, src.schema = f.Name, f.Schema
	}
	values := make([]expr, len(args))
	whole := sqltype.Type{}
	for i, a := range args {
		values[i] = expr{sql: "NULL", null: true}
		if _, isDefault := a.(*ast.DefaultLiteral); !isDefault {
			values[i] = b.scalar(sc, a)
			if i == 0 && f.Schema == "sys" {
				b.fits(lower(strings.Fields(f.Name)[0]), values[:1])
			}
			if series {
				whole = b.seriesType(whole, values[i], i)
			}
		}
	}
	if splits {
		whole = splitType(values)
	}
	if series && whole.Kind == sqltype.Decimal {
		key += decimalSeriesKey
		f = b.s.inst.registry.tableFunctions[key]
	}
	var terms []string
	for i, e := range values {
		t := f.Parameters[i]
		if series && whole.Kind == sqltype.Decimal {
			t = whole
		}
		terms = append(terms, b.convert(e, t, sqltype.Implicit, 0, false).sql)
	}
	for i, c := range f.Columns {
		if i == 0 && whole.Kind != sqltype.Unknown {
			c.Type = whole
		}
		collation := ""
		if c.Type.Kind.IsCharacter() {
			collation = "tsql_ci_as"
			if splits && values[0].collation != "" {
				collation = values[0].collation
			}
		}
		cname := c.Name
		if len(names) == len(f.Columns) {
			cname = names[i].Value
		}
		src.addColumn(cname, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, true, collation, nil)
	}
	sc.add(src)
	return b.virtualTable(src, need{view: key, columns: f.Columns}, terms...)
}
