// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"slices"
	"time"
)

// hole says since when it is known that the newest backup of the log goes on from none that is there: after a forced
// failover, say, or when one between was lost. It is zero where there is no hole behind which all of the log is.
func hole(known []Set, now time.Time) time.Time {
	last := newest(known, now, func(s Set) bool { return s.Kind == Log })
	if last == nil {
		return time.Time{}
	}
	h := newHistory(known)
	places, furthest := h.led()
	full := newest(known, now, func(s Set) bool { return s.Kind == Full })
	// apart says that nothing which is there leads to a log backup, and no full backup is behind it, from which the next
	// goes on.
	apart := func(s Set) bool {
		return !places[placeOf(s.LastLSN, s.Fork)] && furthest[s.Fork].Compare(s.LastLSN) < 0 &&
			(full == nil || !full.Begun.After(s.Finished))
	}
	if !apart(*last) {
		return time.Time{}
	}
	since := last.Finished
	for _, s := range known {
		if s.Kind == Log && !s.Damaged && apart(s) {
			since = slices.MinFunc([]time.Time{since, s.Finished}, time.Time.Compare)
		}
	}
	return since
}

// led are the positions to which chains lead, and of each fork the one to which full or differential backups lead
// furthest.
func (h *history) led() (places map[place]bool, furthest map[string]LSN) {
	furthest = map[string]LSN{}
	for _, s := range h.starts {
		at := s.last().after()
		if at.lsn.Compare(furthest[at.fork]) > 0 {
			furthest[at.fork] = at.lsn
		}
	}
	return h.places(h.starts), furthest
}

// places are the positions to which chains lead that begin in one of some ways.
func (h *history) places(starts []start) map[place]bool {
	places := map[place]bool{}
	var next []position
	for _, s := range starts {
		next = append(next, s.last().after())
	}
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		for _, s := range h.going(at) {
			if to := placeOf(s.LastLSN, s.Fork); !places[to] {
				places[to] = true
				next = append(next, s.after())
			}
		}
	}
	for _, s := range starts {
		places[placeOf(s.last().LastLSN, s.last().Fork)] = true
	}
	return places
}
