// SPDX-License-Identifier: Apache-2.0

package engine

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
	case lt.Kind == rt.Kind && invalidBothSides(op, lt.Kind):
		b.fail(8117, lt.Kind, operatorNames[op])
	case formerLarge(lt.Kind) || formerLarge(rt.Kind):
		b.fail(402, lt.Kind, rt.Kind, operatorNames[op])
	case (op == '-' || op == '*' || op == '/') && lt.Kind.IsCharacter() && rt.Kind.IsCharacter() && !l.null && !r.null:
		b.fail(8117, lt.Kind, operatorNames[op])
	case op == '+' && lt.Kind.IsCharacter() && rt.Kind.IsCharacter(),
		op == '+' && lt.Kind.IsBinary() && rt.Kind.IsBinary():
		return b.concatenate(l, r, lt, rt)
	case lt.Kind.IsTemporal() || rt.Kind.IsTemporal():
		return b.dateArithmetic(op, l, r, lt, rt)
	}
	if bad := firstNonNumeric(lt, rt); bad != sqltype.Unknown {
		b.fail(402, lt.Kind, rt.Kind, operatorNames[op])
	}
	t := numericResult(op, literalDigits(l, lt), literalDigits(r, rt))
	if t.Kind.IsInteger() {
		t.Precision = 0
	}
	l, r = b.operand(l, t), b.operand(r, t)
	bits := op == '&' || op == '|' || op == '^'
	if bits && !t.Kind.IsInteger() && t.Kind != sqltype.Bit {
		b.fail(402, lt.Kind, rt.Kind, operatorNames[op])
	}
	out := expr{typ: t, nullable: !bits || l.nullable || r.nullable}
	out.sql = fmt.Sprintf(
		"tsql_arith('%c',%d,%d,%d,%s,%s)",
		op,
		sqltype.Pack(l.typ),
		sqltype.Pack(r.typ),
		sqltype.Pack(t),
		l.sql,
		r.sql,
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
func literalDigits(e expr, t sqltype.Type) sqltype.Type {
	n, ok := e.lit.(int64)
	if !e.hasLit || !ok || t.Kind != sqltype.Int {
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
	if b.s.nullIsEmpty() && lt.Kind.IsCharacter() {
		for _, e := range []*expr{&l, &r} {
			if e.null || e.nullable {
				e.sql, e.hasLit, e.null = "coalesce("+e.sql+",'')", false, false
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
	out := expr{typ: t, nullable: l.nullable || r.nullable}
	// What is beyond is cut without a word (docs/t-sql/language-elements/string-concatenation-transact-sql.md, Remarks).
	cut := t.Length != sqltype.MaxLength && lt.Length+rt.Length > limit
	if t.Kind.IsCharacter() {
		from := b.collateResult("add", t, l, r)
		out.collation, out.collationName = from.collation, from.collationName
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
		if temporal := lt.Kind; op == '*' || op == '/' {
			if !lt.Kind.IsTemporal() {
				temporal = rt.Kind
			}
			if temporal == sqltype.DateTime || temporal == sqltype.SmallDateTime {
				b.fail(8117, temporal, operatorNames[op])
			}
			b.fail(206, lt.Kind, rt.Kind)
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
	l, r = b.convert(l, sqltype.DateTimeType, sqltype.Implicit, 0, false),
		b.convert(r, sqltype.DateTimeType, sqltype.Implicit, 0, false)
	name := "datetime_add"
	if op == '-' {
		name = "datetime_subtract"
	}
	return b.goCall(name, []expr{l, r}, t, true)
}
