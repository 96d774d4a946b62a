// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"math/bits"

	"github.com/shopspring/decimal"
	"zombiezen.com/go/sqlite"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
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
		return integerArithmetic(op, to, args[4].Int64(), args[5].Int64())
	case to.Kind.IsApproximate():
		return floatArithmetic(op, to, args[4].Float(), args[5].Float())
	}
	a, e := decimalOperand(sqltype.Unpack(args[1].Int64()), args[4])
	if e != nil {
		return nil, e
	}
	b, e := decimalOperand(sqltype.Unpack(args[2].Int64()), args[5])
	if e != nil {
		return nil, e
	}
	return decimalArithmetic(op, to, a, b)
}

func decimalOperand(t sqltype.Type, v sqlite.Value) (decimal.Decimal, *sqlerr.Error) {
	x, err := sqltype.Decode(t, rawValue(v))
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

func integerArithmetic(op byte, to sqltype.Type, a, b int64) (any, *sqlerr.Error) {
	overflow := sqlerr.New(8115, 2, "expression", to.Kind)
	var n int64
	switch op {
	case '+':
		n = a + b
		if (n > a) != (b > 0) && b != 0 {
			return nil, overflow
		}
	case '-':
		n = a - b
		if (n < a) != (b > 0) && b != 0 {
			return nil, overflow
		}
	case '*':
		hi, lo := bits.Mul64(uint64(abs64(a)), uint64(abs64(b)))
		if hi != 0 || lo > 1<<63 {
			return nil, overflow
		}
		n = a * b
		if a != 0 && b != 0 && (n < 0) != ((a < 0) != (b < 0)) {
			return nil, overflow
		}
	case '/':
		if b == 0 {
			return nil, sqlerr.New(8134, 1)
		}
		if a == math.MinInt64 && b == -1 {
			return nil, overflow
		}
		n = a / b
	case '%':
		if b == 0 {
			return nil, sqlerr.New(8134, 1)
		}
		if b == -1 {
			return int64(0), nil
		}
		n = a % b
	case '&':
		n = a & b
	case '|':
		n = a | b
	case '^':
		n = a ^ b
	}
	if !fitsInteger(to.Kind, n) {
		if to.Kind == sqltype.Int {
			return nil, overflow
		}
		return nil, sqlerr.New(8115, 2, "expression", to.Kind)
	}
	return n, nil
}

func abs64(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func fitsInteger(k sqltype.Kind, n int64) bool {
	switch k {
	case sqltype.Int:
		return n == int64(int32(n))
	case sqltype.SmallInt:
		return n == int64(int16(n))
	case sqltype.TinyInt:
		return n == int64(uint8(n))
	case sqltype.Bit:
		return n == 0 || n == 1
	}
	return true
}

func floatArithmetic(op byte, to sqltype.Type, a, b float64) (any, *sqlerr.Error) {
	var f float64
	switch op {
	case '+':
		f = a + b
	case '-':
		f = a - b
	case '*':
		f = a * b
	case '/':
		if b == 0 {
			return nil, sqlerr.New(8134, 1)
		}
		f = a / b
	default:
		return nil, sqlerr.New(402, 1, to.Kind, to.Kind, "modulo")
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, sqlerr.New(8115, 2, "expression", to.Kind)
	}
	if to.Kind == sqltype.Real {
		f = float64(float32(f))
	}
	return f, nil
}

func decimalArithmetic(op byte, to sqltype.Type, a, b decimal.Decimal) (any, *sqlerr.Error) {
	var d decimal.Decimal
	scale := int32(to.Scale)
	if to.Kind != sqltype.Decimal {
		scale = 4
	}
	switch op {
	case '+':
		d = a.Add(b)
	case '-':
		d = a.Sub(b)
	case '*':
		d = a.Mul(b)
	case '/':
		if b.IsZero() {
			return nil, sqlerr.New(8134, 1)
		}
		d = a.DivRound(b, scale+1).Truncate(scale)
	case '%':
		if b.IsZero() {
			return nil, sqlerr.New(8134, 1)
		}
		d = a.Mod(b)
	}
	v, e := sqltype.FitDecimal(d, sqltype.Type{Kind: sqltype.Decimal}, to)
	if e != nil {
		return nil, sqlerr.New(8115, 2, "expression", numericWord(to))
	}
	return sqltype.EncodeDecimal(v.(decimal.Decimal)), nil
}

// numericWord is the name of a type in messages, where decimal is called numeric.
func numericWord(t sqltype.Type) string {
	if t.Kind == sqltype.Decimal {
		return "numeric"
	}
	return t.Kind.String()
}
