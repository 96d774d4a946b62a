// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// Stored forms: how values lie in SQLite, so that SQLite's own comparison is SQL Server's order.
//
//	bit, integers            INTEGER
//	float, real              REAL
//	decimal, money           BLOB, EncodeDecimal: independent of scale, ordered by bytes
//	date and time types      INTEGER, 100 ns ticks since 0001-01-01 (time: since midnight)
//	datetimeoffset           BLOB, 8 bytes of UTC ticks and 2 of the offset in minutes, big endian, ordered by instant
//	uniqueidentifier         BLOB, EncodeUUID: in SQL Server's order of GUIDs
//	binary types             BLOB
//	character types, xml     TEXT (compared by a collation)
//	sql_variant              NULL, or BLOB: a key in their order, the value and its type (EncodeVariant)

// ticksPerDay is 100 ns units in a day.
const ticksPerDay = int64(24 * 3600 * 1e7)

// epochSeconds is 0001-01-01 in Unix seconds.
var epochSeconds = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// Ticks are the 100 ns units from 0001-01-01 00:00 UTC to t.
func Ticks(t time.Time) int64 { return (t.Unix()-epochSeconds)*1e7 + int64(t.Nanosecond())/100 }

// FromTicks is the inverse of Ticks.
func FromTicks(n int64) time.Time {
	sec, frac := n/1e7, n%1e7
	if frac < 0 {
		sec, frac = sec-1, frac+1e7
	}
	return time.Unix(sec+epochSeconds, frac*100).UTC()
}

// EncodeDecimal is the stored form of a decimal number: bytes in the order of the numbers.
func EncodeDecimal(d decimal.Decimal) []byte {
	sign := d.Sign()
	if sign == 0 {
		return []byte{0x80}
	}
	digits := new(big.Int).Abs(d.Coefficient()).String()
	point := len(digits) + int(d.Exponent()) // value = 0.digits * 10^point
	digits = strings.TrimRight(digits, "0")
	out := make([]byte, 2, len(digits)/2+4)
	out[0], out[1] = 0x81, byte(point+0x80)
	for i := 0; i < len(digits); i += 2 {
		pair := (digits[i] - '0') * 10
		if i+1 < len(digits) {
			pair += digits[i+1] - '0'
		}
		out = append(out, pair+1)
	}
	if sign > 0 {
		return out
	}
	out[0] = 0x7f
	for i := 1; i < len(out); i++ {
		out[i] = ^out[i]
	}
	return append(out, 0xff)
}

// DecodeDecimal is the inverse of EncodeDecimal. Bytes that are none give an error.
func DecodeDecimal(b []byte) (decimal.Decimal, error) {
	if len(b) == 1 && b[0] == 0x80 {
		return decimal.Zero, nil
	}
	if len(b) < 3 || b[0] != 0x81 && b[0] != 0x7f {
		return decimal.Zero, fmt.Errorf("%d bytes are no stored decimal", len(b))
	}
	body := b[1:]
	negative := b[0] == 0x7f
	if negative {
		body = make([]byte, len(b)-2)
		for i := range body {
			body[i] = ^b[i+1]
		}
	}
	point := int(body[0]) - 0x80
	pairs := body[1:]
	if len(pairs) <= 9 {
		var n int64
		for _, p := range pairs {
			n = n*100 + int64(p-1)
		}
		if negative {
			n = -n
		}
		return decimal.New(n, int32(point-2*len(pairs))), nil
	}
	n, hundred := new(big.Int), big.NewInt(100)
	for _, p := range pairs {
		n.Mul(n, hundred)
		n.Add(n, big.NewInt(int64(p-1)))
	}
	if negative {
		n.Neg(n)
	}
	return decimal.NewFromBigInt(n, int32(point-2*len(pairs))), nil
}

// guidOrder lists the bytes of an RFC 4122 UUID in the order in which SQL Server compares them.
var guidOrder = [16]int{10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0}

// EncodeUUID is the stored form of a uniqueidentifier.
func EncodeUUID(u uuid.UUID) []byte {
	out := make([]byte, 16)
	for i, from := range guidOrder {
		out[i] = u[from]
	}
	return out
}

// DecodeUUID is the inverse of EncodeUUID; b has 16 bytes.
func DecodeUUID(b []byte) uuid.UUID {
	var u uuid.UUID
	for i, from := range guidOrder {
		u[from] = b[i]
	}
	return u
}

// EncodeOffset is the stored form of a datetimeoffset.
func EncodeOffset(t time.Time) []byte {
	_, offset := t.Zone()
	out := make([]byte, 10)
	binary.BigEndian.PutUint64(out, uint64(Ticks(t))^(1<<63))
	binary.BigEndian.PutUint16(out[8:], uint16(offset/60+1<<15))
	return out
}

// DecodeOffset is the inverse of EncodeOffset; b has 10 bytes.
func DecodeOffset(b []byte) time.Time {
	t := FromTicks(int64(binary.BigEndian.Uint64(b) ^ (1 << 63)))
	minutes := int(binary.BigEndian.Uint16(b[8:])) - 1<<15
	return t.In(time.FixedZone("", minutes*60))
}

// Encode turns a value into what SQLite stores: nil, int64, float64, string or []byte. v is a value of t as Type says.
func Encode(t Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if t.Kind == SQLVariant {
		x, ok := v.(Variant)
		if !ok {
			x = Variant{Type: TypeOf(v), Value: v}
		}
		raw, err := EncodeVariant(x.Type, x.Value)
		if raw == nil {
			return nil, err
		}
		return raw, nil
	}
	switch x := v.(type) {
	case bool:
		return bitNumber(x), nil
	case int64, float64, string:
		return x, nil
	case decimal.Decimal:
		return EncodeDecimal(x), nil
	case []byte:
		return x, nil
	case uuid.UUID:
		return EncodeUUID(x), nil
	case time.Time:
		if t.Kind == DateTimeOffset {
			return EncodeOffset(x), nil
		}
		return Ticks(x), nil
	}
	return nil, fmt.Errorf("a Go %T is no value of %s", v, t)
}

// Decode is the inverse of Encode: raw is nil, int64, float64, string or []byte.
func Decode(t Type, raw any) (any, error) {
	if raw == nil {
		return nil, nil
	}
	switch x := raw.(type) {
	case int64:
		return decodeInteger(t, x), nil
	case float64:
		return x, nil
	case string:
		return x, nil
	case []byte:
		return decodeBytes(t, x)
	}
	return nil, fmt.Errorf("a Go %T is no stored value", raw)
}

func decodeInteger(t Type, x int64) any {
	switch {
	case t.Kind == Bit:
		return x != 0
	case t.Kind.IsTemporal():
		return FromTicks(x)
	case t.Kind.IsApproximate():
		return float64(x)
	case t.Kind.IsExact():
		return decimal.NewFromInt(x)
	}
	return x
}

func decodeBytes(t Type, x []byte) (any, error) {
	switch {
	case t.Kind.IsExact():
		return DecodeDecimal(x)
	case t.Kind == UniqueIdentifier && len(x) == 16:
		return DecodeUUID(x), nil
	case t.Kind == DateTimeOffset && len(x) == 10:
		return DecodeOffset(x), nil
	case t.Kind == SQLVariant && len(x) > 0:
		return DecodeVariant(x)
	case t.Kind.IsBinary():
		return x, nil
	}
	return nil, fmt.Errorf("%d bytes are no stored %s", len(x), t)
}

// TypeOf is the type that a Go value has by itself: the base type of a sql_variant, or of a parameter given from Go.
func TypeOf(v any) Type {
	switch x := v.(type) {
	case Variant:
		return x.Type
	case bool:
		return BitType
	case int64:
		if x == int64(int32(x)) {
			return IntType
		}
		return BigIntType
	case float64:
		return FloatType
	case decimal.Decimal:
		return decimalTypeOf(x)
	case string:
		if len(x) > 4000 {
			return NVarCharMax
		}
		return NVarCharOf(max(1, len(x)))
	case []byte:
		if len(x) > 8000 {
			return VarBinaryMax
		}
		return VarBinaryOf(max(1, len(x)))
	case uuid.UUID:
		return GUIDType
	case time.Time:
		return DateTime2Type
	}
	return Type{Kind: NVarChar, Length: 1}
}

func decimalTypeOf(d decimal.Decimal) Type {
	scale := max(0, -int(d.Exponent()))
	digits := len(new(big.Int).Abs(d.Coefficient()).String()) + max(0, int(d.Exponent()))
	return DecimalOf(uint8(min(38, max(digits, scale, 1))), uint8(min(38, scale)))
}
