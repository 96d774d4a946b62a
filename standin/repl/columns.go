// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"time"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// columns declares the columns of a result set: name, type, name, type ...
func columns(pairs ...any) []tds.Column {
	var out []tds.Column
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, column(pairs[i].(string), pairs[i+1].(sqltype.Type)))
	}
	return out
}

// columnAt is the place of a column that is there.
func columnAt(list []tds.Column, name string) int {
	for i, c := range list {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// nowSince is how many seconds ago a time was.
func nowSince(t time.Time) float64 { return max(time.Since(t).Seconds(), 0) }
