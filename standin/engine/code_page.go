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
