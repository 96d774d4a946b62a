// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqltype"
)

// A value in commands and in snapshot files is one byte of kind and its content; numbers are little endian, text is
// UTF-8 with a length before it. Types that T-SQL converts from text without loss (decimals, dates, GUIDs) are text.
const (
	valueNull       = 0
	valueNullBinary = 1
	valueFalse      = 2
	valueTrue       = 3
	ValueInt        = 4
	valueFloat      = 5
	valueText       = 6
	valueBinary     = 7
	// valueVarChar is text in ASCII of a char or varchar column: a parameter of one byte for each character, where text
	// has two.
	valueVarChar = 8
)

// maxVarChar is how long a text is that goes as varchar(n) and not as varchar(max). A varchar has room for 8000, but a
// snapshot's rows are inserted several at a time: where one of them has such a text and another one in nvarchar, the
// column of both is nvarchar, which has room for 4000 (docs/t-sql/queries/table-value-constructor-transact-sql.md,
// "Data types": as UNION ALL converts).
const maxVarChar = 4000

// AppendValue appends a stored value (nil, int64, float64, string, []byte) of a column of type t.
func AppendValue(buf []byte, t sqltype.Type, stored any) ([]byte, error) {
	v, err := sqltype.Decode(t, stored)
	if err != nil {
		return nil, err
	}
	return AppendDecoded(buf, t, v)
}

// AppendDecoded appends a value as sqltype.Type says.
func AppendDecoded(buf []byte, t sqltype.Type, v any) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		if t.Kind.IsBinary() {
			return append(buf, valueNullBinary), nil
		}
		return append(buf, valueNull), nil
	case bool:
		if x {
			return append(buf, valueTrue), nil
		}
		return append(buf, valueFalse), nil
	case int64:
		return binary.LittleEndian.AppendUint64(append(buf, ValueInt), uint64(x)), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(buf, valueFloat), math.Float64bits(x)), nil
	case []byte:
		return append(binary.AppendUvarint(append(buf, valueBinary), uint64(len(x))), x...), nil
	case string:
		if t.Kind.IsCharacter() && !t.Kind.IsUnicode() && x != "" && isASCII(x) {
			return append(binary.AppendUvarint(append(buf, valueVarChar), uint64(len(x))), x...), nil
		}
		return AppendText(buf, x), nil
	case decimal.Decimal:
		return AppendText(buf, x.String()), nil
	case uuid.UUID:
		return AppendText(buf, x.String()), nil
	case time.Time:
		return AppendText(buf, timeText(t, x)), nil
	}
	return nil, fmt.Errorf("a Go %T cannot be replicated", v)
}

// AppendText appends a text value.
func AppendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(append(buf, valueText), uint64(len(s))), s...)
}

// isASCII tells whether a text has the same bytes in every code page.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// timeText is a date or time as T-SQL reads it without loss, whatever the language of the session.
func timeText(t sqltype.Type, v time.Time) string {
	fraction := func(digits uint8) string {
		if digits == 0 {
			return ""
		}
		return "." + strings.Repeat("0", int(digits))
	}
	switch t.Kind {
	case sqltype.Date:
		return v.Format("2006-01-02")
	case sqltype.Time:
		return v.Format("15:04:05" + fraction(t.Scale))
	case sqltype.SmallDateTime:
		return v.Format("2006-01-02T15:04:05")
	case sqltype.DateTime:
		return v.Format("2006-01-02T15:04:05.000")
	case sqltype.DateTimeOffset:
		return v.Format("2006-01-02T15:04:05" + fraction(t.Scale) + "-07:00")
	}
	return v.Format("2006-01-02T15:04:05" + fraction(t.Scale))
}

// ErrShort is the error of bytes that end too early.
var ErrShort = errors.New("the data end in the middle of a value")

// ReadValue reads a value as a parameter for the driver: nil, []byte(nil), bool, int64, float64, string, mssql.VarChar,
// mssql.VarCharMax or []byte.
func ReadValue(buf []byte) (v any, rest []byte, err error) {
	if len(buf) == 0 {
		return nil, nil, ErrShort
	}
	kind, buf := buf[0], buf[1:]
	switch kind {
	case valueNull:
		return nil, buf, nil
	case valueNullBinary:
		return []byte(nil), buf, nil
	case valueFalse, valueTrue:
		return kind == valueTrue, buf, nil
	case ValueInt, valueFloat:
		if len(buf) < 8 {
			return nil, nil, ErrShort
		}
		n := binary.LittleEndian.Uint64(buf)
		if kind == ValueInt {
			return int64(n), buf[8:], nil
		}
		return math.Float64frombits(n), buf[8:], nil
	case valueText, valueVarChar, valueBinary:
		n, w := binary.Uvarint(buf)
		if w <= 0 || uint64(len(buf)-w) < n {
			return nil, nil, ErrShort
		}
		content, rest := buf[w:w+int(n)], buf[w+int(n):]
		switch {
		case kind == valueText:
			return string(content), rest, nil
		case kind == valueBinary:
			return append([]byte{}, content...), rest, nil
		case n > maxVarChar:
			return mssql.VarCharMax(content), rest, nil
		}
		return mssql.VarChar(content), rest, nil
	}
	return nil, nil, fmt.Errorf("%d is no kind of value", kind)
}

// LiteralOf shows a value in T-SQL.
func LiteralOf(v any) string {
	switch x := v.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'e', -1, 64)
	case mssql.VarChar:
		return quoted(string(x))
	case mssql.VarCharMax:
		return quoted(string(x))
	}
	return Literal(v)
}
