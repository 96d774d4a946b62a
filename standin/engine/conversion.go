// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"geosql.dev/standin/sqltype"
)

// convert makes a value of another type of e.
func (b *binder) convert(e expr, to sqltype.Type, mode sqltype.Mode, style int, try bool) expr {
	if e.null {
		out := literal(to, nil)
		return out
	}
	if try {
		if err := sqltype.Convertible(e.typ, to, mode); err != nil {
			b.failWith(err)
		}
	} else if err := sqltype.Convertible(e.typ, to, mode); err != nil {
		b.failWith(err)
	}
	b.varies = b.varies || dependsOnSettings(e.typ, to, style)
	b.rough = b.rough || to.Kind.IsApproximate()
	if e.hasLit && !try {
		v, err := sqltype.Convert(e.lit, e.typ, to, b.s.DateStyle(style), mode)
		if err == nil {
			out := literal(to, v)
			out.name, out.nullable = e.name, out.nullable || e.nullable
			return out
		}
	}
	out := e
	out.typ = to
	out.hasLit, out.param, out.column, out.name = false, 0, nil, ""
	if to.Kind.IsCharacter() && out.collation == "" {
		out.collation = "tsql_ci_as"
	}
	if !to.Kind.IsCharacter() {
		out.collation, out.explicit, out.implicit = "", false, false
	}
	if storedAlike(e.typ, to) {
		out.param = e.param
		if e.param > 0 && e.typ != to {
			out.param = 0
		}
		return out
	}
	if e.param > 0 && !try && style == 0 && b.params[e.param-1].to.Kind == sqltype.Unknown && mode != sqltype.Explicit {
		p := b.params[e.param-1]
		p.to = to
		return b.parameter(fmt.Sprintf("%s>%d", b.paramKey(e.param), sqltype.Pack(to)), p)
	}
	m := int(mode)
	if try {
		m += tryMode
	}
	// What overflows may be NULL; a wider number cannot.
	widened := mode != sqltype.Explicit && !try && e.typ.Kind.IsNumeric() && to.Kind.IsNumeric() &&
		sqltype.Union(e.typ, to) == to
	out.nullable = out.nullable || !widened
	if e.typ.Kind.IsInteger() && to.Kind == sqltype.Float {
		out.sql = "CAST(" + e.sql + " AS REAL)"
		return out
	}
	out.sql = fmt.Sprintf("tsql_conv(%s,%d,%d,%d,%d)", e.sql, sqltype.Pack(e.typ), sqltype.Pack(to), m, style)
	return out
}

// dependsOnSettings tells whether a conversion between text and dates is one that goes by the language
// (docs/t-sql/functions/cast-and-convert-transact-sql.md, Deterministic and nondeterministic styles).
func dependsOnSettings(from, to sqltype.Type, style int) bool {
	old := from.Kind == sqltype.DateTime || from.Kind == sqltype.SmallDateTime
	if !(from.Kind.IsCharacter() && to.Kind.IsTemporal() || old && to.Kind.IsCharacter()) {
		return false
	}
	switch style {
	case 20, 21:
		return false
	case 106, 107, 109, 113:
		return true
	}
	return style <= 100
}

// storedAlike tells whether every value of from is stored as the same value of to is, so that nothing is to be done.
func storedAlike(from, to sqltype.Type) bool {
	if from == to {
		return true
	}
	f, t := from.Kind, to.Kind
	if from.Page != to.Page && !t.IsUnicode() {
		return false
	}
	switch {
	case f == sqltype.Bit && t.IsInteger():
		return true
	case f.IsInteger() && t.IsInteger():
		return f <= t
	case (f == sqltype.VarChar || f == sqltype.NVarChar || f == sqltype.Char || f == sqltype.NChar) &&
		(t == sqltype.VarChar || t == sqltype.NVarChar):
		wide := to.Length == sqltype.MaxLength || from.Length != sqltype.MaxLength && from.Length <= to.Length
		return wide && (t == sqltype.NVarChar || f == sqltype.VarChar || f == sqltype.Char)
	case f.IsCharacter() && t == sqltype.NText:
		return true
	case f == sqltype.Text && t == sqltype.VarChar, f == sqltype.NText && t == sqltype.NVarChar:
		return to.Length == sqltype.MaxLength
	case (f == sqltype.VarChar || f == sqltype.Char) && t == sqltype.Text:
		return true
	case (f == sqltype.VarBinary || f == sqltype.Binary) && t == sqltype.VarBinary:
		return to.Length == sqltype.MaxLength || from.Length != sqltype.MaxLength && from.Length <= to.Length
	case f.IsBinary() && t == sqltype.Image:
		return true
	case f == sqltype.Real && t == sqltype.Float:
		return true
	case f == sqltype.Decimal && t == sqltype.Decimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case f == sqltype.SmallMoney && t == sqltype.Money:
		return true
	case t == sqltype.DateTime2 && to.Scale == 7:
		return f == sqltype.Date || f == sqltype.DateTime || f == sqltype.SmallDateTime || f == sqltype.DateTime2
	case f == sqltype.DateTime2 && t == sqltype.DateTime2, f == sqltype.Time && t == sqltype.Time:
		return to.Scale >= from.Scale
	}
	return false
}

// commonType is the one type that all of the expressions convert to: int when all are NULL without a type.
func commonType(list []expr) sqltype.Type {
	t := sqltype.Type{}
	for _, e := range list {
		if !e.null {
			t = sqltype.Union(t, e.typ)
		}
	}
	if t.Kind == sqltype.Unknown {
		return sqltype.IntType
	}
	return t
}

// unify converts expressions to one type (comparison, CASE, UNION, IN).
func (b *binder) unify(list ...expr) ([]expr, sqltype.Type) {
	t := commonType(list)
	out := make([]expr, len(list))
	for i, e := range list {
		if e.typ.Kind.IsCharacter() && t.Kind.IsCharacter() && !e.null || comparedAlike(e.typ, t) && !e.null {
			out[i] = e
			continue
		}
		out[i] = b.convert(e, t, sqltype.Implicit, 0, false)
	}
	if t.Kind == sqltype.SQLVariant {
		for i := range out {
			out[i].sql, out[i].hasLit, out[i].param = variantKeySQL(out[i].sql), false, 0
		}
	}
	return out, t
}

// comparedAlike tells whether SQLite compares stored values of both types rightly without a conversion.
func comparedAlike(a, t sqltype.Type) bool {
	switch {
	case (a.Kind.IsInteger() || a.Kind == sqltype.Bit) && (t.Kind.IsInteger() || t.Kind == sqltype.Bit):
		return true
	case a.Kind.IsInteger() && t.Kind.IsApproximate():
		return false
	case a.Kind.IsExact() && t.Kind.IsExact(), a.Kind.IsBinary() && t.Kind.IsBinary():
		return true
	case a.Kind.IsTemporal() && t.Kind.IsTemporal():
		return a.Kind != sqltype.DateTimeOffset && t.Kind != sqltype.DateTimeOffset && a.Kind != sqltype.Time &&
			t.Kind != sqltype.Time
	}
	return storedAlike(a, t)
}
