// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// applyJoin binds a query of APPLY as a join with its tables, its select list in place of columns; ok is false for what
// can be none.
func (b *binder) applyJoin(a appliedQuery, q *ast.QuerySpecification) (text string, ok bool) {
	if b.nullableSide || !joinable(q) || q.TopRowFilter != nil && !b.fixedCount(q.TopRowFilter) {
		return "", false
	}
	inner, missing := &scope{parent: a.parent}, len(b.missing)
	from, where := "", ""
	if q.FromClause != nil {
		lateral := b.lateral
		from = b.from(inner, q.FromClause.TableReferences)
		refers := len(a.gate.outer) > 0 || b.lateral > lateral
		one := len(inner.sources) == 1
		if refers && !(one && strings.HasPrefix(from, "temp.v_")) && len(b.missing) == missing {
			return "", false
		}
		if !one {
			from = "(" + from + ")"
		}
	}
	if q.TopRowFilter != nil && (len(inner.sources) != 1 || !inner.sources[0].numbered()) {
		return "", false
	}
	list := b.selectList(inner, q, queryOptions{subquery: true})
	if a.outer() && from != "" && len(b.missing) == missing && !inner.tellsAbsence(list.outputs) {
		return "", false
	}
	if q.WhereClause != nil {
		where = b.where(inner, q.WhereClause)
	}
	join, rows := "", from != ""
	switch {
	case aggregateOf(q.SelectElements) != "":
		// A query without GROUP BY has one row, whatever it reads.
		b.checkGrouped(inner, list.outputs[0].expr, &selectParts{}, 8120)
		rows, list.outputs[0].expr.sql = false, "(SELECT "+list.outputs[0].expr.sql+" FROM "+from+condition(where)+")"
	case q.TopRowFilter != nil:
		join = b.applyFirst(a, inner, q, from)
	case from != "":
		join = a.word + from + " ON 1"
		if where != "" {
			join = a.word + from + " ON " + where
		}
	case where == "":
	case !a.outer():
		join = a.word + "(SELECT 1) AS " + b.nextAlias() + " ON " + where
	default:
		for i := range list.outputs {
			e := &list.outputs[i].expr
			e.sql, e.nullable, e.hasLit, e.column = "(CASE WHEN "+where+" THEN "+e.sql+" END)", true, false, nil
		}
	}
	b.inlinedSource(a, inner, list.outputs, rows)
	return join, true
}

// applyFirst is the join for TOP over one table or system view: with those of its rows that are the first ones by its
// order.
func (b *binder) applyFirst(a appliedQuery, inner *scope, q *ast.QuerySpecification, from string) string {
	sub := &scope{parent: a.parent}
	text := b.from(sub, q.FromClause.TableReferences)
	if q.WhereClause != nil {
		text += " WHERE " + b.where(sub, q.WhereClause)
	}
	if q.OrderByClause != nil {
		p := &selectParts{groups: map[string]bool{}, groupColumns: map[*sourceColumn]bool{}}
		outputs := b.selectList(sub, q, queryOptions{subquery: true}).outputs
		text += " ORDER BY " + b.orderBy(sub, q.OrderByClause, p, outputs, false)
	}
	count, _ := b.topCount(sub, q.TopRowFilter.Expression, false)
	return a.word + from + " ON " + inner.sources[0].sqlite + ".rowid IN (SELECT " + sub.sources[0].sqlite +
		".rowid FROM " + text + " LIMIT " + count.sql + ")"
}

// joinable tells whether a query is a join by its form: it gives a row for each row of its tables that its condition
// takes, with nothing but that row in it; or the first ones of those of one table; or one aggregate of them all.
func joinable(q *ast.QuerySpecification) bool {
	if q.ForClause != nil || q.GroupByClause != nil || q.HavingClause != nil || q.UniqueRowFilter == "Distinct" ||
		q.OffsetClause != nil {
		return false
	}
	over := false
	eachNode(reflect.ValueOf(q.SelectElements), func(n any) {
		call, ok := n.(*ast.FunctionCall)
		over = over || ok && call.OverClause != nil
	})
	top := q.TopRowFilter
	if over || top == nil && q.OrderByClause != nil {
		return false
	}
	if aggregateOf(q.SelectElements) != "" {
		return len(q.SelectElements) == 1 && top == nil && q.FromClause != nil
	}
	return top == nil ||
		!top.Percent && !top.WithTies && q.FromClause != nil && len(q.FromClause.TableReferences) == 1 &&
			isTableName(q.FromClause.TableReferences[0])
}

// isTableName tells of a table by its name, without TABLESAMPLE, which gives other rows each time.
func isTableName(ref ast.TableReference) bool {
	n, ok := ref.(*ast.NamedTableReference)
	return ok && n.TableSampleClause == nil
}

// fixedCount tells of a number of rows that is the same for all of the left.
func (b *binder) fixedCount(top *ast.TopRowFilter) bool {
	switch n := unparenthesised(top.Expression).(type) {
	case *ast.IntegerLiteral:
		return true
	case *ast.VariableReference:
		v := b.s.variable(n.Name)
		return v == nil || v.bound == ""
	}
	return false
}

// outer tells of OUTER APPLY.
func (a *appliedQuery) outer() bool { return a.word != " JOIN " }

// oneText is a query with FOR XML or FOR JSON, which has one row whatever it reads, as the value of a column.
func oneText(q *ast.QuerySpecification) *ast.QuerySpecification {
	text := &ast.SelectScalarExpression{
		Fragment:   q.Fragment,
		Expression: &ast.ScalarSubquery{Fragment: q.Fragment, QueryExpression: q},
	}
	return &ast.QuerySpecification{Fragment: q.Fragment, SelectElements: []ast.SelectElement{text}}
}

// tellsAbsence tells whether the values of an outer join are NULL, or can be made so, where the sources of the query
// have no row.
func (sc *scope) tellsAbsence(outputs []output) bool {
	if len(sc.sources) == 1 && sc.sources[0].numbered() {
		return true
	}
	for _, o := range outputs {
		if !sc.stored(o.expr) {
			return false
		}
	}
	return true
}

// stored tells whether an expression is a column of a source as SQLite has it.
func (sc *scope) stored(e expr) bool {
	return e.column != nil && e.column.source.scope == sc && strings.HasPrefix(e.sql, e.column.source.sqlite+".")
}

// inlinedSource adds the columns of a query that is a join. Those of an outer one are NULL where it has no row.
func (b *binder) inlinedSource(a appliedQuery, inner *scope, outputs []output, rows bool) {
	src := &source{alias: a.alias, sqlite: b.nextAlias()}
	columns := b.outputNames(outputs, a.names, a.alias)
	for i, o := range outputs {
		text := o.expr.sql
		if a.outer() && rows && !inner.stored(o.expr) && inner.sources[0].numbered() {
			text = "(CASE WHEN " + inner.sources[0].sqlite + ".rowid IS NOT NULL THEN " + text + " END)"
		}
		src.addOutput(columns[i], text, o.expr, nil)
	}
	a.sc.add(src)
}

// condition is a WHERE clause, if there is one.
func condition(where string) string {
	if where == "" {
		return ""
	}
	return " WHERE " + where
}
