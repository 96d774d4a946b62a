// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strconv"

	"geosql.dev/standin/sqltype"
)

var operators = map[string]byte{"Add": '+', "Subtract": '-', "Multiply": '*', "Divide": '/', "Modulo": '%',
	"BitwiseAnd": '&', "BitwiseOr": '|', "BitwiseXor": '^'}

var operatorNames = map[byte]string{'+': "add", '-': "subtract", '*': "multiply", '/': "divide", '%': "modulo",
	'&': "'&'", '|': "'|'", '^': "'^'"}

// binary binds an arithmetic operator, or + on strings and binaries.
func (b *Binder) binary(kind string, l, r Expr) Expr {
	switch kind {
	case "LeftShift":
		return b.builtin("left_shift", []Expr{l, r})
	case "RightShift":
		return b.builtin("right_shift", []Expr{l, r})
	}
	op, ok := operators[kind]
	if !ok {
		b.Refuse("The operator " + kind)
	}
	if l.Null && r.Null {
		return Expr{SQL: "NULL", Null: true, Nullable: true, Type: sqltype.IntType}
	}
	lt, rt := l.Type, r.Type
	if l.Null {
		lt = rt
	}
	if r.Null {
		rt = lt
	}
	switch {
	case lt.Kind == rt.Kind && invalidBothSides(op, lt.Kind):
		b.Fail(8117, lt.Kind, operatorNames[op])
	case formerLarge(lt.Kind) || formerLarge(rt.Kind):
		b.Fail(402, lt.Kind, rt.Kind, operatorNames[op])
	case (op == '-' || op == '*' || op == '/') && lt.Kind.IsCharacter() && rt.Kind.IsCharacter() && !l.Null && !r.Null:
		b.Fail(8117, lt.Kind, operatorNames[op])
	case op == '+' && lt.Kind.IsCharacter() && rt.Kind.IsCharacter(),
		op == '+' && lt.Kind.IsBinary() && rt.Kind.IsBinary():
		return b.concatenate(l, r, lt, rt)
	case lt.Kind.IsTemporal() || rt.Kind.IsTemporal():
		return b.dateArithmetic(op, l, r, lt, rt)
	}
	if bad := firstNonNumeric(lt, rt); bad != sqltype.Unknown {
		b.Fail(402, lt.Kind, rt.Kind, operatorNames[op])
	}
	t := numericResult(op, literalDigits(l, lt), literalDigits(r, rt))
	if t.Kind.IsInteger() {
		t.Precision = 0
	}
	l, r = b.operand(l, t), b.operand(r, t)
	bits := op == '&' || op == '|' || op == '^'
	if bits && !t.Kind.IsInteger() && t.Kind != sqltype.Bit {
		b.Fail(402, lt.Kind, rt.Kind, operatorNames[op])
	}
	out := Expr{Type: t, Nullable: !bits || l.Nullable || r.Nullable}
	out.SQL = fmt.Sprintf(
		"tsql_arith('%c',%d,%d,%d,%s,%s)",
		op,
		sqltype.Pack(l.Type),
		sqltype.Pack(r.Type),
		sqltype.Pack(t),
		l.SQL,
		r.SQL,
	)
	return merge(out, l, r)
}

// formerLarge are the types that no operator takes.
func formerLarge(k sqltype.Kind) bool {
	return k == sqltype.Text || k == sqltype.NText || k == sqltype.Image
}

// invalidBothSides tells whether an operator has no meaning for a type that both of its operands have: 8117 names the
// one type, 402 two.
func invalidBothSides(op byte, k sqltype.Kind) bool {
	switch k {
	case sqltype.XML, sqltype.UniqueIdentifier, sqltype.SQLVariant:
		return true
	case sqltype.Bit:
		return op == '+' || op == '-' || op == '*' || op == '/'
	}
	return formerLarge(k)
}

// literalDigits is the type with which an integer literal takes part in decimal arithmetic: as many digits as it has.
func literalDigits(e Expr, t sqltype.Type) sqltype.Type {
	n, ok := e.Literal.(int64)
	if !e.HasLiteral || !ok || t.Kind != sqltype.Int {
		return t
	}
	return sqltype.Type{Kind: sqltype.Int, Precision: uint8(len(strconv.FormatInt(sqltype.Magnitude(n), 10)))}
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
func (b *Binder) operand(e Expr, t sqltype.Type) Expr {
	if e.Null {
		return b.Convert(e, t, sqltype.Implicit, 0, false)
	}
	switch {
	case t.Kind.IsInteger() || t.Kind == sqltype.Bit:
		if e.Type.Kind.IsInteger() || e.Type.Kind == sqltype.Bit {
			return e
		}
	case t.Kind == sqltype.Decimal:
		if e.Type.Kind.IsNumeric() && !e.Type.Kind.IsApproximate() {
			return e
		}
		if e.Type.Kind.IsCharacter() {
			return b.Convert(e, t, sqltype.Implicit, 0, false)
		}
	case t.Kind.IsExact():
		if e.Type.Kind.IsNumeric() && !e.Type.Kind.IsApproximate() {
			return e
		}
	case t.Kind.IsApproximate():
		if e.Type.Kind.IsApproximate() {
			return e
		}
	}
	return b.Convert(e, t, sqltype.Implicit, 0, false)
}

func (b *Binder) concatenate(l, r Expr, lt, rt sqltype.Type) Expr {
	if b.session.NullIsEmpty() && lt.Kind.IsCharacter() {
		for _, e := range []*Expr{&l, &r} {
			if e.Null || e.Nullable {
				e.SQL, e.HasLiteral, e.Null = "coalesce("+e.SQL+",'')", false, false
			}
		}
	}
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
	out := Expr{Type: t, Nullable: l.Nullable || r.Nullable}
	// What is beyond is cut without a word (docs/t-sql/language-elements/string-concatenation-transact-sql.md, Remarks).
	cut := t.Length != sqltype.MaxLength && lt.Length+rt.Length > limit
	if t.Kind.IsCharacter() {
		from := b.collateResult("add", t, l, r)
		out.collation, out.CollationName = from.collation, from.CollationName
		out.implicit, out.explicit = l.implicit || r.implicit, l.explicit || r.explicit
		out.SQL = "(" + l.SQL + "||" + r.SQL + ")"
		if ls, lok := l.Literal.(string); lok && l.HasLiteral {
			if rs, rok := r.Literal.(string); rok && r.HasLiteral && t.Length != sqltype.MaxLength {
				return literal(t, sqltype.Cut(ls+rs, limit))
			}
		}
		if cut {
			out.SQL = fmt.Sprintf("substr(%s,1,%d)", out.SQL, limit)
		}
		return merge(out, l, r)
	}
	out.SQL = fmt.Sprintf("CAST((%s||%s) AS BLOB)", l.SQL, r.SQL)
	if cut {
		out.SQL = fmt.Sprintf("substr(%s,1,%d)", out.SQL, limit)
	}
	return merge(out, l, r)
}

// dateArithmetic is + and - of datetime and smalldatetime with numbers of days.
func (b *Binder) dateArithmetic(op byte, l, r Expr, lt, rt sqltype.Type) Expr {
	legacy := func(t sqltype.Type) bool { return t.Kind == sqltype.DateTime || t.Kind == sqltype.SmallDateTime }
	if op != '+' && op != '-' || lt.Kind.IsTemporal() && !legacy(lt) || rt.Kind.IsTemporal() && !legacy(rt) {
		if lt.Kind.IsTemporal() && rt.Kind.IsTemporal() {
			b.Fail(8117, lt.Kind, operatorNames[op])
		}
		if temporal := lt.Kind; op == '*' || op == '/' {
			if !lt.Kind.IsTemporal() {
				temporal = rt.Kind
			}
			if temporal == sqltype.DateTime || temporal == sqltype.SmallDateTime {
				b.Fail(8117, temporal, operatorNames[op])
			}
			b.Fail(206, lt.Kind, rt.Kind)
		}
		if op != '+' && op != '-' {
			b.Fail(402, lt.Kind, rt.Kind, operatorNames[op])
		}
		b.Fail(206, lt.Kind, rt.Kind)
	}
	t := lt
	if rt.Kind == sqltype.DateTime || !legacy(lt) {
		t = rt
	}
	l, r = b.Convert(l, sqltype.DateTimeType, sqltype.Implicit, 0, false),
		b.Convert(r, sqltype.DateTimeType, sqltype.Implicit, 0, false)
	name := "datetime_add"
	if op == '-' {
		name = "datetime_subtract"
	}
	return b.goCall(name, []Expr{l, r}, t, true)
}
