// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strconv"
	"strings"

	"geosql.dev/standin/sqltype"
)

var (
	nmax = sqltype.NVarCharMax
	bigT = sqltype.BigIntType
)

func lower(s string) string { return strings.ToLower(s) }

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// yes is a bit that is 1, or NULL.
func yes(b bool) any { return map[bool]int64{true: 1}[b] }

// pick is one of two error numbers.
func pick(first bool, a, b int32) int32 {
	if first {
		return a
	}
	return b
}
