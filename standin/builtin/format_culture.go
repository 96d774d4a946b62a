// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"
	"time"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// formatCulture is how FORMAT writes numbers and dates somewhere, as .NET does
// (docs/t-sql/functions/format-transact-sql.md).
type formatCulture struct {
	point, group string
	// money and debt are the patterns of a positive and a negative amount: n stands for the number.
	money, debt string
	// dateMark is what / stands for in a pattern of a date.
	dateMark string
	// dates are the patterns that a single letter stands for.
	dates map[byte]string
	// months and days are the names; English for none.
	months, days []string
	halves       [2]string
}

// formatCultures are those that FORMAT knows, by their names in lower case.
var formatCultures = map[string]*formatCulture{
	"en-us": {point: ".", group: ",", money: "$n", debt: "($n)", dateMark: "/", halves: [2]string{"AM", "PM"},
		dates: map[byte]string{
			'd': "M/d/yyyy",
			'D': "dddd, MMMM d, yyyy",
			't': "h:mm tt",
			'T': "h:mm:ss tt",
			'M': "MMMM d",
			'Y': "MMMM yyyy",
		}},
	"en-gb": {point: ".", group: ",", money: "£n", debt: "-£n", dateMark: "/", halves: [2]string{"AM", "PM"},
		dates: map[byte]string{
			'd': "dd/MM/yyyy",
			'D': "dd MMMM yyyy",
			't': "HH:mm",
			'T': "HH:mm:ss",
			'M': "d MMMM",
			'Y': "MMMM yyyy",
		}},
	"de-de": {point: ",", group: ".", money: "n €", debt: "-n €", dateMark: ".",
		dates: map[byte]string{
			'd': "dd.MM.yyyy",
			'D': "dddd, d. MMMM yyyy",
			't': "HH:mm",
			'T': "HH:mm:ss",
			'M': "d. MMMM",
			'Y': "MMMM yyyy",
		},
		months: strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
		days:   strings.Fields("Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag")},
	"zh-cn": {point: ".", group: ",", money: "¥n", debt: "¥-n", dateMark: "/", halves: [2]string{"上午", "下午"},
		dates: map[byte]string{
			'd': "yyyy/M/d",
			'D': "yyyy'年'M'月'd'日'",
			't': "H:mm",
			'T': "H:mm:ss",
			'M': "M'月'd'日'",
			'Y': "yyyy'年'M'月'",
		},
		months: strings.Fields("一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月"),
		days:   strings.Fields("星期日 星期一 星期二 星期三 星期四 星期五 星期六")},
}

// format is FORMAT: NULL for a pattern that .NET does not take. Errors: 9818 for what is no culture, 40517 for one that
// is not known here.
func format(e *Evaluation, a []any) (any, *sqlerr.Error) {
	pattern, name := a[1].(string), e.Language.Culture
	if len(a) > 2 {
		name, _ = a[2].(string)
	}
	c := formatCultures[strings.ToLower(name)]
	switch {
	case c == nil && cultures[strings.ToLower(name)] == nil:
		return nil, sqlerr.New(9818, 1, name)
	case c == nil:
		return nil, sqlerr.Unsupported("FORMAT in the culture " + name)
	}
	kind := e.Types[0].Kind
	switch {
	case kind == sqltype.Time:
		return orNull(formatSpan(a[0].(time.Time), pattern)), nil
	case kind.IsTemporal():
		return orNull(c.date(a[0].(time.Time), pattern)), nil
	case kind.IsNumeric() && kind != sqltype.Bit:
		return c.number(e, a[0], pattern)
	}
	return nil, sqlerr.New(8116, 1, kind, 1, "format")
}

func (c *formatCulture) month(t time.Time) string {
	if c.months == nil {
		return t.Month().String()
	}
	return c.months[t.Month()-1]
}

func (c *formatCulture) day(t time.Time) string {
	if c.days == nil {
		return t.Weekday().String()
	}
	return c.days[t.Weekday()]
}

// short is the abbreviation of a month's or a day's name.
func (c *formatCulture) short(name string, day bool) string {
	letters := []rune(name)
	switch {
	case c.months == nil, c.dateMark == "." && !day:
		return string(letters[:3])
	case c.dateMark == ".":
		return string(letters[:2])
	case day:
		return "周" + string(letters[2:])
	}
	return name
}
