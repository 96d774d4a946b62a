// SPDX-License-Identifier: Apache-2.0

package aggregate

import (
	"math"
	"sort"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// percentile is tsql_percentile(value, fraction, continuous, descending, collation) over a whole partition.
type percentile struct {
	values               []any
	fraction             float64
	continuous, downward bool
	collation            string
}

func (a *percentile) Step(_ sqlite.Context, args []sqlite.Value) error {
	a.fraction, a.continuous, a.downward, a.collation = args[1].Float(), args[2].Int64() != 0, args[3].Int64() != 0,
		args[4].Text()
	if args[0].Type() != sqlite.TypeNull {
		value := storage.ArgumentValue(args[0])
		if raw, ok := value.([]byte); ok {
			value = append([]byte(nil), raw...) // SQLite uses the memory again
		}
		a.values = append(a.values, value)
	}
	return nil
}

func (a *percentile) WindowInverse(sqlite.Context, []sqlite.Value) error { return nil }

func (a *percentile) WindowValue(sqlite.Context) (sqlite.Value, error) {
	if len(a.values) == 0 {
		return sqlite.Value{}, nil
	}
	sort.SliceStable(a.values, func(i, j int) bool {
		if a.downward {
			i, j = j, i
		}
		return less(a.values[i], a.values[j], a.collation)
	})
	n := len(a.values)
	if !a.continuous {
		at := int(math.Ceil(a.fraction*float64(n)-1e-9)) - 1
		return storage.ResultValue(a.values[max(0, min(at, n-1))]), nil
	}
	position := a.fraction * float64(n-1)
	at := int(math.Floor(position))
	low, _ := a.values[at].(float64)
	high, _ := a.values[min(at+1, n-1)].(float64)
	return sqlite.FloatValue(low + (high-low)*(position-float64(at))), nil
}

func (a *percentile) Finalize(sqlite.Context) {}

// less compares stored values of one type.
func less(a, b any, collation string) bool {
	switch x := a.(type) {
	case int64:
		y, _ := b.(int64)
		return x < y
	case float64:
		y, _ := b.(float64)
		return x < y
	case string:
		y, _ := b.(string)
		return sqltype.CompareByKey(collation, x, y) < 0
	case []byte:
		y, _ := b.([]byte)
		return string(x) < string(y)
	}
	return false
}
