// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

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
				Name:       name + bind.DecimalSeriesKey,
				Parameters: []sqltype.Type{d, d, d}[:n],
				Columns:    columns("value decimal(38)"),
				Rows:       decimalSeries,
			},
		)
	}
}

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
