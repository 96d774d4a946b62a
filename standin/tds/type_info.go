// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"fmt"

	"geosql.dev/standin/sqltype"
)

// Data type tokens ([MS-TDS] 2.2.5.4).
const (
	typeNull           byte = 0x1F
	typeImage          byte = 0x22
	typeText           byte = 0x23
	typeGUID           byte = 0x24
	typeVarBinaryOld   byte = 0x25
	typeIntN           byte = 0x26
	typeVarCharOld     byte = 0x27
	typeDate           byte = 0x28
	typeTime           byte = 0x29
	typeDateTime2      byte = 0x2A
	typeDateTimeOffset byte = 0x2B
	typeBinaryOld      byte = 0x2D
	typeCharOld        byte = 0x2F
	typeInt1           byte = 0x30
	typeBit            byte = 0x32
	typeInt2           byte = 0x34
	typeInt4           byte = 0x38
	typeDateTime4      byte = 0x3A
	typeFloat4         byte = 0x3B
	typeMoney8         byte = 0x3C
	typeDateTime8      byte = 0x3D
	typeFloat8         byte = 0x3E
	typeVariant        byte = 0x62
	typeNText          byte = 0x63
	typeBitN           byte = 0x68
	typeDecimalN       byte = 0x6A
	typeNumericN       byte = 0x6C
	typeFloatN         byte = 0x6D
	typeMoneyN         byte = 0x6E
	typeDateTimeN      byte = 0x6F
	typeMoney4         byte = 0x7A
	typeInt8           byte = 0x7F
	typeBigVarBinary   byte = 0xA5
	typeBigVarChar     byte = 0xA7
	typeBigBinary      byte = 0xAD
	typeBigChar        byte = 0xAF
	typeNVarChar       byte = 0xE7
	typeNChar          byte = 0xEF
	typeUDT            byte = 0xF0
	typeXML            byte = 0xF1
	typeTable          byte = 0xF3
)

// userTypeRowVersion is the UserType of a rowversion column, by which drivers tell it from binary(8).
const userTypeRowVersion uint32 = 80

const (
	maxBytes     = 8000
	maxVariant   = 8009
	lengthOfMax  = 0xFFFF
	lengthOfLOB  = 0x7FFFFFFF
	nullShort    = 0xFFFF
	nullLong     = 0xFFFFFFFFFFFFFFFF
	unknownTotal = 0xFFFFFFFFFFFFFFFE
)

// wireType is a column's or parameter's type as TYPE_INFO has it ([MS-TDS] 2.2.5.6).
type wireType struct {
	token     byte
	size      int // bytes; lengthOfMax for (max), lengthOfLOB for text, ntext and image
	precision byte
	scale     byte
	collation [5]byte
	// page is the code page of values that are sent.
	page sqltype.Page
	// fixed tells that values are sent without a length, and are never NULL.
	fixed bool
	// version is that of the client, literal the type whose values are sent as text because the client does not know it.
	version version
	literal sqltype.Type
}

// partial tells whether values are sent partially length-prefixed ([MS-TDS] 2.2.5.2.3).
func (w wireType) partial() bool {
	return w.token == typeXML ||
		(w.size == lengthOfMax && (w.token == typeNVarChar || w.token == typeBigVarChar || w.token == typeBigVarBinary))
}

// fixedType is the nullable form of a type whose size does not depend on a declaration.
type fixedType struct {
	token byte
	size  int
}

var fixedTypes = map[sqltype.Kind]fixedType{
	sqltype.Bit: {
		typeBitN,
		1,
	}, sqltype.TinyInt: {typeIntN, 1}, sqltype.SmallInt: {typeIntN, 2}, sqltype.Int: {typeIntN, 4},
	sqltype.BigInt: {typeIntN, 8}, sqltype.SmallMoney: {typeMoneyN, 4}, sqltype.Money: {typeMoneyN, 8},
	sqltype.Real: {typeFloatN, 4}, sqltype.Float: {typeFloatN, 8}, sqltype.SmallDateTime: {typeDateTimeN, 4},
	sqltype.DateTime: {typeDateTimeN, 8}, sqltype.Date: {typeDate, 3}, sqltype.UniqueIdentifier: {typeGUID, 16},
	sqltype.RowVersion: {typeBigBinary, 8}, sqltype.Text: {typeText, lengthOfLOB}, sqltype.NText: {typeNText, lengthOfLOB},
	sqltype.Image: {
		typeImage,
		lengthOfLOB,
	}, sqltype.XML: {typeXML, lengthOfMax}, sqltype.SQLVariant: {typeVariant, maxVariant},
}

// sizedTypes are the types with a declared length of so many units; some may be (max).
var sizedTypes = map[sqltype.Kind]struct {
	token byte
	unit  int
	max   bool
}{
	sqltype.Binary: {typeBigBinary, 1, false}, sqltype.VarBinary: {typeBigVarBinary, 1, true},
	sqltype.Char: {typeBigChar, 1, false}, sqltype.VarChar: {typeBigVarChar, 1, true},
	sqltype.NChar: {typeNChar, 2, false}, sqltype.NVarChar: {typeNVarChar, 2, true},
}

// fixedForms are the tokens of the forms without a length, which have no NULL ([MS-TDS] 2.2.5.4.1), by the nullable
// form.
var fixedForms = map[fixedType]byte{
	{typeBitN, 1}: typeBit, {typeIntN, 1}: typeInt1, {typeIntN, 2}: typeInt2, {typeIntN, 4}: typeInt4,
	{typeIntN, 8}:   typeInt8,
	{typeFloatN, 4}: typeFloat4, {typeFloatN, 8}: typeFloat8, {typeMoneyN, 4}: typeMoney4, {typeMoneyN, 8}: typeMoney8,
	{typeDateTimeN, 4}: typeDateTime4, {typeDateTimeN, 8}: typeDateTime8,
}

// fixedToken is the token of the type's form without a length; 0 for types that have none.
func (w wireType) fixedToken() byte {
	return fixedForms[fixedType{w.token, w.size}]
}

// wireTypeOf is how a type is sent to clients, in its nullable form; columns that are not nullable have the other one,
// where there is one.
func wireTypeOf(t sqltype.Type) (wireType, error) {
	w := wireType{collation: t.WireCollation(""), page: t.Page}
	if fixed, ok := fixedTypes[t.Kind]; ok {
		w.token, w.size = fixed.token, fixed.size
		return w, nil
	}
	if sized, ok := sizedTypes[t.Kind]; ok {
		w.token, w.size = sized.token, t.Length*sized.unit
		switch {
		case t.Length == sqltype.MaxLength || w.size > maxBytes:
			w.size = lengthOfMax
			if !sized.max {
				return w, fmt.Errorf("type %v of length %d is longer than %d bytes", t.Kind, t.Length, maxBytes)
			}
		case t.Length <= 0:
			w.size = sized.unit
		}
		return w, nil
	}
	switch t.Kind {
	case sqltype.Time:
		w.token = typeTime
	case sqltype.DateTime2:
		w.token = typeDateTime2
	case sqltype.DateTimeOffset:
		w.token = typeDateTimeOffset
	case sqltype.Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale > t.Precision {
			return w, fmt.Errorf("decimal(%d,%d) is outside the permitted range", t.Precision, t.Scale)
		}
		w.token, w.size, w.precision, w.scale = typeDecimalN, 1+decimalSize(t.Precision), t.Precision, t.Scale
		return w, nil
	default:
		return w, fmt.Errorf("data type %v cannot be sent to a client", t.Kind)
	}
	if t.Scale > 7 {
		return w, fmt.Errorf("scale %d of a time is above 7", t.Scale)
	}
	w.scale, w.size = t.Scale, timeSize(t.Scale)
	return w, nil
}

// appendTypeInfo writes TYPE_INFO.
func (w wireType) appendTypeInfo(b []byte) []byte {
	if w.fixed {
		return append(b, w.fixedToken())
	}
	b = append(b, w.token)
	switch w.token {
	case typeDate:
	case typeTime, typeDateTime2, typeDateTimeOffset:
		b = append(b, w.scale)
	case typeDecimalN, typeNumericN:
		b = append(b, byte(w.size), w.precision, w.scale)
	case typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		b = w.appendCollation(binary.LittleEndian.AppendUint16(b, uint16(w.size)))
	case typeBigVarBinary, typeBigBinary:
		b = binary.LittleEndian.AppendUint16(b, uint16(w.size))
	case typeText, typeNText:
		b = w.appendCollation(binary.LittleEndian.AppendUint32(b, uint32(w.size)))
	case typeImage, typeVariant:
		b = binary.LittleEndian.AppendUint32(b, uint32(w.size))
	case typeXML:
		b = append(b, 0) // no schema
	default:
		b = append(b, byte(w.size))
	}
	return b
}

// appendCollation writes a COLLATION, which types have since TDS 7.1.
func (w wireType) appendCollation(b []byte) []byte {
	if !w.version.atLeast(version71) {
		return b
	}
	return append(b, w.collation[:]...)
}

// invalidValueError is a value that its type does not have, such as a float that is not a number; a parameter is
// answered with error 8023 (docs/relational-databases/errors-events/database-engine-events-and-errors-8000-to-8999.md).
type invalidValueError struct{ kind string }

func (e invalidValueError) Error() string {
	return "the supplied value is not a valid instance of data type " + e.kind
}

// unknownTypeError is a type token that a client may not send, answered with error 8009.
type unknownTypeError struct{ token byte }

func (e unknownTypeError) Error() string {
	return fmt.Sprintf("data type 0x%02X is unknown or not supported", e.token)
}

// typeInfo reads TYPE_INFO as RPC parameters and bulk load columns have it.
func (d *decoder) typeInfo() wireType {
	w := wireType{token: d.u8()}
	switch w.token {
	case typeNull:
	case typeInt1, typeBit:
		w.size = 1
	case typeInt2:
		w.size = 2
	case typeInt4, typeDateTime4, typeFloat4, typeMoney4:
		w.size = 4
	case typeMoney8, typeDateTime8, typeFloat8, typeInt8:
		w.size = 8
	case typeDate:
		w.size = 3
	case typeTime, typeDateTime2, typeDateTimeOffset:
		if w.scale = d.u8(); w.scale > 7 {
			d.fail("scale %d of a time is above 7", w.scale)
		}
	case typeGUID, typeIntN, typeBitN, typeFloatN, typeMoneyN, typeDateTimeN, typeVarBinaryOld, typeBinaryOld:
		w.size = int(d.u8())
	case typeVarCharOld, typeCharOld:
		w.size = int(d.u8())
		d.collation(&w)
	case typeDecimalN, typeNumericN:
		w.size, w.precision, w.scale = int(d.u8()), d.u8(), d.u8()
		if d.inTable && w.precision == 0 && w.scale == 0 {
			w.precision = 1 // a column of a table that has nothing but NULL
		}
		if w.precision < 1 || w.precision > 38 || w.scale > w.precision {
			d.fail("decimal(%d,%d) is outside the permitted range", w.precision, w.scale)
		}
	case typeBigVarBinary, typeBigBinary:
		w.size = int(d.u16())
	case typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		w.size = int(d.u16())
		d.collation(&w)
	case typeText, typeNText:
		w.size = int(int32(d.u32()))
		d.collation(&w)
	case typeImage, typeVariant:
		w.size = int(int32(d.u32()))
	case typeXML:
		w.size = lengthOfMax
		if d.u8() != 0 {
			d.shortText() // database
			d.shortText() // owner
			d.longText()  // schema collection
		}
	default:
		if d.err == nil {
			d.err = unknownTypeError{w.token}
		}
	}
	if d.err == nil && !w.sizeAllowed() {
		d.fail("data type 0x%02X cannot have a size of %d bytes", w.token, w.size)
	}
	return w
}

// collation reads a COLLATION, which types have since TDS 7.1.
func (d *decoder) collation(w *wireType) {
	if d.version.atLeast(version71) {
		copy(w.collation[:], d.bytes(5))
	} else {
		w.collation = sqltype.WireCollation(sqltype.DefaultCollation)
	}
}

// sizeAllowed tells whether a client's declared size is one that the type may have.
func (w wireType) sizeAllowed() bool {
	switch w.token {
	case typeIntN:
		return w.size == 1 || w.size == 2 || w.size == 4 || w.size == 8
	case typeBitN:
		return w.size == 1
	case typeFloatN, typeMoneyN, typeDateTimeN:
		return w.size == 4 || w.size == 8
	case typeGUID:
		return w.size == 16 || w.size == 0 // 0 is how mssql-jdbc sends NULL
	case typeNVarChar:
		return w.size == lengthOfMax || (w.size <= maxBytes && w.size%2 == 0)
	case typeBigVarChar, typeBigVarBinary:
		return w.size == lengthOfMax || w.size <= maxBytes
	case typeNChar:
		return w.size <= maxBytes && w.size%2 == 0
	case typeBigChar, typeBigBinary:
		return w.size <= maxBytes
	}
	return true
}

// sqlType is the type that a client's TYPE_INFO means.
func (w wireType) sqlType() sqltype.Type {
	sized := func(k sqltype.Kind, unit int) sqltype.Type {
		t := sqltype.Type{Kind: k, Length: max(1, w.size/unit)}
		if w.size == lengthOfMax {
			t.Length = sqltype.MaxLength
		}
		if k == sqltype.Char || k == sqltype.VarChar {
			t.Page = sqltype.WirePage(w.collation)
		}
		return t
	}
	bySize := func(kinds map[int]sqltype.Kind) sqltype.Type { return sqltype.Type{Kind: kinds[w.size]} }
	switch w.token {
	case typeNull:
		return sqltype.Type{Kind: sqltype.NVarChar, Length: 1}
	case typeBit, typeBitN:
		return sqltype.Type{Kind: sqltype.Bit}
	case typeInt1, typeInt2, typeInt4, typeInt8, typeIntN:
		return bySize(map[int]sqltype.Kind{1: sqltype.TinyInt, 2: sqltype.SmallInt, 4: sqltype.Int, 8: sqltype.BigInt})
	case typeFloat4, typeFloat8, typeFloatN:
		return bySize(map[int]sqltype.Kind{4: sqltype.Real, 8: sqltype.Float})
	case typeMoney4, typeMoney8, typeMoneyN:
		return bySize(map[int]sqltype.Kind{4: sqltype.SmallMoney, 8: sqltype.Money})
	case typeDateTime4, typeDateTime8, typeDateTimeN:
		return bySize(map[int]sqltype.Kind{4: sqltype.SmallDateTime, 8: sqltype.DateTime})
	case typeDate:
		return sqltype.Type{Kind: sqltype.Date}
	case typeTime:
		return sqltype.Type{Kind: sqltype.Time, Scale: w.scale}
	case typeDateTime2:
		return sqltype.Type{Kind: sqltype.DateTime2, Scale: w.scale}
	case typeDateTimeOffset:
		return sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: w.scale}
	case typeDecimalN, typeNumericN:
		return sqltype.Type{Kind: sqltype.Decimal, Precision: w.precision, Scale: w.scale}
	case typeGUID:
		return sqltype.Type{Kind: sqltype.UniqueIdentifier}
	case typeVarBinaryOld, typeBigVarBinary:
		return sized(sqltype.VarBinary, 1)
	case typeBinaryOld, typeBigBinary:
		return sized(sqltype.Binary, 1)
	case typeVarCharOld, typeBigVarChar:
		return sized(sqltype.VarChar, 1)
	case typeCharOld, typeBigChar:
		return sized(sqltype.Char, 1)
	case typeNVarChar:
		return sized(sqltype.NVarChar, 2)
	case typeNChar:
		return sized(sqltype.NChar, 2)
	case typeText:
		return sqltype.Type{Kind: sqltype.Text, Page: sqltype.WirePage(w.collation)}
	case typeNText:
		return sqltype.Type{Kind: sqltype.NText}
	case typeImage:
		return sqltype.Type{Kind: sqltype.Image}
	case typeXML:
		return sqltype.Type{Kind: sqltype.XML}
	case typeVariant:
		return sqltype.Type{Kind: sqltype.SQLVariant}
	}
	return sqltype.Type{}
}
