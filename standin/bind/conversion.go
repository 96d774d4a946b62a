// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// Convert makes a value of another type of e.
func (b *Binder) Convert(e Expr, to sqltype.Type, mode sqltype.Mode, style int, try bool) Expr {
	if e.Null {
		out := literal(to, nil)
		return out
	}
	if try {
		if err := sqltype.Convertible(e.Type, to, mode); err != nil {
			b.FailWith(err)
		}
	} else if err := sqltype.Convertible(e.Type, to, mode); err != nil {
		b.FailWith(err)
	}
	b.Varies = b.Varies || dependsOnSettings(e.Type, to, style)
	b.Rough = b.Rough || to.Kind.IsApproximate()
	if e.HasLiteral && !try {
		v, err := sqltype.Convert(e.Literal, e.Type, to, b.session.DateStyle(style), mode)
		if err == nil {
			out := literal(to, v)
			out.name, out.Nullable = e.name, out.Nullable || e.Nullable
			return out
		}
	}
	out := e
	out.Type = to
	out.HasLiteral, out.param, out.column, out.name = false, 0, nil, ""
	if to.Kind.IsCharacter() && out.collation == "" {
		out.collation = "tsql_ci_as"
	}
	if !to.Kind.IsCharacter() {
		out.collation, out.explicit, out.implicit = "", false, false
	}
	if StoredAlike(e.Type, to) {
		out.param = e.param
		if e.param > 0 && e.Type != to {
			out.param = 0
		}
		return out
	}
	if e.param > 0 && !try && style == 0 && b.Params[e.param-1].To.Kind == sqltype.Unknown && mode != sqltype.Explicit {
		p := b.Params[e.param-1]
		p.To = to
		return b.Parameter(fmt.Sprintf("%s>%d", b.paramKey(e.param), sqltype.Pack(to)), p)
	}
	m := int(mode)
	if try {
		m += TryMode
	}
	// What overflows may be NULL; a wider number cannot.
	widened := mode != sqltype.Explicit && !try && e.Type.Kind.IsNumeric() && to.Kind.IsNumeric() &&
		sqltype.Union(e.Type, to) == to
	out.Nullable = out.Nullable || !widened
	if e.Type.Kind.IsInteger() && to.Kind == sqltype.Float {
		out.SQL = "CAST(" + e.SQL + " AS REAL)"
		return out
	}
	out.SQL = fmt.Sprintf("tsql_conv(%s,%d,%d,%d,%d)", e.SQL, sqltype.Pack(e.Type), sqltype.Pack(to), m, style)
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

// StoredAlike tells whether every value of from is stored as the same value of to is, so that nothing is to be done.
func StoredAlike(from, to sqltype.Type) bool {
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
func commonType(list []Expr) sqltype.Type {
	t := sqltype.Type{}
	for _, e := range list {
		if !e.Null {
			t = sqltype.Union(t, e.Type)
		}
	}
	if t.Kind == sqltype.Unknown {
		return sqltype.IntType
	}
	return t
}

// unify converts expressions to one type (comparison, CASE, UNION, IN).
func (b *Binder) unify(list ...Expr) ([]Expr, sqltype.Type) {
	t := commonType(list)
	out := make([]Expr, len(list))
	for i, e := range list {
		if e.Type.Kind.IsCharacter() && t.Kind.IsCharacter() && !e.Null || comparedAlike(e.Type, t) && !e.Null {
			out[i] = e
			continue
		}
		out[i] = b.Convert(e, t, sqltype.Implicit, 0, false)
	}
	if t.Kind == sqltype.SQLVariant {
		for i := range out {
			out[i].SQL, out[i].HasLiteral, out[i].param = VariantKeySQL(out[i].SQL), false, 0
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
	return StoredAlike(a, t)
}

// largeType tells the types that the option bounds: text, ntext, image, xml and those with (max).
func largeType(t sqltype.Type) bool {
	switch t.Kind {
	case sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML:
		return true
	case sqltype.VarChar, sqltype.NVarChar, sqltype.VarBinary:
		return t.Length == sqltype.MaxLength
	}
	return false
}

// Store makes of e what is stored in a column. What is large and goes into a replicated column is measured: see
// replicable.
func (b *Binder) Store(e Expr, c *metadata.Column, t *Target) string {
	text := b.stored(e, c, t)
	if text == "NULL" || t.Object == nil || t.Object.Table == nil || !t.Object.Table.Replicated || !largeType(c.Type) {
		return text
	}
	return fmt.Sprintf("tsql_replicable(%s,%d)", text, sqltype.Pack(c.Type))
}
