// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqltype"
)

// parseCall binds PARSE and TRY_PARSE (docs/t-sql/functions/parse-transact-sql.md, try-parse-transact-sql.md).
func (b *binder) parseCall(
	sc *scope,
	value ast.ScalarExpression,
	to ast.DataTypeReference,
	in ast.ScalarExpression,
	try int64,
) expr {
	t := b.dataType(to, true)
	if !t.Kind.IsNumeric() && !t.Kind.IsTemporal() || t.Kind == sqltype.Bit {
		b.fail(10761, t.Kind, []string{"PARSE", "TRY_PARSE"}[try])
	}
	e := b.scalar(sc, value)
	if e.null {
		b.fail(8116, "NULL", 1, "parse")
	}
	e = b.convert(e, sqltype.NVarCharOf(4000), sqltype.Implicit, 0, false)
	name := literal(sqltype.NVarCharOf(5), b.s.culture())
	if in != nil {
		name = b.convert(b.scalar(sc, in), sqltype.NVarCharOf(85), sqltype.Implicit, 0, false)
	}
	return b.goCall(builtin.ParseText, []expr{e, name, literal(sqltype.IntType, try)}, t, false)
}

// culture is that of the session's language.
func (s *Session) culture() string { return s.language().Culture }
