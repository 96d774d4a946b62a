// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"regexp"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// culture is how numbers and dates are written somewhere.
type culture struct {
	name string
	// point and group are the decimal point and what stands between thousands.
	point, group string
	// dates is the order of a date's parts, empty for another calendar; english tells that months and days have English
	// names.
	dates   string
	english bool
}

// cultureTable are the cultures of the languages that docs/t-sql/functions/parse-transact-sql.md lists, sr-Latn-CS,
// which its neighbour's examples name, and that of Bokmål: name, decimal point, separator of thousands (s is a space)
// and order of dates.
const cultureTable = `en-US . , mdy
	de-DE , . dmy
	fr-FR , s dmy
	ja-JP . , ymd
	da-DK , . dmy
	es-ES , . dmy
	it-IT , . dmy
	nl-NL , . dmy
	nn-NO , s dmy
	pt-PT , . dmy
	fi-FI , s dmy
	sv-SE , s ymd
	cs-CZ , s dmy
	hu-HU , s ymd
	pl-PL , s dmy
	ro-RO , . dmy
	hr-HR , . dmy
	sk-SK , s dmy
	sl-SI , . dmy
	el-GR , . dmy
	bg-BG , s dmy
	ru-RU , s dmy
	tr-TR , . dmy
	en-GB . , dmy
	et-EE , s dmy
	lv-LV , s dmy
	lt-LT , s ymd
	pt-BR , . dmy
	zh-TW . , ymd
	ko-KR . , ymd
	zh-CN . , ymd
	ar-SA . ,
	th-TH . ,
	nb-NO , s dmy
	sr-Latn-CS , . dmy`

// cultures are found by their names in lower case.
var cultures = func() map[string]*culture {
	out := map[string]*culture{}
	for _, line := range strings.Split(cultureTable, "\n") {
		f := strings.Fields(line)
		c := &culture{name: f[0], point: f[1], group: f[2], english: strings.HasPrefix(f[0], "en-")}
		if c.group == "s" {
			c.group = " "
		}
		if len(f) > 3 {
			c.dates = f[3]
		}
		out[strings.ToLower(c.name)] = c
	}
	return out
}()

// ParseText is the function that PARSE and TRY_PARSE become; no client can name it.
const ParseText = "parse text"

func init() {
	add(map[string]*function{ParseText: {Min: 3, Max: 3, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
		s, _ := a[0].(string)
		name, _ := a[1].(string)
		c := cultures[strings.ToLower(strings.TrimRight(name, " "))]
		if c == nil {
			return nil, sqlerr.New(9818, 1, name)
		}
		v, err := c.parse(strings.TrimSpace(s), e.Result)
		switch {
		case err == nil:
			return v, nil
		case err.Number == 40517:
			return nil, err
		case integer(a[2]) == 1:
			return nil, nil
		}
		return nil, sqlerr.New(9819, 1, s, e.Result.Kind, c.name)
	}}})
}

// notParsed is any error of a text that is no value; its caller tells which text.
var notParsed = sqlerr.New(9819, 1, "", "", "")

func (c *culture) parse(s string, to sqltype.Type) (any, *sqlerr.Error) {
	switch {
	case s == "":
		return nil, notParsed
	case to.Kind.IsTemporal():
		return c.parseDate(s, to)
	case to.Kind.IsApproximate():
		text, ok := c.plainNumber(s, false)
		if !ok {
			return nil, notParsed
		}
		return sqltype.Convert(text, sqltype.NVarCharMax, to, 0, sqltype.Explicit)
	}
	text, ok := c.plainNumber(s, to.Kind == sqltype.Money || to.Kind == sqltype.SmallMoney)
	if !ok || strings.ContainsAny(text, "eE") {
		return nil, notParsed
	}
	d, err := decimal.NewFromString(text)
	if err != nil || to.Kind.IsInteger() && !d.IsInteger() {
		return nil, notParsed
	}
	return sqltype.Convert(d.String(), sqltype.NVarCharMax, to, 0, sqltype.Explicit)
}

// digits of a number: whole part, fraction, exponent.
var numberShape = regexp.MustCompile(`^\d*(\.\d*)?([eE][+-]?\d+)?$`)

// plainNumber writes a culture's number with a point and without separators. An amount of money may have a currency's
// sign, or stand in parentheses when it is negative.
func (c *culture) plainNumber(s string, money bool) (string, bool) {
	negative := false
	if money {
		if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
			s, negative = s[1:len(s)-1], true
		}
		for _, sign := range []string{"$", "€", "£", "¥", "kr", "zł", "₽", "R$"} {
			s = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, sign), sign))
		}
	}
	switch {
	case strings.HasPrefix(s, "-"), strings.HasSuffix(s, "-"):
		s, negative = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, "-"), "-")), !negative
	case strings.HasPrefix(s, "+"), strings.HasSuffix(s, "+"):
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, "+"), "+"))
	}
	whole, fraction, pointed := strings.Cut(s, c.point)
	if c.group == " " {
		whole = strings.ReplaceAll(whole, "\u00a0", " ")
	}
	if strings.HasPrefix(whole, c.group) || strings.Contains(fraction, c.group) {
		return "", false
	}
	whole = strings.ReplaceAll(whole, c.group, "")
	text := whole
	if pointed {
		text += "." + fraction
	}
	if !strings.ContainsAny(text, "0123456789") || !numberShape.MatchString(text) {
		return "", false
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if negative {
		text = "-" + text
	}
	return strings.TrimSuffix(text, "."), true
}

var (
	weekdayName = regexp.MustCompile(
		`(?i)^(mon|tues|wednes|thurs|fri|satur|sun)day,?\s+|^(mon|tue|wed|thu|fri|sat|sun),?\s+`,
	)
	clockOnly = regexp.MustCompile(`(?i)^\d{1,2}(:\d{2}(:\d{2}(\.\d+)?)?)?\s*([ap]m)?$`)
	otherWord = regexp.MustCompile(`\pL+`)
)

// parseDate reads a date and time as a culture writes them. A time alone is one of today.
func (c *culture) parseDate(s string, to sqltype.Type) (any, *sqlerr.Error) {
	if c.dates == "" {
		return nil, sqlerr.Unsupported("PARSE of dates in the calendar of culture " + c.name)
	}
	if !c.english {
		for _, word := range otherWord.FindAllString(s, -1) {
			switch strings.ToUpper(word) {
			case "T", "Z", "AM", "PM":
			default:
				return nil, sqlerr.Unsupported("PARSE of names of months and days in culture " + c.name)
			}
		}
	}
	s = weekdayName.ReplaceAllString(s, "")
	order, _ := sqltype.ParseDateOrder(c.dates)
	t, err := sqltype.ParseTime(
		s,
		sqltype.NVarCharMax,
		sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 7},
		order.Style(),
	)
	if err != nil {
		return nil, notParsed
	}
	if to.Kind != sqltype.DateTimeOffset {
		t = t.UTC()
	}
	if clockOnly.MatchString(s) {
		now := time.Now().UTC()
		t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	}
	out, err := sqltype.FitTime(t, sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 7}, to)
	if err != nil {
		return nil, notParsed
	}
	return out, nil
}
