// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"slices"
	"time"
)

// Window is between which moments a database can be restored to any, both included.
type Window struct {
	From, To time.Time
}

// String shows it for people.
func (w Window) String() string {
	if w.From.Equal(w.To) {
		return w.From.UTC().Format(time.RFC3339)
	}
	return w.From.UTC().Format(time.RFC3339) + " to " + w.To.UTC().Format(time.RFC3339)
}

// Windows are those of one database (one Identity), oldest first, none touching another.
func Windows(sets []Set) []Window {
	var all []Window
	for _, s := range newHistory(sets).starts {
		all = append(all, Window{s.last().end(), s.until})
	}
	slices.SortFunc(all, func(a, b Window) int { return a.From.Compare(b.From) })
	var joined []Window
	for _, w := range all {
		if n := len(joined); n > 0 && !w.From.After(joined[n-1].To) {
			joined[n-1].To = later(joined[n-1].To, w.To)
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

// Newest is the newest moment to which a database can be restored; false where there is none.
func Newest(sets []Set) (time.Time, bool) {
	windows := Windows(sets)
	if len(windows) == 0 {
		return time.Time{}, false
	}
	return windows[len(windows)-1].To, true
}
