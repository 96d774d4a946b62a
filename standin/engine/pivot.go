// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// pivot is PIVOT (docs/t-sql/queries/from-using-pivot-and-unpivot.md): groups by all columns that it does not name, and
// gives the aggregate of the rows with each listed value as a column.
func (b *binder) pivot(sc *scope, n *ast.PivotedTableReference) string {
	inner := &scope{parent: sc.parent}
	from := b.from(inner, []ast.TableReference{n.TableReference})
	function := identifiers(n.AggregateFunctionIdentifier)
	name := function[len(function)-1]
	if aggregates[lower(name)] == nil || len(n.ValueColumns) != 1 {
		b.refuse("PIVOT with " + strings.ToUpper(name))
	}
	used := map[*sourceColumn]bool{}
	for _, c := range []*ast.ColumnReferenceExpression{n.PivotColumn, n.ValueColumns[0]} {
		used[b.columnReference(inner, c).column] = true
	}
	var q selected
	var groups []string
	for _, src := range inner.sources {
		for _, c := range src.columns {
			if !used[c] {
				groups = append(groups, c.expr().collated())
				q.add(c.name, c.expr())
			}
		}
	}
	for _, in := range n.InColumns {
		call := &ast.FunctionCall{FunctionName: &ast.Identifier{Value: name}, Parameters: []ast.ScalarExpression{&ast.IIfCall{
			Predicate: &ast.BooleanComparisonExpression{
				ComparisonType:   "Equals",
				FirstExpression:  n.PivotColumn,
				SecondExpression: &ast.StringLiteral{Value: in.Value, IsNational: true},
			},
			ThenExpression: n.ValueColumns[0], ElseExpression: &ast.NullLiteral{}}}}
		e := b.functionCall(inner, call)
		e.nullable = true
		q.add(in.Value, e)
	}
	q.sql = "SELECT " + strings.Join(q.columns, ", ") + " FROM " + from
	if len(groups) > 0 {
		q.sql += " GROUP BY " + strings.Join(groups, ", ")
	}
	return b.derived(sc, q.boundQuery, aliasOf(n.Alias), nil, "")
}

// selected is a query that is made column by column.
type selected struct {
	boundQuery
	columns []string
}

// add selects one more column, by the name that a derived table's columns have in SQLite.
func (q *selected) add(name string, e expr) {
	q.outputs = append(q.outputs, output{name: name, expr: e})
	q.columns = append(q.columns, fmt.Sprintf("%s AS c%d", e.sql, len(q.outputs)))
}

// unpivot is UNPIVOT: a row for each listed column that is not NULL.
func (b *binder) unpivot(sc *scope, n *ast.UnpivotedTableReference) string {
	inner := &scope{parent: sc.parent}
	from := b.from(inner, []ast.TableReference{n.TableReference})
	values := make([]expr, len(n.InColumns))
	used := map[*sourceColumn]bool{}
	for i, c := range n.InColumns {
		values[i] = b.columnReference(inner, c)
		used[values[i].column] = true
		if t := values[0].typ; values[i].typ.Kind != t.Kind || values[i].typ.Length != t.Length {
			b.failWith(&sqlerr.Error{Number: 8167, Class: 16, State: 1,
				Message: fmt.Sprintf(
					"The type of column %q conflicts with the type of other columns specified in the UNPIVOT list.",
					values[i].name,
				)})
		}
	}
	var q selected
	for _, src := range inner.sources {
		for _, c := range src.columns {
			if !used[c] {
				q.add(c.name, c.expr())
			}
		}
	}
	number := b.nextAlias()
	numbers, value, label := make([]string, len(values)), "CASE "+number+".i", "CASE "+number+".i"
	for i, v := range values {
		numbers[i] = fmt.Sprintf("SELECT %d AS i", i)
		value += fmt.Sprintf(" WHEN %d THEN %s", i, v.sql)
		label += fmt.Sprintf(" WHEN %d THEN %s", i, sqltype.StoredLiteral(v.name))
	}
	e := values[0]
	e.sql, e.column, e.free, e.hasLit = value+" END", nil, nil, false
	for _, v := range values {
		e.nullable = e.nullable || v.nullable
	}
	q.add(n.ValueColumn.Value, e)
	q.add(
		n.PivotColumn.Value,
		expr{sql: label + " END", typ: sqltype.NVarCharOf(128), nullable: true, collation: "tsql_ci_as"},
	)
	// CROSS JOIN keeps SQLite from changing the order of the loops, which is that of SQL Server's rows.
	q.sql = "SELECT " + strings.Join(
		q.columns,
		", ",
	) + " FROM " + from + " CROSS JOIN (" + strings.Join(
		numbers,
		" UNION ALL ",
	) + ") AS " + number + " WHERE (" + e.sql + ") IS NOT NULL"
	return b.derived(sc, q.boundQuery, aliasOf(n.Alias), nil, "")
}
