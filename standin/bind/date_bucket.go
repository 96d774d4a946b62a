// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// dateBucket binds DATE_BUCKET (part, number, date [, origin]) (docs/t-sql/functions/date-bucket-transact-sql.md).
func (b *Binder) dateBucket(sc *Scope, params []ast.ScalarExpression) Expr {
	b.countArguments("date_bucket", len(params), 3, 4)
	part := b.datePart("date_bucket", params[0])
	switch part {
	case "dayofyear", "weekday", "microsecond", "nanosecond", "tzoffset", "iso_week":
		b.Fail(9810, part, "date_bucket", "datetime2")
	}
	args := []Expr{
		literal(sqltype.VarCharMax, part),
		b.Convert(b.Scalar(sc, params[1]), sqltype.BigIntType, sqltype.Implicit, 0, false),
		b.Scalar(sc, params[2]),
	}
	if !args[2].Type.Kind.IsTemporal() {
		args[2] = b.Convert(args[2], sqltype.DateTime2Type, sqltype.Implicit, 0, false)
	}
	t := args[2].Type
	if len(params) == 4 {
		args = append(args, b.Convert(b.Scalar(sc, params[3]), t, sqltype.Implicit, 0, false))
	}
	return b.goCall("date_bucket", args, t, true)
}
