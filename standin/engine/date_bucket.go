// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// dateBucket binds DATE_BUCKET (part, number, date [, origin]) (docs/t-sql/functions/date-bucket-transact-sql.md).
func (b *binder) dateBucket(sc *scope, params []ast.ScalarExpression) expr {
	b.countArguments("date_bucket", len(params), 3, 4)
	part := b.datePart("date_bucket", params[0])
	switch part {
	case "dayofyear", "weekday", "microsecond", "nanosecond", "tzoffset", "iso_week":
		b.fail(9810, part, "date_bucket", "datetime2")
	}
	args := []expr{
		literal(sqltype.VarCharMax, part),
		b.convert(b.scalar(sc, params[1]), sqltype.BigIntType, sqltype.Implicit, 0, false),
		b.scalar(sc, params[2]),
	}
	if !args[2].typ.Kind.IsTemporal() {
		args[2] = b.convert(args[2], sqltype.DateTime2Type, sqltype.Implicit, 0, false)
	}
	t := args[2].typ
	if len(params) == 4 {
		args = append(args, b.convert(b.scalar(sc, params[3]), t, sqltype.Implicit, 0, false))
	}
	return b.goCall("date_bucket", args, t, true)
}
