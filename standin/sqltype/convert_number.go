// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
)

// integerRange is the range of an integer type.
func integerRange(k Kind) (lo, hi int64) {
	switch k {
	case TinyInt:
		return 0, 255
	case SmallInt:
		return math.MinInt16, math.MaxInt16
	case Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// bitNumber is a bit as a number.
func bitNumber(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func toInteger(v any, from, to Type) (any, *sqlerr.Error) {
	lo, hi := integerRange(to.Kind)
	overflow := func() *sqlerr.Error {
		if from.Kind.IsInteger() && to.Kind != Int {
			state := uint8(1)
			if to.Kind == TinyInt {
				state = 2
			}
			return sqlerr.New(220, state, to.Kind, v)
		}
		if f, ok := v.(float64); ok {
			return floatOverflow(f, to)
		}
		return sqlerr.New(8115, 2, overflowSource(from), to.Kind)
	}
	var n int64
	switch x := v.(type) {
	case bool:
		n = bitNumber(x)
	case int64:
		n = x
	case float64:
		t := math.Trunc(x)
		if !(t >= -9.3e18 && t <= 9.2233720368547748e18) {
			return nil, overflow()
		}
		n = int64(t)
	case decimal.Decimal:
		t := x.Truncate(0)
		if from.Kind == Money || from.Kind == SmallMoney {
			t = x.Round(0) // of the exact numbers these alone are rounded
		}
		if !t.BigInt().IsInt64() {
			return nil, overflow()
		}
		n = t.IntPart()
	case string:
		return stringToInteger(x, from, to, lo, hi)
	case []byte:
		n = bytesToInt(x, to)
	case time.Time:
		days := float64(Ticks(x)-Ticks(base1900)) / float64(ticksPerDay)
		n = int64(math.RoundToEven(days))
	default:
		return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
	}
	if n < lo || n > hi {
		return nil, overflow()
	}
	return n, nil
}

// floatOverflow is the error of a float or real that a type has no room for.
func floatOverflow(f float64, to Type) *sqlerr.Error {
	state := uint8(1)
	switch to.Kind {
	case SmallInt, Char, VarChar:
		state = 2
	case Int:
		state = 3
	}
	return sqlerr.New(232, state, to.Kind, strconv.FormatFloat(f, 'f', 6, 64))
}

func overflowSource(from Type) any {
	if from.Kind.IsNumeric() && from.Kind != Decimal {
		return "expression"
	}
	if from.Kind == Decimal {
		return "numeric"
	}
	return from.Kind
}

func stringToInteger(x string, from, to Type, lo, hi int64) (any, *sqlerr.Error) {
	s := strings.TrimSpace(x)
	if s == "" || s == "+" || s == "-" {
		return int64(0), nil
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || strings.ContainsAny(s, "_") {
		if to.Kind == BigInt {
			return nil, sqlerr.New(8114, 5, from.Kind, to.Kind)
		}
		return nil, sqlerr.New(245, 1, from.Kind, x, to.Kind)
	}
	if !n.IsInt64() || n.Int64() < lo || n.Int64() > hi {
		switch to.Kind {
		case Int:
			return nil, sqlerr.New(248, 1, from.Kind, x)
		case BigInt:
			return nil, sqlerr.New(8115, 2, "expression", to.Kind)
		}
		name := "INT1"
		if to.Kind == SmallInt {
			name = "INT2"
		}
		return nil, sqlerr.New(244, 1, from.Kind, x, name)
	}
	return n.Int64(), nil
}

func bytesToInt(b []byte, to Type) int64 {
	size := to.MaxBytes()
	if len(b) > size {
		b = b[len(b)-size:]
	}
	var u uint64
	for _, c := range b {
		u = u<<8 | uint64(c)
	}
	switch {
	case to.Kind == Int && len(b) == 4:
		return int64(int32(u))
	case to.Kind == SmallInt && len(b) == 2:
		return int64(int16(u))
	}
	return int64(u)
}

// tenTo38 is the first number that no decimal holds.
var tenTo38 = decimal.New(1, 38)

func toDecimal(v any, from, to Type) (any, *sqlerr.Error) {
	var d decimal.Decimal
	switch x := v.(type) {
	case bool:
		d = decimal.NewFromInt(bitNumber(x))
	case int64:
		d = decimal.NewFromInt(x)
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) || math.Abs(x) >= 1e38 {
			return nil, sqlerr.New(8115, 6, from.Kind, numericName(to))
		}
		d = decimal.NewFromFloat(x)
	case decimal.Decimal:
		d = x
	case string:
		parsed, ok := ParseNumber(x, to.Kind == Money || to.Kind == SmallMoney)
		if !ok {
			if to.Kind == Decimal {
				return nil, sqlerr.New(8114, 5, from.Kind, numericName(to))
			}
			if to.Kind == SmallMoney {
				return nil, sqlerr.New(293, 0)
			}
			return nil, sqlerr.New(235, 0)
		}
		d = parsed
	case []byte:
		if to.Kind == Decimal && isDecimalBytes(x) {
			d = decimalOfBytes(x)
			break
		}
		n := new(big.Int).SetBytes(x)
		d = decimal.NewFromBigInt(n, 0)
		if to.Kind == Money || to.Kind == SmallMoney {
			d = d.Shift(-4)
		}
	case time.Time:
		d = decimal.NewFromInt(Ticks(x) - Ticks(base1900)).Div(decimal.NewFromInt(ticksPerDay))
	default:
		return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
	}
	return FitDecimal(d, from, to)
}

// FitDecimal rounds a number to the scale of an exact type and checks its range (8115).
func FitDecimal(d decimal.Decimal, from, to Type) (any, *sqlerr.Error) {
	switch to.Kind {
	case Money, SmallMoney:
		d = d.Round(4)
		limit := decimal.New(math.MaxInt64, -4)
		if to.Kind == SmallMoney {
			limit = decimal.New(math.MaxInt32, -4)
		}
		if d.GreaterThan(limit) || d.LessThan(limit.Neg().Sub(decimal.New(1, -4))) {
			switch {
			case from.Kind.IsCharacter() && to.Kind == SmallMoney:
				return nil, sqlerr.New(294, 0)
			case from.Kind.IsCharacter():
				return nil, sqlerr.New(236, 0)
			}
			return nil, sqlerr.New(8115, 4, overflowSource(from), to.Kind)
		}
		return fixScale(d, 4), nil
	}
	d = d.Round(int32(to.Scale))
	if d.Abs().GreaterThanOrEqual(decimal.New(1, int32(to.Precision)-int32(to.Scale))) {
		return nil, sqlerr.New(8115, 8, numericName(from), numericName(to))
	}
	return fixScale(d, int32(to.Scale)), nil
}

// numericName is the word that SQL Server's messages use for decimal.
func numericName(t Type) any {
	if t.Kind == Decimal {
		return "numeric"
	}
	return t.Kind
}

// fixScale gives the number exactly that many digits after the point.
func fixScale(d decimal.Decimal, scale int32) decimal.Decimal {
	if d.Exponent() == -scale {
		return d
	}
	n := new(big.Int).Set(d.Coefficient())
	shift := int64(d.Exponent() + scale)
	if shift >= 0 {
		n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(shift), nil))
		return decimal.NewFromBigInt(n, -scale)
	}
	return d.Truncate(scale)
}

// IsCurrency tells whether a character is one of the signs that a value of money may begin with
// (docs/t-sql/data-types/money-and-smallmoney-transact-sql.md).
func IsCurrency(r rune) bool {
	return r >= 0x20A0 && r <= 0x20B1 || strings.ContainsRune("$¢£¤¥৲৳฿៛﷼﹩＄￠￡￥￦", r)
}

// ParseNumber reads a number as CAST does; money allows a currency sign and commas, and takes a sign or a point alone
// for zero.
func ParseNumber(s string, money bool) (decimal.Decimal, bool) {
	s = strings.TrimSpace(s)
	if money {
		s = strings.Map(func(r rune) rune {
			if r == ',' || r == ' ' || IsCurrency(r) {
				return -1
			}
			return r
		}, s)
		switch s {
		case "", "+", "-", ".":
			return decimal.Zero, true
		}
	}
	if s == "" || strings.ContainsAny(s, "_xXeE") {
		return decimal.Zero, false
	}
	s = strings.TrimPrefix(s, "+")
	d, err := decimal.NewFromString(s)
	return d, err == nil && d.Abs().LessThan(tenTo38.Mul(tenTo38))
}
