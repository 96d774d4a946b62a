// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/operator/standin/sqlerr"
)

// Mode says what a conversion is for.
type Mode uint8

// The conversions' modes.
const (
	// Implicit is a conversion that nobody wrote; some pairs of types don't have one (257).
	Implicit Mode = iota
	// Explicit is CAST or CONVERT: too long strings are cut.
	Explicit
	// Assign stores into a column or parameter: too long strings are errors (the caller makes 2628 of ErrTruncated).
	Assign
)

// ErrTruncated is what Convert returns in mode Assign for a value that is too long; the caller knows table and column.
var ErrTruncated = sqlerr.New(8152, 1)

// Convert converts a value of type from to type to. style is CONVERT's style, DateOrder.Style when none is given.
// Errors: 206, 257, 529 for types that don't convert; 241, 242, 245, 248, 220, 244, 281, 8114, 8115, 8152, 8169 for values.
func Convert(v any, from, to Type, style int, mode Mode) (any, *sqlerr.Error) {
	if v == nil {
		return nil, nil
	}
	if from.Kind == SQLVariant {
		if to.Kind == SQLVariant {
			return v, nil
		}
		if mode != Explicit {
			return nil, sqlerr.New(257, 3, from.Kind, to.Kind)
		}
		from, v = TypeOf(v), Bare(v)
	}
	if err := Convertible(from, to, mode); err != nil {
		return nil, err
	}
	if style < 0 && !(from.Kind.IsCharacter() && to.Kind.IsTemporal()) {
		style = 0
	}
	switch {
	case to.Kind == SQLVariant:
		return Variant{Type: from, Value: v}, nil
	case to.Kind == XML && from.Kind != XML:
		return toXML(v, from, style)
	case from.Kind == XML && to.Kind.IsBinary():
		return xmlBytes(v, to)
	case to.Kind == Bit:
		return toBit(v, from, to)
	case to.Kind.IsInteger():
		return toInteger(v, from, to)
	case to.Kind.IsExact():
		return toDecimal(v, from, to)
	case to.Kind.IsApproximate():
		return toFloat(v, from, to)
	case to.Kind.IsCharacter() || to.Kind == XML:
		return toCharacter(v, from, to, style, mode)
	case to.Kind.IsBinary():
		return toBinary(v, from, to, style, mode)
	case to.Kind == UniqueIdentifier:
		return toUUID(v, from, to)
	case to.Kind.IsTemporal():
		return toTemporal(v, from, to, style)
	}
	return nil, sqlerr.New(529, 1, from.Kind, to.Kind)
}

// Convertible is nil when values of from can become values of to at all
// (docs/t-sql/data-types/data-type-conversion-database-engine.md).
func Convertible(from, to Type, mode Mode) *sqlerr.Error {
	f, t := from.Kind, to.Kind
	if t == SQLVariant && f != t {
		// docs/t-sql/data-types/sql-variant-transact-sql.md, Restrictions.
		switch f {
		case Text, NText, Image, XML, RowVersion:
			return clash(f, t)
		}
		if from.Length == MaxLength {
			return clash(f, t)
		}
	}
	if f == t || f == Unknown || f == SQLVariant && t != XML || t == SQLVariant && f != XML {
		return nil
	}
	implicitOnly := func(need bool) *sqlerr.Error {
		if need && mode != Explicit {
			return sqlerr.New(257, 3, f, t)
		}
		return nil
	}
	switch {
	case f == XML || t == XML:
		return xmlConvertible(f, t, mode)
	case f.IsTemporal() && t.IsTemporal():
		if f == Date && t == Time || f == Time && t == Date {
			return clash(f, t)
		}
		return nil
	case f.IsTemporal() && (t.IsNumeric() || t == UniqueIdentifier), t.IsTemporal() && f == UniqueIdentifier:
		legacy := f == DateTime || f == SmallDateTime
		if !legacy || t == UniqueIdentifier {
			return explicitClash(f, t, mode)
		}
		return implicitOnly(true)
	case t.IsTemporal() && f.IsNumeric():
		if t != DateTime && t != SmallDateTime {
			return explicitClash(f, t, mode)
		}
		return nil
	case f == UniqueIdentifier && t.IsNumeric(), t == UniqueIdentifier && f.IsNumeric():
		return explicitClash(f, t, mode)
	case f.IsCharacter() && t.IsBinary():
		return implicitOnly(true)
	case f.IsBinary() && t.IsCharacter() && f != RowVersion:
		return nil
	case f.IsApproximate() && t.IsBinary(), t.IsApproximate() && f.IsBinary():
		return explicitClash(f, t, mode)
	case f.IsTemporal() && t.IsBinary():
		return implicitOnly(true)
	}
	return nil
}

func clash(f, t Kind) *sqlerr.Error { return sqlerr.New(206, 2, f, t) }

func explicitClash(f, t Kind, mode Mode) *sqlerr.Error {
	if mode == Explicit {
		return sqlerr.New(529, 2, f, t)
	}
	return clash(f, t)
}

func toBit(v any, from, to Type) (any, *sqlerr.Error) {
	switch x := v.(type) {
	case bool:
		return x, nil
	case int64:
		return x != 0, nil
	case float64:
		return x != 0, nil
	case decimal.Decimal:
		return !x.IsZero(), nil
	case string:
		s := strings.ToLower(strings.TrimSpace(x))
		switch s {
		case "true":
			return true, nil
		case "false", "":
			return false, nil
		}
		d, err := decimal.NewFromString(s)
		if err != nil || !d.IsInteger() {
			return nil, sqlerr.New(245, 1, from.Kind, x, to.Kind)
		}
		return !d.IsZero(), nil
	case []byte:
		for _, b := range x {
			if b != 0 {
				return true, nil
			}
		}
		return false, nil
	}
	return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
}

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

func toInteger(v any, from, to Type) (any, *sqlerr.Error) {
	lo, hi := integerRange(to.Kind)
	overflow := func() *sqlerr.Error {
		if from.Kind.IsInteger() && to.Kind != Int {
			return sqlerr.New(220, 1, to.Kind, v)
		}
		return sqlerr.New(8115, 2, overflowSource(from), to.Kind)
	}
	var n int64
	switch x := v.(type) {
	case bool:
		if x {
			n = 1
		}
	case int64:
		n = x
	case float64:
		t := math.Trunc(x)
		if !(t >= -9.3e18 && t <= 9.2233720368547748e18) {
			return nil, sqlerr.New(232, 1, to.Kind, x)
		}
		n = int64(t)
	case decimal.Decimal:
		t := x.Truncate(0)
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
	if s == "" {
		return int64(0), nil
	}
	n, ok := new(big.Int).SetString(strings.TrimPrefix(s, "+"), 10)
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
		if x {
			d = decimal.NewFromInt(1)
		}
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
			return nil, sqlerr.New(8115, 4, overflowSource(from), to.Kind)
		}
		return fixScale(d, 4), nil
	}
	d = d.Round(int32(to.Scale))
	if d.Abs().GreaterThanOrEqual(decimal.New(1, int32(to.Precision)-int32(to.Scale))) {
		return nil, sqlerr.New(8115, 8, from.Kind, numericName(to))
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

// ParseNumber reads a number as CAST does; money allows a currency sign and commas.
func ParseNumber(s string, money bool) (decimal.Decimal, bool) {
	s = strings.TrimSpace(s)
	if money {
		s = strings.NewReplacer(",", "", "$", "", "£", "", "€", "", " ", "").Replace(s)
		if s == "" {
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

func toUUID(v any, from, to Type) (any, *sqlerr.Error) {
	switch x := v.(type) {
	case uuid.UUID:
		return x, nil
	case string:
		s := strings.TrimSpace(x)
		if strings.HasPrefix(s, "{") && len(s) >= 38 {
			s = s[1:37]
		}
		if len(s) > 36 {
			s = s[:36]
		}
		if len(s) != 36 {
			return nil, sqlerr.New(8169, 2)
		}
		u, err := uuid.Parse(s)
		if err != nil {
			return nil, sqlerr.New(8169, 2)
		}
		return u, nil
	case []byte:
		var b [16]byte
		copy(b[:], x)
		return FromServerOrder(b), nil
	}
	return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
}

// FromServerOrder turns the 16 bytes of a GUID as SQL Server keeps them (first three groups little endian) into a UUID;
// it is its own inverse.
func FromServerOrder(b [16]byte) uuid.UUID {
	return uuid.UUID{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6],
		b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]}
}

func toBinary(v any, from, to Type, style int, mode Mode) (any, *sqlerr.Error) {
	var b []byte
	switch x := v.(type) {
	case []byte:
		b = x
	case string:
		if style == 1 || style == 2 {
			s := x
			if style == 1 {
				if !strings.HasPrefix(strings.ToLower(s), "0x") {
					return nil, sqlerr.New(8114, 5, from.Kind, to.Kind)
				}
				s = s[2:]
			}
			raw, err := hex.DecodeString(s)
			if err != nil {
				return nil, sqlerr.New(8114, 5, from.Kind, to.Kind)
			}
			b = raw
		} else {
			b = CharacterBytes(x, from)
		}
	case uuid.UUID:
		u := FromServerOrder(x)
		b = u[:]
	case bool, int64:
		b = integerBytes(v, from)
		if to.Length != MaxLength && len(b) > to.Length {
			b = b[len(b)-to.Length:]
		}
		if to.Kind == Binary && len(b) < to.Length {
			b = append(make([]byte, to.Length-len(b)), b...)
		}
	case decimal.Decimal:
		b = decimalAsBinary(x, from)
	case time.Time:
		b = temporalBytes(x, from)
	default:
		return nil, sqlerr.New(529, 2, from.Kind, to.Kind)
	}
	length := to.Length
	switch to.Kind {
	case RowVersion:
		length = 8
	case Image:
		length = MaxLength
	}
	if length != MaxLength && len(b) > length {
		if mode == Assign {
			return nil, ErrTruncated
		}
		b = b[:length]
	}
	if to.Kind == Binary && len(b) < to.Length {
		b = append(append([]byte(nil), b...), make([]byte, to.Length-len(b))...)
	}
	return b, nil
}

func integerBytes(v any, from Type) []byte {
	var n int64
	switch x := v.(type) {
	case bool:
		if x {
			n = 1
		}
	case int64:
		n = x
	}
	size := max(1, from.MaxBytes())
	out := make([]byte, size)
	for i := range out {
		out[size-1-i] = byte(n >> (8 * i))
	}
	return out
}

// isDecimalBytes tells whether bytes are those of decimalAsBinary.
func isDecimalBytes(b []byte) bool {
	return len(b) > 4 && len(b)%4 == 0 && b[0] >= 1 && b[0] <= 38 && b[1] <= b[0] && b[2] == 0 && b[3] <= 1
}

// decimalOfBytes takes back decimalAsBinary (docs/t-sql/functions/cast-and-convert-transact-sql.md, binary data).
func decimalOfBytes(b []byte) decimal.Decimal {
	digits := slices.Clone(b[4:])
	slices.Reverse(digits)
	d := decimal.NewFromBigInt(new(big.Int).SetBytes(digits), -int32(b[1]))
	if b[3] == 0 {
		d = d.Neg()
	}
	return d
}

func decimalAsBinary(d decimal.Decimal, from Type) []byte {
	if from.Kind == Money || from.Kind == SmallMoney {
		n := d.Shift(4).IntPart()
		return integerBytes(n, Type{Kind: BigInt})[8-from.MaxBytes():]
	}
	out := []byte{from.Precision, from.Scale, 0, 1}
	if d.Sign() < 0 {
		out[3] = 0
	}
	n := new(big.Int).Abs(d.Shift(int32(from.Scale)).BigInt()).Bytes()
	for i := len(n) - 1; i >= 0; i-- {
		out = append(out, n[i])
	}
	for (len(out)-4)%4 != 0 {
		out = append(out, 0)
	}
	return out
}

func temporalBytes(t time.Time, from Type) []byte {
	ticks := Ticks(t)
	if from.Kind == DateTime {
		days := (ticks - Ticks(base1900)) / ticksPerDay
		units := ((ticks-Ticks(base1900))%ticksPerDay*3 + 50000) / 100000
		return append(integerBytes(days, IntType), integerBytes(units, IntType)...)
	}
	return integerBytes(ticks, BigIntType)
}

// CharacterBytes are the bytes that a character value has on the server: code page 1252 for char, varchar and text,
// UTF-16 little endian for the others.
func CharacterBytes(s string, t Type) []byte {
	if t.Kind.IsUnicode() {
		units := utf16.Encode([]rune(s))
		out := make([]byte, 0, 2*len(units))
		for _, u := range units {
			out = append(out, byte(u), byte(u>>8))
		}
		return out
	}
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, CP1252(r))
	}
	return out
}

// CharacterString is the inverse of CharacterBytes.
func CharacterString(b []byte, t Type) string {
	if t.Kind.IsUnicode() {
		units := make([]uint16, 0, len(b)/2)
		for i := 0; i+1 < len(b); i += 2 {
			units = append(units, uint16(b[i])|uint16(b[i+1])<<8)
		}
		return string(utf16.Decode(units))
	}
	var out strings.Builder
	for _, c := range b {
		out.WriteRune(FromCP1252(c))
	}
	return out.String()
}
