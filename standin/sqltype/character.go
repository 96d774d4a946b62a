// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
)

// upper1252 are the characters 0x80 to 0x9F of code page 1252.
var upper1252 = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// CP1252 is a character's byte in code page 1252, '?' when it has none.
func CP1252(r rune) byte {
	if r < 0x80 || r >= 0xA0 && r <= 0xFF {
		return byte(r)
	}
	for i, u := range upper1252 {
		if u == r {
			return byte(0x80 + i)
		}
	}
	return '?'
}

// FromCP1252 is the character of a byte of code page 1252.
func FromCP1252(b byte) rune {
	if b >= 0x80 && b < 0xA0 {
		return upper1252[b-0x80]
	}
	return rune(b)
}

// Length is the number of characters as LEN counts them before trailing spaces are cut: UTF-16 code units.
func Length(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return len(utf16.Encode([]rune(s)))
}

// Cut is the first n characters (UTF-16 code units) of s.
func Cut(s string, n int) string { return Slice(s, 0, n) }

// Slice is the n characters (UTF-16 code units) of s from position from on, both clipped to s.
func Slice(s string, from, n int) string {
	if from < 0 {
		n += from
		from = 0
	}
	if n <= 0 {
		return ""
	}
	if isASCII(s) {
		if from >= len(s) {
			return ""
		}
		return s[from:min(len(s), from+n)]
	}
	units := utf16.Encode([]rune(s))
	if from >= len(units) {
		return ""
	}
	return string(utf16.Decode(units[from:min(len(units), from+n)]))
}

// isASCII looks at eight bytes at a time: every string that is stored passes here.
func isASCII(s string) bool {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	for ; len(b) >= 8; b = b[8:] {
		if binary.NativeEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func toCharacter(v any, from, to Type, style int, mode Mode) (any, *sqlerr.Error) {
	var s string
	switch x := v.(type) {
	case string:
		s = x
	case []byte:
		if style == 1 || style == 2 {
			s = strings.ToUpper(hex.EncodeToString(x))
			if style == 1 {
				s = "0x" + s
			}
		} else {
			s = CharacterString(x, to)
		}
	case time.Time:
		text, err := FormatTime(x, from, style)
		if err != nil {
			return nil, err
		}
		if text == "" { // a style of dates alone for a time, or of times for a date
			bare, _ := splitStyle(style)
			return nil, sqlerr.New(9809, 1, bare, from.Kind, to.Kind)
		}
		s = text
	case float64:
		s = formatFloat(x, from, style)
		if (to.Kind == Char || to.Kind == VarChar) && to.Length != MaxLength && len(s) > to.Length {
			return nil, floatOverflow(x, to)
		}
	case decimal.Decimal:
		s = formatDecimal(x, from, style)
	case bool:
		s = "0"
		if x {
			s = "1"
		}
	case int64:
		s = strconv.FormatInt(x, 10)
	case uuid.UUID:
		s = strings.ToUpper(x.String())
		if to.Length != MaxLength && to.Length < 36 {
			return nil, sqlerr.New(8170, 2)
		}
	default:
		return nil, sqlerr.New(529, 2, from.Kind, to.Kind)
	}
	return FitCharacter(s, from, to, mode)
}

// FitCharacter cuts or pads a string to a character type. What numbers become may not be cut: an integer gives "*",
// others 8115, money 234.
func FitCharacter(s string, from, to Type, mode Mode) (any, *sqlerr.Error) {
	ascii := isASCII(s)
	if !to.Kind.IsUnicode() && !ascii {
		s = to.Page.Kept(s)
	}
	limit := to.Length
	if to.Kind == Text || to.Kind == NText || to.Kind == XML {
		limit = MaxLength
	}
	n := len(s)
	if !ascii {
		n = to.Units(s)
	}
	if limit != MaxLength && n > limit {
		switch {
		case from.Kind == XML:
			return nil, sqlerr.New(6354, 10)
		case from.Kind.IsInteger() || from.Kind == Bit:
			if to.Kind.IsUnicode() || from.Kind == BigInt {
				return nil, sqlerr.New(8115, 2, "expression", to.Kind)
			}
			s = "*"
		case from.Kind == Money || from.Kind == SmallMoney:
			return nil, sqlerr.New(234, 2, to.Kind)
		case from.Kind.IsNumeric():
			return nil, sqlerr.New(8115, 5, overflowSource(from), to.Kind)
		case mode == Assign:
			whole := s
			if s = to.CutTo(s, limit); strings.TrimRight(whole[len(s):], " ") != "" {
				return nil, ErrTruncated
			}
		default:
			s = to.CutTo(s, limit)
		}
		n = to.Units(s)
	}
	if (to.Kind == Char || to.Kind == NChar) && n < limit {
		s += strings.Repeat(" ", limit-n)
	}
	return s, nil
}

func formatDecimal(d decimal.Decimal, from Type, style int) string {
	if from.Kind == Decimal {
		return d.StringFixed(int32(from.Scale))
	}
	switch style {
	case 1:
		return groupThousands(d.StringFixed(2))
	case 2, 126:
		return d.StringFixed(4)
	}
	return d.StringFixed(2)
}

func groupThousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, frac, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + "." + frac
}

// formatFloat follows docs/t-sql/functions/cast-and-convert-transact-sql.md, "float and real styles".
func formatFloat(f float64, from Type, style int) string {
	switch style {
	case 1:
		return longExponent(strconv.FormatFloat(f, 'e', 7, 64))
	case 2:
		return longExponent(strconv.FormatFloat(f, 'e', 15, 64))
	case 3:
		if from.Kind == Real {
			return longExponent(strconv.FormatFloat(f, 'e', 8, 64))
		}
		return longExponent(strconv.FormatFloat(f, 'e', 16, 64))
	}
	if f == 0 {
		return "0" // also of a negative zero
	}
	return longExponent(strconv.FormatFloat(f, 'g', 6, 64))
}

// longExponent writes the exponent with three digits, as the server does.
func longExponent(s string) string {
	mantissa, exp, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	n, err := strconv.Atoi(exp)
	if err != nil {
		return s
	}
	return fmt.Sprintf("%se%+04d", mantissa, n)
}

func toFloat(v any, from, to Type) (any, *sqlerr.Error) {
	var f float64
	switch x := v.(type) {
	case bool:
		f = float64(bitNumber(x))
	case int64:
		f = float64(x)
	case float64:
		f = x
	case decimal.Decimal:
		f, _ = x.Float64()
	case string:
		s := strings.TrimSpace(x)
		if s == "" {
			break
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.ContainsAny(s, "xXpP_nNiI") {
			return nil, sqlerr.New(8114, 5, from.Kind, to.Kind)
		}
		f = n
	case time.Time:
		f = float64(Ticks(x)-Ticks(base1900)) / float64(ticksPerDay)
	default:
		return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
	}
	if to.Kind == Real {
		if math.Abs(f) > math.MaxFloat32 {
			return nil, sqlerr.New(8115, 2, "expression", to.Kind)
		}
		f = float64(float32(f))
	}
	return f, nil
}
