// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax"
)

// arranged binds a set operation or a query in parentheses with the ORDER BY, OFFSET and FOR that follow it
// (docs/t-sql/queries/select-transact-sql.md, Syntax: they belong to the whole query expression).
func (b *Binder) arranged(sc *Scope, q *syntax.Arranged, o QueryOptions) BoundQuery {
	if q.ForClause != nil {
		plain := *q
		plain.ForClause = nil
		return b.forRows(sc, q.ForClause, func(o QueryOptions) BoundQuery { return b.arranged(sc, &plain, o) }, o)
	}
	query, order := q.QueryExpression, q.OrderByClause
	if set, ok := query.(*ast.BinaryQueryExpression); ok && q.OffsetClause != nil {
		unordered := *set
		query, order, unordered.OrderByClause = &unordered, set.OrderByClause, nil
	}
	out := b.Query(sc, query, o)
	if order == nil && q.OffsetClause == nil {
		return out
	}
	var p selectParts
	b.topAndOffset(sc, &ast.QuerySpecification{OrderByClause: order, OffsetClause: q.OffsetClause}, &p, &out)
	if o.Subquery && q.OffsetClause == nil {
		b.Fail(1033)
	}
	out.sql = "SELECT * FROM (" + out.sql + ") ORDER BY " + b.orderSet(query, order, out.Outputs)
	switch {
	case p.numbered != "":
		out.sql = numberedRows(out.sql+" LIMIT -1", p.numbered, len(out.Outputs))
	case p.limit != "":
		out.sql += " LIMIT " + p.limit + " OFFSET " + p.offset
	}
	out.hasOrder, out.limited, out.oneRow = true, p.limit != "", out.oneRow || p.limit == "1"
	return out
}

// orderSet is the ORDER BY of a set operation or a query in parentheses, whose elements are columns of its result.
func (b *Binder) orderSet(q ast.QueryExpression, clause *ast.OrderByClause, outputs []Output) string {
	var parts []string
	for _, el := range clause.OrderByElements {
		if i := qualifiedPosition(q, el.Expression, len(outputs)); i > 0 {
			el.Expression = &ast.IntegerLiteral{Value: strconv.Itoa(i)}
		}
		e, position := b.orderOfSet(el.Expression, outputs)
		text := strconv.Itoa(position)
		if e.Type.Kind.IsCharacter() {
			text += " COLLATE " + e.collation
		}
		if el.SortOrder == "Descending" {
			text += " DESC"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
