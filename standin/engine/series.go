// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// seriesType is the type of GENERATE_SERIES: that of its arguments, all of one type
// (docs/t-sql/functions/generate-series-transact-sql.md).
func (b *binder) seriesType(t sqltype.Type, e expr, i int) sqltype.Type {
	switch {
	case e.null:
		return t
	case e.typ.Kind == sqltype.Decimal && (i == 0 || t.Kind == sqltype.Decimal || t.Kind == sqltype.Unknown):
		if i == 0 || t.Kind == sqltype.Unknown {
			return e.typ
		}
		return sqltype.Union(t, e.typ)
	case !e.typ.Kind.IsInteger():
		b.fail(5373)
	case t.Kind != sqltype.Unknown && t.Kind != e.typ.Kind && (i < 2 || t.Kind == sqltype.Decimal):
		b.fail(5373)
	}
	if i > 1 {
		return t
	}
	return e.typ
}

// installSeries registers GENERATE_SERIES with and without a step, of integers and of decimals.
func installSeries(r *Registry) {
	for name, n := range map[string]int{"generate_series": 2, "generate_series step": 3} {
		r.TableFunction(
			TableFunction{
				Schema:     "sys",
				Name:       name,
				Parameters: []sqltype.Type{bigT, bigT, bigT}[:n],
				Columns:    columns("value bigint"),
				Rows:       integerSeries,
			},
		)
		// A stored decimal has its scale with it: the function's own type counts for no value.
		d := sqltype.DecimalOf(38, 0)
		r.TableFunction(
			TableFunction{
				Schema:     "sys",
				Name:       name + decimalSeriesKey,
				Parameters: []sqltype.Type{d, d, d}[:n],
				Columns:    columns("value decimal(38)"),
				Rows:       decimalSeries,
			},
		)
	}
}

// decimalSeriesKey tells the function of decimals from that of integers.
const decimalSeriesKey = " decimal"

func integerSeries(_ context.Context, _ *Session, args []any) ([][]any, error) {
	if slices.Contains(args, nil) {
		return nil, nil
	}
	from, to, step := integer(args[0]), integer(args[1]), int64(1)
	if to < from {
		step = -1
	}
	if len(args) > 2 {
		if step = integer(args[2]); step == 0 {
			return nil, sqlerr.New(4199, 1, 0, 3, "GENERATE_SERIES")
		}
	}
	var out [][]any
	for v := from; step > 0 && v <= to || step < 0 && v >= to; v += step {
		out = append(out, []any{v})
		if next := v + step; (next > v) != (step > 0) {
			break // the type's range ends here
		}
	}
	return out, nil
}

func decimalSeries(_ context.Context, _ *Session, args []any) ([][]any, error) {
	if slices.Contains(args, nil) {
		return nil, nil
	}
	number := func(i int) decimal.Decimal { return args[i].(decimal.Decimal) }
	from, to, step := number(0), number(1), decimal.NewFromInt(1)
	if to.LessThan(from) {
		step = step.Neg()
	}
	if len(args) > 2 {
		if step = number(2); step.IsZero() {
			return nil, sqlerr.New(4199, 1, 0, 3, "GENERATE_SERIES")
		}
	}
	var out [][]any
	for v := from; v.Cmp(to)*step.Sign() <= 0; v = v.Add(step) {
		out = append(out, []any{v})
	}
	return out, nil
}
