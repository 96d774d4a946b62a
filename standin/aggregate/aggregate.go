// SPDX-License-Identifier: Apache-2.0

// Package aggregate has the aggregate functions of Transact-SQL that SQLite lacks, or computes otherwise
// (docs/t-sql/functions/aggregate-functions-transact-sql.md), and PERCENTILE_CONT and PERCENTILE_DISC.
package aggregate

import (
	"math"

	"github.com/shopspring/decimal"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Fail makes an error the statement's that SQLite runs.
type Fail func(sqlite.Context, *sqlerr.Error) error

// Register gives a connection the functions. Each has one argument, but
// tsql_percentile (value, fraction, continuous, descending, collation).
func Register(conn *sqlite.Conn, fail Fail) error {
	for name, make := range map[string]func() sqlite.AggregateFunction{
		"tsql_sumd":         func() sqlite.AggregateFunction { return &decimalSum{fail: fail} },
		"tsql_avgd":         func() sqlite.AggregateFunction { return &decimalSum{fail: fail, average: true} },
		"tsql_avgm":         func() sqlite.AggregateFunction { return &decimalSum{fail: fail, average: true, money: true} },
		"tsql_avgi":         func() sqlite.AggregateFunction { return &integerAverage{fail: fail, within: sqltype.Int} },
		"tsql_avgb":         func() sqlite.AggregateFunction { return &integerAverage{fail: fail, within: sqltype.BigInt} },
		"tsql_stdev":        func() sqlite.AggregateFunction { return &moments{sample: true, root: true} },
		"tsql_stdevp":       func() sqlite.AggregateFunction { return &moments{root: true} },
		"tsql_var":          func() sqlite.AggregateFunction { return &moments{sample: true} },
		"tsql_varp":         func() sqlite.AggregateFunction { return &moments{} },
		"tsql_checksum_agg": func() sqlite.AggregateFunction { return &checksumAggregate{} },
	} {
		err := conn.CreateFunction(name, &sqlite.FunctionImpl{
			NArgs: 1, Deterministic: true, AllowIndirect: true,
			MakeAggregate: func(sqlite.Context) (sqlite.AggregateFunction, error) { return make(), nil },
		})
		if err != nil {
			return err
		}
	}
	return conn.CreateFunction("tsql_percentile", &sqlite.FunctionImpl{
		NArgs: 5, Deterministic: true, AllowIndirect: true,
		MakeAggregate: func(sqlite.Context) (sqlite.AggregateFunction, error) { return &percentile{}, nil },
	})
}

// decimalSum is SUM and AVG of stored decimals.
type decimalSum struct {
	fail    Fail
	average bool
	// money has its quotient cut after four places, as that of integers is: the example of
	// docs/t-sql/functions/avg-transact-sql.md.
	money bool
	sum   decimal.Decimal
	n     int64
}

func (a *decimalSum) add(ctx sqlite.Context, v sqlite.Value, sign int64) error {
	if v.Type() == sqlite.TypeNull {
		return nil
	}
	d, err := sqltype.DecodeDecimal(v.Blob())
	if err != nil {
		return a.fail(ctx, sqlerr.Internal(err))
	}
	if sign < 0 {
		d = d.Neg()
	}
	a.sum = a.sum.Add(d)
	a.n += sign
	return nil
}

func (a *decimalSum) Step(ctx sqlite.Context, args []sqlite.Value) error {
	return a.add(ctx, args[0], 1)
}

func (a *decimalSum) WindowInverse(ctx sqlite.Context, args []sqlite.Value) error {
	return a.add(ctx, args[0], -1)
}

func (a *decimalSum) WindowValue(ctx sqlite.Context) (sqlite.Value, error) {
	if a.n == 0 {
		return sqlite.Value{}, nil
	}
	d := a.sum
	switch {
	case a.money:
		d, _ = d.QuoRem(decimal.NewFromInt(a.n), 4)
	case a.average:
		d = d.DivRound(decimal.NewFromInt(a.n), 38)
	}
	if len(d.Truncate(0).Coefficient().String()) > 38 {
		return sqlite.Value{}, a.fail(ctx, sqlerr.New(8115, 2, "expression", "numeric"))
	}
	return sqlite.BlobValue(sqltype.EncodeDecimal(d)), nil
}

func (a *decimalSum) Finalize(sqlite.Context) {}

// integerAverage is AVG of integers: the quotient is cut, and the sum has to be one of the result's type.
type integerAverage struct {
	fail   Fail
	within sqltype.Kind
	sum, n int64
}

func (a *integerAverage) Step(ctx sqlite.Context, args []sqlite.Value) error {
	if args[0].Type() == sqlite.TypeNull {
		return nil
	}
	v := args[0].Int64()
	if s := a.sum + v; (s > a.sum) != (v > 0) && v != 0 {
		return a.fail(ctx, sqlerr.New(8115, 2, "expression", "bigint"))
	}
	a.sum += v
	a.n++
	return nil
}

func (a *integerAverage) WindowInverse(_ sqlite.Context, args []sqlite.Value) error {
	if args[0].Type() != sqlite.TypeNull {
		a.sum -= args[0].Int64()
		a.n--
	}
	return nil
}

func (a *integerAverage) WindowValue(ctx sqlite.Context) (sqlite.Value, error) {
	if a.n == 0 {
		return sqlite.Value{}, nil
	}
	if a.within == sqltype.Int && a.sum != int64(int32(a.sum)) {
		return sqlite.Value{}, a.fail(ctx, sqlerr.New(8115, 2, "expression", "int"))
	}
	return sqlite.IntegerValue(a.sum / a.n), nil
}

func (a *integerAverage) Finalize(sqlite.Context) {}

// moments is STDEV, STDEVP, VAR and VARP.
type moments struct {
	sample, root bool
	n            int64
	sum, squares float64
}

func (m *moments) Step(_ sqlite.Context, args []sqlite.Value) error {
	if args[0].Type() != sqlite.TypeNull {
		f := args[0].Float()
		m.n, m.sum, m.squares = m.n+1, m.sum+f, m.squares+f*f
	}
	return nil
}

func (m *moments) WindowInverse(_ sqlite.Context, args []sqlite.Value) error {
	if args[0].Type() != sqlite.TypeNull {
		f := args[0].Float()
		m.n, m.sum, m.squares = m.n-1, m.sum-f, m.squares-f*f
	}
	return nil
}

func (m *moments) WindowValue(sqlite.Context) (sqlite.Value, error) {
	d := m.n
	if m.sample {
		d--
	}
	if d <= 0 {
		return sqlite.Value{}, nil
	}
	v := math.Max(0, (m.squares-m.sum*m.sum/float64(m.n))/float64(d))
	if m.root {
		v = math.Sqrt(v)
	}
	return sqlite.FloatValue(v), nil
}

func (m *moments) Finalize(sqlite.Context) {}

// checksumAggregate is CHECKSUM_AGG: independent of the order of rows.
type checksumAggregate struct {
	n   int64
	sum uint32
}

func (c *checksumAggregate) Step(_ sqlite.Context, args []sqlite.Value) error {
	if args[0].Type() != sqlite.TypeNull {
		c.n++
		c.sum ^= uint32(args[0].Int64())
	}
	return nil
}

func (c *checksumAggregate) WindowInverse(_ sqlite.Context, args []sqlite.Value) error {
	if args[0].Type() != sqlite.TypeNull {
		c.n--
		c.sum ^= uint32(args[0].Int64())
	}
	return nil
}

func (c *checksumAggregate) WindowValue(sqlite.Context) (sqlite.Value, error) {
	if c.n == 0 {
		return sqlite.Value{}, nil
	}
	return sqlite.IntegerValue(int64(int32(c.sum))), nil
}

func (c *checksumAggregate) Finalize(sqlite.Context) {}
