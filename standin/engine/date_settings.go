// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
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

// DateStyle is a conversion's own style, or what the session's dates stand for where it gives none, in the session's
// language.
func (s *Session) DateStyle(given int) int {
	d := s.dates()
	if given == 0 {
		given = d.order.Style()
	}
	return sqltype.LocalStyle(given, d.language)
}

// Convert converts a value without a style, as the session reads dates.
func (s *Session) Convert(v any, from, to sqltype.Type, mode sqltype.Mode) (any, *sqlerr.Error) {
	return sqltype.Convert(v, from, to, s.DateStyle(0), mode)
}
