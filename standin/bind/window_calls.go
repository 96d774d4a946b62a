// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// namedWindow is OVER name or OVER (name ...) with what the WINDOW clause says of the name
// (docs/t-sql/queries/select-window-transact-sql.md).
func (b *Binder) namedWindow(o *ast.OverClause) *ast.OverClause {
	for depth := 0; o.WindowName != nil; depth++ {
		var found *ast.WindowDefinition
		for _, w := range b.windows {
			if strings.EqualFold(w.WindowName.Value, o.WindowName.Value) {
				found = w
			}
		}
		if found == nil || depth > len(b.windows) {
			b.FailWith(
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
func (b *Binder) over(sc *Scope, o *ast.OverClause) (string, []Expr) {
	o = b.namedWindow(o)
	b.checkFrame(o)
	var s strings.Builder
	var parts []Expr
	s.WriteString(" OVER (")
	for i, p := range o.Partitions {
		e := b.Scalar(sc, p)
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
func (b *Binder) windowOrder(sc *Scope, elements []*ast.ExpressionWithSortOrder) (string, []Expr) {
	var parts []Expr
	var terms []string
	for _, el := range elements {
		e := b.Scalar(sc, el.Expression)
		parts = append(parts, e)
		if e.HasLiteral {
			b.Fail(5308)
		}
		if oneValue(el.Expression) && len(e.Free) == 0 {
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

func (b *Binder) frameBound(sc *Scope, d *ast.WindowDelimiter) string {
	switch d.WindowDelimiterType {
	case "CurrentRow":
		return "CURRENT ROW"
	case "UnboundedPreceding":
		return "UNBOUNDED PRECEDING"
	case "UnboundedFollowing":
		return "UNBOUNDED FOLLOWING"
	}
	e := b.Scalar(sc, d.OffsetValue)
	return e.SQL + " " + strings.ToUpper(strings.TrimPrefix(d.WindowDelimiterType, "Value"))
}

// windowArguments counts the arguments of a function that has an OVER clause: 4114, 10755 for one that takes several
// numbers of them.
func (b *Binder) windowArguments(written, name string, count int) {
	want := 0
	switch name {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
	case "ntile", "first_value", "last_value":
		want = 1
	case "lag", "lead":
		if count < 1 || count > 3 {
			b.Fail(10755, written, 1, 3)
		}
		return
	default:
		return
	}
	if count != want {
		b.Fail(4114, written, want)
	}
}

// windowFunction binds ROW_NUMBER, RANK, LAG and their kin.
func (b *Binder) windowFunction(sc *Scope, n *ast.FunctionCall, name string) Expr {
	out := Expr{Type: sqltype.BigIntType, Nullable: true, Window: true}
	args := b.scalars(sc, n.Parameters)
	b.windowArguments(n.FunctionName.Value, name, len(args))
	switch name {
	case "row_number", "rank", "dense_rank", "ntile":
		out.SQL = name + "("
		if name == "ntile" {
			out.SQL += b.rowCount(b.Convert(args[0], sqltype.BigIntType, sqltype.Implicit, 0, false), 4116, 1).SQL
		}
		out.SQL += ")"
	case "percent_rank", "cume_dist":
		out.SQL, out.Type = name+"()", sqltype.FloatType
	case "lag", "lead":
		out.Type, out.collation, out.implicit = args[0].Type, args[0].collation, args[0].implicit || args[0].explicit
		out.SQL = name + "(" + args[0].SQL
		if len(args) > 1 {
			out.SQL += "," + b.rowCount(b.Convert(args[1], sqltype.BigIntType, sqltype.Implicit, 0, false), 8730, 0).SQL
		}
		if len(args) > 2 {
			out.SQL += "," + b.Convert(args[2], args[0].Type, sqltype.Implicit, 0, false).SQL
		}
		out.SQL += ")"
	case "first_value", "last_value":
		out.Type, out.collation, out.implicit = args[0].Type, args[0].collation, args[0].implicit || args[0].explicit
		out.SQL = name + "(" + args[0].SQL + ")"
	default:
		b.Fail(4113, name)
	}
	if b.namedWindow(n.OverClause).OrderByClause == nil {
		b.Fail(4112, n.FunctionName.Value)
	}
	if n.OverClause.WindowFrameClause != nil && name != "first_value" && name != "last_value" {
		b.Fail(10752, lower(name))
	}
	b.notNested(args...)
	over, parts := b.over(sc, n.OverClause)
	out.SQL += over
	out = merge(out, args...)
	return merge(out, parts...)
}
