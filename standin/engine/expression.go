// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqltype"
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
		return stringLiteral(continuedLines.Replace(n.Value), n.IsNational)
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
	case *ast.SearchedCaseExpression, *ast.SimpleCaseExpression, *ast.IIfCall, *ast.NullIfExpression, *ast.CoalesceExpression:
		return b.conditional(sc, node)
	case *ast.CastCall:
		return b.cast(sc, n.Parameter, n.DataType, nil, false, n.Collation)
	case *ast.ConvertCall:
		return b.cast(sc, n.Parameter, n.DataType, n.Style, false, n.Collation)
	case *ast.TryCastCall:
		return b.cast(sc, n.Parameter, n.DataType, nil, true, n.Collation)
	case *ast.TryConvertCall:
		return b.cast(sc, n.Parameter, n.DataType, n.Style, true, n.Collation)
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
		return b.nextValue(n)
	case *ast.AtTimeZoneCall:
		return b.builtin("at_time_zone", []expr{b.scalar(sc, n.DateValue), b.scalar(sc, n.TimeZone)})
	case *ast.OdbcFunctionCall:
		return b.odbcFunction(sc, n)
	case *ast.IdentityFunctionCall:
		b.fail(177)
	case *ast.OdbcLiteral:
		return b.odbcLiteral(n)
	case *ast.IdentifierLiteral:
		return stringLiteral(n.Value, false)
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

func (b *binder) integerLiteral(s string) expr {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > 2147483647 {
		return b.numericLiteral(s)
	}
	return literal(sqltype.IntType, n)
}

func (b *binder) numericLiteral(s string) expr {
	d, err := decimal.NewFromString(s)
	if err != nil {
		b.fail(102, s)
	}
	whole, frac, _ := strings.Cut(s, ".")
	whole = strings.TrimLeft(whole, "0")
	p := len(whole) + len(frac)
	if p > 38 {
		b.fail(1007, "number", s)
	}
	return literal(sqltype.DecimalOf(uint8(max(p, 1)), uint8(len(frac))), d)
}

// continuedLines are taken out of constants: a backslash at the end of a line goes on in the next one
// (docs/t-sql/language-elements/sql-server-utilities-statements-backslash.md).
var continuedLines = strings.NewReplacer("\\\r\n", "", "\\\n", "")

func stringLiteral(s string, national bool) expr {
	n := sqltype.Length(s)
	t := sqltype.Type{Kind: sqltype.VarChar, Length: max(n, 1)}
	if national {
		t.Kind = sqltype.NVarChar
	}
	if n > 8000 || national && n > 4000 {
		t.Length = sqltype.MaxLength
	}
	return literal(t, s)
}

func (b *binder) binaryLiteral(s string) expr {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		b.fail(102, s)
	}
	t := sqltype.VarBinaryOf(max(1, len(raw)))
	if len(raw) > 8000 {
		t.Length = sqltype.MaxLength
	}
	return literal(t, raw)
}

func (b *binder) odbcLiteral(n *ast.OdbcLiteral) expr {
	to := sqltype.DateTimeType
	if lower(n.OdbcLiteralType) == "guid" {
		to = sqltype.GUIDType
	}
	return b.convert(stringLiteral(n.Value, n.IsNational), to, sqltype.Explicit, 0, false)
}

func (b *binder) columnReference(sc *scope, n *ast.ColumnReferenceExpression) expr {
	if sc == nil || len(sc.sources) == 0 && sc.parent == nil {
		parts := identifiers(n.MultiPartIdentifier)
		if len(parts) == 0 {
			b.fail(102, "*")
		}
		if sc != nil || len(parts) > 1 {
			if len(parts) > 1 {
				b.fail(4104, strings.Join(parts, "."))
			}
			b.fail(207, parts[0])
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
	e.collation, e.explicit = c.Key(), true
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
		if e.hasLit {
			switch v := e.lit.(type) {
			case int64:
				return literal(e.typ, -v)
			case float64:
				return literal(e.typ, -v)
			case decimal.Decimal:
				if v.Equal(decimal.NewFromInt(2147483648)) && e.typ.Scale == 0 {
					return literal(sqltype.IntType, int64(-2147483648))
				}
				return literal(e.typ, v.Neg())
			}
		}
		zero := literal(sqltype.IntType, int64(0))
		if e.typ.Kind.IsExact() {
			out := b.binary("Subtract", b.convert(zero, e.typ, sqltype.Implicit, 0, false), e)
			return b.convert(out, e.typ, sqltype.Implicit, 0, false)
		}
		return b.binary("Subtract", zero, e)
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

var operators = map[string]byte{"Add": '+', "Subtract": '-', "Multiply": '*', "Divide": '/', "Modulo": '%',
	"BitwiseAnd": '&', "BitwiseOr": '|', "BitwiseXor": '^'}

var operatorNames = map[byte]string{'+': "add", '-': "subtract", '*': "multiply", '/': "divide", '%': "modulo",
	'&': "'&'", '|': "'|'", '^': "'^'"}

// binary binds an arithmetic operator, or + on strings and binaries.
func (b *binder) binary(kind string, l, r expr) expr {
	switch kind {
	case "LeftShift":
		return b.builtin("left_shift", []expr{l, r})
	case "RightShift":
		return b.builtin("right_shift", []expr{l, r})
	}
	op, ok := operators[kind]
	if !ok {
		b.refuse("The operator " + kind)
	}
	if l.null && r.null {
		return expr{sql: "NULL", null: true, nullable: true, typ: sqltype.IntType}
	}
	lt, rt := l.typ, r.typ
	if l.null {
		lt = rt
	}
	if r.null {
		rt = lt
	}
	switch {
	case op == '+' && lt.Kind.IsCharacter() && rt.Kind.IsCharacter(), op == '+' && lt.Kind.IsBinary() && rt.Kind.IsBinary():
		return b.concatenate(l, r, lt, rt)
	case lt.Kind.IsTemporal() || rt.Kind.IsTemporal():
		return b.dateArithmetic(op, l, r, lt, rt)
	}
	if bad := firstNonNumeric(lt, rt); bad != sqltype.Unknown {
		b.fail(402, lt.Kind, rt.Kind, operatorNames[op])
	}
	t := numericResult(op, literalDigits(l, lt), literalDigits(r, rt))
	l, r = b.operand(l, t), b.operand(r, t)
	if op == '&' || op == '|' || op == '^' {
		if !t.Kind.IsInteger() && t.Kind != sqltype.Bit {
			b.fail(402, lt.Kind, rt.Kind, operatorNames[op])
		}
	}
	bits := op == '&' || op == '|' || op == '^'
	out := expr{typ: t, nullable: !bits || l.nullable || r.nullable}
	out.sql = fmt.Sprintf("tsql_arith('%c',%d,%d,%d,%s,%s)", op, sqltype.Pack(l.typ), sqltype.Pack(r.typ), sqltype.Pack(t), l.sql, r.sql)
	return merge(out, l, r)
}

// literalDigits is the type with which an integer literal takes part in decimal arithmetic: as many digits as it has.
func literalDigits(e expr, t sqltype.Type) sqltype.Type {
	n, ok := e.lit.(int64)
	if !e.hasLit || !ok || t.Kind != sqltype.Int {
		return t
	}
	return sqltype.Type{Kind: sqltype.Int, Precision: uint8(len(strconv.FormatInt(abs64(n), 10)))}
}

func firstNonNumeric(types ...sqltype.Type) sqltype.Kind {
	for _, t := range types {
		if !t.Kind.IsNumeric() && !t.Kind.IsCharacter() && !t.Kind.IsBinary() {
			return t.Kind
		}
	}
	return sqltype.Unknown
}

// numericResult is the type of an operation, docs/t-sql/data-types/data-type-precedence-transact-sql.md.
func numericResult(op byte, l, r sqltype.Type) sqltype.Type {
	if !l.Kind.IsNumeric() && r.Kind.IsNumeric() {
		l = r
	}
	if !r.Kind.IsNumeric() && l.Kind.IsNumeric() {
		r = l
	}
	if !l.Kind.IsNumeric() {
		return sqltype.IntType
	}
	hi := l
	if sqltype.Precedes(r, l) {
		hi = r
	}
	switch {
	case hi.Kind == sqltype.Decimal:
		return sqltype.Arithmetic(op, l, r)
	case hi.Kind == sqltype.Bit && op != '&' && op != '|' && op != '^':
		return sqltype.IntType
	}
	return hi
}

// operand brings an operand into the family of the result.
func (b *binder) operand(e expr, t sqltype.Type) expr {
	if e.null {
		return b.convert(e, t, sqltype.Implicit, 0, false)
	}
	switch {
	case t.Kind.IsInteger() || t.Kind == sqltype.Bit:
		if e.typ.Kind.IsInteger() || e.typ.Kind == sqltype.Bit {
			return e
		}
	case t.Kind == sqltype.Decimal:
		if e.typ.Kind.IsNumeric() && !e.typ.Kind.IsApproximate() {
			return e
		}
		if e.typ.Kind.IsCharacter() {
			return b.convert(e, t, sqltype.Implicit, 0, false)
		}
	case t.Kind.IsExact():
		if e.typ.Kind.IsNumeric() && !e.typ.Kind.IsApproximate() {
			return e
		}
	case t.Kind.IsApproximate():
		if e.typ.Kind.IsApproximate() {
			return e
		}
	}
	return b.convert(e, t, sqltype.Implicit, 0, false)
}

func (b *binder) concatenate(l, r expr, lt, rt sqltype.Type) expr {
	t := sqltype.Union(lt, rt)
	limit := 8000
	switch t.Kind {
	case sqltype.NChar, sqltype.NVarChar, sqltype.NText:
		t.Kind, limit = sqltype.NVarChar, 4000
	case sqltype.Char, sqltype.VarChar, sqltype.Text:
		t.Kind = sqltype.VarChar
	default:
		t.Kind = sqltype.VarBinary
	}
	if lt.Length == sqltype.MaxLength || rt.Length == sqltype.MaxLength {
		t.Length = sqltype.MaxLength
	} else {
		t.Length = min(limit, lt.Length+rt.Length)
	}
	out := expr{typ: t, nullable: l.nullable || r.nullable}
	// What is beyond is cut without a word (docs/t-sql/language-elements/string-concatenation-transact-sql.md, Remarks).
	cut := t.Length != sqltype.MaxLength && lt.Length+rt.Length > limit
	if t.Kind.IsCharacter() {
		out.collation = b.collate("add operator", l, r)
		out.implicit, out.explicit = l.implicit || r.implicit, l.explicit || r.explicit
		out.sql = "(" + l.sql + "||" + r.sql + ")"
		if ls, lok := l.lit.(string); lok && l.hasLit {
			if rs, rok := r.lit.(string); rok && r.hasLit && t.Length != sqltype.MaxLength {
				return literal(t, sqltype.Cut(ls+rs, limit))
			}
		}
		if cut {
			out.sql = fmt.Sprintf("substr(%s,1,%d)", out.sql, limit)
		}
		return merge(out, l, r)
	}
	out.sql = fmt.Sprintf("CAST((%s||%s) AS BLOB)", l.sql, r.sql)
	if cut {
		out.sql = fmt.Sprintf("substr(%s,1,%d)", out.sql, limit)
	}
	return merge(out, l, r)
}

// dateArithmetic is + and - of datetime and smalldatetime with numbers of days.
func (b *binder) dateArithmetic(op byte, l, r expr, lt, rt sqltype.Type) expr {
	legacy := func(t sqltype.Type) bool { return t.Kind == sqltype.DateTime || t.Kind == sqltype.SmallDateTime }
	if op != '+' && op != '-' || lt.Kind.IsTemporal() && !legacy(lt) || rt.Kind.IsTemporal() && !legacy(rt) {
		if lt.Kind.IsTemporal() && rt.Kind.IsTemporal() {
			b.fail(8117, lt.Kind, operatorNames[op])
		}
		if op != '+' && op != '-' {
			b.fail(402, lt.Kind, rt.Kind, operatorNames[op])
		}
		b.fail(206, lt.Kind, rt.Kind)
	}
	t := lt
	if rt.Kind == sqltype.DateTime || !legacy(lt) {
		t = rt
	}
	l, r = b.convert(l, sqltype.DateTimeType, sqltype.Implicit, 0, false), b.convert(r, sqltype.DateTimeType, sqltype.Implicit, 0, false)
	name := "datetime_add"
	if op == '-' {
		name = "datetime_subtract"
	}
	return b.goCall(name, []expr{l, r}, t, true)
}

func (b *binder) cast(sc *scope, node ast.ScalarExpression, dt ast.DataTypeReference, style ast.ScalarExpression, try bool, collation *ast.Identifier) expr {
	e := b.scalar(sc, node)
	to := b.dataType(dt, true)
	number := 0
	if style != nil {
		st := b.scalar(sc, style)
		if st.null {
			return literal(to, nil)
		}
		n, ok := st.lit.(int64)
		if !ok {
			return b.castWithStyle(e, to, st, try)
		}
		number = int(n)
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
	}
	out.sql = fmt.Sprintf("tsql_conv(%s,%d,%d,%d,%s)", e.sql, sqltype.Pack(e.typ), sqltype.Pack(to), mode, style.sql)
	return merge(out, e, style)
}

// dataType is a type as it is written in a statement.
func (b *binder) dataType(node ast.DataTypeReference, inCast bool) sqltype.Type {
	t, err := dataTypeOf(node, inCast)
	if err == nil {
		return t
	}
	if n, ok := node.(*ast.UserDataTypeReference); ok && n.Name != nil {
		if alias := b.s.aliasType(b.ctx, nameOf(n.Name)); alias != nil {
			return *alias
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
	out := expr{typ: o.typ, nullable: true, collation: o.collation, json: o.json, free: inner.outer}
	if q.oneRow {
		out.sql = "(" + q.sql + ")"
	} else {
		out.sql = "(SELECT tsql_one(max(c1),count(*)) FROM (" + q.sql + " LIMIT 2))"
		if q.limited {
			out.sql = "(SELECT tsql_one(max(c1),count(*)) FROM (" + q.sql + "))"
		}
	}
	if n.Collation != nil {
		return b.collateClause(out, n.Collation.Value)
	}
	return out
}
