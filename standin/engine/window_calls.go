// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// namedWindow is OVER name or OVER (name ...) with what the WINDOW clause says of the name
// (docs/t-sql/queries/select-window-transact-sql.md).
func (b *binder) namedWindow(o *ast.OverClause) *ast.OverClause {
	for depth := 0; o.WindowName != nil; depth++ {
		var found *ast.WindowDefinition
		for _, w := range b.windows {
			if strings.EqualFold(w.WindowName.Value, o.WindowName.Value) {
				found = w
			}
		}
		if found == nil || depth > len(b.windows) {
			b.failWith(
				&sqlerr.Error{
					Number:  5365,
					Class:   15,
					State:   1,
					Message: fmt.Sprintf("Window '%s' is undefined.", o.WindowName.Value),
				},
			)
		}
		merged := *o
		merged.WindowName = found.RefWindowName
		if merged.Partitions == nil {
			merged.Partitions = found.Partitions
		}
		if merged.OrderByClause == nil {
			merged.OrderByClause = found.OrderByClause
		}
		o = &merged
	}
	return o
}

// over binds OVER (...).
func (b *binder) over(sc *scope, o *ast.OverClause) (string, []expr) {
	o = b.namedWindow(o)
	b.checkFrame(o)
	var s strings.Builder
	var parts []expr
	s.WriteString(" OVER (")
	for i, p := range o.Partitions {
		e := b.scalar(sc, p)
		parts = append(parts, e)
		if i == 0 {
			s.WriteString("PARTITION BY ")
		} else {
			s.WriteString(", ")
		}
		s.WriteString(e.key())
	}
	if o.OrderByClause != nil {
		order, ordered := b.windowOrder(sc, o.OrderByClause.OrderByElements)
		s.WriteString(order)
		parts = append(parts, ordered...)
	}
	if f := o.WindowFrameClause; f != nil {
		s.WriteString(" " + strings.ToUpper(f.WindowFrameType) + " ")
		if f.Bottom != nil {
			s.WriteString("BETWEEN " + b.frameBound(sc, f.Top) + " AND " + b.frameBound(sc, f.Bottom))
		} else {
			s.WriteString(b.frameBound(sc, f.Top))
		}
	}
	s.WriteString(")")
	b.notNested(parts...)
	return s.String(), parts
}

// windowOrder binds ORDER BY of a window. What is one value for all rows, as (SELECT NULL) is, orders nothing and is
// left out: SQLite would read and sort all rows before the first, however few of them are asked for.
func (b *binder) windowOrder(sc *scope, elements []*ast.ExpressionWithSortOrder) (string, []expr) {
	var parts []expr
	var terms []string
	for _, el := range elements {
		e := b.scalar(sc, el.Expression)
		parts = append(parts, e)
		if e.hasLit {
			b.fail(5308)
		}
		if oneValue(el.Expression) && len(e.free) == 0 {
			continue
		}
		term := e.collated()
		if el.SortOrder == "Descending" {
			term += " DESC"
		}
		terms = append(terms, term)
	}
	if len(terms) == 0 {
		return "", parts
	}
	return " ORDER BY " + strings.Join(terms, ", "), parts
}

// oneValue tells whether an expression is a subquery without FROM; it has one value unless it names columns from around
// it.
func oneValue(e ast.ScalarExpression) bool {
	sub, ok := e.(*ast.ScalarSubquery)
	if !ok {
		return false
	}
	q, ok := sub.QueryExpression.(*ast.QuerySpecification)
	return ok && q.FromClause == nil
}

func (b *binder) frameBound(sc *scope, d *ast.WindowDelimiter) string {
	switch d.WindowDelimiterType {
	case "CurrentRow":
		return "CURRENT ROW"
	case "UnboundedPreceding":
		return "UNBOUNDED PRECEDING"
	case "UnboundedFollowing":
		return "UNBOUNDED FOLLOWING"
	}
	e := b.scalar(sc, d.OffsetValue)
	return e.sql + " " + strings.ToUpper(strings.TrimPrefix(d.WindowDelimiterType, "Value"))
}

// windowArguments counts the arguments of a function that has an OVER clause: 4114, 10755 for one that takes several
// numbers of them.
func (b *binder) windowArguments(written, name string, count int) {
	want := 0
	switch name {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
	case "ntile", "first_value", "last_value":
		want = 1
	case "lag", "lead":
		if count < 1 || count > 3 {
			b.fail(10755, written, 1, 3)
		}
		return
	default:
		return
	}
	if count != want {
		b.fail(4114, written, want)
	}
}

// windowFunction binds ROW_NUMBER, RANK, LAG and their kin.
func (b *binder) windowFunction(sc *scope, n *ast.FunctionCall, name string) expr {
	out := expr{typ: sqltype.BigIntType, nullable: true, window: true}
	args := b.scalars(sc, n.Parameters)
	b.windowArguments(n.FunctionName.Value, name, len(args))
	switch name {
	case "row_number", "rank", "dense_rank", "ntile":
		out.sql = name + "("
		if name == "ntile" {
			out.sql += b.rowCount(b.convert(args[0], sqltype.BigIntType, sqltype.Implicit, 0, false), 4116, 1).sql
		}
		out.sql += ")"
	case "percent_rank", "cume_dist":
		out.sql, out.typ = name+"()", sqltype.FloatType
	case "lag", "lead":
		out.typ, out.collation, out.implicit = args[0].typ, args[0].collation, args[0].implicit || args[0].explicit
		out.sql = name + "(" + args[0].sql
		if len(args) > 1 {
			out.sql += "," + b.rowCount(b.convert(args[1], sqltype.BigIntType, sqltype.Implicit, 0, false), 8730, 0).sql
		}
		if len(args) > 2 {
			out.sql += "," + b.convert(args[2], args[0].typ, sqltype.Implicit, 0, false).sql
		}
		out.sql += ")"
	case "first_value", "last_value":
		out.typ, out.collation, out.implicit = args[0].typ, args[0].collation, args[0].implicit || args[0].explicit
		out.sql = name + "(" + args[0].sql + ")"
	default:
		b.fail(4113, name)
	}
	if b.namedWindow(n.OverClause).OrderByClause == nil {
		b.fail(4112, n.FunctionName.Value)
	}
	if n.OverClause.WindowFrameClause != nil && name != "first_value" && name != "last_value" {
		b.fail(10752, lower(name))
	}
	b.notNested(args...)
	over, parts := b.over(sc, n.OverClause)
	out.sql += over
	out = merge(out, args...)
	return merge(out, parts...)
}
