// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"slices"
	"time"
)

// Retention is what must stay restorable.
type Retention struct {
	// Age is how far back every moment stays restorable that can be restored now; zero asks for nothing.
	Age time.Duration
	// Fulls is how many of the newest full backups are kept at least.
	Fulls int
}

// Removable are the sets of one database (one Identity) that nothing promised needs: not a moment of the last Age, not
// one of the newest Fulls, not the newest point. What was taken within Age is kept whatever it is good for: the full
// backup that it belongs to may be under way. What is Unverified is kept, and makes nothing needless: while there is
// any, all since the newest full backup from which everything promised can be reached without it is kept, with the
// bases. With no Age and no Fulls nothing is removable: nobody said that anything may go.
func Removable(sets []Set, keep Retention, now time.Time) []Set {
	if keep.Age <= 0 && keep.Fulls <= 0 {
		return nil
	}
	from := now.Add(-keep.Age)
	needed := map[string]bool{}
	keep.need(sets, now, needed)
	read, unread := verified(sets)
	doubt := len(read) < len(sets)
	var held time.Time
	if doubt {
		keep.need(read, now, needed)
		held = since(read, sooner(from, unread))
		for _, s := range sets {
			if s.Kind == Differential && !s.Finished.Before(held) {
				needed[s.BaseID] = true
			}
		}
	}
	var removable []Set
	for _, s := range sets {
		young := keep.Age > 0 && !later(s.Finished, s.end()).Before(from)
		if !needed[s.ID] && !young && (!doubt || !s.Unverified && s.Finished.Before(held)) {
			removable = append(removable, s)
		}
	}
	return removable
}

// verified are the sets that are not Unverified, and when the first of the others was begun.
func verified(sets []Set) (read []Set, unread time.Time) {
	for _, s := range sets {
		switch {
		case !s.Unverified:
			read = append(read, s)
		case unread.IsZero() || s.Begun.Before(unread):
			unread = s.Begun
		}
	}
	return read, unread
}

// since is when the newest full backup was begun that was finished by a moment; zero where there is none.
func since(sets []Set, by time.Time) time.Time {
	for _, full := range newestFirst(sets, Full) {
		if !full.Finished.After(by) {
			return full.Begun
		}
	}
	return time.Time{}
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// need notes which sets are needed for what is promised, if these are all that there are.
func (r Retention) need(sets []Set, now time.Time, needed map[string]bool) {
	r.needOf(newHistory(sets), moments(sets, now.Add(-r.Age)), needed)
}

func (r Retention) needOf(h *history, moments []time.Time, needed map[string]bool) {
	if newest := h.newest(); newest != nil {
		h.need(*newest, []time.Time{{}}, needed)
	}
	if r.Age > 0 {
		from := map[*start][]time.Time{}
		for _, moment := range moments {
			if s := h.startOf(moment); s != nil {
				from[s] = append(from[s], moment)
			}
		}
		for s, moments := range from {
			h.need(*s, moments, needed)
		}
	}
	for i, full := range h.fulls {
		if i < r.Fulls {
			needed[full.ID] = true
		}
	}
}

// need notes which sets are needed for moments, in their order, that are reached from one start.
func (h *history) need(from start, moments []time.Time, needed map[string]bool) {
	w := h.walk(from)
	for _, moment := range moments {
		w.to(moment)
		if w.chain.Witness != nil && !w.within(moment) {
			needed[w.chain.Witness.ID] = true
		}
	}
	for _, s := range w.chain.Sets {
		needed[s.ID] = true
	}
}

// moments are where which sets restore a database changes, from a moment on: that moment, and just before and at the
// end of each set.
func moments(sets []Set, from time.Time) []time.Time {
	all := []time.Time{from}
	for _, s := range sets {
		for _, m := range []time.Time{s.end().Add(-time.Nanosecond), s.end(), s.end().Add(time.Nanosecond)} {
			if m.After(from) {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}
