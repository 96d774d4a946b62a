// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// number writes a number in a pattern of .NET: a letter with a count of digits, or a pattern of 0 and #.
func (c *formatCulture) number(e *Evaluation, v any, pattern string) (any, *sqlerr.Error) {
	t := e.Types[0]
	var d decimal.Decimal
	if f, ok := v.(float64); ok {
		// .NET knows 15 digits of a double and 7 of a single.
		digits := 15
		if t.Kind == sqltype.Real {
			digits = 7
		}
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'E', digits-1, 64), 64)
		d = decimal.NewFromFloat(f)
	} else {
		exact, err := sqltype.Convert(v, t, sqltype.DecimalOf(38, 10), 0, sqltype.Explicit)
		if err != nil {
			return nil, nil
		}
		d = exact.(decimal.Decimal)
	}
	if pattern == "" || unicode.IsLetter(rune(pattern[0])) {
		letter := byte('G')
		if pattern != "" {
			letter = pattern[0] &^ 0x20
		}
		if digits, ok := whole(pattern[min(1, len(pattern)):]); ok {
			return orNull(c.standard(d, v, t, letter, digits)), nil
		}
	}
	return c.custom(d, pattern), nil
}

// standard is a number in the form of a letter; empty for a letter that has none for its type.
func (c *formatCulture) standard(d decimal.Decimal, v any, t sqltype.Type, letter byte, digits int) string {
	places := int32(2)
	if digits >= 0 {
		places = int32(digits)
	}
	switch letter {
	case 'N':
		return c.grouped(d.StringFixed(places))
	case 'F':
		return strings.Replace(d.StringFixed(places), ".", c.point, 1)
	case 'C':
		amount := d.Round(places)
		pattern := c.money
		if amount.Sign() < 0 {
			pattern = c.debt
		}
		return strings.Replace(pattern, "n", c.grouped(amount.Abs().StringFixed(places)), 1)
	case 'P':
		return c.grouped(d.Shift(2).StringFixed(places)) + " %"
	case 'E':
		if digits < 0 {
			digits = 6
		}
		mantissa, power, _ := strings.Cut(strconv.FormatFloat(d.InexactFloat64(), 'E', digits, 64), "E")
		n, _ := strconv.Atoi(power) // written by strconv
		return strings.Replace(mantissa, ".", c.point, 1) + fmt.Sprintf("E%+04d", n)
	case 'G', 'R':
		return strings.Replace(general(d, v, t), ".", c.point, 1)
	case 'D', 'X':
		if !t.Kind.IsInteger() {
			return ""
		}
		if letter == 'X' {
			return fmt.Sprintf("%0*X", max(digits, 1), hexadecimal(d.IntPart(), t))
		}
		sign := ""
		if d.Sign() < 0 {
			sign = "-"
		}
		return sign + fmt.Sprintf("%0*s", max(digits, 1), d.Abs().String())
	}
	return ""
}

// general is a number as it is, with the scale of its type.
func general(d decimal.Decimal, v any, t sqltype.Type) string {
	switch {
	case t.Kind.IsApproximate():
		digits := 15
		if t.Kind == sqltype.Real {
			digits = 7
		}
		return strconv.FormatFloat(v.(float64), 'G', digits, 64)
	case t.Kind == sqltype.Money || t.Kind == sqltype.SmallMoney:
		return d.StringFixed(4)
	case t.Kind == sqltype.Decimal:
		return d.StringFixed(int32(t.Scale))
	}
	return d.String()
}

// hexadecimal is a negative integer's complement in the width of its type.
func hexadecimal(n int64, t sqltype.Type) uint64 {
	switch t.Kind {
	case sqltype.Int:
		return uint64(uint32(n))
	case sqltype.SmallInt:
		return uint64(uint16(n))
	}
	return uint64(n)
}

func (c *formatCulture) grouped(s string) string {
	return strings.NewReplacer(",", c.group, ".", c.point).Replace(thousands(s))
}

// section is the part of a pattern that a number's sign chooses, without the sign when it has a part of its own.
func section(d decimal.Decimal, pattern string) (decimal.Decimal, string, bool) {
	var parts []string
	from := 0
	for i := 0; i < len(pattern); {
		if _, n := quoted(pattern, i); n > 0 {
			i += n
			continue
		}
		if pattern[i] == ';' {
			parts, from = append(parts, pattern[from:i]), i+1
		}
		i++
	}
	parts = append(parts, pattern[from:])
	switch {
	case d.Sign() < 0 && len(parts) > 1 && parts[1] != "":
		return d.Abs(), parts[1], false
	case d.IsZero() && len(parts) > 2:
		return d, parts[2], false
	}
	return d.Abs(), parts[0], d.Sign() < 0
}

// numberMark is a mark of a number's pattern: a digit (0 or #), the point, or a literal.
type numberMark struct {
	kind byte
	text string
}

// numberPattern is a pattern taken apart.
type numberPattern struct {
	marks          []numberMark
	before, after  int // digits before and after the point
	group          bool
	shift          int32
	zeros, zerosUp int // the least digits before the point, and after it
}

// readPattern reads a section: 0 and #, point, commas (which group, or divide by 1000 before the point), % and ‰, and
// literals.
func readPattern(pattern string) numberPattern {
	var p numberPattern
	commas, pointed := int32(0), false
	for i := 0; i < len(pattern); {
		if text, n := quoted(pattern, i); n > 0 {
			p.marks = append(p.marks, numberMark{text: text})
			i += n
			continue
		}
		r := []rune(pattern[i:])[0]
		switch {
		case r == '0' || r == '#':
			p.digit(byte(r), pointed, commas > 0)
			if !pointed {
				commas = 0
			}
		case r == '.' && !pointed:
			p.marks = append(p.marks, numberMark{kind: '.'})
			pointed = true
			p.shift -= 3 * commas
			commas = 0
		case r == ',':
			if p.before > 0 && !pointed {
				commas++
			}
		case r == '.':
		default:
			if r == '%' {
				p.shift += 2
			} else if r == '‰' {
				p.shift += 3
			}
			p.marks = append(p.marks, numberMark{text: string(r)})
		}
		i += len(string(r))
	}
	if !pointed {
		p.shift -= 3 * commas
	}
	return p
}

func (p *numberPattern) digit(kind byte, pointed, comma bool) {
	p.marks = append(p.marks, numberMark{kind: kind})
	if pointed {
		if p.after++; kind == '0' {
			p.zerosUp = p.after
		}
		return
	}
	p.group = p.group || comma
	if p.before++; kind == '0' || p.zeros > 0 {
		p.zeros++
	}
}

// custom is a number in a pattern of 0 and #.
func (c *formatCulture) custom(d decimal.Decimal, pattern string) string {
	d, pattern, negative := section(d, pattern)
	p := readPattern(pattern)
	d = d.Shift(p.shift).Round(int32(p.after))
	front, back, _ := strings.Cut(d.StringFixed(int32(p.after)), ".")
	if front = strings.TrimLeft(front, "0"); len(front) < p.zeros {
		front = strings.Repeat("0", p.zeros-len(front)) + front
	}
	for len(back) > p.zerosUp && strings.HasSuffix(back, "0") {
		back = back[:len(back)-1]
	}
	var out []string
	digits, left, put := []byte(front), p.before, 0
	take := func(n int) {
		for ; n > 0 && len(digits) > 0; n-- {
			if p.group && put > 0 && put%3 == 0 {
				out = append(out, c.group)
			}
			out = append(out, string(digits[len(digits)-1]))
			digits, put = digits[:len(digits)-1], put+1
		}
	}
	place, after := len(back), p.after
	for _, m := range slices.Backward(p.marks) {
		switch {
		case m.kind == 0:
			out = append(out, m.text)
		case m.kind == '.':
			if back != "" {
				out = append(out, c.point)
			}
			after = 0
		case after > 0:
			if after <= place {
				out = append(out, back[after-1:after])
			}
			after--
		case left == 1: // the first mark takes what is left
			take(len(digits))
		default:
			take(1)
			left--
		}
	}
	slices.Reverse(out)
	if negative && !d.IsZero() {
		return "-" + strings.Join(out, "")
	}
	return strings.Join(out, "")
}
