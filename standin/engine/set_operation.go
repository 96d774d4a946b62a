// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// setOperation is UNION, EXCEPT and INTERSECT.
func (b *binder) setOperation(sc *scope, q *ast.BinaryQueryExpression, o queryOptions) boundQuery {
	if o.hidden != nil {
		b.fail(4403, o.name)
	}
	o.assign = false
	first, second := &scope{parent: sc.parent}, &scope{parent: sc.parent}
	left, right := b.query(first, q.FirstQueryExpression, o), b.query(second, q.SecondQueryExpression, o)
	sc.aggregates = sc.aggregates || first.aggregates || second.aggregates
	return b.combine(sc, q, left, right, o)
}

func (b *binder) combine(sc *scope, q *ast.BinaryQueryExpression, left, right boundQuery, o queryOptions) boundQuery {
	if len(left.outputs) != len(right.outputs) {
		b.fail(205)
	}
	out := boundQuery{outputs: make([]output, len(left.outputs))}
	l, r := make([]string, len(left.outputs)), make([]string, len(left.outputs))
	for i := range left.outputs {
		lo, ro := left.outputs[i].expr, right.outputs[i].expr
		lo, ro = asColumn(lo, i), asColumn(ro, i)
		pair, t := b.unifyResults(lo, ro)
		if k := t.Kind; !q.All && (k == sqltype.XML || k == sqltype.Text || k == sqltype.NText || k == sqltype.Image) {
			b.fail(5335, k)
		}
		e := expr{
			sql:      metadata.ColumnName(int32(i + 1)),
			typ:      t,
			nullable: anyNullable([]expr{lo, ro}, pair),
			null:     lo.null && ro.null,
		}
		if t.Kind.IsCharacter() {
			if q.All {
				b.collateResult("UNION ALL", t, lo, ro)
			}
			from := b.collatedBy(strings.ToUpper(q.BinaryQueryExpressionType), lo, ro)
			e.collation, e.collationName = from.collation, from.collationName
			pair[0].collation, pair[1].collation = e.collation, e.collation
			e.implicit = lo.implicit || lo.explicit || ro.implicit || ro.explicit
		}
		l[i] = fmt.Sprintf("%s AS c%d", pair[0].collated(), i+1)
		r[i] = fmt.Sprintf("%s AS c%d", pair[1].collated(), i+1)
		out.outputs[i] = output{name: left.outputs[i].name, expr: e}
	}
	word := map[string]string{"Union": " UNION ", "Except": " EXCEPT ",
		"Intersect": " INTERSECT "}[q.BinaryQueryExpressionType]
	if q.All {
		if word != " UNION " {
			b.refuse("EXCEPT ALL and INTERSECT ALL")
		}
		word = " UNION ALL "
	}
	out.sql = "SELECT " + strings.Join(l, ", ") + " FROM (" + left.sql + ")" + word +
		"SELECT " + strings.Join(r, ", ") + " FROM (" + right.sql + ")"
	if q.OrderByClause != nil {
		if o.subquery {
			b.fail(1033)
		}
		out.sql += " ORDER BY " + b.orderSet(q, q.OrderByClause, out.outputs)
	}
	return out
}

// orderOfSet is an element of a set operation's ORDER BY with its place in the select list, without which it is 104
// (docs/t-sql/queries/select-order-by-clause-transact-sql.md, Remarks); only a column that there is not has its own
// error.
func (b *binder) orderOfSet(n ast.ScalarExpression, outputs []output) (e expr, position int) {
	switch n.(type) {
	case *ast.ColumnReferenceExpression, *ast.IntegerLiteral, *ast.StringLiteral:
		e, position = b.orderElement(&scope{}, n, outputs)
	}
	if position == 0 {
		b.fail(104)
	}
	return e, position
}

// asColumn is an output as its query's consumer sees it.
func asColumn(e expr, i int) expr {
	e.sql = metadata.ColumnName(int32(i + 1))
	e.hasLit, e.lit, e.param, e.free, e.aggregate, e.window = false, nil, 0, nil, false, false
	if e.null {
		e.typ = sqltype.IntType
	}
	return e
}
