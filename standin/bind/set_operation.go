// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// setOperation is UNION, EXCEPT and INTERSECT.
func (b *Binder) setOperation(sc *Scope, q *ast.BinaryQueryExpression, o QueryOptions) BoundQuery {
	if o.hidden != nil {
		b.Fail(4403, o.name)
	}
	o.assign = false
	first, second := &Scope{parent: sc.parent}, &Scope{parent: sc.parent}
	left, right := b.Query(first, q.FirstQueryExpression, o), b.Query(second, q.SecondQueryExpression, o)
	sc.aggregates = sc.aggregates || first.aggregates || second.aggregates
	return b.combine(sc, q, left, right, o)
}

func (b *Binder) combine(sc *Scope, q *ast.BinaryQueryExpression, left, right BoundQuery, o QueryOptions) BoundQuery {
	if len(left.Outputs) != len(right.Outputs) {
		b.Fail(205)
	}
	out := BoundQuery{Outputs: make([]Output, len(left.Outputs))}
	l, r := make([]string, len(left.Outputs)), make([]string, len(left.Outputs))
	for i := range left.Outputs {
		lo, ro := left.Outputs[i].expr, right.Outputs[i].expr
		lo, ro = asColumn(lo, i), asColumn(ro, i)
		pair, t := b.unifyResults(lo, ro)
		if k := t.Kind; !q.All && (k == sqltype.XML || k == sqltype.Text || k == sqltype.NText || k == sqltype.Image) {
			b.Fail(5335, k)
		}
		e := Expr{
			SQL:      metadata.ColumnName(int32(i + 1)),
			Type:     t,
			Nullable: anyNullable([]Expr{lo, ro}, pair),
			Null:     lo.Null && ro.Null,
		}
		if t.Kind.IsCharacter() {
			if q.All {
				b.collateResult("UNION ALL", t, lo, ro)
			}
			from := b.collatedBy(strings.ToUpper(q.BinaryQueryExpressionType), lo, ro)
			e.collation, e.CollationName = from.collation, from.CollationName
			pair[0].collation, pair[1].collation = e.collation, e.collation
			e.implicit = lo.implicit || lo.explicit || ro.implicit || ro.explicit
		}
		l[i] = fmt.Sprintf("%s AS c%d", pair[0].collated(), i+1)
		r[i] = fmt.Sprintf("%s AS c%d", pair[1].collated(), i+1)
		out.Outputs[i] = Output{Name: left.Outputs[i].Name, expr: e}
	}
	word := map[string]string{"Union": " UNION ", "Except": " EXCEPT ",
		"Intersect": " INTERSECT "}[q.BinaryQueryExpressionType]
	if q.All {
		if word != " UNION " {
			b.Refuse("EXCEPT ALL and INTERSECT ALL")
		}
		word = " UNION ALL "
	}
	out.sql = "SELECT " + strings.Join(l, ", ") + " FROM (" + left.sql + ")" + word +
		"SELECT " + strings.Join(r, ", ") + " FROM (" + right.sql + ")"
	if q.OrderByClause != nil {
		if o.Subquery {
			b.Fail(1033)
		}
		out.sql += " ORDER BY " + b.orderSet(q, q.OrderByClause, out.Outputs)
	}
	return out
}

// orderOfSet is an element of a set operation's ORDER BY with its place in the select list, without which it is 104
// (docs/t-sql/queries/select-order-by-clause-transact-sql.md, Remarks); only a column that there is not has its own
// error.
func (b *Binder) orderOfSet(n ast.ScalarExpression, outputs []Output) (e Expr, position int) {
	switch n.(type) {
	case *ast.ColumnReferenceExpression, *ast.IntegerLiteral, *ast.StringLiteral:
		e, position = b.orderElement(&Scope{}, n, outputs)
	}
	if position == 0 {
		b.Fail(104)
	}
	return e, position
}

// asColumn is an output as its query's consumer sees it.
func asColumn(e Expr, i int) Expr {
	e.SQL = metadata.ColumnName(int32(i + 1))
	e.HasLiteral, e.Literal, e.param, e.Free, e.Aggregate, e.Window = false, nil, 0, nil, false, false
	if e.Null {
		e.Type = sqltype.IntType
	}
	return e
}
