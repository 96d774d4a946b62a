// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

func init() {
	addBuiltins(
		map[string]*builtinFunction{
			bind.RowLimit: {Min: 3, Max: 3, Nulls: true, Pure: true, Run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
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
