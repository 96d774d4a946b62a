// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// DataTypeOf is a system type as it is written in a statement.
func DataTypeOf(node ast.DataTypeReference, inCast bool) (sqltype.Type, *sqlerr.Error) {
	switch n := node.(type) {
	case *ast.SqlDataTypeReference:
		if n == nil {
			return sqltype.Type{}, sqlerr.New(102, 1, "")
		}
		name := lower(n.SqlDataTypeOption)
		if written := NameOf(n.Name).Name; written != "" {
			name = written
		}
		args, err := typeArguments(n.Parameters)
		if err != nil {
			return sqltype.Type{}, err
		}
		t, err := sqltype.Named(name, args, inCast)
		if err != nil {
			if alt, e := sqltype.Named(n.SqlDataTypeOption, args, inCast); e == nil {
				return alt, nil
			}
			if err.Number == 243 && !inCast {
				return t, sqlerr.New(2715, 6, 0, name)
			}
		}
		return t, err
	case *ast.XmlDataTypeReference:
		if n.XmlSchemaCollection != nil {
			return sqltype.Type{}, sqlerr.Unsupported("A schema collection of xml")
		}
		return sqltype.Type{Kind: sqltype.XML}, nil
	case *ast.UserDataTypeReference:
		args, err := typeArguments(n.Parameters)
		if err != nil {
			return sqltype.Type{}, err
		}
		name := NameOf(n.Name).Name
		t, err := sqltype.Named(name, args, inCast)
		if err != nil && err.Number == 243 && !inCast {
			return t, sqlerr.New(2715, 6, 0, name)
		}
		return t, err
	}
	return sqltype.Type{}, sqlerr.New(243, 1, "")
}

func typeArguments(nodes []ast.ScalarExpression) ([]string, *sqlerr.Error) {
	var args []string
	for _, p := range nodes {
		switch l := p.(type) {
		case *ast.IntegerLiteral:
			args = append(args, l.Value)
		case *ast.MaxLiteral:
			args = append(args, "max")
		default:
			return nil, sqlerr.New(102, 1, ")")
		}
	}
	return args, nil
}

// Scalar binds an expression.
func (b *Binder) Scalar(sc *Scope, node ast.ScalarExpression) Expr {
	return b.absentExpression(b.scalarNode(sc, node))
}

func (b *Binder) scalarNode(sc *Scope, node ast.ScalarExpression) Expr {
	switch n := node.(type) {
	case *ast.IntegerLiteral:
		return b.integerLiteral(n.Value)
	case *ast.NumericLiteral:
		return b.numericLiteral(n.Value)
	case *ast.RealLiteral:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			b.Fail(168, n.Value, 8)
		}
		b.Rough = true
		return literal(sqltype.FloatType, f)
	case *ast.MoneyLiteral:
		d, ok := sqltype.ParseNumber(n.Value, true)
		if !ok {
			b.Fail(235)
		}
		return b.Convert(literal(sqltype.DecimalOf(38, 4), d.Round(4)), sqltype.MoneyType, sqltype.Explicit, 0, false)
	case *ast.StringLiteral:
		return b.textLiteral(continuedLines.Replace(n.Value), n.IsNational)
	case *ast.BinaryLiteral:
		return b.binaryLiteral(n.Value)
	case *ast.NullLiteral:
		return Expr{SQL: "NULL", Null: true, Nullable: true, Type: sqltype.IntType}
	case *ast.DefaultLiteral:
		b.Fail(156, "default")
	case *ast.ColumnReferenceExpression:
		return b.columnReference(sc, n)
	case *ast.VariableReference:
		return b.Variable(n.Name)
	case *ast.GlobalVariableExpression:
		return b.global(n.Name)
	case *ast.UserDefinedTypePropertyAccess:
		if t, ok := n.CallTarget.(*ast.ExpressionCallTarget); ok {
			b.Scalar(sc, t.Expression) // a table variable qualifies no column: 137
		}
	case *ast.ParenthesisExpression:
		e := b.Scalar(sc, n.Expression)
		e.name = ""
		if !e.HasLiteral && e.param == 0 && e.column == nil && !e.Null {
			e.SQL = "(" + e.SQL + ")"
		}
		return e
	case *ast.UnaryExpression:
		return b.unary(sc, n)
	case *ast.BinaryExpression:
		return b.binary(n.BinaryExpressionType, b.Scalar(sc, n.FirstExpression), b.Scalar(sc, n.SecondExpression))
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
		return b.builtin("at_time_zone", []Expr{b.Scalar(sc, n.DateValue), b.Scalar(sc, n.TimeZone)})
	case *ast.OdbcFunctionCall:
		return b.odbcFunction(sc, n)
	case *ast.IdentityFunctionCall:
		b.Fail(177)
	case *ast.OdbcLiteral:
		return b.odbcLiteral(n)
	case *ast.IdentifierLiteral:
		return b.textLiteral(n.Value, false)
	case nil:
		b.Fail(102, "")
	}
	b.Refuse(fmt.Sprintf("The expression %s", NodeName(node)))
	return Expr{}
}

func (b *Binder) scalars(sc *Scope, nodes []ast.ScalarExpression) []Expr {
	out := make([]Expr, len(nodes))
	for i, n := range nodes {
		out[i] = b.Scalar(sc, n)
	}
	return out
}

func (b *Binder) columnReference(sc *Scope, n *ast.ColumnReferenceExpression) Expr {
	defer b.atName(n.MultiPartIdentifier)()
	if sc == nil || len(sc.Sources) == 0 && sc.parent == nil {
		parts := Identifiers(n.MultiPartIdentifier)
		if len(parts) == 0 {
			b.Fail(102, "*")
		}
		if len(parts) > 1 {
			return b.notFound(4104, parts[len(parts)-1], strings.Join(parts, "."))
		}
		if sc != nil {
			return b.notFound(207, parts[0], parts[0])
		}
		b.Fail(128, parts[0])
	}
	if n.ColumnType != "Regular" && n.ColumnType != "" {
		return b.pseudoColumn(sc, n)
	}
	parts := Identifiers(n.MultiPartIdentifier)
	e := b.columnValue(b.absentColumn(b.column(sc, parts)))
	if written := parts[len(parts)-1]; strings.EqualFold(written, e.name) {
		e.name = written // results name a column as the statement does, whatever the table says
	}
	if n.Collation != nil {
		return b.collateClause(e, n.Collation.Value)
	}
	return e
}

func (b *Binder) pseudoColumn(sc *Scope, n *ast.ColumnReferenceExpression) Expr {
	switch n.ColumnType {
	case "PseudoColumnAction":
		return b.column(sc, []string{"$action"})
	case "IdentityCol", "PseudoColumnIdentity":
		for _, src := range sc.Sources {
			for _, c := range src.Columns {
				if c.Column != nil && c.Column.Identity != nil {
					return c.expr()
				}
			}
		}
		b.Fail(207, "$identity")
	case "RowGuidCol", "PseudoColumnRowGuid":
		for _, src := range sc.Sources {
			for _, c := range src.Columns {
				if c.Column != nil && c.Column.RowGUID {
					return c.expr()
				}
			}
		}
		b.Fail(207, "$rowguid")
	case "Wildcard":
		b.Fail(102, "*")
	}
	b.Refuse("The pseudo column " + n.ColumnType)
	return Expr{}
}

func (b *Binder) collateClause(e Expr, name string) Expr {
	c, ok := sqltype.ParseCollation(name)
	if strings.EqualFold(name, "database_default") || strings.EqualFold(name, "catalog_default") {
		c, ok = sqltype.ParseCollation(sqltype.DefaultCollation)
	}
	if !ok {
		b.Fail(448, name)
	}
	if !e.Type.Kind.IsCharacter() && !e.Null {
		b.Fail(447, e.Type.Kind)
	}
	if sqltype.UnicodeOnly(c.Name) && !e.Null && !e.Type.Kind.IsUnicode() {
		b.Fail(459, c.Name)
	}
	if to := e.Type.In(c.Name); to != e.Type && !e.Null {
		name, nullable := e.name, e.Nullable
		e = b.Convert(e, to, sqltype.Explicit, 0, false)
		e.name, e.Nullable = name, nullable
	}
	e.collation, e.explicit, e.CollationName = c.Key(), true, c.Name
	e.HasLiteral, e.param = false, 0
	return e
}

func (b *Binder) unary(sc *Scope, n *ast.UnaryExpression) Expr {
	e := b.Scalar(sc, n.Expression)
	e.name = ""
	switch n.UnaryExpressionType {
	case "Positive":
		return e
	case "Negative":
		t := e.Type
		if t.Kind == sqltype.TinyInt { // docs/t-sql/language-elements/unary-operators-negative.md, Result types
			t = sqltype.SmallIntType
		}
		if e.HasLiteral {
			switch v := e.Literal.(type) {
			case int64:
				if out, err := sqltype.Convert(-v, sqltype.BigIntType, t, 0, sqltype.Implicit); err == nil && v != math.MinInt64 {
					return literal(t, out)
				}
			case float64:
				return literal(e.Type, -v)
			case decimal.Decimal:
				if v.Equal(decimal.NewFromInt(2147483648)) && e.Type.Scale == 0 {
					return literal(sqltype.IntType, int64(-2147483648))
				}
				return literal(e.Type, v.Neg())
			}
		}
		if k := e.Type.Kind; !e.Null && !k.IsNumeric() || k == sqltype.Bit {
			switch unparenthesised(n.Expression).(type) {
			case *ast.StringLiteral, *ast.BinaryLiteral:
				b.Fail(403, "minus", k)
			}
			b.Fail(8117, k, "minus")
		}
		zero := literal(sqltype.IntType, int64(0))
		if e.Type.Kind.IsExact() {
			out := b.binary("Subtract", b.Convert(zero, e.Type, sqltype.Implicit, 0, false), e)
			return b.Convert(out, e.Type, sqltype.Implicit, 0, false)
		}
		out := b.binary("Subtract", zero, e)
		if t.Kind.IsInteger() {
			out = b.Convert(out, t, sqltype.Implicit, 0, false)
		}
		return out
	case "BitwiseNot":
		if !e.Type.Kind.IsInteger() && e.Type.Kind != sqltype.Bit {
			b.Fail(8117, e.Type.Kind, "'~'")
		}
		out := e
		out.HasLiteral, out.param, out.column = false, 0, nil
		out.SQL = "(~" + e.SQL + ")"
		switch e.Type.Kind {
		case sqltype.Bit:
			out.SQL = "(1-" + e.SQL + ")"
		case sqltype.TinyInt:
			out.SQL = "(255-" + e.SQL + ")"
		}
		return out
	}
	b.Refuse("The operator " + n.UnaryExpressionType)
	return Expr{}
}

func (b *Binder) cast(
	sc *Scope,
	node ast.ScalarExpression,
	dt ast.DataTypeReference,
	style ast.ScalarExpression,
	try bool,
	collation *ast.Identifier,
) Expr {
	e := b.Scalar(sc, node)
	to := b.DataType(dt, true)
	number := 0
	if style != nil {
		st := b.Scalar(sc, style)
		if st.Null {
			return literal(to, nil)
		}
		b.fits("convert", []Expr{e, e, st})
		n, ok := st.Literal.(int64)
		if !ok {
			return b.castWithStyle(e, to, st, try)
		}
		if number = int(n); number == 0 && e.Type.Kind.IsTemporal() && to.Kind.IsCharacter() {
			number = 100 // the same style; 0 without CONVERT is that of the type
		}
	}
	if e.Type.Kind.IsCharacter() && e.CollationName != "" {
		to = to.In(e.CollationName)
	}
	out := merge(b.Convert(e, to, sqltype.Explicit, number, try), e)
	out.name, out.column, out.Nullable = "", nil, true
	if collation != nil {
		out = b.collateClause(out, collation.Value)
	}
	return out
}

// castWithStyle is CONVERT with a style that is no constant.
func (b *Binder) castWithStyle(e Expr, to sqltype.Type, style Expr, try bool) Expr {
	style = b.Convert(style, sqltype.IntType, sqltype.Implicit, 0, false)
	mode := int(sqltype.Explicit)
	if try {
		mode += TryMode
	}
	out := Expr{Type: to, Nullable: true, collation: "tsql_ci_as"}
	if !to.Kind.IsCharacter() {
		out.collation = ""
	} else if e.Type.Kind.IsTemporal() {
		style.SQL = "(CASE " + style.SQL + " WHEN 0 THEN 100 ELSE " + style.SQL + " END)"
	}
	// A style of NULL gives NULL.
	out.SQL = fmt.Sprintf(
		"(CASE WHEN %[5]s IS NOT NULL THEN tsql_conv(%[1]s,%[2]d,%[3]d,%[4]d,%[5]s) END)",
		e.SQL,
		sqltype.Pack(e.Type),
		sqltype.Pack(to),
		mode,
		style.SQL,
	)
	return merge(out, e, style)
}

// DataType is a type as it is written in a statement.
func (b *Binder) DataType(node ast.DataTypeReference, inCast bool) sqltype.Type {
	t, err := DataTypeOf(node, inCast)
	if err == nil {
		return b.session.InCodePage(t)
	}
	if n, ok := node.(*ast.UserDataTypeReference); ok && n.Name != nil {
		if alias := b.session.AliasType(b.ctx, NameOf(n.Name)); alias != nil {
			return b.session.InCodePage(*alias)
		}
	}
	b.FailWith(err)
	return sqltype.Type{}
}

func (b *Binder) global(name string) Expr {
	g := b.session.Global(name)
	if g == nil {
		b.Fail(137, name)
	}
	e := b.computed(lower(name), g.Type, g.Value)
	e.Nullable = g.Nullable
	return e
}

func (b *Binder) parameterless(kind string) Expr {
	switch kind {
	case "CurrentTimestamp":
		return b.now("getdate")
	case "CurrentUser", "User", "SessionUser":
		return b.computed("user_name()", sqltype.Sysname, func(s Session) any { return s.UserName() })
	case "SystemUser":
		return b.computed("suser_sname()", sqltype.Sysname, func(s Session) any { return s.LoginName() })
	}
	b.Refuse("The function " + kind)
	return Expr{}
}

func (b *Binder) scalarSubquery(sc *Scope, n *ast.ScalarSubquery) Expr {
	inner := &Scope{parent: sc}
	q := b.Query(inner, n.QueryExpression, QueryOptions{Subquery: true})
	if len(q.Outputs) != 1 {
		b.Fail(116)
	}
	o := q.Outputs[0].expr
	out := Expr{
		Type:          o.Type,
		Nullable:      true,
		collation:     o.collation,
		CollationName: o.CollationName,
		implicit:      o.implicit || o.explicit,
		json:          o.json,
	}
	if q.oneRow {
		out.SQL = "(" + q.sql + ")"
	} else {
		out.SQL = "(SELECT tsql_one(max(c1),count(*)) FROM (" + q.sql + " LIMIT 2))"
		if q.limited {
			out.SQL = "(SELECT tsql_one(max(c1),count(*)) FROM (" + q.sql + "))"
		}
	}
	out = merge(out, inner.used())
	if n.Collation != nil {
		return b.collateClause(out, n.Collation.Value)
	}
	return out
}
