// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// applyJoin binds a query of APPLY as a join with its tables, its select list in place of columns; ok is false for what
// can be none.
func (b *Binder) applyJoin(a appliedQuery, q *ast.QuerySpecification) (text string, ok bool) {
	if b.nullableSide || !joinable(q) || q.TopRowFilter != nil && !b.fixedCount(q.TopRowFilter) {
		return "", false
	}
	inner, missing := &Scope{parent: a.parent}, len(b.missing)
	from, where := "", ""
	if q.FromClause != nil {
		lateral := b.lateral
		from = b.from(inner, q.FromClause.TableReferences)
		refers := len(a.gate.outer) > 0 || b.lateral > lateral
		one := len(inner.Sources) == 1
		if refers && !(one && strings.HasPrefix(from, "temp.v_")) && len(b.missing) == missing {
			return "", false
		}
		if !one {
			from = "(" + from + ")"
		}
	}
	if q.TopRowFilter != nil && (len(inner.Sources) != 1 || !inner.Sources[0].numbered()) {
		return "", false
	}
	list := b.selectList(inner, q, QueryOptions{Subquery: true})
	if a.outer() && from != "" && len(b.missing) == missing && !inner.tellsAbsence(list.Outputs) {
		return "", false
	}
	if q.WhereClause != nil {
		where = b.where(inner, q.WhereClause)
	}
	join, rows := "", from != ""
	switch {
	case aggregateOf(q.SelectElements) != "":
		// A query without GROUP BY has one row, whatever it reads.
		b.checkGrouped(inner, list.Outputs[0].expr, &selectParts{}, 8120)
		rows, list.Outputs[0].expr.SQL = false, "(SELECT "+list.Outputs[0].expr.SQL+" FROM "+from+condition(where)+")"
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
		for i := range list.Outputs {
			e := &list.Outputs[i].expr
			e.SQL, e.Nullable, e.HasLiteral, e.column = "(CASE WHEN "+where+" THEN "+e.SQL+" END)", true, false, nil
		}
	}
	b.inlinedSource(a, inner, list.Outputs, rows)
	return join, true
}

// applyFirst is the join for TOP over one table or system view: with those of its rows that are the first ones by its
// order.
func (b *Binder) applyFirst(a appliedQuery, inner *Scope, q *ast.QuerySpecification, from string) string {
	sub := &Scope{parent: a.parent}
	text := b.from(sub, q.FromClause.TableReferences)
	if q.WhereClause != nil {
		text += " WHERE " + b.where(sub, q.WhereClause)
	}
	if q.OrderByClause != nil {
		p := &selectParts{groups: map[string]bool{}, groupColumns: map[*SourceColumn]bool{}}
		outputs := b.selectList(sub, q, QueryOptions{Subquery: true}).Outputs
		text += " ORDER BY " + b.orderBy(sub, q.OrderByClause, p, outputs, false)
	}
	count, _ := b.topCount(sub, q.TopRowFilter.Expression, false)
	return a.word + from + " ON " + inner.Sources[0].sqlite + ".rowid IN (SELECT " + sub.Sources[0].sqlite +
		".rowid FROM " + text + " LIMIT " + count.SQL + ")"
}

// joinable tells whether a query is a join by its form: it gives a row for each row of its tables that its condition
// takes, with nothing but that row in it; or the first ones of those of one table; or one aggregate of them all.
func joinable(q *ast.QuerySpecification) bool {
	if q.ForClause != nil || q.GroupByClause != nil || q.HavingClause != nil || q.UniqueRowFilter == "Distinct" ||
		q.OffsetClause != nil {
		return false
	}
	over := false
	EachNode(reflect.ValueOf(q.SelectElements), func(n any) {
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
func (b *Binder) fixedCount(top *ast.TopRowFilter) bool {
	switch n := unparenthesised(top.Expression).(type) {
	case *ast.IntegerLiteral:
		return true
	case *ast.VariableReference:
		v := b.session.Variable(n.Name)
		return v == nil || v.Bound == ""
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
func (sc *Scope) tellsAbsence(outputs []Output) bool {
	if len(sc.Sources) == 1 && sc.Sources[0].numbered() {
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
func (sc *Scope) stored(e Expr) bool {
	return e.column != nil && e.column.source.scope == sc && strings.HasPrefix(e.SQL, e.column.source.sqlite+".")
}

// inlinedSource adds the columns of a query that is a join. Those of an outer one are NULL where it has no row.
func (b *Binder) inlinedSource(a appliedQuery, inner *Scope, outputs []Output, rows bool) {
	src := &Source{Alias: a.alias, sqlite: b.nextAlias()}
	columns := b.outputNames(outputs, a.names, a.alias)
	for i, o := range outputs {
		text := o.expr.SQL
		if a.outer() && rows && !inner.stored(o.expr) && inner.Sources[0].numbered() {
			text = "(CASE WHEN " + inner.Sources[0].sqlite + ".rowid IS NOT NULL THEN " + text + " END)"
		}
		src.addOutput(columns[i], text, o.expr, nil)
	}
	a.sc.Add(src)
}

// condition is a WHERE clause, if there is one.
func condition(where string) string {
	if where == "" {
		return ""
	}
	return " WHERE " + where
}
