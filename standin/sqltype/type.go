// SPDX-License-Identifier: Apache-2.0

// Package sqltype has SQL Server's data types and the Go values that carry them through the stand-in.
package sqltype

// Kind is one SQL Server data type without its length, precision or scale.
type Kind uint8

// The kinds, in SQL Server's order of data type precedence from lowest to highest within their families
// (docs/t-sql/data-types/data-type-precedence-transact-sql.md).
const (
	Unknown Kind = iota
	Binary
	VarBinary
	Image
	Char
	VarChar
	Text
	NChar
	NVarChar
	NText
	UniqueIdentifier
	RowVersion
	Bit
	TinyInt
	SmallInt
	Int
	BigInt
	SmallMoney
	Money
	Decimal
	Real
	Float
	Time
	Date
	SmallDateTime
	DateTime
	DateTime2
	DateTimeOffset
	XML
	SQLVariant
)

// MaxLength is the Length of varchar(max), nvarchar(max) and varbinary(max).
const MaxLength = -1

// Type is a data type as a column, variable, parameter or result has it.
//
// The Go value of a type is: nil for NULL; bool for bit; int64 for the integer types; decimal.Decimal
// (github.com/shopspring/decimal) for decimal, money and smallmoney; float64 for float and real; string for
// character types and xml; []byte for binary types and rowversion; uuid.UUID (github.com/google/uuid, RFC 4122
// byte order) for uniqueidentifier; time.Time for date and time types, in UTC except datetimeoffset, which keeps
// its zone; time is a time.Time on 0001-01-01.
type Type struct {
	Kind Kind
	// Length is characters for nchar and nvarchar, bytes for char, varchar, binary and varbinary; MaxLength for (max).
	Length int
	// Precision is 1 to 38, for decimal only.
	Precision uint8
	// Scale is 0 to 38 for decimal, 0 to 7 for time, datetime2 and datetimeoffset.
	Scale uint8
	// Page is the code page of char, varchar and text, which their collation decides.
	Page Page `json:",omitempty"`
}
