// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqltype"
)

// appendValue writes one value of a row or a return value. An error means that value and type do not fit.
func (w wireType) appendValue(b []byte, v any) ([]byte, error) {
	switch {
	case v == nil && w.fixed:
		return b, fmt.Errorf("NULL in data type 0x%02X, which has none", w.fixedToken())
	case v == nil:
		return w.appendNull(b), nil
	case w.fixed:
		return w.appendFixed(b, v)
	}
	if w.literal != (sqltype.Type{}) {
		text, err := w.text(v)
		if err != nil {
			return b, err
		}
		v = text
	}
	switch w.token {
	case typeBigVarChar, typeBigChar, typeText, typeNVarChar, typeNChar, typeNText, typeXML:
		s, ok := v.(string)
		if !ok {
			return b, w.mismatch(v)
		}
		if w.token == typeNVarChar || w.token == typeNChar || w.token == typeNText || w.token == typeXML {
			return w.appendBytes(b, appendUTF16(make([]byte, 0, 2*len(s)), s))
		}
		return w.appendBytes(b, w.page.Encode(s))
	case typeBigVarBinary, typeBigBinary, typeImage:
		raw, ok := v.([]byte)
		if !ok {
			return b, w.mismatch(v)
		}
		return w.appendBytes(b, raw)
	case typeVariant:
		return w.appendVariant(b, v)
	}
	at := len(b)
	b, err := w.appendFixed(append(b, 0), v)
	b[at] = byte(len(b) - at - 1)
	return b, err
}

func (w wireType) mismatch(v any) error {
	return fmt.Errorf("a value of Go type %T does not fit data type 0x%02X", v, w.token)
}

func (w wireType) appendNull(b []byte) []byte {
	switch {
	case w.partial():
		return binary.LittleEndian.AppendUint64(b, nullLong)
	case w.token == typeVariant:
		return append(b, 0, 0, 0, 0)
	case w.token == typeBigVarChar, w.token == typeBigChar, w.token == typeNVarChar, w.token == typeNChar,
		w.token == typeBigVarBinary, w.token == typeBigBinary:
		return binary.LittleEndian.AppendUint16(b, nullShort)
	}
	return append(b, 0)
}

// textPointer stands for the pointer and timestamp of a text value, which nobody can use afterwards.
var textPointer = [25]byte{16}

func (w wireType) appendBytes(b, raw []byte) ([]byte, error) {
	switch {
	case w.partial():
		b = binary.LittleEndian.AppendUint64(b, uint64(len(raw)))
		if len(raw) > 0 {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(raw)))
			b = append(b, raw...)
		}
		return append(b, 0, 0, 0, 0), nil
	case w.size == lengthOfLOB:
		b = append(b, textPointer[:]...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(raw)))
		return append(b, raw...), nil
	case len(raw) > w.size:
		return b, fmt.Errorf("a value of %d bytes does not fit a column of %d", len(raw), w.size)
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(raw)))
	return append(b, raw...), nil
}

func (w wireType) appendFixed(b []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case bool:
		if w.token == typeBitN {
			if x {
				return append(b, 1), nil
			}
			return append(b, 0), nil
		}
	case int64:
		switch w.token {
		case typeIntN:
			return appendInteger(b, x, w.size)
		case typeDecimalN, typeNumericN:
			return appendDecimal(b, decimal.NewFromInt(x), w)
		}
	case float64:
		if w.token == typeFloatN && w.size == 4 {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x))), nil
		}
		if w.token == typeFloatN {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(x)), nil
		}
	case decimal.Decimal:
		switch w.token {
		case typeDecimalN, typeNumericN:
			return appendDecimal(b, x, w)
		case typeMoneyN:
			return appendMoney(b, x, w.size)
		}
	case uuid.UUID:
		if w.token == typeGUID {
			return append(b, x[3], x[2], x[1], x[0], x[5], x[4], x[7], x[6], x[8], x[9], x[10], x[11], x[12], x[13], x[14],
				x[15]), nil
		}
	case time.Time:
		return w.appendTime(b, x)
	}
	return b, w.mismatch(v)
}

func (w wireType) appendTime(b []byte, t time.Time) ([]byte, error) {
	day, ns := civil(t)
	switch w.token {
	case typeDate:
		return appendDay(b, day)
	case typeTime:
		return appendTimeOfDay(b, ns, w.scale), nil
	case typeDateTime2:
		return appendDay(appendTimeOfDay(b, ns, w.scale), day)
	case typeDateTimeOffset:
		_, offset := t.Zone()
		day, ns = civil(t.UTC())
		b, err := appendDay(appendTimeOfDay(b, ns, w.scale), day)
		return binary.LittleEndian.AppendUint16(b, uint16(int16(offset/60))), err
	case typeDateTimeN:
		if w.size == 4 {
			return appendSmallDateTime(b, t)
		}
		return appendDateTime(b, t)
	}
	return b, w.mismatch(t)
}

func appendInteger(b []byte, n int64, size int) ([]byte, error) {
	switch size {
	case 1:
		if n >= 0 && n <= math.MaxUint8 {
			return append(b, byte(n)), nil
		}
	case 2:
		if n >= math.MinInt16 && n <= math.MaxInt16 {
			return binary.LittleEndian.AppendUint16(b, uint16(n)), nil
		}
	case 4:
		if n >= math.MinInt32 && n <= math.MaxInt32 {
			return binary.LittleEndian.AppendUint32(b, uint32(n)), nil
		}
	default:
		return binary.LittleEndian.AppendUint64(b, uint64(n)), nil
	}
	return b, fmt.Errorf("%d does not fit an integer of %d bytes", n, size)
}

// decimalSize is the number of bytes of a decimal's magnitude ([MS-TDS] 2.2.5.5.1.6).
func decimalSize(precision byte) int {
	switch {
	case precision <= 9:
		return 4
	case precision <= 19:
		return 8
	case precision <= 28:
		return 12
	}
	return 16
}

// scaled is d times ten to the scale, rounded half away from zero.
func scaled(d decimal.Decimal, scale byte) *big.Int {
	return d.Round(int32(scale)).Shift(int32(scale)).BigInt()
}

func appendDecimal(b []byte, d decimal.Decimal, w wireType) ([]byte, error) {
	n := scaled(d, w.scale)
	sign := byte(1)
	if n.Sign() < 0 {
		sign = 0
	}
	size := decimalSize(w.precision)
	magnitude := n.Abs(n).Bytes()
	if len(magnitude) > size {
		return b, fmt.Errorf("the value does not fit decimal(%d,%d)", w.precision, w.scale)
	}
	b = append(b, sign)
	for i := range size {
		if i < len(magnitude) {
			b = append(b, magnitude[len(magnitude)-1-i])
		} else {
			b = append(b, 0)
		}
	}
	return b, nil
}

func appendMoney(b []byte, d decimal.Decimal, size int) ([]byte, error) {
	n := scaled(d, 4)
	if !n.IsInt64() || (size == 4 && n.Int64() != int64(int32(n.Int64()))) {
		return b, fmt.Errorf("the value does not fit money of %d bytes", size)
	}
	v := uint64(n.Int64())
	if size == 4 {
		return binary.LittleEndian.AppendUint32(b, uint32(v)), nil
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(v>>32))
	return binary.LittleEndian.AppendUint32(b, uint32(v)), nil
}

// appendVariant writes a sql_variant: total length, base type, its properties and the bare value
// ([MS-TDS] 2.2.5.5.4).
func (w wireType) appendVariant(b []byte, v any) ([]byte, error) {
	t, v := withoutUTF8(sqltype.TypeOf(v)), sqltype.Bare(v)
	w, err := w.version.wireTypeOf(t)
	if err != nil {
		return b, err
	}
	if w.size == lengthOfMax || w.size == lengthOfLOB {
		return b, fmt.Errorf("a value longer than %d bytes cannot be a sql_variant", maxBytes)
	}
	full, err := w.appendValue(nil, v)
	if err != nil {
		return b, err
	}
	value := full[1:]
	head := []byte{w.token, 0}
	switch w.token {
	case typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		value = full[2:]
		head = append([]byte{w.token, 7}, w.collation[:]...)
		head = binary.LittleEndian.AppendUint16(head, uint16(w.size))
	case typeBigVarBinary, typeBigBinary:
		value = full[2:]
		head = binary.LittleEndian.AppendUint16([]byte{w.token, 2}, uint16(w.size))
	case typeDecimalN:
		head = []byte{w.token, 2, w.precision, w.scale}
	case typeTime, typeDateTime2, typeDateTimeOffset:
		head = []byte{w.token, 1, w.scale}
	case typeGUID, typeDate:
	default:
		head[0] = w.fixedToken()
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)+len(value)))
	return append(append(b, head...), value...), nil
}
