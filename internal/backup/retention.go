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
}

// Removable are the sets of one database (one Family) that nothing promised needs: not a moment of the last Age, not
// one of the newest Fulls, not the newest point. What was taken within Age is kept whatever it is good for: the full
// backup that it belongs to may be under way. With no Age and no Fulls nothing is removable: nobody said that anything
// may go.
func Removable(sets []Set, keep Retention, now time.Time) []Set {
	needed := Needed(sets, keep, now)
	var removable []Set
	for _, s := range sets {
		if needed[s.ID] == "" {
			removable = append(removable, s)
		}
	}
	return removable
}

// Needed says of each set of one database (one Family) that is not Removable, by its ID, what it is kept for, for
// people.
func Needed(sets []Set, keep Retention, now time.Time) map[string]string {
	needed := map[string]string{}
	if keep.Age <= 0 && keep.Fulls <= 0 {
		for _, s := range sets {
			needed[s.ID] = "there is no retention"
		}
		return needed
	}
	note := func(id, why string) {
		if needed[id] == "" {
			needed[id] = why
		}
	}
	need := func(to Target, why string) {
		if chain, missing := restoring(sets, to); missing == "" {
			for _, s := range chain.Sets {
				note(s.ID, why)
			}
			if chain.Witness != nil {
				note(chain.Witness.ID, why)
			}
		}
	}
	need(Target{}, "the newest point needs it")
	from := now.Add(-keep.Age)
	if keep.Age > 0 {
		for _, moment := range moments(sets, from) {
			need(Target{Time: moment}, fmt.Sprintf("moments within %s need it", keep.Age))
		}
	}
	for i, full := range newestFirst(sets, Full) {
		if i < keep.Fulls {
			note(full.ID, fmt.Sprintf("it is one of the %d newest full backups", keep.Fulls))
		}
	}
	for _, s := range sets {
		if keep.Age > 0 && !later(s.Finished, s.end()).Before(from) {
			note(s.ID, fmt.Sprintf("it was taken within %s", keep.Age))
		}
	}
	return needed
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
