// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqltype"
)

// apply binds CROSS APPLY and OUTER APPLY. SQLite has no table that refers to those left of it, so that a query is
// turned into a join, with its select list in place of its columns.
func (b *binder) apply(sc *scope, left string, right ast.TableReference, outer bool) string {
	word := " JOIN "
	if outer {
		word = " LEFT JOIN "
	}
	switch n := right.(type) {
	case *ast.GlobalFunctionTableReference, *ast.BuiltInFunctionTableReference, *ast.OpenJsonTableReference, *ast.OpenXmlTableReference:
		return left + word + b.table(sc, right) + " ON 1"
	case *ast.SchemaObjectFunctionTableReference:
		if text, ok := b.nodesOfColumn(sc, n); ok {
			return left + word + text + " ON 1"
		}
		name := nameOf(n.SchemaObject)
		if call := b.inlineFunction(name); call != nil {
			return b.applyFunction(sc, left, word, call, n)
		}
		return left + word + b.table(sc, right) + " ON 1"
	case *ast.InlineDerivedTable:
		return left + b.applyValues(sc, n, word)
	case *ast.QueryDerivedTable:
		q, ok := n.QueryExpression.(*ast.QuerySpecification)
		if !ok {
			b.refuse("APPLY of a set operation")
		}
		return left + b.applyQuery(sc, sc, q, aliasOf(n.Alias), n.Columns, word)
	}
	// A table or a join of tables refers to nothing left of it.
	return left + word + b.table(sc, right) + " ON 1"
}

// applyFunction binds APPLY of an inline table-valued function.
func (b *binder) applyFunction(sc *scope, left, word string, call *inlineCall, n *ast.SchemaObjectFunctionTableReference) string {
	body := call.query.QueryExpression
	for {
		p, parenthesis := body.(*ast.QueryParenthesisExpression)
		if !parenthesis {
			break
		}
		body = p.QueryExpression
	}
	q, ok := body.(*ast.QuerySpecification)
	if !ok || call.query.WithCtesAndXmlNamespaces != nil {
		b.refuse("APPLY of a function whose query is a set operation or has common table expressions")
	}
	alias := aliasOf(n.Alias)
	if alias == "" {
		alias = call.object.Name
	}
	leave := b.enterFunction(sc, call, n.Parameters)
	defer leave()
	return left + b.applyQuery(sc, &scope{}, q, alias, n.Columns, word)
}

// applyValues binds APPLY (VALUES (a.x), (a.y)) AS v (n): one row for each, whose values are chosen by number.
func (b *binder) applyValues(sc *scope, n *ast.InlineDerivedTable, word string) string {
	numbers := b.nextAlias()
	rows := make([][]string, len(n.RowValues))
	var bound [][]expr
	for i, r := range n.RowValues {
		rows[i] = []string{strconv.Itoa(i + 1)}
		bound = append(bound, b.scalars(sc, r.ColumnValues))
		if len(bound[i]) != len(bound[0]) {
			b.fail(10709)
		}
	}
	if len(n.Columns) != len(bound[0]) {
		b.fail(pick(len(n.Columns) > len(bound[0]), 8159, 8158), aliasOf(n.Alias))
	}
	src := &source{alias: aliasOf(n.Alias), sqlite: numbers}
	for c := range bound[0] {
		column := make([]expr, len(bound))
		for r := range bound {
			column[r] = bound[r][c]
		}
		list, t := b.unifyResults(column...)
		from := expr{}
		if t.Kind.IsCharacter() {
			from = b.collatedBy("VALUES", column...)
		}
		var text strings.Builder
		text.WriteString("(CASE " + numbers + ".c1")
		for r, e := range list {
			fmt.Fprintf(&text, " WHEN %d THEN %s", r+1, e.sql)
		}
		src.addOutput(n.Columns[c].Value, text.String()+" END)", t, true, from, nil)
	}
	sc.add(src)
	return word + "(" + unionOfRows(rows) + ") AS " + numbers + " ON 1"
}

// applyQuery binds APPLY (SELECT ...). parent is the scope that its names are looked up in after its own.
func (b *binder) applyQuery(sc, parent *scope, q *ast.QuerySpecification, alias string, names []*ast.Identifier, word string) string {
	inner := &scope{parent: parent}
	switch q.ForClause.(type) {
	case *ast.XmlForClause, *ast.JsonForClause:
		q = oneText(q)
	}
	if q.ForClause != nil || q.GroupByClause != nil || q.HavingClause != nil || q.UniqueRowFilter == "Distinct" {
		b.refuse("APPLY of a query with GROUP BY, HAVING, DISTINCT or FOR")
	}
	from, where := "", ""
	if q.FromClause != nil {
		from = b.from(inner, q.FromClause.TableReferences)
	}
	if q.WhereClause != nil && q.WhereClause.SearchCondition != nil {
		where = b.predicate(inner, q.WhereClause.SearchCondition).sql
	}
	list := b.selectList(inner, q, queryOptions{subquery: true})
	aggregates := 0
	for _, o := range list.outputs {
		if o.expr.window {
			b.refuse("APPLY of a query with a window function")
		}
		if o.expr.aggregate {
			aggregates++
		}
	}
	limited := q.TopRowFilter != nil || q.OffsetClause != nil
	join := ""
	switch {
	case aggregates > 0:
		if aggregates < len(list.outputs) || limited {
			b.refuse("APPLY of a query with aggregates beside other columns")
		}
		clause := ""
		if where != "" {
			clause = " WHERE " + where
		}
		for i := range list.outputs {
			list.outputs[i].expr.sql = "(SELECT " + list.outputs[i].expr.sql + " FROM " + from + clause + ")"
		}
	case limited:
		join = b.applyFirst(parent, inner, q, from, word)
	case from == "":
		switch {
		case where == "":
		case word == " JOIN ":
			join = word + "(SELECT 1) AS " + b.nextAlias() + " ON " + where
		default:
			for i := range list.outputs {
				e := &list.outputs[i].expr
				e.sql, e.nullable, e.hasLit, e.column = "(CASE WHEN "+where+" THEN "+e.sql+" END)", true, false, nil
			}
		}
	default:
		if len(inner.sources) > 1 {
			from = "(" + from + ")"
		}
		if where == "" {
			where = "1"
		}
		join = word + from + " ON " + where
	}
	b.applySource(sc, inner, list.outputs, alias, names, word != " JOIN " && aggregates == 0 && from != "")
	return join
}

// oneText is a query with FOR XML or FOR JSON, which has one row whatever it reads, as the value of a column.
func oneText(q *ast.QuerySpecification) *ast.QuerySpecification {
	text := &ast.SelectScalarExpression{Fragment: q.Fragment, Expression: &ast.ScalarSubquery{Fragment: q.Fragment, QueryExpression: q}}
	return &ast.QuerySpecification{Fragment: q.Fragment, SelectElements: []ast.SelectElement{text}}
}

// applyFirst is the join for a query with TOP: to the rows of its tables and system views that are the first ones by its order. A row is
// known by the numbers of those of which it is joined, -1 where an outer join found none.
func (b *binder) applyFirst(parent, inner *scope, q *ast.QuerySpecification, from, word string) string {
	if q.TopRowFilter == nil || q.OffsetClause != nil || q.TopRowFilter.WithTies || q.TopRowFilter.Percent {
		b.refuse("APPLY of a query with OFFSET, or TOP with PERCENT or TIES")
	}
	sub := &scope{parent: parent}
	text := b.from(sub, q.FromClause.TableReferences)
	outer, first := make([]string, len(inner.sources)), make([]string, len(inner.sources))
	for i, src := range inner.sources {
		if !src.numbered() || i >= len(sub.sources) {
			b.refuse("APPLY of a query with TOP over anything but tables and system views")
		}
		outer[i], first[i] = "ifnull("+src.sqlite+".rowid,-1)", "ifnull("+sub.sources[i].sqlite+".rowid,-1)"
	}
	if q.WhereClause != nil && q.WhereClause.SearchCondition != nil {
		text += " WHERE " + b.predicate(sub, q.WhereClause.SearchCondition).sql
	}
	if q.OrderByClause != nil {
		p := &selectParts{groups: map[string]bool{}, groupColumns: map[*sourceColumn]bool{}}
		outputs := b.selectList(sub, q, queryOptions{subquery: true}).outputs
		text += " ORDER BY " + b.orderBy(sub, q.OrderByClause, p, outputs, false)
	}
	text += " LIMIT " + b.topCount(sub, q.TopRowFilter.Expression, false).sql
	if len(outer) == 1 {
		return word + from + " ON " + inner.sources[0].sqlite + ".rowid IN (SELECT " + sub.sources[0].sqlite + ".rowid FROM " + text + ")"
	}
	return word + "(" + from + ") ON (" + strings.Join(outer, ", ") + ") IN (SELECT " + strings.Join(first, ", ") + " FROM " + text + ")"
}

// applySource adds the columns of an applied query. Those of an outer one are NULL where it has no row.
func (b *binder) applySource(sc, inner *scope, outputs []output, alias string, names []*ast.Identifier, outer bool) {
	src := &source{alias: alias, sqlite: b.nextAlias()}
	columns := b.outputNames(outputs, names, alias)
	for i, o := range outputs {
		text := o.expr.sql
		if outer && (o.expr.column == nil || o.expr.column.source.scope != inner) {
			if !inner.sources[0].numbered() {
				b.refuse("OUTER APPLY with an expression over something other than a table or system view")
			}
			text = "(CASE WHEN " + inner.sources[0].sqlite + ".rowid IS NOT NULL THEN " + text + " END)"
		}
		t := o.expr.typ
		if o.expr.null {
			t = sqltype.IntType
		}
		src.addOutput(columns[i], text, t, o.expr.nullable || outer || o.expr.null, o.expr, nil)
	}
	sc.add(src)
}
