// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqltype"
)

// Len is the number of rows; 0 for a nil result.
func (r *Result) Len() int {
	if r == nil {
		return 0
	}
	return len(r.Rows)
}

// Value is a column's value in a row; nil for NULL, for a row that is not there and for an unknown column.
func (r *Result) Value(row int, column string) any {
	if r == nil || row >= len(r.Rows) {
		return nil
	}
	for i, c := range r.Columns {
		if strings.EqualFold(c.Name, column) {
			return sqltype.Bare(r.Rows[row][i])
		}
	}
	return nil
}

// String is a character column; empty for NULL.
func (r *Result) String(row int, column string) string {
	s, _ := r.Value(row, column).(string)
	return s
}

// Int is an integer, bit or whole decimal column; 0 for NULL.
func (r *Result) Int(row int, column string) int64 {
	switch v := r.Value(row, column).(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
	case decimal.Decimal:
		return v.IntPart()
	}
	return 0
}

// Bytes is a binary column; nil for NULL.
func (r *Result) Bytes(row int, column string) []byte {
	b, _ := r.Value(row, column).([]byte)
	return b
}

// UUID is a uniqueidentifier column; the zero UUID for NULL.
func (r *Result) UUID(row int, column string) uuid.UUID {
	u, _ := r.Value(row, column).(uuid.UUID)
	return u
}

// Time is a date or time column; the zero time for NULL.
func (r *Result) Time(row int, column string) time.Time {
	t, _ := r.Value(row, column).(time.Time)
	return t
}
