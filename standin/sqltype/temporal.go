// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
)

// base1900 is day 0 of datetime and smalldatetime.
var base1900 = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	minDateTime      = time.Date(1753, 1, 1, 0, 0, 0, 0, time.UTC)
	maxSmallDateTime = time.Date(2079, 6, 6, 23, 59, 59, 0, time.UTC)
	endOfTime        = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

func toTemporal(v any, from, to Type, style int) (any, *sqlerr.Error) {
	var t time.Time
	switch x := v.(type) {
	case time.Time:
		t = x
		if from.Kind == Time && to.Kind != Time {
			t = base1900.Add(time.Duration(Ticks(x)%ticksPerDay) * 100)
		}
		if from.Kind == DateTimeOffset && to.Kind != DateTimeOffset {
			_, offset := x.Zone()
			t = x.UTC().Add(time.Duration(offset) * time.Second)
		}
	case string:
		parsed, err := ParseTime(x, from, to, style)
		if err != nil {
			return nil, err
		}
		if t = parsed; to.Kind != DateTimeOffset {
			// The other types take the clock as it is written (docs/t-sql/data-types/time-transact-sql.md, Examples).
			_, offset := t.Zone()
			t = t.UTC().Add(time.Duration(offset) * time.Second)
		}
	case bool, int64, float64, decimal.Decimal:
		f, err := toFloat(v, from, FloatType)
		if err != nil {
			return nil, err
		}
		days := f.(float64)
		if math.Abs(days) > 3e6 {
			return nil, sqlerr.New(8115, 2, "expression", to.Kind)
		}
		t = FromTicks(Ticks(base1900) + int64(days*float64(ticksPerDay)))
	case []byte:
		parsed, err := temporalOfBytes(x, to)
		if err != nil {
			return nil, err
		}
		t = parsed
	default:
		return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
	}
	return FitTime(t, from, to)
}

// FitTime rounds a time to the precision of a date or time type and checks its range (242, 517).
func FitTime(t time.Time, from, to Type) (any, *sqlerr.Error) {
	out := sqlerr.New(242, 3, from.Kind, to.Kind)
	switch to.Kind {
	case Date:
		t = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	case Time:
		t = FromTicks(roundTicks(Ticks(t)%ticksPerDay, to.Scale) % ticksPerDay)
		return t, nil
	case SmallDateTime:
		// 29.999 seconds and more go up (docs/t-sql/data-types/smalldatetime-transact-sql.md).
		t = FromTicks((Ticks(t) + 30*1e7 + 1e4) / (60 * 1e7) * (60 * 1e7))
		if t.Before(base1900) || t.After(maxSmallDateTime) {
			return nil, out
		}
	case DateTime:
		ticks := Ticks(t) - Ticks(minDateTime)
		if ticks < 0 {
			return nil, out
		}
		units := (ticks%ticksPerDay*3 + 50000) / 100000
		t = FromTicks(Ticks(minDateTime) + ticks/ticksPerDay*ticksPerDay + (units*10+1)/3*10000)
	case DateTimeOffset:
		zone := t.Location()
		t = FromTicks(roundTicks(Ticks(t), to.Scale)).In(zone)
	default:
		t = FromTicks(roundTicks(Ticks(t), to.Scale))
	}
	if t.Year() < 1 || !t.Before(endOfTime) {
		return nil, out
	}
	return t, nil
}

func roundTicks(n int64, scale uint8) int64 {
	unit := int64(math.Pow10(7 - int(min(scale, 7))))
	return (n + unit/2) / unit * unit
}

// defaultStyle is the style of a type when none is given.
func defaultStyle(from Type) int {
	if from.Kind == DateTime || from.Kind == SmallDateTime {
		return 0
	}
	return 121
}

// FormatTime writes a date or time in a style of CONVERT (docs/t-sql/functions/cast-and-convert-transact-sql.md).
// Error 281 for a style that does not exist.
func FormatTime(t time.Time, from Type, style int) (string, *sqlerr.Error) {
	style, language := splitStyle(style)
	if style == 0 {
		style = defaultStyle(from)
	}
	layout, ok := timeStyles[style]
	if !ok {
		return "", sqlerr.New(281, 1, style, from.Kind)
	}
	date, clock := layout[0], layout[1]
	var parts []string
	if from.Kind != Time && date != "" {
		parts = append(
			parts,
			strings.Replace(t.Format(strings.Replace(date, "Jan", "\x00", 1)), "\x00", language.Short[t.Month()-1], 1),
		)
	}
	if from.Kind != Date && clock != "" {
		parts = append(parts, formatClock(t, from, clock))
	}
	sep := " "
	if style == 126 || style == 127 {
		sep = "T"
		if from.Kind == DateTime || from.Kind == SmallDateTime {
			// Milliseconds of 0 are not shown (docs/t-sql/functions/cast-and-convert-transact-sql.md, styles).
			parts[len(parts)-1] = strings.TrimSuffix(parts[len(parts)-1], ".000")
		}
	}
	s := strings.Join(parts, sep)
	if from.Kind == DateTimeOffset && clock != "" {
		s += offsetSuffix(t, style)
	}
	return s, nil
}

func offsetSuffix(t time.Time, style int) string {
	_, offset := t.Zone()
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	space := " "
	if style == 126 || style == 127 {
		space = ""
	}
	return fmt.Sprintf("%s%c%02d:%02d", space, sign, offset/3600, offset/60%60)
}

// timeStyles are the date and clock layouts of the styles; "%f" in a clock is the fraction.
var timeStyles = map[int][2]string{
	0: {"Jan _2 2006", "_3:04PM"}, 100: {"Jan _2 2006", "_3:04PM"},
	1: {"01/02/06", ""}, 101: {"01/02/2006", ""}, 2: {"06.01.02", ""}, 102: {"2006.01.02", ""},
	3: {"02/01/06", ""}, 103: {"02/01/2006", ""}, 4: {"02.01.06", ""}, 104: {"02.01.2006", ""},
	5: {"02-01-06", ""}, 105: {"02-01-2006", ""}, 6: {"02 Jan 06", ""}, 106: {"02 Jan 2006", ""},
	7: {"Jan 02, 06", ""}, 107: {"Jan 02, 2006", ""}, 8: {"", "15:04:05"}, 24: {"", "15:04:05"}, 108: {"", "15:04:05"},
	9: {"Jan _2 2006", "_3:04:05:%fPM"}, 109: {"Jan _2 2006", "_3:04:05:%fPM"},
	10: {"01-02-06", ""}, 110: {"01-02-2006", ""}, 11: {"06/01/02", ""}, 111: {"2006/01/02", ""},
	12: {"060102", ""}, 112: {"20060102", ""}, 13: {"02 Jan 2006", "15:04:05:%f"}, 113: {"02 Jan 2006", "15:04:05:%f"},
	14: {"", "15:04:05:%f"}, 114: {"", "15:04:05:%f"}, 20: {"2006-01-02", "15:04:05"}, 120: {"2006-01-02", "15:04:05"},
	21: {"2006-01-02", "15:04:05.%f"}, 25: {"2006-01-02", "15:04:05.%f"}, 121: {"2006-01-02", "15:04:05.%f"},
	22: {
		"01/02/06",
		"_3:04:05 PM",
	}, 23: {"2006-01-02", ""}, 126: {"2006-01-02", "15:04:05.%f"}, 127: {"2006-01-02", "15:04:05.%f"},
}

func formatClock(t time.Time, from Type, layout string) string {
	digits := int(from.Scale)
	switch from.Kind {
	case DateTime:
		digits = 3
	case SmallDateTime:
		digits = 0
		if strings.Contains(layout, "%f") {
			digits = 3
		}
	}
	fraction := ""
	if digits > 0 {
		fraction = fmt.Sprintf("%07d", Ticks(t)%1e7)[:digits]
	}
	if fraction == "" {
		layout = strings.NewReplacer(".%f", "", ":%f", "").Replace(layout)
	}
	hour := t.Hour() % 12
	if hour == 0 {
		hour = 12
	}
	layout = strings.Replace(layout, "_3", "\x01", 1)
	// The fraction goes in last, so that its digits are not taken for layout.
	text := t.Format(strings.Replace(layout, "%f", "\x00", 1))
	return strings.NewReplacer("\x00", fraction, "\x01", fmt.Sprintf("%2d", hour)).Replace(text)
}

var months = map[string]time.Month{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8,
	"sep": 9, "oct": 10, "nov": 11, "dec": 12}

// ParseTime reads a date, a time or both: ISO 8601 forms, yyyymmdd, mm/dd/yyyy (style 103 to 105: dd/mm/yyyy;
// DateOrder.Style: as that says), names of months, times with AM and PM, offsets. Error 241 when it is none, 242 when
// out of range.
func ParseTime(s string, from, to Type, style int) (time.Time, *sqlerr.Error) {
	bad := sqlerr.New(241, 1)
	if to.Kind == SmallDateTime {
		bad = sqlerr.New(295, 3)
	}
	style, language := splitStyle(style)
	p := timeParser{
		rest:     strings.TrimSpace(s),
		style:    style,
		language: language,
		to:       to.Kind,
		spaced:   to.Kind == Date || to.Kind == Time || to.Kind == DateTime2,
		year:     1900,
		month:    1,
		day:      1,
		zone:     time.UTC,
	}
	if p.rest != "" && !p.parse() {
		return time.Time{}, bad
	}
	if p.outOfRange() {
		if from.Kind.IsCharacter() && (to.Kind == DateTime || to.Kind == SmallDateTime) {
			return time.Time{}, sqlerr.New(242, 3, from.Kind, to.Kind)
		}
		return time.Time{}, bad
	}
	return time.Date(p.year, p.month, p.day, p.hour, p.minute, p.second, p.nanos, p.zone), nil
}

type timeParser struct {
	rest                 string
	style                int
	language             *Language
	to                   Kind
	year, day            int
	month                time.Month
	hour, minute, second int
	nanos                int
	zone                 *time.Location
	// spaced types take blanks after the point of the seconds (docs/t-sql/data-types/time-transact-sql.md, Examples).
	spaced bool
}

func (p *timeParser) outOfRange() bool {
	if p.month < 1 || p.month > 12 || p.day < 1 || p.hour > 23 || p.minute > 59 || p.second > 59 || p.year < 1 ||
		p.year > 9999 {
		return true
	}
	return p.day > time.Date(p.year, p.month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (p *timeParser) parse() bool {
	if !p.clockFirst() {
		if !p.date() {
			return false
		}
		p.rest = strings.TrimLeft(p.rest, " ")
		p.rest = strings.TrimPrefix(p.rest, "T")
	}
	if p.rest == "" {
		return true
	}
	return p.clock() && p.rest == ""
}

func (p *timeParser) clockFirst() bool {
	head, _, _ := strings.Cut(p.rest, " ")
	colon := strings.IndexByte(head, ':')
	return colon >= 1 && colon <= 2 && !strings.ContainsAny(head[:colon], "-/.")
}

func (p *timeParser) digits() (string, bool) {
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	d := p.rest[:n]
	p.rest = p.rest[n:]
	return d, n > 0
}

func (p *timeParser) date() bool {
	if c, _ := utf8.DecodeRuneInString(p.rest); unicode.IsLetter(c) {
		return p.monthFirst()
	}
	first, ok := p.digits()
	if !ok {
		return false
	}
	if p.rest == "" || p.rest[0] == ' ' && (len(first) == 8 || len(first) == 6) || p.rest[0] == 'T' {
		return p.compact(first)
	}
	sep := p.rest[0]
	if sep == ' ' {
		p.rest = strings.TrimLeft(p.rest, " ")
		return p.monthMiddle(first)
	}
	if sep != '-' && sep != '/' && sep != '.' {
		return false
	}
	p.rest = p.rest[1:]
	if len(p.rest) > 0 && (p.rest[0] < '0' || p.rest[0] > '9') {
		return p.monthMiddle(first)
	}
	second, ok := p.digits()
	if !ok || p.rest == "" || p.rest[0] != sep {
		return false
	}
	p.rest = p.rest[1:]
	third, ok := p.digits()
	if !ok {
		return false
	}
	return p.order(first, second, third)
}

func (p *timeParser) compact(d string) bool {
	switch len(d) {
	case 8:
		p.year, p.month, p.day = number(d[:4]), time.Month(number(d[4:6])), number(d[6:])
	case 6:
		p.year, p.month, p.day = century(d[:2]), time.Month(number(d[2:4])), number(d[4:])
	case 4:
		p.year = number(d)
	default:
		return false
	}
	return true
}

// monthName takes the name of a month in the session's language
// (docs/t-sql/statements/set-language-transact-sql.md, docs/t-sql/data-types/datetime-transact-sql.md, "Alphabetical").
func (p *timeParser) monthName() bool {
	if !p.language.english {
		m, n := p.language.monthAt(p.rest)
		p.month, p.rest = m, strings.TrimLeft(p.rest[n:], " -.,")
		return n > 0
	}
	n := 0
	for n < len(p.rest) && (p.rest[n]|0x20 >= 'a' && p.rest[n]|0x20 <= 'z') {
		n++
	}
	if n < 3 {
		return false
	}
	m, ok := months[strings.ToLower(p.rest[:3])]
	p.month = m
	p.rest = strings.TrimLeft(p.rest[n:], " -.,")
	return ok
}

func (p *timeParser) monthFirst() bool {
	if !p.monthName() {
		return false
	}
	d, ok := p.digits()
	if !ok {
		return false
	}
	p.rest = strings.TrimLeft(p.rest, " ,")
	y, ok := p.digits()
	if !ok {
		return false
	}
	p.day, p.year = number(d), century(y)
	return true
}

func (p *timeParser) monthMiddle(first string) bool {
	if !p.monthName() {
		return false
	}
	last, ok := p.digits()
	if !ok {
		return false
	}
	if len(first) == 4 {
		p.year, p.day = number(first), number(last)
	} else {
		p.day, p.year = number(first), century(last)
	}
	return true
}

func (p *timeParser) clock() bool {
	h, ok := p.digits()
	if !ok || len(h) > 2 {
		return false
	}
	p.hour = number(h)
	if strings.HasPrefix(p.rest, ":") {
		p.rest = p.rest[1:]
		m, ok := p.digits()
		if !ok || len(m) > 2 {
			return false
		}
		p.minute = number(m)
		if strings.HasPrefix(p.rest, ":") {
			p.rest = p.rest[1:]
			s, ok := p.digits()
			if !ok || len(s) > 2 {
				return false
			}
			p.second = number(s)
			if !p.fraction() {
				return false
			}
		}
	} else if !strings.ContainsAny(p.rest, "AaPp") {
		return false
	}
	return p.half() && p.offset()
}

func (p *timeParser) fraction() bool {
	if p.rest == "" || p.rest[0] != '.' && p.rest[0] != ':' {
		return true
	}
	colon := p.rest[0] == ':'
	p.rest = p.rest[1:]
	if p.spaced && !colon {
		p.rest = strings.TrimLeft(p.rest, " ")
	}
	f, ok := p.digits()
	if !ok || len(f) > 7 {
		return false
	}
	if colon {
		f = fmt.Sprintf("%03s", f)
	}
	p.nanos = number((f + "000000000")[:9])
	return true
}

func (p *timeParser) half() bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	u := strings.ToUpper(p.rest)
	switch {
	case strings.HasPrefix(u, "AM"):
		if p.hour == 12 {
			p.hour = 0
		}
		p.rest = p.rest[2:]
	case strings.HasPrefix(u, "PM"):
		if p.hour < 12 {
			p.hour += 12
		}
		p.rest = p.rest[2:]
	}
	return true
}

func (p *timeParser) offset() bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	if p.rest == "" {
		return true
	}
	if p.rest == "Z" || p.rest == "z" {
		p.rest = ""
		return true
	}
	sign := 1
	switch p.rest[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return false
	}
	p.rest = p.rest[1:]
	h, ok := p.digits()
	if !ok || !strings.HasPrefix(p.rest, ":") {
		return false
	}
	p.rest = p.rest[1:]
	m, ok := p.digits()
	if !ok || number(h) > 14 || number(m) > 59 {
		return false
	}
	p.zone = time.FixedZone("", sign*(number(h)*3600+number(m)*60))
	return true
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// century completes a year of two digits: 49 is 2049, 50 is 1950 (two digit year cutoff 2049).
func century(s string) int {
	n := number(s)
	if len(s) > 2 {
		return n
	}
	if n < 50 {
		return 2000 + n
	}
	return 1900 + n
}
