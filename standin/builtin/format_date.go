// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// standardDates are the patterns that a single letter stands for in every culture.
var standardDates = map[byte]string{
	's': "yyyy-MM-dd'T'HH':'mm':'ss",
	'u': "yyyy-MM-dd HH':'mm':'ss'Z'",
	'o': "yyyy-MM-dd'T'HH':'mm':'ss.fffffff",
	'r': "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
}

// date writes a date and time in a pattern of .NET; empty for a pattern that is none.
func (c *formatCulture) date(t time.Time, pattern string) string {
	if len(pattern) != 1 {
		return c.customDate(t, pattern)
	}
	switch letter := pattern[0]; letter {
	case 's', 'u', 'o', 'O', 'r', 'R':
		return formatCultures["en-us"].customDate(t, standardDates[letter|0x20])
	case 'm':
		return c.customDate(t, c.dates['M'])
	case 'y':
		return c.customDate(t, c.dates['Y'])
	case 'f', 'F', 'g', 'G', 'U':
		day, clock := byte('d'), byte('T')
		if letter == 'f' || letter == 'F' || letter == 'U' {
			day = 'D'
		}
		if letter == 'f' || letter == 'g' {
			clock = 't'
		}
		return c.customDate(t, c.dates[day]+" "+c.dates[clock])
	default:
		return c.customDate(t, c.dates[letter])
	}
}

// quoted takes a literal from a pattern's place: in quotes, or after a backslash. n is how much it takes, 0 for none.
func quoted(pattern string, i int) (text string, n int) {
	switch pattern[i] {
	case '\\':
		if i+1 < len(pattern) {
			return pattern[i+1 : i+2], 2
		}
		return "", 1
	case '\'', '"':
		if end := strings.IndexByte(pattern[i+1:], pattern[i]); end >= 0 {
			return pattern[i+1 : i+1+end], end + 2
		}
		return pattern[i+1:], len(pattern) - i
	}
	return "", 0
}

// run is how often the mark at a place of a pattern is repeated.
func run(pattern string, i int) int {
	n := 1
	for i+n < len(pattern) && pattern[i+n] == pattern[i] {
		n++
	}
	return n
}

// eachMark writes a pattern: its literals as they are, and for a mark at i, which is repeated n times, what write does.
// Empty when write knows no such mark. A percent sign is nothing: it makes a pattern of a single letter one of marks.
func eachMark(pattern string, write func(out *strings.Builder, i, n int) bool) string {
	var out strings.Builder
	for i := 0; i < len(pattern); {
		if text, n := quoted(pattern, i); n > 0 {
			out.WriteString(text)
			i += n
			continue
		}
		n := 1
		if pattern[i] != '%' {
			if n = run(pattern, i); !write(&out, i, n) {
				return ""
			}
		}
		i += n
	}
	return out.String()
}

func (c *formatCulture) customDate(t time.Time, pattern string) string {
	return eachMark(pattern, func(out *strings.Builder, i, n int) bool {
		switch mark := pattern[i]; mark {
		case '/':
			out.WriteString(strings.Repeat(c.dateMark, n))
		case 'f', 'F':
			out.WriteString(fraction(t, mark, n, out))
		default:
			out.WriteString(c.datePart(t, mark, n, pattern[i:i+n]))
		}
		return true
	})
}

// fraction is the part of a second in so many digits; F leaves zeros at its end out, and the point before them.
func fraction(t time.Time, mark byte, n int, before *strings.Builder) string {
	digits := fmt.Sprintf("%09d", t.Nanosecond())[:min(n, 7)]
	if mark == 'f' {
		return digits
	}
	if digits = strings.TrimRight(digits, "0"); digits == "" && strings.HasSuffix(before.String(), ".") {
		text := strings.TrimSuffix(before.String(), ".")
		before.Reset()
		before.WriteString(text)
	}
	return digits
}

func (c *formatCulture) datePart(t time.Time, mark byte, n int, text string) string {
	switch mark {
	case 'y':
		if n > 2 {
			return fmt.Sprintf("%0*d", n, t.Year())
		}
		return padded(t.Year()%100, n)
	case 'M':
		switch {
		case n == 3:
			return c.short(c.month(t), false)
		case n > 3:
			return c.month(t)
		}
		return padded(int(t.Month()), n)
	case 'd':
		switch {
		case n == 3:
			return c.short(c.day(t), true)
		case n > 3:
			return c.day(t)
		}
		return padded(t.Day(), n)
	case 'H':
		return padded(t.Hour(), n)
	case 'h':
		return padded((t.Hour()+11)%12+1, n)
	case 'm':
		return padded(t.Minute(), n)
	case 's':
		return padded(t.Second(), n)
	case 't':
		half := []rune(c.halves[t.Hour()/12])
		return string(half[:min(n, len(half))])
	case 'z':
		return offsetText(t, n)
	case 'K':
		if _, offset := t.Zone(); offset == 0 {
			return ""
		}
		return offsetText(t, 3)
	case 'g':
		return "A.D."
	}
	return text
}

func padded(value, n int) string { return fmt.Sprintf("%0*d", min(n, 2), value) }

// offsetText is a zone's offset: hours for z and zz, with minutes for zzz.
func offsetText(t time.Time, n int) string {
	if n > 2 {
		return t.Format("-07:00")
	}
	_, offset := t.Zone()
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	return sign + padded(offset/3600, n)
}

// formatSpan writes a time, which .NET takes for a span: everything but its marks has to be quoted
// (docs/t-sql/functions/format-transact-sql.md, "FORMAT with time data types"). Empty for a pattern that is none.
func formatSpan(t time.Time, pattern string) string {
	switch pattern {
	case "c", "t", "T":
		if pattern = `hh\:mm\:ss`; t.Nanosecond() != 0 {
			pattern = `hh\:mm\:ss\.fffffff`
		}
	case "g":
		pattern = `h\:mm\:ss\.FFFFFFF`
	case "G":
		pattern = `d\:hh\:mm\:ss\.fffffff`
	}
	return eachMark(pattern, func(out *strings.Builder, i, n int) bool {
		switch mark := pattern[i]; {
		case mark == 'd' && n <= 8:
			out.WriteString(strings.Repeat("0", n))
		case mark == 'h' && n <= 2:
			out.WriteString(padded(t.Hour(), n))
		case mark == 'm' && n <= 2:
			out.WriteString(padded(t.Minute(), n))
		case mark == 's' && n <= 2:
			out.WriteString(padded(t.Second(), n))
		case (mark == 'f' || mark == 'F') && n <= 7 && (len(pattern) > 1 || i > 0):
			out.WriteString(fraction(t, mark, n, out))
		default:
			return false
		}
		return true
	})
}

// whole reads the digits after a number's letter, such as N2; -1 for none, false for something else.
func whole(s string) (int, bool) {
	if s == "" {
		return -1, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && len(s) <= 2
}
