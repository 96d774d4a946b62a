// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"math"
	"math/bits"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
)

// IntegerArithmetic is an operator on integers; to is the type of the result.
func IntegerArithmetic(op byte, to Type, a, b int64) (any, *sqlerr.Error) {
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
		hi, lo := bits.Mul64(uint64(Magnitude(a)), uint64(Magnitude(b)))
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
	if !FitsInteger(to.Kind, n) {
		if to.Kind == Int {
			return nil, overflow
		}
		return nil, sqlerr.New(8115, 2, "expression", to.Kind)
	}
	return n, nil
}

// Magnitude is the absolute value.
func Magnitude(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// FitsInteger tells whether a number is in the range of bit or an integer type.
func FitsInteger(k Kind, n int64) bool {
	switch k {
	case Int:
		return n == int64(int32(n))
	case SmallInt:
		return n == int64(int16(n))
	case TinyInt:
		return n == int64(uint8(n))
	case Bit:
		return n == 0 || n == 1
	}
	return true
}

// FloatArithmetic is an operator on floating-point numbers.
func FloatArithmetic(op byte, to Type, a, b float64) (any, *sqlerr.Error) {
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
	if to.Kind == Real {
		f = float64(float32(f))
	}
	return f, nil
}

// DecimalArithmetic is an operator on decimals and money; the result is a stored form.
func DecimalArithmetic(op byte, to Type, a, b decimal.Decimal) (any, *sqlerr.Error) {
	var d decimal.Decimal
	scale := int32(to.Scale)
	if to.Kind != Decimal {
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
	v, e := FitDecimal(d, Type{Kind: Decimal}, to)
	if e != nil {
		return nil, sqlerr.New(8115, 2, "expression", NumericWord(to))
	}
	return EncodeDecimal(v.(decimal.Decimal)), nil
}

// NumericWord is the name of a type in messages, where decimal is called numeric.
func NumericWord(t Type) string {
	if t.Kind == Decimal {
		return "numeric"
	}
	return t.Kind.String()
}
