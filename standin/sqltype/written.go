// SPDX-License-Identifier: Apache-2.0

package sqltype

import "time"

// AsText is a value as a function of strings reads it.
func AsText(v any, t Type) string {
	if s, ok := v.(string); ok {
		return s
	}
	if b, ok := v.([]byte); ok {
		return CharacterString(b, VarCharMax)
	}
	out, err := Convert(v, t, NVarCharMax, 0, Explicit)
	if err != nil {
		return ""
	}
	s, _ := out.(string)
	return s
}

// AsISO8601 is a date or time in ISO 8601, with the fraction that it has.
func AsISO8601(v time.Time, t Type) string {
	layout := map[Kind]string{Date: "2006-01-02", Time: "15:04:05.9999999",
		DateTimeOffset: "2006-01-02T15:04:05.9999999Z07:00",
		DateTime:       "2006-01-02T15:04:05.999"}[t.Kind]
	if layout == "" {
		layout = "2006-01-02T15:04:05.9999999"
	}
	return v.Format(layout)
}

// AsScientific is a number in scientific notation, with 16 digits.
func AsScientific(f float64) string { return formatFloat(f, FloatType, 2) }
