// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqltype"
)

// value reads a value of that type as RPC parameters and bulk load rows have it; nil is NULL.
func (d *decoder) value(w wireType) any {
	raw, null := d.rawValue(w)
	if d.err != nil || null {
		return nil
	}
	return d.interpret(w, raw)
}

// rawValue reads the bytes of a value by its type's length prefix ([MS-TDS] 2.2.5.2).
func (d *decoder) rawValue(w wireType) (raw []byte, null bool) {
	switch w.token {
	case typeNull:
		return nil, true
	case typeInt1,
		typeBit,
		typeInt2,
		typeInt4,
		typeDateTime4,
		typeFloat4,
		typeMoney4,
		typeMoney8,
		typeDateTime8,
		typeFloat8,
		typeInt8:
		return d.bytes(w.size), false
	case typeBigVarChar, typeBigChar, typeNVarChar, typeNChar, typeBigVarBinary, typeBigBinary, typeXML:
		if w.partial() {
			return d.partialValue()
		}
		n := int(d.u16())
		if n == nullShort {
			return nil, true
		}
		if n > w.size {
			d.fail("a value of %d bytes does not fit its declared %d", n, w.size)
		}
		return d.bytes(n), false
	case typeText, typeNText, typeImage:
		n := int32(d.u32())
		if n == -1 {
			return nil, true
		}
		return d.bytes(int(n)), false
	case typeVariant:
		n := int(d.u32())
		if n == 0 {
			return nil, true
		}
		return d.bytes(n), false
	}
	n := int(d.u8())
	switch w.token {
	case typeVarCharOld, typeCharOld, typeVarBinaryOld, typeBinaryOld:
		if n == 0xFF {
			return nil, true
		}
	default:
		if n == 0 {
			return nil, true
		}
	}
	return d.bytes(n), false
}

// partialValue reads a partially length-prefixed value whole; the message's limit bounds it.
func (d *decoder) partialValue() (raw []byte, null bool) {
	total := d.u64()
	if total == nullLong {
		return nil, true
	}
	raw = []byte{}
	for {
		n := d.u32()
		if d.err != nil {
			return nil, false
		}
		if n == 0 {
			break
		}
		chunk := d.bytes(int(n))
		if d.limit > 0 && len(raw)+len(chunk) > d.limit {
			d.fail("a value is longer than the %d bytes allowed", d.limit)
		}
		raw = append(raw, chunk...)
	}
	if total != unknownTotal && total != uint64(len(raw)) {
		d.fail("a value of %d bytes announced %d", len(raw), total)
	}
	return raw, false
}

var errOddText = errors.New("Unicode text of an odd number of bytes")

func (d *decoder) interpret(w wireType, raw []byte) any {
	need := func(sizes ...int) bool {
		for _, n := range sizes {
			if len(raw) == n {
				return true
			}
		}
		d.fail("data type 0x%02X cannot have %d bytes", w.token, len(raw))
		return false
	}
	switch w.token {
	case typeInt1, typeInt2, typeInt4, typeInt8, typeIntN:
		if need(1, 2, 4, 8) {
			return integer(raw)
		}
	case typeBit, typeBitN:
		if need(1) {
			return raw[0] != 0
		}
	case typeFloat4, typeFloat8, typeFloatN:
		if need(4, 8) {
			return d.float(raw)
		}
	case typeMoney4, typeMoney8, typeMoneyN:
		if need(4, 8) {
			return money(raw)
		}
	case typeDecimalN, typeNumericN:
		// FreeTDS sends no more bytes than the value needs, not the length that goes with the precision.
		if len(raw) < 2 || len(raw) > 17 {
			d.fail("data type 0x%02X cannot have %d bytes", w.token, len(raw))
			return nil
		}
		return d.decimal(raw, w)
	case typeGUID:
		if need(16) {
			return guid(raw)
		}
	case typeDate, typeTime, typeDateTime2, typeDateTimeOffset, typeDateTime4, typeDateTime8, typeDateTimeN:
		return d.time(w, raw, need)
	case typeNVarChar, typeNChar, typeNText, typeXML:
		if len(raw)%2 != 0 {
			if d.err == nil {
				d.err = fmt.Errorf("%w: %d", errOddText, len(raw))
			}
			return nil
		}
		if w.token == typeXML {
			// SqlClient begins an xml value with a byte order mark, which is no part of it.
			raw = bytes.TrimPrefix(raw, []byte{0xFF, 0xFE})
		}
		return decodeUTF16(raw)
	case typeBigVarChar, typeBigChar, typeText, typeVarCharOld, typeCharOld:
		return d.codePage(raw, w.collation)
	case typeBigVarBinary, typeBigBinary, typeImage, typeVarBinaryOld, typeBinaryOld:
		return append([]byte{}, raw...)
	case typeVariant:
		return d.variant(raw)
	}
	return nil
}

func (d *decoder) time(w wireType, raw []byte, need func(...int) bool) any {
	n := timeSize(w.scale)
	switch w.token {
	case typeDate:
		if need(3) {
			return fromCivil(d.day(raw), 0, time.UTC)
		}
	case typeTime:
		if need(n) {
			return fromCivil(0, d.timeOfDay(raw, w.scale), time.UTC)
		}
	case typeDateTime2:
		if need(n + 3) {
			return fromCivil(d.day(raw[n:]), d.timeOfDay(raw[:n], w.scale), time.UTC)
		}
	case typeDateTimeOffset:
		if need(n + 5) {
			return d.dateTimeOffset(raw, w.scale)
		}
	default:
		if need(4, 8) {
			return d.dateTime(raw)
		}
	}
	return nil
}

func integer(raw []byte) int64 {
	switch len(raw) {
	case 1:
		return int64(raw[0])
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(raw)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(raw)))
	}
	return int64(binary.LittleEndian.Uint64(raw))
}

func (d *decoder) float(raw []byte) float64 {
	var f float64
	if len(raw) == 4 {
		f = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	} else {
		f = math.Float64frombits(binary.LittleEndian.Uint64(raw))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		if d.err == nil {
			d.err = invalidValueError{map[int]string{4: "real", 8: "float"}[len(raw)]}
		}
	}
	return f
}

func money(raw []byte) decimal.Decimal {
	if len(raw) == 4 {
		return decimal.New(int64(int32(binary.LittleEndian.Uint32(raw))), -4)
	}
	return decimal.New(int64(uint64(binary.LittleEndian.Uint32(raw))<<32|uint64(binary.LittleEndian.Uint32(raw[4:]))), -4)
}

func (d *decoder) decimal(raw []byte, w wireType) decimal.Decimal {
	magnitude := make([]byte, len(raw)-1)
	for i := range magnitude {
		magnitude[i] = raw[len(raw)-1-i]
	}
	n := new(big.Int).SetBytes(magnitude)
	if len(n.Text(10)) > int(w.precision) {
		d.fail("a value does not fit decimal(%d,%d)", w.precision, w.scale)
	}
	if raw[0] == 0 {
		n.Neg(n)
	}
	return decimal.NewFromBigInt(n, -int32(w.scale))
}

func guid(raw []byte) uuid.UUID {
	return uuid.UUID{
		raw[3],
		raw[2],
		raw[1],
		raw[0],
		raw[5],
		raw[4],
		raw[7],
		raw[6],
		raw[8],
		raw[9],
		raw[10],
		raw[11],
		raw[12],
		raw[13],
		raw[14],
		raw[15],
	}
}

// codePage reads text by its collation.
func (d *decoder) codePage(raw []byte, c [5]byte) string {
	if isASCII(raw) {
		return string(raw)
	}
	return sqltype.WirePage(c).Decode(raw)
}

// isASCII looks at eight bytes at a time: every text that is not Unicode passes here.
func isASCII(raw []byte) bool {
	for ; len(raw) >= 8; raw = raw[8:] {
		if binary.NativeEndian.Uint64(raw)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, b := range raw {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// variant reads a sql_variant's value as its base type has it.
func (d *decoder) variant(raw []byte) any {
	in := decoder{buf: raw}
	w := wireType{token: in.u8()}
	properties := decoder{buf: in.bytes(int(in.u8()))}
	switch w.token {
	case typeTime, typeDateTime2, typeDateTimeOffset:
		w.scale = properties.u8()
	case typeDecimalN, typeNumericN:
		w.precision, w.scale = properties.u8(), properties.u8()
	case typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		copy(w.collation[:], properties.bytes(5))
		w.size = int(properties.u16())
	case typeBigVarBinary, typeBigBinary:
		w.size = int(properties.u16())
	case typeText, typeNText, typeImage, typeXML, typeVariant, typeNull:
		d.fail("data type 0x%02X cannot be inside a sql_variant", w.token)
	}
	if in.err != nil || properties.err != nil || w.scale > 38 {
		d.fail("a sql_variant is malformed")
		return nil
	}
	if w.token == typeTime || w.token == typeDateTime2 || w.token == typeDateTimeOffset {
		if w.scale > 7 {
			d.fail("scale %d of a time is above 7", w.scale)
			return nil
		}
	}
	value := in.bytes(in.left())
	if w.size == 0 || len(value) > w.size {
		w.size = len(value)
	}
	v := in.interpret(w, value)
	if in.err != nil {
		d.err = in.err
		return nil
	}
	if v == nil && d.err == nil {
		d.err = unknownTypeError{w.token}
	}
	if v == nil {
		return nil
	}
	return sqltype.Variant{Type: w.sqlType(), Value: v}
}
