// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// seriesType is the type of GENERATE_SERIES: that of its arguments, all of one type
// (docs/t-sql/functions/generate-series-transact-sql.md).
func (b *Binder) seriesType(t sqltype.Type, e Expr, i int) sqltype.Type {
	switch {
	case e.Null:
		return t
	case e.Type.Kind == sqltype.Decimal && (i == 0 || t.Kind == sqltype.Decimal || t.Kind == sqltype.Unknown):
		if i == 0 || t.Kind == sqltype.Unknown {
			return e.Type
		}
		return sqltype.Union(t, e.Type)
	case !e.Type.Kind.IsInteger():
		b.Fail(5373)
	case t.Kind != sqltype.Unknown && t.Kind != e.Type.Kind && (i < 2 || t.Kind == sqltype.Decimal):
		b.Fail(5373)
	}
	if i > 1 {
		return t
	}
	return e.Type
}

// DecimalSeriesKey tells the function of decimals from that of integers.
const DecimalSeriesKey = " decimal"

// FunctionKey begins the keys of virtual tables that are multi-statement table-valued functions.
const FunctionKey = "function:"

// multiStatement binds a multi-statement table-valued function: a virtual table whose arguments are the function's.
func (b *Binder) multiStatement(
	sc *Scope,
	space int32,
	sch *metadata.Catalog,
	o *metadata.Object,
	args []ast.ScalarExpression,
	alias string,
	names []*ast.Identifier,
) string {
	b.Require("SELECT", space, sch, o)
	_, node, perr := ParseModule(o)
	if perr != nil {
		b.FailWith(perr)
	}
	params := ModuleOf(node).Parameters
	if len(args) < len(params) {
		b.FailWith(sqlerr.New(313, 3, o.Name))
	}
	if len(args) > len(params) {
		b.FailWith(sqlerr.New(8144, 3, o.Name))
	}
	terms := make([]string, len(args))
	for i, a := range args {
		if _, isDefault := a.(*ast.DefaultLiteral); isDefault {
			if params[i].Value == nil {
				b.Fail(201, o.Name, params[i].VariableName.Value)
			}
			a = params[i].Value
		}
		e := b.Convert(b.Scalar(sc, a), b.DataType(params[i].DataType, false), sqltype.Implicit, 0, false)
		terms[i] = e.SQL
	}
	src := &Source{Alias: alias, sqlite: b.nextAlias()}
	if alias == "" {
		src.Alias, src.schema = o.Name, sch.SchemaName(o)
	}
	columns := make([]tds.Column, len(o.Table.Columns))
	for i, c := range o.Table.Columns {
		columns[i] = tds.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
		name := c.Name
		if len(names) == len(columns) {
			name = names[i].Value
		}
		src.AddColumn(name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, true, c.CollationKey(), nil)
	}
	if len(names) > 0 && len(names) != len(columns) {
		b.Fail(pick(len(names) > len(columns), 8159, 8158), alias)
	}
	sc.Add(src)
	key := fmt.Sprintf("%s%d:%d:%x", FunctionKey, space, o.ID, uint64(sch.Version))
	return b.virtualTable(src, VirtualTable{View: key, Columns: columns}, terms...)
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
func splitType(args []Expr) sqltype.Type {
	t := sqltype.Type{Kind: sqltype.VarChar, Length: max(1, args[0].Type.Length)}
	if args[0].Type.Length == sqltype.MaxLength {
		t.Length = sqltype.MaxLength
	}
	if args[0].Type.Kind.IsUnicode() || args[1].Type.Kind.IsUnicode() {
		t.Kind = sqltype.NVarChar
		if t.Length > 4000 {
			t.Length = 4000
		}
	}
	return t
}

// tableFunction binds a system table function with its arguments.
func (b *Binder) tableFunction(
	sc *Scope,
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
	f := b.session.TableFunction(key)
	if f == nil {
		if refusedFunctions[lower(name.Name)] && (schema == "sys" || name.Schema == "") {
			b.Refuse(name.Name)
		}
		return b.userTableFunction(sc, name, args, alias, names)
	}
	if len(args) < len(f.Parameters) {
		b.FailWith(sqlerr.New(313, 3, name.String()))
	}
	if len(args) > len(f.Parameters) {
		b.FailWith(sqlerr.New(8144, 3, name.String()))
	}
	src := &Source{Alias: alias, sqlite: b.nextAlias()}
	if alias == "" {
		src.Alias, src.schema = f.Name, f.Schema
	}
	values := make([]Expr, len(args))
	whole := sqltype.Type{}
	for i, a := range args {
		values[i] = Expr{SQL: "NULL", Null: true}
		if _, isDefault := a.(*ast.DefaultLiteral); !isDefault {
			values[i] = b.Scalar(sc, a)
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
		key += DecimalSeriesKey
		f = b.session.TableFunction(key)
	}
	var terms []string
	for i, e := range values {
		t := f.Parameters[i]
		if series && whole.Kind == sqltype.Decimal {
			t = whole
		}
		terms = append(terms, b.Convert(e, t, sqltype.Implicit, 0, false).SQL)
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
		src.AddColumn(cname, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, true, collation, nil)
	}
	sc.Add(src)
	return b.virtualTable(src, VirtualTable{View: key, Columns: f.Columns}, terms...)
}
