// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// scalar binds an expression.
func (b *binder) scalar(sc *scope, node ast.ScalarExpression) expr {
	return b.absentExpression(b.scalarNode(sc, node))
}

func (b *binder) scalarNode(sc *scope, node ast.ScalarExpression) expr {
	switch n := node.(type) {
	case *ast.IntegerLiteral:
		return b.integerLiteral(n.Value)
	case *ast.NumericLiteral:
		return b.numericLiteral(n.Value)
	case *ast.RealLiteral:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			b.fail(168, n.Value, 8)
		}
		b.rough = true
		return literal(sqltype.FloatType, f)
	case *ast.MoneyLiteral:
		d, ok := sqltype.ParseNumber(n.Value, true)
		if !ok {
			b.fail(235)
		}
		return b.convert(literal(sqltype.DecimalOf(38, 4), d.Round(4)), sqltype.MoneyType, sqltype.Explicit, 0, false)
	case *ast.StringLiteral:
		return b.textLiteral(continuedLines.Replace(n.Value), n.IsNational)
	case *ast.BinaryLiteral:
		return b.binaryLiteral(n.Value)
	case *ast.NullLiteral:
		return expr{sql: "NULL", null: true, nullable: true, typ: sqltype.IntType}
	case *ast.DefaultLiteral:
		b.fail(156, "default")
	case *ast.ColumnReferenceExpression:
		return b.columnReference(sc, n)
	case *ast.VariableReference:
		return b.variable(n.Name)
	case *ast.GlobalVariableExpression:
		return b.global(n.Name)
	case *ast.UserDefinedTypePropertyAccess:
		if t, ok := n.CallTarget.(*ast.ExpressionCallTarget); ok {
			b.scalar(sc, t.Expression) // a table variable qualifies no column: 137
		}
	case *ast.ParenthesisExpression:
		e := b.scalar(sc, n.Expression)
		e.name = ""
		if !e.hasLit && e.param == 0 && e.column == nil && !e.null {
			e.sql = "(" + e.sql + ")"
		}
		return e
	case *ast.UnaryExpression:
		return b.unary(sc, n)
	case *ast.BinaryExpression:
		return b.binary(n.BinaryExpressionType, b.scalar(sc, n.FirstExpression), b.scalar(sc, n.SecondExpression))
	case *ast.ScalarSubquery:
		return b.scalarSubquery(sc, n)
	case *ast.SearchedCaseExpression, *ast.SimpleCaseExpression, *ast.IIfCall, *ast.NullIfExpression,
		*ast.CoalesceExpression:
		return b.conditional(sc, node)
	case *ast.CastCall:
		return b.cast(sc, n.Parameter, n.DataType, nil, false, n.Collation)
	case *ast.ConvertCall:
		return b.cast(sc, n.Parameter, n.DataType, n.Style, false, n.Collation)
	case *ast.TryCastCall:
		return b.cast(sc, n.Parameter, n.DataType, nil, true, n.Collation)
	case *ast.TryConvertCall:
		return b.cast(sc, n.Parameter, n.DataType, n.Style, true, n.Collation)
	case *ast.PartitionFunctionCall:
		return b.partitionNumber(sc, n)
	case *ast.ParseCall:
		return b.parseCall(sc, n.StringValue, n.DataType, n.Culture, 0)
	case *ast.TryParseCall:
		return b.parseCall(sc, n.StringValue, n.DataType, n.Culture, 1)
	case *ast.FunctionCall:
		return b.functionCall(sc, n)
	case *ast.LeftFunctionCall:
		return b.builtin("left", b.scalars(sc, n.Parameters))
	case *ast.RightFunctionCall:
		return b.builtin("right", b.scalars(sc, n.Parameters))
	case *ast.ParameterlessCall:
		return b.parameterless(n.ParameterlessCallType)
	case *ast.NextValueForExpression:
		return b.nextValue(sc, n)
	case *ast.AtTimeZoneCall:
		return b.builtin("at_time_zone", []expr{b.scalar(sc, n.DateValue), b.scalar(sc, n.TimeZone)})
	case *ast.OdbcFunctionCall:
		return b.odbcFunction(sc, n)
	case *ast.IdentityFunctionCall:
		b.fail(177)
	case *ast.OdbcLiteral:
		return b.odbcLiteral(n)
	case *ast.IdentifierLiteral:
		return b.textLiteral(n.Value, false)
	case nil:
		b.fail(102, "")
	}
	b.refuse(fmt.Sprintf("The expression %s", named(node)))
	return expr{}
}

func (b *binder) scalars(sc *scope, nodes []ast.ScalarExpression) []expr {
	out := make([]expr, len(nodes))
	for i, n := range nodes {
		out[i] = b.scalar(sc, n)
	}
	return out
}

func (b *binder) columnReference(sc *scope, n *ast.ColumnReferenceExpression) expr {
	defer b.atName(n.MultiPartIdentifier)()
	if sc == nil || len(sc.sources) == 0 && sc.parent == nil {
		parts := identifiers(n.MultiPartIdentifier)
		if len(parts) == 0 {
			b.fail(102, "*")
		}
		if len(parts) > 1 {
			return b.notFound(4104, parts[len(parts)-1], strings.Join(parts, "."))
		}
		if sc != nil {
			return b.notFound(207, parts[0], parts[0])
		}
		b.fail(128, parts[0])
	}
	if n.ColumnType != "Regular" && n.ColumnType != "" {
		return b.pseudoColumn(sc, n)
	}
	parts := identifiers(n.MultiPartIdentifier)
	e := b.columnValue(b.absentColumn(b.column(sc, parts)))
	if written := parts[len(parts)-1]; strings.EqualFold(written, e.name) {
		e.name = written // results name a column as the statement does, whatever the table says
	}
	if n.Collation != nil {
		return b.collateClause(e, n.Collation.Value)
	}
	return e
}

func (b *binder) pseudoColumn(sc *scope, n *ast.ColumnReferenceExpression) expr {
	switch n.ColumnType {
	case "PseudoColumnAction":
		return b.column(sc, []string{"$action"})
	case "IdentityCol", "PseudoColumnIdentity":
		for _, src := range sc.sources {
			for _, c := range src.columns {
				if c.column != nil && c.column.Identity != nil {
					return c.expr()
				}
			}
		}
		b.fail(207, "$identity")
	case "RowGuidCol", "PseudoColumnRowGuid":
		for _, src := range sc.sources {
			for _, c := range src.columns {
				if c.column != nil && c.column.RowGUID {
					return c.expr()
				}
			}
		}
		b.fail(207, "$rowguid")
	case "Wildcard":
		b.fail(102, "*")
	}
	b.refuse("The pseudo column " + n.ColumnType)
	return expr{}
}

func (b *binder) collateClause(e expr, name string) expr {
	c, ok := sqltype.ParseCollation(name)
	if strings.EqualFold(name, "database_default") || strings.EqualFold(name, "catalog_default") {
		c, ok = sqltype.ParseCollation(sqltype.DefaultCollation)
	}
	if !ok {
		b.fail(448, name)
	}
	if !e.typ.Kind.IsCharacter() && !e.null {
		b.fail(447, e.typ.Kind)
	}
	if sqltype.UnicodeOnly(c.Name) && !e.null && !e.typ.Kind.IsUnicode() {
		b.fail(459, c.Name)
	}
	if to := e.typ.In(c.Name); to != e.typ && !e.null {
		name, nullable := e.name, e.nullable
		e = b.convert(e, to, sqltype.Explicit, 0, false)
		e.name, e.nullable = name, nullable
	}
	e.collation, e.explicit, e.collationName = c.Key(), true, c.Name
	e.hasLit, e.param = false, 0
	return e
}

func (b *binder) unary(sc *scope, n *ast.UnaryExpression) expr {
	e := b.scalar(sc, n.Expression)
	e.name = ""
	switch n.UnaryExpressionType {
	case "Positive":
		return e
	case "Negative":
		t := e.typ
		if t.Kind == sqltype.TinyInt { // docs/t-sql/language-elements/unary-operators-negative.md, Result types
			t = sqltype.SmallIntType
		}
		if e.hasLit {
			switch v := e.lit.(type) {
			case int64:
				if out, err := sqltype.Convert(-v, sqltype.BigIntType, t, 0, sqltype.Implicit); err == nil && v != math.MinInt64 {
					return literal(t, out)
				}
			case float64:
				return literal(e.typ, -v)
			case decimal.Decimal:
				if v.Equal(decimal.NewFromInt(2147483648)) && e.typ.Scale == 0 {
					return literal(sqltype.IntType, int64(-2147483648))
				}
				return literal(e.typ, v.Neg())
			}
		}
		if k := e.typ.Kind; !e.null && !k.IsNumeric() || k == sqltype.Bit {
			switch unparenthesised(n.Expression).(type) {
			case *ast.StringLiteral, *ast.BinaryLiteral:
				b.fail(403, "minus", k)
			}
			b.fail(8117, k, "minus")
		}
		zero := literal(sqltype.IntType, int64(0))
		if e.typ.Kind.IsExact() {
			out := b.binary("Subtract", b.convert(zero, e.typ, sqltype.Implicit, 0, false), e)
			return b.convert(out, e.typ, sqltype.Implicit, 0, false)
		}
		out := b.binary("Subtract", zero, e)
		if t.Kind.IsInteger() {
			out = b.convert(out, t, sqltype.Implicit, 0, false)
		}
		return out
	case "BitwiseNot":
		if !e.typ.Kind.IsInteger() && e.typ.Kind != sqltype.Bit {
			b.fail(8117, e.typ.Kind, "'~'")
		}
		out := e
		out.hasLit, out.param, out.column = false, 0, nil
		out.sql = "(~" + e.sql + ")"
		switch e.typ.Kind {
		case sqltype.Bit:
			out.sql = "(1-" + e.sql + ")"
		case sqltype.TinyInt:
			out.sql = "(255-" + e.sql + ")"
		}
		return out
	}
	b.refuse("The operator " + n.UnaryExpressionType)
	return expr{}
}

func (b *binder) cast(
	sc *scope,
	node ast.ScalarExpression,
	dt ast.DataTypeReference,
	style ast.ScalarExpression,
	try bool,
	collation *ast.Identifier,
) expr {
	e := b.scalar(sc, node)
	to := b.dataType(dt, true)
	number := 0
	if style != nil {
		st := b.scalar(sc, style)
		if st.null {
			return literal(to, nil)
		}
		b.fits("convert", []expr{e, e, st})
		n, ok := st.lit.(int64)
		if !ok {
			return b.castWithStyle(e, to, st, try)
		}
		if number = int(n); number == 0 && e.typ.Kind.IsTemporal() && to.Kind.IsCharacter() {
			number = 100 // the same style; 0 without CONVERT is that of the type
		}
	}
	if e.typ.Kind.IsCharacter() && e.collationName != "" {
		to = to.In(e.collationName)
	}
	out := merge(b.convert(e, to, sqltype.Explicit, number, try), e)
	out.name, out.column, out.nullable = "", nil, true
	if collation != nil {
		out = b.collateClause(out, collation.Value)
	}
	return out
}

// castWithStyle is CONVERT with a style that is no constant.
func (b *binder) castWithStyle(e expr, to sqltype.Type, style expr, try bool) expr {
	style = b.convert(style, sqltype.IntType, sqltype.Implicit, 0, false)
	mode := int(sqltype.Explicit)
	if try {
		mode += tryMode
	}
	out := expr{typ: to, nullable: true, collation: "tsql_ci_as"}
	if !to.Kind.IsCharacter() {
		out.collation = ""
	} else if e.typ.Kind.IsTemporal() {
		style.sql = "(CASE " + style.sql + " WHEN 0 THEN 100 ELSE " + style.sql + " END)"
	}
	// A style of NULL gives NULL.
	out.sql = fmt.Sprintf(
		"(CASE WHEN %[5]s IS NOT NULL THEN tsql_conv(%[1]s,%[2]d,%[3]d,%[4]d,%[5]s) END)",
		e.sql,
		sqltype.Pack(e.typ),
		sqltype.Pack(to),
		mode,
		style.sql,
	)
	return merge(out, e, style)
}

// dataType is a type as it is written in a statement.
func (b *binder) dataType(node ast.DataTypeReference, inCast bool) sqltype.Type {
	t, err := DataTypeOf(node, inCast)
	if err == nil {
		return b.s.inCodePage(t)
	}
	if n, ok := node.(*ast.UserDataTypeReference); ok && n.Name != nil {
		if alias := b.s.aliasType(b.ctx, NameOf(n.Name)); alias != nil {
			return b.s.inCodePage(*alias)
		}
	}
	b.failWith(err)
	return sqltype.Type{}
}

func (b *binder) global(name string) expr {
	g := b.s.inst.registry.globals[lower(name)]
	if g == nil {
		b.fail(137, name)
	}
	e := b.computed(lower(name), g.Type, g.Value)
	e.nullable = g.Nullable
	return e
}

func (b *binder) parameterless(kind string) expr {
	switch kind {
	case "CurrentTimestamp":
		return b.now("getdate")
	case "CurrentUser", "User", "SessionUser":
		return b.computed("user_name()", sqltype.Sysname, func(s *Session) any { return s.userName() })
	case "SystemUser":
		return b.computed("suser_sname()", sqltype.Sysname, func(s *Session) any { return s.login.Name })
	}
	b.refuse("The function " + kind)
	return expr{}
}

func (b *binder) scalarSubquery(sc *scope, n *ast.ScalarSubquery) expr {
	inner := &scope{parent: sc}
	q := b.query(inner, n.QueryExpression, queryOptions{subquery: true})
	if len(q.outputs) != 1 {
		b.fail(116)
	}
	o := q.outputs[0].expr
	out := expr{
		typ:           o.typ,
		nullable:      true,
		collation:     o.collation,
		collationName: o.collationName,
		implicit:      o.implicit || o.explicit,
		json:          o.json,
	}
	if q.oneRow {
		out.sql = "(" + q.sql + ")"
	} else {
		out.sql = "(SELECT tsql_one(max(c1),count(*)) FROM (" + q.sql + " LIMIT 2))"
		if q.limited {
			out.sql = "(SELECT tsql_one(max(c1),count(*)) FROM (" + q.sql + "))"
		}
	}
	out = merge(out, inner.used())
	if n.Collation != nil {
		return b.collateClause(out, n.Collation.Value)
	}
	return out
}
