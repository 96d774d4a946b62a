// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
)

var kindNames = map[Kind]string{
	Binary: "binary", VarBinary: "varbinary", Image: "image", Char: "char", VarChar: "varchar", Text: "text",
	NChar: "nchar", NVarChar: "nvarchar", NText: "ntext", UniqueIdentifier: "uniqueidentifier",
	RowVersion: "timestamp", Bit: "bit", TinyInt: "tinyint", SmallInt: "smallint", Int: "int", BigInt: "bigint",
	SmallMoney: "smallmoney", Money: "money", Decimal: "decimal", Real: "real", Float: "float", Time: "time",
	Date: "date", SmallDateTime: "smalldatetime", DateTime: "datetime", DateTime2: "datetime2",
	DateTimeOffset: "datetimeoffset", XML: "xml", SQLVariant: "sql_variant",
}

var kindsByName = func() map[string]Kind {
	m := map[string]Kind{
		"rowversion": RowVersion, "numeric": Decimal, "dec": Decimal, "integer": Int, "character": Char,
		"char varying": VarChar, "character varying": VarChar, "national char": NChar, "national character": NChar,
		"national char varying": NVarChar, "national character varying": NVarChar, "national text": NText,
		"binary varying": VarBinary, "double precision": Float, "sysname": NVarChar,
	}
	for k, n := range kindNames {
		m[n] = k
	}
	return m
}()

// String is the type's name as error messages and the views have it: "int", "nvarchar".
func (k Kind) String() string {
	if n, ok := kindNames[k]; ok {
		return n
	}
	return "unknown"
}

// IsInteger tells bit and the integer types apart from the rest: tinyint, smallint, int, bigint (not bit).
func (k Kind) IsInteger() bool { return k >= TinyInt && k <= BigInt }

// IsCharacter is true for the character types, text and ntext among them.
func (k Kind) IsCharacter() bool { return k >= Char && k <= NText }

// IsUnicode is true for nchar, nvarchar, ntext and xml.
func (k Kind) IsUnicode() bool { return k >= NChar && k <= NText || k == XML }

// IsBinary is true for binary, varbinary, image and rowversion.
func (k Kind) IsBinary() bool { return k >= Binary && k <= Image || k == RowVersion }

// IsTemporal is true for the date and time types.
func (k Kind) IsTemporal() bool { return k >= Time && k <= DateTimeOffset }

// IsExact is true for the decimal and money types.
func (k Kind) IsExact() bool { return k >= SmallMoney && k <= Decimal }

// IsNumeric is true for bit, integers, decimals, money and floating-point types.
func (k Kind) IsNumeric() bool { return k >= Bit && k <= Float }

// IsApproximate is true for real and float.
func (k Kind) IsApproximate() bool { return k == Real || k == Float }

// Sysname is nvarchar(128).
var Sysname = Type{Kind: NVarChar, Length: 128}

// Simple types, as they are written without arguments.
var (
	BitType       = Type{Kind: Bit}
	TinyIntType   = Type{Kind: TinyInt}
	SmallIntType  = Type{Kind: SmallInt}
	IntType       = Type{Kind: Int}
	BigIntType    = Type{Kind: BigInt}
	FloatType     = Type{Kind: Float}
	MoneyType     = Type{Kind: Money}
	DateTimeType  = Type{Kind: DateTime}
	GUIDType      = Type{Kind: UniqueIdentifier}
	VariantType   = Type{Kind: SQLVariant}
	NVarCharMax   = Type{Kind: NVarChar, Length: MaxLength}
	VarCharMax    = Type{Kind: VarChar, Length: MaxLength}
	VarBinaryMax  = Type{Kind: VarBinary, Length: MaxLength}
	DateTime2Type = Type{Kind: DateTime2, Scale: 7}
)

// NVarCharOf is nvarchar(n).
func NVarCharOf(n int) Type { return Type{Kind: NVarChar, Length: n} }

// VarBinaryOf is varbinary(n).
func VarBinaryOf(n int) Type { return Type{Kind: VarBinary, Length: n} }

// BinaryOf is binary(n).
func BinaryOf(n int) Type { return Type{Kind: Binary, Length: n} }

// DecimalOf is decimal(p,s).
func DecimalOf(precision, scale uint8) Type {
	return Type{Kind: Decimal, Precision: precision, Scale: scale}
}

// String is the type as it is declared: "decimal(10,2)", "nvarchar(max)".
func (t Type) String() string {
	switch t.Kind {
	case Binary, VarBinary, Char, VarChar, NChar, NVarChar:
		if t.Length == MaxLength {
			return t.Kind.String() + "(max)"
		}
		return fmt.Sprintf("%s(%d)", t.Kind, t.Length)
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case Time, DateTime2, DateTimeOffset:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Scale)
	}
	return t.Kind.String()
}

// Named composes a type of its name and arguments as they are written in T-SQL ("decimal", "10", "2"; "varchar",
// "max"). inCast is true in CAST and CONVERT, where a length left out is 30, else 1. Errors: 243 or 2715 no such type
// (243 always here), 1001 and 2717 length, 2750 and 192 precision and scale, 291.
func Named(name string, args []string, inCast bool) (Type, *sqlerr.Error) {
	kind, ok := kindsByName[strings.ToLower(strings.Join(strings.Fields(name), " "))]
	if !ok {
		return Type{}, sqlerr.New(243, 1, name)
	}
	if strings.EqualFold(name, "sysname") {
		return Sysname, nil
	}
	t := Type{Kind: kind}
	switch kind {
	case Binary, VarBinary, Char, VarChar, NChar, NVarChar:
		return named(t, name, args, inCast)
	case Decimal:
		return namedDecimal(t, name, args)
	case Float:
		return namedFloat(t, name, args)
	case Time, DateTime2, DateTimeOffset:
		return namedTime(t, name, args)
	}
	if len(args) > 0 {
		if inCast {
			return Type{}, sqlerr.New(291, 1, name)
		}
		return Type{}, sqlerr.New(2716, 1, 1, name)
	}
	return t, nil
}

func named(t Type, name string, args []string, inCast bool) (Type, *sqlerr.Error) {
	limit := 8000
	if t.Kind == NChar || t.Kind == NVarChar {
		limit = 4000
	}
	switch {
	case len(args) == 0 && inCast:
		t.Length = 30
	case len(args) == 0:
		t.Length = 1
	case len(args) > 1:
		return Type{}, sqlerr.New(291, 1, name)
	case strings.EqualFold(args[0], "max"):
		if t.Kind == Binary || t.Kind == Char || t.Kind == NChar {
			return Type{}, sqlerr.New(102, 1, args[0])
		}
		t.Length = MaxLength
	default:
		n, err := strconv.Atoi(args[0])
		if err != nil || n <= 0 {
			return Type{}, sqlerr.New(1001, 1, 1, args[0])
		}
		if n > 8000 {
			return Type{}, sqlerr.New(131, 2, n, "type", name, 8000)
		}
		if n > limit {
			return Type{}, sqlerr.New(2717, 2, n, "type", name, limit)
		}
		t.Length = n
	}
	return t, nil
}

func namedDecimal(t Type, name string, args []string) (Type, *sqlerr.Error) {
	t.Precision = 18
	if len(args) > 2 {
		return Type{}, sqlerr.New(291, 1, name)
	}
	if len(args) > 0 {
		p, err := strconv.Atoi(args[0])
		if err != nil || p < 1 || p > 38 {
			return Type{}, sqlerr.New(2750, 1, 1, p, 38)
		}
		t.Precision = uint8(p)
	}
	if len(args) > 1 {
		s, err := strconv.Atoi(args[1])
		if err != nil || s < 0 || s > int(t.Precision) {
			return Type{}, sqlerr.New(192, 1)
		}
		t.Scale = uint8(s)
	}
	return t, nil
}

func namedFloat(t Type, name string, args []string) (Type, *sqlerr.Error) {
	if len(args) == 0 {
		return t, nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || len(args) > 1 || n < 1 || n > 53 {
		return Type{}, sqlerr.New(2750, 1, 1, n, 53)
	}
	if n <= 24 {
		t.Kind = Real
	}
	return t, nil
}

func namedTime(t Type, name string, args []string) (Type, *sqlerr.Error) {
	t.Scale = 7
	if len(args) == 0 {
		return t, nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || len(args) > 1 || n < 0 || n > 7 {
		return Type{}, sqlerr.New(1002, 1, 1, args[0])
	}
	t.Scale = uint8(n)
	return t, nil
}

// MaxBytes is sys.columns.max_length: bytes, -1 for (max).
func (t Type) MaxBytes() int {
	switch t.Kind {
	case Binary, VarBinary, Char, VarChar:
		return t.Length
	case NChar, NVarChar:
		if t.Length == MaxLength {
			return MaxLength
		}
		return t.Length * 2
	case Image, Text, NText, UniqueIdentifier:
		return 16
	case XML:
		return MaxLength
	case RowVersion, BigInt, Money, Float, DateTime:
		return 8
	case Bit, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, SmallMoney, Real, SmallDateTime:
		return 4
	case Decimal:
		return decimalBytes(t.Precision)
	case Date:
		return 3
	case Time:
		return 3 + timeExtra(t.Scale)
	case DateTime2:
		return 6 + timeExtra(t.Scale)
	case DateTimeOffset:
		return 8 + timeExtra(t.Scale)
	case SQLVariant:
		return 8016
	}
	return 0
}

func decimalBytes(p uint8) int {
	switch {
	case p <= 9:
		return 5
	case p <= 19:
		return 9
	case p <= 28:
		return 13
	}
	return 17
}

func timeExtra(scale uint8) int {
	switch {
	case scale <= 2:
		return 0
	case scale <= 4:
		return 1
	}
	return 2
}

// DisplayPrecision is sys.columns.precision: digits of numbers, characters of dates; 0 for others.
func (t Type) DisplayPrecision() int {
	switch t.Kind {
	case Bit:
		return 1
	case TinyInt:
		return 3
	case SmallInt:
		return 5
	case Int, SmallMoney, Date:
		return 10
	case BigInt, Money:
		return 19
	case Decimal:
		return int(t.Precision)
	case Real:
		return 24
	case Float:
		return 53
	case SmallDateTime:
		return 16
	case DateTime:
		return 23
	case Time:
		return 8 + fraction(t.Scale)
	case DateTime2:
		return 19 + fraction(t.Scale)
	case DateTimeOffset:
		return 26 + fraction(t.Scale)
	}
	return 0
}

// DisplayScale is sys.columns.scale.
func (t Type) DisplayScale() int {
	switch t.Kind {
	case Money, SmallMoney:
		return 4
	case DateTime:
		return 3
	case Decimal, Time, DateTime2, DateTimeOffset:
		return int(t.Scale)
	}
	return 0
}

func fraction(scale uint8) int {
	if scale == 0 {
		return 0
	}
	return int(scale) + 1
}

// Info is a row of sys.types for a system type.
type Info struct {
	Kind Kind
	// Name is the name, UserTypeID and SystemTypeID its numbers (sys.types).
	Name                     string
	SystemTypeID, UserTypeID int64
}

// Infos are the system types in the order of their IDs (docs/relational-databases/system-catalog-views/sys-types).
var Infos = []Info{
	{Image, "image", 34, 34}, {Text, "text", 35, 35}, {UniqueIdentifier, "uniqueidentifier", 36, 36},
	{Date, "date", 40, 40}, {Time, "time", 41, 41}, {DateTime2, "datetime2", 42, 42},
	{DateTimeOffset, "datetimeoffset", 43, 43}, {TinyInt, "tinyint", 48, 48}, {SmallInt, "smallint", 52, 52},
	{Int, "int", 56, 56}, {SmallDateTime, "smalldatetime", 58, 58}, {Real, "real", 59, 59},
	{Money, "money", 60, 60}, {DateTime, "datetime", 61, 61}, {Float, "float", 62, 62},
	{SQLVariant, "sql_variant", 98, 98}, {NText, "ntext", 99, 99}, {Bit, "bit", 104, 104},
	{Decimal, "decimal", 106, 106}, {Decimal, "numeric", 108, 108}, {SmallMoney, "smallmoney", 122, 122},
	{BigInt, "bigint", 127, 127}, {VarBinary, "varbinary", 165, 165}, {VarChar, "varchar", 167, 167},
	{Binary, "binary", 173, 173}, {Char, "char", 175, 175}, {RowVersion, "timestamp", 189, 189},
	{NVarChar, "nvarchar", 231, 231}, {NVarChar, "sysname", 231, 256}, {NChar, "nchar", 239, 239},
	{XML, "xml", 241, 241},
}

// SystemTypeID is sys.columns.system_type_id.
func (t Type) SystemTypeID() int64 {
	for _, i := range Infos {
		if i.Kind == t.Kind {
			return i.SystemTypeID
		}
	}
	return 0
}
