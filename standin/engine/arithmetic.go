// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/shopspring/decimal"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// arith computes tsql_arith(op, from1, from2, to, a, b). Both operands are already of the result's family: integers,
// decimals or floats.
func (st *connState) arith(args []sqlite.Value) (any, *sqlerr.Error) {
	if args[4].Type() == sqlite.TypeNull || args[5].Type() == sqlite.TypeNull {
		return nil, nil
	}
	op, to := args[0].Text()[0], sqltype.Unpack(args[3].Int64())
	switch {
	case to.Kind.IsInteger() || to.Kind == sqltype.Bit:
		return sqltype.IntegerArithmetic(op, to, args[4].Int64(), args[5].Int64())
	case to.Kind.IsApproximate():
		return sqltype.FloatArithmetic(op, to, args[4].Float(), args[5].Float())
	}
	a, e := decimalOperand(sqltype.Unpack(args[1].Int64()), args[4])
	if e != nil {
		return nil, e
	}
	b, e := decimalOperand(sqltype.Unpack(args[2].Int64()), args[5])
	if e != nil {
		return nil, e
	}
	return sqltype.DecimalArithmetic(op, to, a, b)
}

func decimalOperand(t sqltype.Type, v sqlite.Value) (decimal.Decimal, *sqlerr.Error) {
	x, err := sqltype.Decode(t, storage.ArgumentValue(v))
	if err != nil {
		return decimal.Zero, internalError(err)
	}
	switch d := x.(type) {
	case decimal.Decimal:
		return d, nil
	case int64:
		return decimal.NewFromInt(d), nil
	case bool:
		if d {
			return decimal.NewFromInt(1), nil
		}
	}
	return decimal.Zero, nil
}
