// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"sort"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/operator/standin/sqltype"
)

// percentile binds PERCENTILE_CONT and PERCENTILE_DISC (fraction) WITHIN GROUP (ORDER BY x) OVER (PARTITION BY ...)
// (docs/t-sql/functions/percentile-cont-transact-sql.md, percentile-disc-transact-sql.md).
func (b *binder) percentile(sc *scope, n *ast.FunctionCall, name string) expr {
	if n.OverClause == nil {
		b.fail(10753, n.FunctionName.Value)
	}
	if len(n.Parameters) != 1 {
		b.fail(174, name, 1)
	}
	if n.WithinGroupClause == nil || n.WithinGroupClause.OrderByClause == nil || len(n.WithinGroupClause.OrderByClause.OrderByElements) != 1 {
		b.fail(10754, n.FunctionName.Value)
	}
	if n.OverClause.OrderByClause != nil {
		b.refuse("ORDER BY in the OVER clause of " + n.FunctionName.Value)
	}
	by := n.WithinGroupClause.OrderByClause.OrderByElements[0]
	x := b.scalar(sc, by.Expression)
	out := expr{typ: x.typ, collation: x.collation, nullable: true, window: true}
	kind := 0
	if name == "percentile_cont" {
		if !x.typ.Kind.IsNumeric() {
			b.fail(8117, x.typ.Kind, name)
		}
		x = b.convert(x, sqltype.FloatType, sqltype.Implicit, 0, false)
		out.typ, out.collation, kind = sqltype.FloatType, "", 1
	}
	fraction := b.convert(b.scalar(sc, n.Parameters[0]), sqltype.FloatType, sqltype.Implicit, 0, false)
	if f, ok := fraction.lit.(float64); fraction.hasLit && (!ok || f < 0 || f > 1) {
		b.refuse("A fraction outside of 0 to 1")
	}
	descending := 0
	if by.SortOrder == "Descending" {
		descending = 1
	}
	over, parts := b.over(sc, n.OverClause)
	collation := ""
	if x.typ.Kind.IsCharacter() {
		collation = x.collation
	}
	out.sql = fmt.Sprintf("tsql_percentile(%s, %s, %d, %d, %s)%s", x.sql, fraction.sql, kind, descending, quoteText(collation), over)
	return merge(merge(out, x, fraction), parts...)
}

// percentileAggregate is tsql_percentile(value, fraction, continuous, descending, collation) over a whole partition.
type percentileAggregate struct {
	values               []any
	fraction             float64
	continuous, downward bool
	collation            string
}

func (a *percentileAggregate) Step(_ sqlite.Context, args []sqlite.Value) error {
	a.fraction, a.continuous, a.downward, a.collation = args[1].Float(), args[2].Int64() != 0, args[3].Int64() != 0, args[4].Text()
	if args[0].Type() != sqlite.TypeNull {
		value := rawValue(args[0])
		if raw, ok := value.([]byte); ok {
			value = append([]byte(nil), raw...) // SQLite uses the memory again
		}
		a.values = append(a.values, value)
	}
	return nil
}

func (a *percentileAggregate) WindowInverse(sqlite.Context, []sqlite.Value) error { return nil }

func (a *percentileAggregate) WindowValue(sqlite.Context) (sqlite.Value, error) {
	if len(a.values) == 0 {
		return sqlite.Value{}, nil
	}
	sort.SliceStable(a.values, func(i, j int) bool {
		if a.downward {
			i, j = j, i
		}
		return rawLess(a.values[i], a.values[j], a.collation)
	})
	n := len(a.values)
	if !a.continuous {
		at := int(math.Ceil(a.fraction*float64(n)-1e-9)) - 1
		return sqliteValue(a.values[max(0, min(at, n-1))]), nil
	}
	position := a.fraction * float64(n-1)
	at := int(math.Floor(position))
	low, _ := a.values[at].(float64)
	high, _ := a.values[min(at+1, n-1)].(float64)
	return sqlite.FloatValue(low + (high-low)*(position-float64(at))), nil
}

func (a *percentileAggregate) Finalize(sqlite.Context) {}

// rawLess compares stored values of one type.
func rawLess(a, b any, collation string) bool {
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
