// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// Identity columns and sequences count in int64, whatever their type is: an integer, or a decimal without a scale
// (docs/t-sql/statements/create-table-transact-sql-identity-property.md, create-sequence-transact-sql.md).

// identityType is the type in which an identity's value is stored.
func identityType(c *metadata.Column) sqltype.Type {
	if c.Type.Kind == sqltype.Decimal {
		return c.Type
	}
	return sqltype.BigIntType
}

// countedValue is a counted value as its type has it.
func countedValue(t sqltype.Type, v any) any {
	if n, ok := v.(int64); ok && t.Kind == sqltype.Decimal {
		return decimal.NewFromInt(n)
	}
	return v
}

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
