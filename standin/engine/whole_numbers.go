// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqltype"
)

// WholeBounds are the least and the greatest value of a type that can be counted.
func WholeBounds(t sqltype.Type) (int64, int64) {
	if t.Kind != sqltype.Decimal {
		return integerBounds(t.Kind)
	}
	if t.Precision > 18 {
		return math.MinInt64, math.MaxInt64
	}
	n := decimal.New(1, int32(t.Precision)).IntPart() - 1
	return -n, n
}
