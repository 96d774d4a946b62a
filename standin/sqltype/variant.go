// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// Variant is a value of sql_variant with its base type. Go code may give a bare value, too, whose type is then TypeOf
// it.
type Variant struct {
	Type  Type
	Value any
}

// Bare is the value of a sql_variant without its type; other values are as they are.
func Bare(v any) any {
	if x, ok := v.(Variant); ok {
		return x.Value
	}
	return v
}

// Families of base types, from the lowest to the highest (docs/t-sql/data-types/sql-variant-transact-sql.md, Comparing
// sql_variant values). They are the first byte of a stored value, above all kinds, with which values began before they
// had a family.
const (
	familyGUID byte = 0xF1 + iota
	familyBinary
	familyText
	familyExact
	familyApproximate
	familyTime
)

// trailer is the length of what follows a stored value: its type and the length of its key.
const trailer = 12

// EncodeVariant is the stored form of a sql_variant: a key in the order in which values compare, the value as its type
// stores it, the type and the length of the key.
func EncodeVariant(t Type, v any) ([]byte, error) {
	raw, err := Encode(t, v)
	if err != nil || raw == nil {
		return nil, err
	}
	out := variantKey(t, v)
	length := len(out)
	switch x := raw.(type) {
	case int64:
		out = binary.BigEndian.AppendUint64(append(out, 'i'), uint64(x))
	case float64:
		out = binary.BigEndian.AppendUint64(append(out, 'f'), math.Float64bits(x))
	case string:
		out = append(append(out, 's'), x...)
	case []byte:
		out = append(append(out, 'b'), x...)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(Pack(t)))
	return binary.BigEndian.AppendUint32(out, uint32(length)), nil
}

// VariantKey is the part of a stored sql_variant by which it compares: equal for values that are equal, whatever their
// types.
func VariantKey(b []byte) ([]byte, error) {
	x, err := DecodeVariant(b)
	if err != nil {
		return nil, err
	}
	return variantKey(x.Type, x.Value), nil
}

// variantKey begins with the family. No key is the beginning of another one.
func variantKey(t Type, v any) []byte {
	switch x := v.(type) {
	case bool:
		return exactKey(decimal.NewFromInt(bitNumber(x)))
	case int64:
		return exactKey(decimal.NewFromInt(x))
	case decimal.Decimal:
		return exactKey(x)
	case float64:
		bits := math.Float64bits(x + 0) // no negative zero
		if bits>>63 == 1 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64([]byte{familyApproximate}, bits)
	case time.Time:
		n := Ticks(x)
		if t.Kind == Time {
			n += Ticks(base1900)
		}
		return binary.BigEndian.AppendUint64([]byte{familyTime}, uint64(n)^(1<<63))
	case string:
		out := []byte{familyText}
		for _, r := range strings.TrimRight(x, " ") {
			out = binary.BigEndian.AppendUint64(out, uint64(weight(r, true)))
		}
		// What is shorter goes on with spaces.
		return append(binary.BigEndian.AppendUint64(out, uint64(weight(' ', true))), 0)
	case []byte:
		out := []byte{familyBinary}
		for _, c := range x {
			if out = append(out, c); c == 0 {
				out = append(out, 0xFF)
			}
		}
		return append(out, 0, 0)
	case uuid.UUID:
		return append([]byte{familyGUID}, EncodeUUID(x)...)
	}
	return nil
}

func exactKey(d decimal.Decimal) []byte {
	return append(append([]byte{familyExact}, EncodeDecimal(d)...), 0)
}

// DecodeVariant is the inverse of EncodeVariant. Values from before there were families have their kind, precision and
// scale first.
func DecodeVariant(b []byte) (Variant, error) {
	if len(b) < 4 {
		return Variant{}, fmt.Errorf("%d bytes are no stored sql_variant", len(b))
	}
	if b[0] < familyGUID {
		return decodeKind(b)
	}
	end := len(b) - trailer
	if end < 0 {
		return Variant{}, fmt.Errorf("%d bytes are no stored sql_variant", len(b))
	}
	t, at := Unpack(int64(binary.BigEndian.Uint64(b[end:]))), int(binary.BigEndian.Uint32(b[end+8:]))
	if at >= end {
		return Variant{}, fmt.Errorf("the key of a stored sql_variant has %d bytes of %d", at, end)
	}
	body := b[at+1 : end]
	var raw any
	switch {
	case b[at] == 'i' && len(body) == 8:
		raw = int64(binary.BigEndian.Uint64(body))
	case b[at] == 'f' && len(body) == 8:
		raw = math.Float64frombits(binary.BigEndian.Uint64(body))
	case b[at] == 's':
		raw = string(body)
	case b[at] == 'b':
		raw = append([]byte{}, body...)
	default:
		return Variant{}, fmt.Errorf("a stored sql_variant has a value of the form 0x%02X in %d bytes", b[at], len(body))
	}
	v, err := Decode(t, raw)
	return Variant{Type: t, Value: v}, err
}

func decodeKind(b []byte) (Variant, error) {
	t := Type{Kind: Kind(b[0]), Precision: b[1], Scale: b[2]}
	body := b[4:]
	var raw any
	switch {
	case b[3] == 'i' && len(body) == 8:
		raw = int64(binary.BigEndian.Uint64(body))
	case b[3] == 'f':
		var mantissa int64
		var exponent int
		if _, err := fmt.Sscanf(string(body), "%dp%d", &mantissa, &exponent); err != nil {
			return Variant{}, fmt.Errorf("read a stored sql_variant: %w", err)
		}
		f, _ := new(big.Float).SetMantExp(new(big.Float).SetInt64(mantissa), exponent).Float64()
		raw = f
	case b[3] == 's':
		raw = string(body)
		t.Length = max(1, min(4000, len(body)))
	case b[3] == 'b':
		raw = append([]byte(nil), body...)
		t.Length = max(1, min(8000, len(body)))
	}
	v, err := Decode(t, raw)
	return Variant{Type: t, Value: v}, err
}
