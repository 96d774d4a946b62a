// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"hash/fnv"
	"strconv"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

// TABLESAMPLE takes whole pages of a table, each with the same chance (docs/t-sql/queries/from-transact-sql.md,
// tablesample_clause). Here a page is rowsInSamplePage rows that follow one another.
const rowsInSamplePage = 64

func init() {
	addBuiltins(
		map[string]*builtinFunction{
			bind.InSample: {Min: 4, Max: 4, Nulls: true, Run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
				part, ok := a[2].(float64)
				seed, seeded := a[1].(int64)
				if !ok || !seeded || part < 0 || seed < 1 || a[3] == nil && part > 100 {
					return nil, sqlerr.New(498, 1)
				}
				part /= 100
				if a[3] != nil {
					part = part * 100 / float64(max(1, integer(a[3])))
				}
				h := fnv.New64a()
				_, _ = h.Write([]byte(strconv.FormatInt(seed, 10) + "/" + strconv.FormatInt(integer(a[0])/rowsInSamplePage, 10)))
				return float64(h.Sum64()>>11)/(1<<53) < part, nil
			}},
		},
	)
}
