// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
)

func toBinary(v any, from, to Type, style int, mode Mode) (any, *sqlerr.Error) {
	if to.Kind == RowVersion {
		to = Type{Kind: Binary, Length: 8}
	}
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
	case float64:
		if b = binary.BigEndian.AppendUint64(nil, math.Float64bits(x)); from.Kind == Real {
			b = binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(x)))
		}
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
		n = bitNumber(x)
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

// CharacterBytes are the bytes that a character value has on the server: those of its code page for char, varchar and
// text, UTF-16 little endian for the others.
func CharacterBytes(s string, t Type) []byte {
	if t.Kind.IsUnicode() {
		units := utf16.Encode([]rune(s))
		out := make([]byte, 0, 2*len(units))
		for _, u := range units {
			out = append(out, byte(u), byte(u>>8))
		}
		return out
	}
	return t.Page.Encode(s)
}

// CharacterString is the inverse of CharacterBytes.
func CharacterString(b []byte, t Type) string {
	if t.Kind.IsUnicode() {
		units := make([]uint16, 0, len(b)/2)
		if len(b)%2 == 1 {
			b = append(slices.Clone(b), 0)
		}
		for i := 0; i+1 < len(b); i += 2 {
			units = append(units, uint16(b[i])|uint16(b[i+1])<<8)
		}
		return string(utf16.Decode(units))
	}
	return t.Page.Decode(b)
}
