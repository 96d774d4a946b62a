// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// aggregate functions: how they are made of SQLite's and the engine's own.
type aggregateKind struct {
	// sql makes the call for an argument of a type; Unknown result means the type does not fit.
	bind func(b *Binder, name, distinct string, arg Expr) Expr
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

func countAggregate(t sqltype.Type) func(*Binder, string, string, Expr) Expr {
	return func(b *Binder, name, distinct string, arg Expr) Expr {
		if name == "approx_count_distinct" {
			distinct = "DISTINCT "
		}
		return Expr{SQL: "count(" + distinct + arg.key() + ")", Type: t, Nullable: true}
	}
}

func sumAggregate(b *Binder, name, distinct string, arg Expr) Expr {
	switch k := arg.Type.Kind; {
	case k.IsInteger():
		t := sqltype.IntType
		if k == sqltype.BigInt {
			t = sqltype.BigIntType
		}
		return Expr{SQL: "sum(" + distinct + arg.SQL + ")", Type: t, Nullable: true, name: "check"}
	case k == sqltype.Decimal:
		return Expr{SQL: "tsql_sumd(" + distinct + arg.SQL + ")", Type: sqltype.DecimalOf(38, arg.Type.Scale), Nullable: true}
	case k.IsExact():
		return Expr{SQL: "tsql_sumd(" + distinct + arg.SQL + ")", Type: sqltype.MoneyType, Nullable: true}
	case k.IsApproximate():
		return Expr{SQL: "sum(" + distinct + arg.SQL + ")", Type: sqltype.FloatType, Nullable: true}
	}
	b.Fail(8117, arg.Type.Kind, name)
	return Expr{}
}

func avgAggregate(b *Binder, name, distinct string, arg Expr) Expr {
	switch k := arg.Type.Kind; {
	case k.IsInteger():
		t, function := sqltype.IntType, "tsql_avgi("
		if k == sqltype.BigInt {
			t, function = sqltype.BigIntType, "tsql_avgb("
		}
		return Expr{SQL: function + distinct + arg.SQL + ")", Type: t, Nullable: true}
	case k.IsExact():
		t := sqltype.DecimalOf(38, max(arg.Type.Scale, 6))
		if k != sqltype.Decimal {
			t, name = sqltype.MoneyType, "avgm"
		} else {
			name = "avgd"
		}
		raw := sqltype.DecimalOf(38, 38)
		return Expr{
			SQL:      "tsql_" + name + "(" + distinct + arg.SQL + ")",
			Type:     t,
			Nullable: true,
			name:     fmt.Sprintf("conv%d", sqltype.Pack(raw)),
		}
	case k.IsApproximate():
		return Expr{SQL: "avg(" + distinct + arg.SQL + ")", Type: sqltype.FloatType, Nullable: true}
	}
	b.Fail(8117, arg.Type.Kind, name)
	return Expr{}
}

func extremeAggregate(b *Binder, name, distinct string, arg Expr) Expr {
	switch arg.Type.Kind {
	case sqltype.Bit, sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML:
		b.Fail(8117, arg.Type.Kind, name)
	}
	return Expr{
		SQL:           name + "(" + arg.collated() + ")",
		Type:          arg.Type,
		Nullable:      true,
		collation:     arg.collation,
		CollationName: arg.CollationName,
		implicit:      arg.implicit,
	}
}

func statAggregate(b *Binder, name, distinct string, arg Expr) Expr {
	if !arg.Type.Kind.IsNumeric() || arg.Type.Kind == sqltype.Bit {
		b.Fail(8117, arg.Type.Kind, name)
	}
	arg = b.Convert(arg, sqltype.FloatType, sqltype.Implicit, 0, false)
	return Expr{SQL: "tsql_" + name + "(" + distinct + arg.SQL + ")", Type: sqltype.FloatType, Nullable: true}
}

func checksumAggregateCall(b *Binder, name, distinct string, arg Expr) Expr {
	if !arg.Type.Kind.IsInteger() {
		b.Fail(8117, arg.Type.Kind, name)
	}
	return Expr{SQL: "tsql_checksum_agg(" + distinct + arg.SQL + ")", Type: sqltype.IntType, Nullable: true}
}

func (b *Binder) aggregate(sc *Scope, n *ast.FunctionCall, name string, a *aggregateKind) Expr {
	var out Expr
	var args []Expr
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
			b.Fail(4113, n.FunctionName.Value)
		}
		out, args = b.percentileOf(sc, n, name)
	case len(n.Parameters) == 1 && isStar(n.Parameters[0]):
		if name != "count" && name != "count_big" {
			b.Fail(102, "*")
		}
		out = a.bind(b, name, "", Expr{SQL: "*"})
	case len(n.Parameters) != 1:
		b.Fail(174, name, 1)
	default:
		args = b.scalars(sc, n.Parameters)
		if args[0].Aggregate && n.OverClause == nil || HasSubquery(n.Parameters) {
			b.Fail(130)
		}
		b.notNested(args...)
		if n.OverClause != nil && distinct != "" {
			b.Fail(10759)
		}
		if args[0].Null {
			b.Fail(8117, "NULL", name)
		}
		out = a.bind(b, name, distinct, args[0])
	}
	check := out.name
	out.name = ""
	if n.OverClause != nil {
		over, parts := b.over(sc, n.OverClause)
		out.SQL += over
		out = merge(out, args...)
		out = merge(out, parts...)
		out.Window = true
	} else if owner := b.aggregateOwner(sc, args); owner == sc {
		out.Aggregate = true
	} else {
		sc.leaveTo(owner, before)
	}
	switch {
	case check == "check":
		out.SQL = fmt.Sprintf("tsql_check(%s,%d)", out.SQL, out.Type.Kind)
	case strings.HasPrefix(check, "conv"):
		out.SQL = fmt.Sprintf("tsql_conv(%s,%s,%d,%d,0)", out.SQL, check[4:], sqltype.Pack(out.Type), sqltype.Explicit)
	}
	return out
}

// aggregateOwner is the scope of the query that an aggregate belongs to: the one whose columns it has, which may be
// around the query that it stands in. One that mixes columns of both is refused (8124), and one of what a query is
// applied to (4101; docs/relational-databases/errors-events/database-engine-events-and-errors-4000-to-4999.md).
func (b *Binder) aggregateOwner(sc *Scope, args []Expr) *Scope {
	var outer *SourceColumn
	several := false
	var seen *SourceColumn
	for _, a := range args {
		for _, c := range a.Free {
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
		b.Fail(8124)
	}
	for at := sc; at != nil && at != outer.source.scope; at = at.parent {
		if at.gate {
			b.Fail(4101)
		}
	}
	return outer.source.scope
}

func isStar(n ast.ScalarExpression) bool {
	c, ok := n.(*ast.ColumnReferenceExpression)
	return ok && c.ColumnType == "Wildcard"
}

func (b *Binder) stringAggregate(sc *Scope, n *ast.FunctionCall) (Expr, []Expr) {
	args := b.exactly(sc, "string_agg", n.Parameters, 2)
	if args[0].Null {
		b.Fail(8116, "NULL", 1, "string_agg")
	}
	b.fits("string_agg", args)
	t := sqltype.Type{Kind: sqltype.VarChar, Length: 8000, Page: args[0].Type.Page}
	if args[0].Type.Kind.IsUnicode() || !args[0].Type.Kind.IsCharacter() {
		t = sqltype.NVarCharOf(4000)
	}
	if args[0].Type.Length == sqltype.MaxLength {
		t.Length = sqltype.MaxLength
	}
	x := b.Convert(args[0], t, sqltype.Implicit, 0, false)
	sep := b.Convert(args[1], sqltype.NVarCharMax, sqltype.Implicit, 0, false)
	order := ""
	if n.WithinGroupClause != nil && n.WithinGroupClause.OrderByClause != nil {
		b.sameOrder(sc, n.WithinGroupClause.OrderByClause)
		var parts []string
		for _, el := range n.WithinGroupClause.OrderByClause.OrderByElements {
			text := b.Scalar(sc, el.Expression).collated()
			if el.SortOrder == "Descending" {
				text += " DESC"
			}
			parts = append(parts, text)
		}
		order = " ORDER BY " + strings.Join(parts, ", ")
	}
	out := Expr{
		SQL:           "group_concat(" + x.SQL + "," + sep.SQL + order + ")",
		Type:          t,
		Nullable:      true,
		collation:     "tsql_ci_as",
		CollationName: args[0].CollationName,
	}
	if t.Length != sqltype.MaxLength {
		out.name = "check"
	}
	return out, args
}

// sameOrder refuses a second order of WITHIN GROUP in one query (8711;
// docs/t-sql/functions/string-agg-transact-sql.md).
func (b *Binder) sameOrder(sc *Scope, o *ast.OrderByClause) {
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
		b.Fail(8711)
	}
}
