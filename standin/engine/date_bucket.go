// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// dateBucket binds DATE_BUCKET (part, number, date [, origin]) (docs/t-sql/functions/date-bucket-transact-sql.md).
func (b *binder) dateBucket(sc *scope, params []ast.ScalarExpression) expr {
	b.countArguments("date_bucket", len(params), 3, 4)
	part := b.datePart("date_bucket", params[0])
	switch part {
	case "dayofyear", "weekday", "microsecond", "nanosecond", "tzoffset", "iso_week":
		b.fail(9810, part, "date_bucket", "datetime2")
	}
	args := []expr{literal(sqltype.VarCharMax, part), b.convert(b.scalar(sc, params[1]), sqltype.BigIntType, sqltype.Implicit, 0, false), b.scalar(sc, params[2])}
	if !args[2].typ.Kind.IsTemporal() {
		args[2] = b.convert(args[2], sqltype.DateTime2Type, sqltype.Implicit, 0, false)
	}
	t := args[2].typ
	if len(params) == 4 {
		args = append(args, b.convert(b.scalar(sc, params[3]), t, sqltype.Implicit, 0, false))
	}
	return b.goCall("date_bucket", args, t, true)
}

func init() {
	addBuiltins(map[string]*builtinFunction{"date_bucket": {min: 3, max: 4, pure: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
		width, t, origin := integer(a[1]), a[2].(time.Time), day1900
		if width <= 0 {
			return nil, sqlerr.New(9834, 1)
		}
		if len(a) > 3 {
			origin = a[3].(time.Time)
		}
		out, err := sqltype.FitTime(bucketStart(a[0].(string), width, t, origin), e.types[2], e.result)
		if err != nil {
			return nil, sqlerr.New(517, 1, e.result.Kind)
		}
		return out, nil
	}}})
}

// bucketStart is the begin of the bucket, width parts wide and counted from origin, that t is in.
func bucketStart(part string, width int64, t, origin time.Time) time.Time {
	floor := func(n int64) int64 {
		q := n / width
		if n%width < 0 {
			q--
		}
		return q * width
	}
	if months := map[string]int64{"year": 12, "quarter": 3, "month": 1}[part]; months > 0 {
		width *= months
		n := int64(t.Year()-origin.Year())*12 + int64(t.Month()) - int64(origin.Month())
		if addMonths(origin, n).After(t) {
			n--
		}
		return addMonths(origin, floor(n))
	}
	unit := timeUnits[part]
	switch part {
	case "day":
		unit = 24 * timeUnits["hour"]
	case "week":
		unit = 7 * 24 * timeUnits["hour"]
	}
	width *= unit
	base := sqltype.Ticks(origin)
	return sqltype.FromTicks(base + floor(sqltype.Ticks(t)-base)).In(t.Location())
}
