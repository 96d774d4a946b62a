// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"math"
	"strconv"
	"strings"
	"time"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// DateParts are the names of parts of dates and their abbreviations
// (docs/t-sql/functions/datepart-transact-sql.md).
var DateParts = map[string]string{
	"year": "year", "yy": "year", "yyyy": "year", "quarter": "quarter", "qq": "quarter", "q": "quarter",
	"month": "month", "mm": "month", "m": "month", "dayofyear": "dayofyear", "dy": "dayofyear", "y": "dayofyear",
	"day": "day", "dd": "day", "d": "day", "week": "week", "wk": "week", "ww": "week", "weekday": "weekday",
	"dw": "weekday", "w": "weekday",
	"hour": "hour", "hh": "hour", "minute": "minute", "mi": "minute", "n": "minute", "second": "second", "ss": "second",
	"s":           "second",
	"millisecond": "millisecond", "ms": "millisecond", "microsecond": "microsecond", "mcs": "microsecond",
	"nanosecond": "nanosecond", "ns": "nanosecond", "tzoffset": "tzoffset", "tz": "tzoffset", "iso_week": "iso_week",
	"isowk": "iso_week", "isoww": "iso_week",
}

func init() {
	dt := []sqltype.Type{sqltype.DateTime2Type}
	part := func(name string) *function {
		return &function{
			Min:    1,
			Max:    1,
			Params: dt,
			Type:   intT,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				return datePart(name, a[0].(time.Time), 7), nil
			},
		}
	}
	add(map[string]*function{
		"year": part("year"), "month": part("month"), "day": part("day"),
		"dateadd": {Min: 3, Max: 3, Pure: true, Run: dateAdd},
		"datediff": {Min: 3, Max: 3, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			n := dateDiff(a[0].(string), a[1].(time.Time), a[2].(time.Time))
			if n != int64(int32(n)) {
				return nil, sqlerr.New(535, 0, "datediff", "datediff")
			}
			return n, nil
		}},
		"datediff_big": {Min: 3, Max: 3, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			part, from, to := a[0].(string), a[1].(time.Time), a[2].(time.Time)
			if part == "nanosecond" {
				if seconds := dateDiff("second", from, to); max(seconds, -seconds) > math.MaxInt64/1_000_000_000 {
					return nil, sqlerr.New(535, 0, "datediff_big", "datediff_big")
				}
			}
			return dateDiff(part, from, to), nil
		}},
		"datepart": {Min: 2, Max: 2, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			return datePart(a[0].(string), a[1].(time.Time), e.DateFirst), nil
		}},
		"datename": {Min: 2, Max: 2, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			t := a[1].(time.Time)
			switch a[0].(string) {
			case "month":
				return e.Language.Months[t.Month()-1], nil
			case "weekday":
				return e.Language.Day(t.Weekday()), nil
			case "tzoffset":
				return t.Format("-07:00"), nil
			}
			return strconv.FormatInt(datePart(a[0].(string), t, e.DateFirst), 10), nil
		}},
		"datetrunc": {Min: 2, Max: 2, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			return truncateTime(a[0].(string), a[1].(time.Time), e.DateFirst), nil
		}},
		"eomonth": {
			Min:    1,
			Max:    2,
			Params: []sqltype.Type{sqltype.DateTime2Type, intT},
			Type:   sqltype.Type{Kind: sqltype.Date},
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				t, add := a[0].(time.Time), 0
				if len(a) > 1 {
					add = int(integer(a[1]))
				}
				return time.Date(t.Year(), t.Month()+time.Month(add)+1, 0, 0, 0, 0, 0, time.UTC), nil
			},
		},
		"isdate": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{nmax},
			Type:   intT,
			Nulls:  true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				s, ok := a[0].(string)
				if !ok || strings.TrimSpace(s) == "" {
					return int64(0), nil
				}
				if _, err := sqltype.Convert(s, nmax, sqltype.DateTimeType, sqltype.LocalStyle(e.DateOrder.Style(), e.Language.ID),
					sqltype.Explicit); err != nil {
					return int64(0), nil
				}
				return int64(1), nil
			},
		},
		"datefromparts": {Min: 3, Max: 3, Params: []sqltype.Type{intT}, Type: sqltype.Type{Kind: sqltype.Date}, Pure: true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) { return fromParts(a, "date") }},
		"datetimefromparts": {Min: 7, Max: 7, Params: []sqltype.Type{intT}, Type: sqltype.DateTimeType, Pure: true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) { return fromParts(a, "datetime") }},
		"datetime2fromparts": {Min: 8, Max: 8, Params: []sqltype.Type{intT}, Type: sqltype.DateTime2Type, Pure: true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) { return fromParts(a, "datetime2") }},
		"timefromparts": {
			Min:    5,
			Max:    5,
			Params: []sqltype.Type{intT},
			Type:   sqltype.Type{Kind: sqltype.Time, Scale: 7},
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				return fromParts(append([]any{int64(1900), int64(1), int64(1)}, a...), "time")
			},
		},
		"smalldatetimefromparts": {
			Min:    5,
			Max:    5,
			Params: []sqltype.Type{intT},
			Type:   sqltype.Type{Kind: sqltype.SmallDateTime},
			Pure:   true,
			Run:    func(_ *Evaluation, a []any) (any, *sqlerr.Error) { return fromParts(a, "smalldatetime") },
		},
		"datetimeoffsetfromparts": {
			Min:    10,
			Max:    10,
			Params: []sqltype.Type{intT},
			Type:   sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 7},
			Pure:   true,
			Run:    offsetFromParts,
		},
		"switchoffset": {Min: 2, Max: 2, Infer: offsetType, Pure: true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				zone, err := offsetOf("switchoffset", a[1], e.Types[1])
				if err != nil {
					return nil, err
				}
				t, err := e.moment(a[0], sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 7})
				if err != nil {
					return nil, err
				}
				return inOffset("switchoffset", t, zone)
			}},
		"todatetimeoffset": {Min: 2, Max: 2, Infer: offsetType, Pure: true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				zone, err := offsetOf("todatetimeoffset", a[1], e.Types[1])
				if err != nil {
					return nil, err
				}
				t, err := e.moment(a[0], sqltype.DateTime2Type)
				if err != nil {
					return nil, err
				}
				return inZone(t, zone), nil
			}},
		"at_time_zone": {
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{anyType, nmax},
			Infer:  zonedType,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				zone, err := TimeZone(a[1].(string))
				t, ok := a[0].(time.Time)
				if err != nil || !ok {
					return nil, sqlerr.New(9820, 1, a[1])
				}
				if e.Types[0].Kind == sqltype.DateTimeOffset {
					return t.In(zone), nil
				}
				return inZone(t, zone), nil
			},
		},
		"datetime_add": {
			Min:  2,
			Max:  2,
			Pure: true,
			Run:  func(e *Evaluation, a []any) (any, *sqlerr.Error) { return datetimeSum(e, a, 1) },
		},
		"datetime_subtract": {
			Min:  2,
			Max:  2,
			Pure: true,
			Run:  func(e *Evaluation, a []any) (any, *sqlerr.Error) { return datetimeSum(e, a, -1) },
		},
	})
}

// inZone is the moment at which the clocks of a zone show a time. What they show twice is the later moment, after they
// were put back; what they never show is taken by the offset before they were put forward
// (docs/t-sql/queries/at-time-zone-transact-sql.md, Remarks and Examples).
func inZone(t time.Time, zone *time.Location) time.Time {
	shown := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	moment := func(day int) (at time.Time, valid bool) {
		_, offset := shown.AddDate(0, 0, day).In(zone).Zone()
		at = shown.Add(-time.Duration(offset) * time.Second).In(zone)
		_, then := at.Zone()
		return at, then == offset
	}
	if after, valid := moment(1); valid {
		return after
	}
	before, _ := moment(-1)
	return before
}

// offsetType is a datetimeoffset with the precision of the argument
// (docs/t-sql/functions/todatetimeoffset-transact-sql.md, Return Types).
func offsetType(types []sqltype.Type) sqltype.Type {
	t := sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 7}
	switch from := types[0]; from.Kind {
	case sqltype.DateTime2, sqltype.DateTimeOffset, sqltype.Time:
		t.Scale = from.Scale
	case sqltype.DateTime:
		t.Scale = 3
	case sqltype.SmallDateTime, sqltype.Date:
		t.Scale = 0
	}
	return t
}

// moment is the first argument as a date of a type; texts are read as the session has it.
func (e *Evaluation) moment(v any, to sqltype.Type) (time.Time, *sqlerr.Error) {
	out, err := sqltype.Convert(
		v,
		e.Types[0],
		to,
		sqltype.LocalStyle(e.DateOrder.Style(), e.Language.ID),
		sqltype.Implicit,
	)
	if err != nil {
		copied := *err
		return time.Time{}, &copied
	}
	return out.(time.Time), nil
}

// offsetOf is the zone of an offset in hours and minutes ('+05:30') or, as a number, in minutes
// (docs/t-sql/functions/todatetimeoffset-transact-sql.md).
func offsetOf(function string, v any, t sqltype.Type) (*time.Location, *sqlerr.Error) {
	if text, ok := v.(string); ok {
		return zoneOf(function, text)
	}
	number, err := sqltype.Convert(v, t, intT, 0, sqltype.Explicit)
	if err != nil {
		copied := *err
		return nil, &copied
	}
	minutes := integer(number)
	if minutes < -14*60 || minutes > 14*60 {
		return nil, sqlerr.New(9812, 0, function)
	}
	return time.FixedZone("", int(minutes)*60), nil
}

func zoneOf(function, s string) (*time.Location, *sqlerr.Error) {
	if strings.EqualFold(s, "utc") {
		return time.UTC, nil
	}
	t, err := time.Parse("-07:00", s)
	_, offset := t.Zone()
	if err != nil || offset < -14*3600 || offset > 14*3600 {
		return nil, sqlerr.New(9812, 0, function)
	}
	return time.FixedZone("", offset), nil
}

// inOffset is a moment in another zone, if that has a date for it.
func inOffset(function string, t time.Time, zone *time.Location) (any, *sqlerr.Error) {
	if t = t.In(zone); t.Year() < 1 || t.Year() > 9999 {
		return nil, sqlerr.New(9813, 0, function)
	}
	return t, nil
}

var day1900 = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

func datetimeSum(e *Evaluation, a []any, sign int64) (any, *sqlerr.Error) {
	base := sqltype.Ticks(day1900)
	n := sqltype.Ticks(a[0].(time.Time)) + sign*(sqltype.Ticks(a[1].(time.Time))-base)
	return e.fit(sqltype.FromTicks(n), sqltype.DateTimeType)
}

// datePart is a part of a date; first is the day that a week begins with, 1 for Monday to 7 for Sunday.
func datePart(part string, t time.Time, first int64) int64 {
	switch part {
	case "year":
		return int64(t.Year())
	case "quarter":
		return int64(t.Month()-1)/3 + 1
	case "month":
		return int64(t.Month())
	case "dayofyear":
		return int64(t.YearDay())
	case "day":
		return int64(t.Day())
	case "week":
		january := time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		return (int64(t.YearDay())+daysIntoWeek(january, first)-1)/7 + 1
	case "weekday":
		return daysIntoWeek(t, first) + 1
	case "hour":
		return int64(t.Hour())
	case "minute":
		return int64(t.Minute())
	case "second":
		return int64(t.Second())
	case "millisecond":
		return int64(t.Nanosecond() / 1e6)
	case "microsecond":
		return int64(t.Nanosecond() / 1e3)
	case "nanosecond":
		return int64(t.Nanosecond())
	case "tzoffset":
		_, offset := t.Zone()
		return int64(offset / 60)
	case "iso_week":
		_, w := t.ISOWeek()
		return int64(w)
	}
	return 0
}

func dateAdd(e *Evaluation, a []any) (any, *sqlerr.Error) {
	n, t := integer(a[1]), a[2].(time.Time)
	months := map[string]int64{"year": 12, "quarter": 3, "month": 1}
	var out time.Time
	switch part := a[0].(string); {
	case months[part] > 0:
		out = addMonths(t, n*months[part])
	case part == "day" || part == "dayofyear" || part == "weekday":
		out = t.AddDate(0, 0, int(n))
	case part == "week":
		out = t.AddDate(0, 0, int(n*7))
	default:
		unit, ok := timeUnits[part]
		if !ok {
			return nil, sqlerr.New(9810, 1, part, "dateadd", e.Types[2].Kind)
		}
		if part == "nanosecond" {
			out = t.Add(time.Duration(n)).Round(100)
		} else {
			out = sqltype.FromTicks(sqltype.Ticks(t) + n*unit).In(t.Location())
		}
	}
	v, err := sqltype.FitTime(out, e.Types[2], e.Result)
	if err != nil || out.Year() > 9999 || out.Year() < 1 {
		return nil, sqlerr.New(517, 1, e.Result.Kind)
	}
	return v, nil
}

// timeUnits are parts of a day in units of 100 ns.
var timeUnits = map[string]int64{
	"hour":        36e9,
	"minute":      6e8,
	"second":      1e7,
	"millisecond": 1e4,
	"microsecond": 10,
	"nanosecond":  1,
}

// addMonths keeps the day, or takes the last one of a shorter month.
func addMonths(t time.Time, n int64) time.Time {
	total := int64(t.Year())*12 + int64(t.Month()) - 1 + n
	year, month := int(total/12), time.Month(total%12+1)
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(year, month, min(t.Day(), last), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

// dateDiff counts the boundaries of a part between two times.
func dateDiff(part string, from, to time.Time) int64 {
	from, to = from.UTC(), to.UTC()
	switch part {
	case "year":
		return int64(to.Year() - from.Year())
	case "quarter":
		return int64(to.Year()-from.Year())*4 + datePart("quarter", to, 7) - datePart("quarter", from, 7)
	case "month":
		return int64(to.Year()-from.Year())*12 + int64(to.Month()-from.Month())
	case "day", "dayofyear", "weekday":
		return floorTicks(to, 864e9) - floorTicks(from, 864e9)
	case "week":
		// 0001-01-01 was a Monday; weeks begin on Sunday.
		return (floorTicks(to, 864e9)+1)/7 - (floorTicks(from, 864e9)+1)/7
	case "iso_week":
		return floorTicks(to, 864e9)/7 - floorTicks(from, 864e9)/7
	case "nanosecond":
		return (sqltype.Ticks(to) - sqltype.Ticks(from)) * 100
	}
	unit := timeUnits[part]
	if unit == 0 {
		return 0
	}
	return floorTicks(to, unit) - floorTicks(from, unit)
}

func floorTicks(t time.Time, unit int64) int64 { return sqltype.Ticks(t) / unit }

func truncateTime(part string, t time.Time, first int64) time.Time {
	y, m, d := t.Date()
	switch part {
	case "year":
		m, d = 1, 1
	case "quarter":
		m, d = time.Month((int(m)-1)/3*3+1), 1
	case "month":
		d = 1
	case "week":
		d -= int(daysIntoWeek(t, first))
	case "iso_week":
		d -= (int(t.Weekday()) + 6) % 7
	case "hour":
		return time.Date(y, m, d, t.Hour(), 0, 0, 0, t.Location())
	case "minute":
		return time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, t.Location())
	case "second":
		return t.Truncate(time.Second)
	case "millisecond":
		return t.Truncate(time.Millisecond)
	case "microsecond":
		return t.Truncate(time.Microsecond)
	}
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

// offsetFromParts is DATETIMEOFFSETFROMPARTS: date, time, fraction, hours and minutes of the offset, digits of the
// fraction (docs/t-sql/functions/datetimeoffsetfromparts-transact-sql.md).
func offsetFromParts(_ *Evaluation, a []any) (any, *sqlerr.Error) {
	hours, minutes := integer(a[7]), integer(a[8])
	opposed := hours < 0 && minutes > 0 || hours > 0 && minutes < 0
	offset := hours*60 + minutes
	if opposed || minutes < -59 || minutes > 59 || offset < -14*60 || offset > 14*60 {
		return nil, sqlerr.New(289, 1, "datetimeoffset")
	}
	parts := append(append([]any{}, a[:7]...), a[9])
	t, err := fromParts(parts, "datetime2")
	if err != nil {
		return nil, sqlerr.New(289, 1, "datetimeoffset")
	}
	return inZone(t.(time.Time), time.FixedZone("", int(offset)*60)), nil
}

func fromParts(a []any, name string) (any, *sqlerr.Error) {
	n := make([]int, 8)
	for i, v := range a {
		n[i] = int(integer(v))
	}
	nanos := n[6]
	if name == "datetime" {
		nanos = n[6] * 1e6
	}
	if name == "datetime2" || name == "time" {
		if n[7] < 0 || n[7] > 7 {
			return nil, sqlerr.New(10760, 1, name)
		}
		for i := n[7]; i < 9; i++ {
			nanos *= 10
		}
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], nanos, time.UTC)
	if t.Year() != n[0] || int(t.Month()) != n[1] || t.Day() != n[2] || t.Hour() != n[3] || t.Minute() != n[4] ||
		t.Second() != n[5] ||
		n[0] < 1 ||
		n[0] > 9999 {
		return nil, sqlerr.New(289, 1, name)
	}
	if name == "smalldatetime" || name == "datetime" {
		kind := map[string]sqltype.Kind{"smalldatetime": sqltype.SmallDateTime, "datetime": sqltype.DateTime}[name]
		fitted, err := sqltype.FitTime(t, sqltype.DateTime2Type, sqltype.Type{Kind: kind})
		if err != nil {
			return nil, sqlerr.New(289, 1, name)
		}
		return fitted, nil
	}
	return t, nil
}

// daysIntoWeek are the days since the begin of t's week.
func daysIntoWeek(t time.Time, first int64) int64 {
	return (int64(t.Weekday()) - first%7 + 7) % 7
}
