// SPDX-License-Identifier: Apache-2.0

package engine

import "geosql.dev/standin/sqltype"

// Collation is that of the current database, which constants, variables and parameters have.
func (s *Session) Collation() string {
	if s.db == nil {
		return sqltype.DefaultCollation
	}
	return s.db.Info().Collation
}

// inCodePage is the type of a constant, variable or parameter, whose texts have the code page of the current database
// (docs/t-sql/data-types/char-and-varchar-transact-sql.md, Remarks).
func (s *Session) inCodePage(t sqltype.Type) sqltype.Type {
	if t.Kind == sqltype.Char || t.Kind == sqltype.VarChar || t.Kind == sqltype.Text {
		return t.In(s.Collation())
	}
	return t
}

// textLiteral is a constant of text. One that is not national has the characters of the database's code page alone,
// whatever it is for (docs/t-sql/data-types/constants-transact-sql.md, Unicode strings).
func (b *binder) textLiteral(s string, national bool) expr {
	if national {
		return nationalLiteral(s)
	}
	t := b.s.inCodePage(sqltype.Type{Kind: sqltype.VarChar})
	s = t.Page.Kept(s)
	if t.Length = max(t.Units(s), 1); t.Length > 8000 {
		t.Length = sqltype.MaxLength
	}
	return literal(t, s)
}
