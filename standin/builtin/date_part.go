// SPDX-License-Identifier: Apache-2.0

package builtin

import "geosql.dev/standin/sqltype"

// dayParts are the parts of dates that are no parts of a time of day, clockParts those that are no parts of a day.
var (
	dayParts = map[string]bool{
		"year":      true,
		"quarter":   true,
		"month":     true,
		"dayofyear": true,
		"day":       true,
		"week":      true,
		"weekday":   true,
		"iso_week":  true,
		"tzoffset":  true,
	}
	clockParts = map[string]bool{
		"hour":        true,
		"minute":      true,
		"second":      true,
		"millisecond": true,
		"microsecond": true,
		"nanosecond":  true,
		"tzoffset":    true,
	}
)

// withoutParts are the parts that a function knows for no type (docs/t-sql/functions/dateadd-transact-sql.md,
// datediff-transact-sql.md, datetrunc-transact-sql.md, Arguments).
var withoutParts = map[string]map[string]bool{
	"dateadd":      {"iso_week": true, "tzoffset": true},
	"datediff":     {"iso_week": true, "tzoffset": true},
	"datediff_big": {"iso_week": true, "tzoffset": true},
	"datetrunc":    {"weekday": true, "tzoffset": true, "nanosecond": true},
}

// HasPart tells whether a function of parts of dates takes one of a value of a type
// (docs/t-sql/functions/datepart-transact-sql.md, Default returned for a datepart that isn't in a date argument;
// DATEDIFF takes the default of a part that a value has not).
func HasPart(function, part string, t sqltype.Type) bool {
	if withoutParts[function][part] {
		return false
	}
	if function == "datediff" || function == "datediff_big" {
		return true
	}
	switch t.Kind {
	case sqltype.Date:
		return !clockParts[part]
	case sqltype.Time:
		return !dayParts[part] && (function != "datetrunc" || t.Scale >= finest[part])
	case sqltype.SmallDateTime, sqltype.DateTime:
		if function == "datetrunc" {
			return part != "microsecond"
		}
		return function != "dateadd" || part != "microsecond" && part != "nanosecond"
	case sqltype.DateTime2, sqltype.DateTimeOffset:
		return function != "datetrunc" || t.Scale >= finest[part]
	}
	return true
}

// finest are the digits that a fraction of a second has to have for DATETRUNC to know one of its parts.
var finest = map[string]uint8{"millisecond": 3, "microsecond": 6}
