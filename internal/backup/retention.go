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
	// Young is how long a set is kept whatever it is good for: the full backup that it belongs to may be under way.
	Young time.Duration
}

// Removable are the sets of one database (one Identity) that nothing promised needs: not a moment of the last Age, not
// one of the newest Fulls, not the newest point. What is Unverified, or was taken at a time that is yet to come, is
// kept, and makes nothing needless: while there is any, all since the newest full backup from which everything promised
// can be reached without it is kept, with the bases. With no Age and no Fulls nothing is removable: nobody said that
// anything may go.
func Removable(sets []Set, keep Retention, now time.Time) []Set {
	if keep.Age <= 0 && keep.Fulls <= 0 {
		return nil
	}
	needed := map[string]bool{}
	keep.need(sets, now, needed)
	sure, doubtful := doubts(sets, now)
	var held time.Time
	if len(doubtful) > 0 {
		keep.need(sure, now, needed)
		from := now.Add(-keep.Age)
		for _, s := range doubtful {
			from = sooner(from, s.Begun)
			needed[s.ID] = true
		}
		held = since(sure, from)
		for _, s := range sets {
			if s.Kind == Differential && !s.Finished.Before(held) {
				needed[s.BaseID] = true
			}
		}
	}
	var removable []Set
	for _, s := range sets {
		young := !later(s.Finished, s.end()).Before(now.Add(-max(keep.Age, keep.Young)))
		if !needed[s.ID] && !young && (len(doubtful) == 0 || s.Finished.Before(held)) {
			removable = append(removable, s)
		}
	}
	return removable
}

// doubts parts the sets of which nobody knows yet whether they are good from the others.
func doubts(sets []Set, now time.Time) (sure, doubtful []Set) {
	for _, s := range sets {
		if s.Unverified || later(s.Finished, s.end()).After(now.Add(ahead)) {
			doubtful = append(doubtful, s)
			continue
		}
		sure = append(sure, s)
	}
	return sure, doubtful
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
