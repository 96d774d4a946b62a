// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// seriesType is the type of GENERATE_SERIES: that of its arguments, all of one type
// (docs/t-sql/functions/generate-series-transact-sql.md).
func (b *binder) seriesType(t sqltype.Type, e expr, i int) sqltype.Type {
	switch {
	case e.null:
		return t
	case e.typ.Kind == sqltype.Decimal:
		b.refuse("GENERATE_SERIES of decimals")
	case !e.typ.Kind.IsInteger():
		b.fail(5373)
	case t.Kind != sqltype.Unknown && t.Kind != e.typ.Kind && i < 2:
		b.fail(5373)
	}
	if i > 1 {
		return t
	}
	return e.typ
}

// installSeries registers GENERATE_SERIES with and without a step.
func installSeries(r *Registry) {
	rows := func(_ context.Context, _ *Session, args []any) ([][]any, error) {
		for _, a := range args {
			if a == nil {
				return nil, nil
			}
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
	for name, n := range map[string]int{"generate_series": 2, "generate_series step": 3} {
		r.TableFunction(TableFunction{Schema: "sys", Name: name, Parameters: []sqltype.Type{bigT, bigT, bigT}[:n], Columns: columns("value bigint"), Rows: rows})
	}
}
