// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// dateSettings are SET DATEFORMAT and SET DATEFIRST: plans that were bound under others are not used.
type dateSettings struct {
	order sqltype.DateOrder
	// first is the day that a week begins with, 1 for Monday to 7 for Sunday.
	first int64
	// language is the langid of SET LANGUAGE.
	language int16
}

// defaultDates are those of a new session.
var defaultDates = dateSettings{first: 7}

// dates are the session's, or the defaults where there is none: storage repeats logged changes.
func (s *Session) dates() dateSettings {
	if s == nil {
		return defaultDates
	}
	return s.settings.dates
}

// style is a conversion's own style, or what the session's dates stand for where it gives none.
func (s *Session) style(given int) int {
	if given != 0 {
		return given
	}
	return s.dates().order.Style()
}

// convert converts a value without a style, as the session reads dates.
func (s *Session) convert(v any, from, to sqltype.Type, mode sqltype.Mode) (any, *sqlerr.Error) {
	return sqltype.Convert(v, from, to, s.style(0), mode)
}

// daysIntoWeek are the days since the begin of t's week.
func daysIntoWeek(t time.Time, first int64) int64 {
	return (int64(t.Weekday()) - first%7 + 7) % 7
}
