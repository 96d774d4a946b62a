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

// Windows are those of one database (one Identity), oldest first, none touching another. Moments within a log backup
// with changes in bulk are in none.
func Windows(sets []Set) []Window {
	h := newHistory(sets)
	var all, ends []Window
	for _, s := range h.starts {
		end := s.last().end()
		all, ends = append(all, Window{end, s.until}), append(ends, Window{end, end})
	}
	all = joined(all)
	if bulk := h.bulk(); len(bulk) > 0 {
		// Where a full or differential backup ends no log is needed.
		all = joined(append(cutOut(all, bulk), ends...))
	}
	return all
}

func joined(all []Window) (joined []Window) {
	slices.SortFunc(all, func(a, b Window) int { return a.From.Compare(b.From) })
	for _, w := range all {
		if n := len(joined); n > 0 && !w.From.After(joined[n-1].To) {
			joined[n-1].To = later(joined[n-1].To, w.To)
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

// cutOut are the windows without what lies strictly within any of the spans.
func cutOut(windows, spans []Window) (left []Window) {
	slices.SortFunc(spans, func(a, b Window) int { return a.From.Compare(b.From) })
	for _, w := range windows {
		gone := false
		for _, s := range spans {
			if gone || !s.From.Before(w.To) || !w.From.Before(s.To) {
				continue
			}
			if !s.From.Before(w.From) {
				left = append(left, Window{w.From, s.From})
			}
			w.From, gone = s.To, s.To.After(w.To)
		}
		if !gone {
			left = append(left, w)
		}
	}
	return left
}

// bulk are the spans of the log backups with changes in bulk that chains go through: from the end of what is before
// each to its own.
func (h *history) bulk() (spans []Window) {
	ends := map[place]time.Time{}
	for _, s := range h.logs {
		at := placeOf(s.LastLSN, s.Fork)
		ends[at] = later(ends[at], h.until(s))
	}
	for _, s := range h.logs {
		if _, led := h.reached[s.ID]; !led || !s.BulkLogged {
			continue
		}
		begin := position{s.FirstLSN, s.forkAt(s.FirstLSN), true}
		if best := h.best(begin); best == nil || best.ID != s.ID {
			continue
		}
		from, known := ends[placeOf(begin.lsn, begin.fork)]
		for _, start := range h.starts {
			if last := start.last(); !known && s.continues(last.after()) && (from.IsZero() || h.until(last).Before(from)) {
				from = h.until(last)
			}
		}
		spans = append(spans, Window{from, s.end()})
	}
	return spans
}

// until is the newest moment to which a set alone takes a database, with what shows that nobody wrote behind it.
func (h *history) until(s Set) time.Time {
	if idle := h.last(s.after()); idle != nil {
		return later(s.end(), idle.end())
	}
	return s.end()
}

// Newest is the newest moment to which a database can be restored; false where there is none.
func Newest(sets []Set) (time.Time, bool) {
	windows := Windows(sets)
	if len(windows) == 0 {
		return time.Time{}, false
	}
	return windows[len(windows)-1].To, true
}
