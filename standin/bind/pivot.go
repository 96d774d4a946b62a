// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// pivot is PIVOT (docs/t-sql/queries/from-using-pivot-and-unpivot.md): groups by all columns that it does not name, and
// gives the aggregate of the rows with each listed value as a column.
func (b *Binder) pivot(sc *Scope, n *ast.PivotedTableReference) string {
	inner := &Scope{parent: sc.parent}
	from := b.from(inner, []ast.TableReference{n.TableReference})
	function := Identifiers(n.AggregateFunctionIdentifier)
	name := function[len(function)-1]
	if aggregates[lower(name)] == nil || len(n.ValueColumns) != 1 {
		b.Refuse("PIVOT with " + strings.ToUpper(name))
	}
	used := map[*SourceColumn]bool{}
	for _, c := range []*ast.ColumnReferenceExpression{n.PivotColumn, n.ValueColumns[0]} {
		used[b.columnReference(inner, c).column] = true
	}
	var q selected
	var groups []string
	for _, src := range inner.Sources {
		for _, c := range src.Columns {
			if !used[c] {
				groups = append(groups, c.expr().collated())
				q.add(c.Name, c.expr())
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
		e.Nullable = true
		q.add(in.Value, e)
	}
	q.sql = "SELECT " + strings.Join(q.columns, ", ") + " FROM " + from
	if len(groups) > 0 {
		q.sql += " GROUP BY " + strings.Join(groups, ", ")
	}
	return b.derived(sc, q.BoundQuery, AliasOf(n.Alias), nil, "")
}

// selected is a query that is made column by column.
type selected struct {
	BoundQuery
	columns []string
}

// add selects one more column, by the name that a derived table's columns have in SQLite.
func (q *selected) add(name string, e Expr) {
	q.Outputs = append(q.Outputs, Output{Name: name, expr: e})
	q.columns = append(q.columns, fmt.Sprintf("%s AS c%d", e.SQL, len(q.Outputs)))
}

// unpivot is UNPIVOT: a row for each listed column that is not NULL.
func (b *Binder) unpivot(sc *Scope, n *ast.UnpivotedTableReference) string {
	inner := &Scope{parent: sc.parent}
	from := b.from(inner, []ast.TableReference{n.TableReference})
	values := make([]Expr, len(n.InColumns))
	used := map[*SourceColumn]bool{}
	for i, c := range n.InColumns {
		values[i] = b.columnReference(inner, c)
		used[values[i].column] = true
		if t := values[0].Type; values[i].Type.Kind != t.Kind || values[i].Type.Length != t.Length {
			b.FailWith(&sqlerr.Error{Number: 8167, Class: 16, State: 1,
				Message: fmt.Sprintf(
					"The type of column %q conflicts with the type of other columns specified in the UNPIVOT list.",
					values[i].name,
				)})
		}
	}
	var q selected
	for _, src := range inner.Sources {
		for _, c := range src.Columns {
			if !used[c] {
				q.add(c.Name, c.expr())
			}
		}
	}
	number := b.nextAlias()
	numbers, value, label := make([]string, len(values)), "CASE "+number+".i", "CASE "+number+".i"
	for i, v := range values {
		numbers[i] = fmt.Sprintf("SELECT %d AS i", i)
		value += fmt.Sprintf(" WHEN %d THEN %s", i, v.SQL)
		label += fmt.Sprintf(" WHEN %d THEN %s", i, sqltype.StoredLiteral(v.name))
	}
	e := values[0]
	e.SQL, e.column, e.Free, e.HasLiteral = value+" END", nil, nil, false
	for _, v := range values {
		e.Nullable = e.Nullable || v.Nullable
	}
	q.add(n.ValueColumn.Value, e)
	q.add(
		n.PivotColumn.Value,
		Expr{SQL: label + " END", Type: sqltype.NVarCharOf(128), Nullable: true, collation: "tsql_ci_as"},
	)
	// CROSS JOIN keeps SQLite from changing the order of the loops, which is that of SQL Server's rows.
	q.sql = "SELECT " + strings.Join(
		q.columns,
		", ",
	) + " FROM " + from + " CROSS JOIN (" + strings.Join(
		numbers,
		" UNION ALL ",
	) + ") AS " + number + " WHERE (" + e.SQL + ") IS NOT NULL"
	return b.derived(sc, q.BoundQuery, AliasOf(n.Alias), nil, "")
}
