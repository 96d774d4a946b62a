// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// rowCount is a number of rows that may not be less than least: SQLite takes a negative one for no limit.
func (b *binder) rowCount(e expr, number int32, least int64) expr {
	if n, ok := e.lit.(int64); e.hasLit && ok {
		if n < least {
			b.fail(number)
		}
		return e
	}
	return b.goCall(
		rowLimit,
		[]expr{e, literal(sqltype.BigIntType, int64(number)), literal(sqltype.BigIntType, least)},
		sqltype.BigIntType,
		true,
	)
}

// rowLimit is the function that judges a number of rows; no client can name it.
const rowLimit = "row limit"

func init() {
	addBuiltins(
		map[string]*builtinFunction{
			rowLimit: {Min: 3, Max: 3, Nulls: true, Pure: true, Run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
				n, ok := a[0].(int64)
				switch {
				case !ok:
					return nil, sqlerr.New(1060, 1)
				case n < integer(a[2]):
					return nil, sqlerr.New(int32(integer(a[1])), 1)
				}
				return n, nil
			}},
		},
	)
}
