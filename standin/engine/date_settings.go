// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"geosql.dev/operator/standin/sqltype"
)

// dateSettings are SET DATEFORMAT and SET DATEFIRST: plans that were bound under others are not used.
type dateSettings struct {
	order sqltype.DateOrder
	// first is the day that a week begins with, 1 for Monday to 7 for Sunday.
	first int64
}

// dateStyle is the style of the session's conversions that give none.
func (s *Session) dateStyle() int { return s.settings.dates.order.Style() }

// dates are those of the session, or the defaults where storage repeats logged changes.
func (e *evaluation) dates() dateSettings {
	if e.session == nil {
		return defaultSettings().dates
	}
	return e.session.settings.dates
}

// daysIntoWeek are the days since the begin of t's week.
func daysIntoWeek(t time.Time, first int64) int64 {
	return (int64(t.Weekday()) - first%7 + 7) % 7
}
