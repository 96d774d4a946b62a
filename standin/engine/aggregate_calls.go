// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// aggregate functions: how they are made of SQLite's and the engine's own.
type aggregateKind struct {
	// sql makes the call for an argument of a type; Unknown result means the type does not fit.
	bind func(b *binder, name, distinct string, arg expr) expr
}

var aggregates = map[string]*aggregateKind{
	"count": {countAggregate(sqltype.IntType)}, "count_big": {countAggregate(sqltype.BigIntType)},
	"sum": {sumAggregate}, "avg": {avgAggregate}, "min": {extremeAggregate}, "max": {extremeAggregate},
	"stdev": {statAggregate}, "stdevp": {statAggregate}, "var": {statAggregate}, "varp": {statAggregate},
	"checksum_agg": {
		checksumAggregateCall,
	}, "string_agg": {nil}, "approx_count_distinct": {countAggregate(sqltype.BigIntType)},
	"approx_percentile_cont": {nil}, "approx_percentile_disc": {nil},
}

func countAggregate(t sqltype.Type) func(*binder, string, string, expr) expr {
	return func(b *binder, name, distinct string, arg expr) expr {
		if name == "approx_count_distinct" {
			distinct = "DISTINCT "
		}
		return expr{sql: "count(" + distinct + arg.key() + ")", typ: t, nullable: true}
	}
}

func sumAggregate(b *binder, name, distinct string, arg expr) expr {
	switch k := arg.typ.Kind; {
	case k.IsInteger():
		t := sqltype.IntType
		if k == sqltype.BigInt {
			t = sqltype.BigIntType
		}
		return expr{sql: "sum(" + distinct + arg.sql + ")", typ: t, nullable: true, name: "check"}
	case k == sqltype.Decimal:
		return expr{sql: "tsql_sumd(" + distinct + arg.sql + ")", typ: sqltype.DecimalOf(38, arg.typ.Scale), nullable: true}
	case k.IsExact():
		return expr{sql: "tsql_sumd(" + distinct + arg.sql + ")", typ: sqltype.MoneyType, nullable: true}
	case k.IsApproximate():
		return expr{sql: "sum(" + distinct + arg.sql + ")", typ: sqltype.FloatType, nullable: true}
	}
	b.fail(8117, arg.typ.Kind, name)
	return expr{}
}

func avgAggregate(b *binder, name, distinct string, arg expr) expr {
	switch k := arg.typ.Kind; {
	case k.IsInteger():
		t, function := sqltype.IntType, "tsql_avgi("
		if k == sqltype.BigInt {
			t, function = sqltype.BigIntType, "tsql_avgb("
		}
		return expr{sql: function + distinct + arg.sql + ")", typ: t, nullable: true}
	case k.IsExact():
		t := sqltype.DecimalOf(38, max(arg.typ.Scale, 6))
		if k != sqltype.Decimal {
			t, name = sqltype.MoneyType, "avgm"
		} else {
			name = "avgd"
		}
		raw := sqltype.DecimalOf(38, 38)
		return expr{
			sql:      "tsql_" + name + "(" + distinct + arg.sql + ")",
			typ:      t,
			nullable: true,
			name:     fmt.Sprintf("conv%d", sqltype.Pack(raw)),
		}
	case k.IsApproximate():
		return expr{sql: "avg(" + distinct + arg.sql + ")", typ: sqltype.FloatType, nullable: true}
	}
	b.fail(8117, arg.typ.Kind, name)
	return expr{}
}

func extremeAggregate(b *binder, name, distinct string, arg expr) expr {
	switch arg.typ.Kind {
	case sqltype.Bit, sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML:
		b.fail(8117, arg.typ.Kind, name)
	}
	return expr{
		sql:           name + "(" + arg.collated() + ")",
		typ:           arg.typ,
		nullable:      true,
		collation:     arg.collation,
		collationName: arg.collationName,
		implicit:      arg.implicit,
	}
}

func statAggregate(b *binder, name, distinct string, arg expr) expr {
	if !arg.typ.Kind.IsNumeric() || arg.typ.Kind == sqltype.Bit {
		b.fail(8117, arg.typ.Kind, name)
	}
	arg = b.convert(arg, sqltype.FloatType, sqltype.Implicit, 0, false)
	return expr{sql: "tsql_" + name + "(" + distinct + arg.sql + ")", typ: sqltype.FloatType, nullable: true}
}

func checksumAggregateCall(b *binder, name, distinct string, arg expr) expr {
	if !arg.typ.Kind.IsInteger() {
		b.fail(8117, arg.typ.Kind, name)
	}
	return expr{sql: "tsql_checksum_agg(" + distinct + arg.sql + ")", typ: sqltype.IntType, nullable: true}
}

func (b *binder) aggregate(sc *scope, n *ast.FunctionCall, name string, a *aggregateKind) expr {
	var out expr
	var args []expr
	distinct := ""
	if b.groupSet != nil {
		b.groupSet.inside++
		defer func() { b.groupSet.inside-- }()
	}
	if n.UniqueRowFilter == "Distinct" {
		distinct = "DISTINCT "
	}
	before := sc.outerCounts()
	switch {
	case name == "string_agg":
		out, args = b.stringAggregate(sc, n)
	case strings.HasPrefix(name, "approx_percentile_"):
		if n.OverClause != nil {
			b.fail(4113, n.FunctionName.Value)
		}
		out, args = b.percentileOf(sc, n, name)
	case len(n.Parameters) == 1 && isStar(n.Parameters[0]):
		if name != "count" && name != "count_big" {
			b.fail(102, "*")
		}
		out = a.bind(b, name, "", expr{sql: "*"})
	case len(n.Parameters) != 1:
		b.fail(174, name, 1)
	default:
		args = b.scalars(sc, n.Parameters)
		if args[0].aggregate && n.OverClause == nil || hasSubquery(n.Parameters) {
			b.fail(130)
		}
		b.notNested(args...)
		if n.OverClause != nil && distinct != "" {
			b.fail(10759)
		}
		if args[0].null {
			b.fail(8117, "NULL", name)
		}
		out = a.bind(b, name, distinct, args[0])
	}
	check := out.name
	out.name = ""
	if n.OverClause != nil {
		over, parts := b.over(sc, n.OverClause)
		out.sql += over
		out = merge(out, args...)
		out = merge(out, parts...)
		out.window = true
	} else if owner := b.aggregateOwner(sc, args); owner == sc {
		out.aggregate = true
	} else {
		sc.leaveTo(owner, before)
	}
	switch {
	case check == "check":
		out.sql = fmt.Sprintf("tsql_check(%s,%d)", out.sql, out.typ.Kind)
	case strings.HasPrefix(check, "conv"):
		out.sql = fmt.Sprintf("tsql_conv(%s,%s,%d,%d,0)", out.sql, check[4:], sqltype.Pack(out.typ), sqltype.Explicit)
	}
	return out
}

// aggregateOwner is the scope of the query that an aggregate belongs to: the one whose columns it has, which may be
// around the query that it stands in. One that mixes columns of both is refused (8124), and one of what a query is
// applied to (4101; docs/relational-databases/errors-events/database-engine-events-and-errors-4000-to-4999.md).
func (b *binder) aggregateOwner(sc *scope, args []expr) *scope {
	var outer *sourceColumn
	several := false
	var seen *sourceColumn
	for _, a := range args {
		for _, c := range a.free {
			several = several || seen != nil && c != seen
			if seen = c; c.source.scope != sc {
				outer = c
			}
		}
	}
	if outer == nil {
		return sc
	}
	if several {
		b.fail(8124)
	}
	for at := sc; at != nil && at != outer.source.scope; at = at.parent {
		if at.gate {
			b.fail(4101)
		}
	}
	return outer.source.scope
}

func isStar(n ast.ScalarExpression) bool {
	c, ok := n.(*ast.ColumnReferenceExpression)
	return ok && c.ColumnType == "Wildcard"
}

func (b *binder) stringAggregate(sc *scope, n *ast.FunctionCall) (expr, []expr) {
	args := b.exactly(sc, "string_agg", n.Parameters, 2)
	if args[0].null {
		b.fail(8116, "NULL", 1, "string_agg")
	}
	b.fits("string_agg", args)
	t := sqltype.Type{Kind: sqltype.VarChar, Length: 8000, Page: args[0].typ.Page}
	if args[0].typ.Kind.IsUnicode() || !args[0].typ.Kind.IsCharacter() {
		t = sqltype.NVarCharOf(4000)
	}
	if args[0].typ.Length == sqltype.MaxLength {
		t.Length = sqltype.MaxLength
	}
	x := b.convert(args[0], t, sqltype.Implicit, 0, false)
	sep := b.convert(args[1], sqltype.NVarCharMax, sqltype.Implicit, 0, false)
	order := ""
	if n.WithinGroupClause != nil && n.WithinGroupClause.OrderByClause != nil {
		b.sameOrder(sc, n.WithinGroupClause.OrderByClause)
		var parts []string
		for _, el := range n.WithinGroupClause.OrderByClause.OrderByElements {
			text := b.scalar(sc, el.Expression).collated()
			if el.SortOrder == "Descending" {
				text += " DESC"
			}
			parts = append(parts, text)
		}
		order = " ORDER BY " + strings.Join(parts, ", ")
	}
	out := expr{
		sql:           "group_concat(" + x.sql + "," + sep.sql + order + ")",
		typ:           t,
		nullable:      true,
		collation:     "tsql_ci_as",
		collationName: args[0].collationName,
	}
	if t.Length != sqltype.MaxLength {
		out.name = "check"
	}
	return out, args
}

// sameOrder refuses a second order of WITHIN GROUP in one query (8711;
// docs/t-sql/functions/string-agg-transact-sql.md).
func (b *binder) sameOrder(sc *scope, o *ast.OrderByClause) {
	first := sc.aggregateOrder
	if first == nil {
		sc.aggregateOrder = o
		return
	}
	same := len(first.OrderByElements) == len(o.OrderByElements)
	for i := 0; same && i < len(o.OrderByElements); i++ {
		x, y := first.OrderByElements[i], o.OrderByElements[i]
		same = sameExpression(x.Expression, y.Expression) && (x.SortOrder == "Descending") == (y.SortOrder == "Descending")
	}
	if !same {
		b.fail(8711)
	}
}
