// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqltype"
)

// parseCall binds PARSE and TRY_PARSE (docs/t-sql/functions/parse-transact-sql.md, try-parse-transact-sql.md).
func (b *Binder) parseCall(
	sc *Scope,
	value ast.ScalarExpression,
	to ast.DataTypeReference,
	in ast.ScalarExpression,
	try int64,
) Expr {
	t := b.DataType(to, true)
	if !t.Kind.IsNumeric() && !t.Kind.IsTemporal() || t.Kind == sqltype.Bit {
		b.Fail(10761, t.Kind, []string{"PARSE", "TRY_PARSE"}[try])
	}
	e := b.Scalar(sc, value)
	if e.Null {
		b.Fail(8116, "NULL", 1, "parse")
	}
	e = b.Convert(e, sqltype.NVarCharOf(4000), sqltype.Implicit, 0, false)
	name := literal(sqltype.NVarCharOf(5), b.session.Culture())
	if in != nil {
		name = b.Convert(b.Scalar(sc, in), sqltype.NVarCharOf(85), sqltype.Implicit, 0, false)
	}
	return b.goCall(builtin.ParseText, []Expr{e, name, literal(sqltype.IntType, try)}, t, false)
}
