// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
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

// Needed says of each set of one database (one Identity) that is kept, by its ID, what for, for people; the others may
// go. Kept is what promises need: a moment of the last Age, one of the newest Fulls, the newest point. What is
// Unverified, or was taken at a time that is yet to come, is kept, and makes nothing needless: while there is any, all
// since the newest full backup from which everything promised can be reached without it is kept, with the bases; one
// of a history that a forced failover ended is none. What comes behind the newest full backup is kept too, as long as
// another on its way may need it. With no Age and no Fulls everything is kept: nobody said that anything may go.
func Needed(sets []Set, keep Retention, now time.Time) map[string]string {
	why := reasons{}
	if keep.Age <= 0 && keep.Fulls <= 0 {
		for _, s := range sets {
			why.note(s.ID, "there is no retention")
		}
		return why
	}
	keep.need(sets, now, why)
	sure, doubtful := doubts(sets, now)
	if len(doubtful) > 0 {
		keep.need(sure, now, why)
		why.hold(sets, doubtful, since(sets, sure, oldest(doubtful, now.Add(-keep.Age))))
	}
	why.holdBehind(sure)
	young := max(keep.Age, keep.Young)
	for _, s := range sets {
		if !later(s.Finished, s.end()).Before(now.Add(-young)) {
			why.note(s.ID, fmt.Sprintf("it was taken within %s", young))
		}
	}
	return why
}

// reasons for which sets are needed, by their IDs: the first that was noted of each.
type reasons map[string]string

func (r reasons) note(id, why string) {
	if r[id] == "" {
		r[id] = why
	}
}

// hold notes what is kept while nobody knows whether some sets are good: those, all since a moment, and the bases of
// these.
func (r reasons) hold(sets, doubtful []Set, from time.Time) {
	const unread, until = "it is not known to be whole yet", "others are not known to be whole yet"
	for _, s := range doubtful {
		r.note(s.ID, unread)
	}
	for _, s := range sets {
		if s.Finished.Before(from) {
			continue
		}
		r.note(s.ID, until)
		if s.Kind == Differential {
			r.note(s.BaseID, until)
		}
	}
}

// holdBehind notes what may belong to a full backup that is not here yet: it may be taken and sent for days, while what
// goes on from it comes. One that is damaged here is not here either: whoever took it sends it again. Those are the log
// backups from behind the newest that is here, all of them where there is none, and the differentials of a base that is
// not here. A log backup without anything is never needed for more than the newest at its position is.
func (r reasons) holdBehind(sets []Set) {
	const behind = "a full backup that is on its way may need it"
	var from time.Time
	if fulls := newestFirst(sets, Full); len(fulls) > 0 {
		from = fulls[0].Begun
	}
	here, idle := map[string]bool{}, newHistory(sets).idle
	for _, s := range sets {
		here[s.ID] = here[s.ID] || !s.Damaged
	}
	for _, s := range sets {
		switch {
		case s.Damaged || s.Finished.Before(from):
		case s.Kind == Differential && !here[s.BaseID]:
			r.note(s.ID, behind)
		case s.Kind == Log && (!s.idle() || idle[placeOf(s.LastLSN, s.Fork)].ID == s.ID):
			r.note(s.ID, behind)
		}
	}
}

// oldest is when the first of sets was begun, or a moment before that.
func oldest(sets []Set, moment time.Time) time.Time {
	for _, s := range sets {
		if s.Begun.Before(moment) {
			moment = s.Begun
		}
	}
	return moment
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

// since is when the newest full backup among the sure was begun that was finished by a moment and stands in for those
// before it; zero where there is none.
func since(sets, sure []Set, by time.Time) time.Time {
	h := newHistory(sets)
	for _, full := range newestFirst(sure, Full) {
		if !full.Finished.After(by) && h.standsIn(full) {
			return full.Begun
		}
	}
	return time.Time{}
}

// standsIn says whether a full backup leads to all of the log behind it to which any does that was taken before it. One
// of a history that a forced failover ended does not: what goes on needs those before it.
func (h *history) standsIn(full Set) bool {
	var before []start
	for _, s := range h.starts {
		if s.last().Finished.Before(full.Begun) {
			before = append(before, s)
		}
	}
	old, own := h.places(before), h.places([]start{{sets: []Set{full}}})
	behind := func(s Set) bool {
		at := placeOf(s.LastLSN, s.Fork)
		return later(s.Finished, s.end()).After(full.Finished) && old[at] && !own[at]
	}
	if slices.ContainsFunc(h.logs, behind) {
		return false
	}
	for _, s := range h.idle {
		if behind(s) {
			return false
		}
	}
	return true
}

// need notes which sets are needed for what is promised, if these are all that there are.
func (r Retention) need(sets []Set, now time.Time, why reasons) {
	r.needOf(newHistory(sets), moments(sets, now.Add(-r.Age)), why)
}

func (r Retention) needOf(h *history, moments []time.Time, why reasons) {
	if newest := h.newest(); newest != nil {
		h.need(*newest, []time.Time{{}}, why, "the newest point needs it")
	}
	if r.Age > 0 {
		from := map[*start][]time.Time{}
		for _, moment := range moments {
			if s := h.startOf(moment); s != nil {
				from[s] = append(from[s], moment)
			}
		}
		for s, moments := range from {
			h.need(*s, moments, why, fmt.Sprintf("moments within %s need it", r.Age))
		}
	}
	for i, full := range h.fulls {
		if i < r.Fulls {
			why.note(full.ID, fmt.Sprintf("it is one of the %d newest full backups", r.Fulls))
		}
	}
}

// need notes for what sets are needed: for moments, in their order, that are reached from one start.
func (h *history) need(from start, moments []time.Time, why reasons, what string) {
	w := h.walk(from)
	for _, moment := range moments {
		w.to(moment)
		if w.chain.Witness != nil && !w.within(moment) {
			why.note(w.chain.Witness.ID, what)
		}
	}
	for _, s := range w.chain.Sets {
		why.note(s.ID, what)
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
