// SPDX-License-Identifier: Apache-2.0

package builtin

import "geosql.dev/standin/sqltype"

// characterLike is the type of a string function's result: as the argument's, but variable.
func characterLike(types []sqltype.Type) sqltype.Type {
	t := types[0]
	switch {
	case t.Kind == sqltype.Char || t.Kind == sqltype.VarChar:
		t.Kind = sqltype.VarChar
	case t.Kind == sqltype.NChar || t.Kind == sqltype.NVarChar:
		t.Kind = sqltype.NVarChar
	case t.Kind == sqltype.Text:
		return sqltype.Type{Kind: sqltype.VarChar, Length: sqltype.MaxLength, Page: t.Page}
	case t.Kind == sqltype.NText || t.Kind == sqltype.XML:
		return sqltype.NVarCharMax
	case t.Kind == sqltype.Image:
		return sqltype.Type{Kind: sqltype.VarBinary, Length: sqltype.MaxLength}
	case t.Kind == sqltype.RowVersion:
		return sqltype.Type{Kind: sqltype.VarBinary, Length: 8}
	case t.Kind.IsBinary():
		return sqltype.Type{Kind: sqltype.VarBinary, Length: t.Length}
	default:
		return sqltype.Type{Kind: sqltype.VarChar, Length: 8000}
	}
	return t
}

// textLike is the same for functions that read bytes as characters.
func textLike(types []sqltype.Type) sqltype.Type {
	t := characterLike(types)
	if t.Kind == sqltype.VarBinary {
		t.Kind = sqltype.VarChar
	}
	return t
}

// replaced is the type of REPLACE: Unicode where any of its arguments is (docs/t-sql/functions/replace-transact-sql.md,
// Return Types).
func replaced(types []sqltype.Type) sqltype.Type {
	t := textLike(types)
	for _, other := range types[1:] {
		if other.Kind.IsUnicode() {
			t.Kind, t.Page = sqltype.NVarChar, 0
		}
	}
	return grown(t)
}

// widened is textLike with room for growth, grownLike is characterLike with it.
func widened(types []sqltype.Type) sqltype.Type   { return grown(textLike(types)) }
func grownLike(types []sqltype.Type) sqltype.Type { return grown(characterLike(types)) }

func grown(t sqltype.Type) sqltype.Type {
	if t.Length != sqltype.MaxLength {
		t.Length = 8000
		if t.Kind == sqltype.NVarChar {
			t.Length = 4000
		}
	}
	return t
}

// numberLike is the type of ABS, ROUND, FLOOR and their kin; none for what is neither a number nor text of one
// (docs/t-sql/functions/round-transact-sql.md, Arguments).
func numberLike(types []sqltype.Type) sqltype.Type {
	t := types[0]
	switch {
	case t.Kind == sqltype.Text, t.Kind == sqltype.NText, !t.Kind.IsNumeric() && !t.Kind.IsCharacter():
		return sqltype.Type{}
	case t.Kind == sqltype.Bit || t.Kind == sqltype.TinyInt || t.Kind == sqltype.SmallInt:
		return sqltype.IntType
	case t.Kind == sqltype.SmallMoney:
		return sqltype.MoneyType
	case t.Kind == sqltype.Real, t.Kind.IsCharacter():
		return sqltype.FloatType
	}
	return t
}
