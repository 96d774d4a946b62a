// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"time"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// DATE_BUCKET (docs/t-sql/functions/date-bucket-transact-sql.md).
func init() {
	add(
		map[string]*function{
			"date_bucket": {Min: 3, Max: 4, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				width, t, origin := integer(a[1]), a[2].(time.Time), day1900
				if width <= 0 {
					return nil, sqlerr.New(9834, 1)
				}
				if len(a) > 3 {
					origin = a[3].(time.Time)
				}
				out, err := sqltype.FitTime(bucketStart(a[0].(string), width, t, origin), e.Types[2], e.Result)
				if err != nil {
					return nil, sqlerr.New(517, 1, e.Result.Kind)
				}
				return out, nil
			}},
		},
	)
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
