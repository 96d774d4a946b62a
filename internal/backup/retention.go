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
// backup that it belongs to may be under way. With no Age and no Fulls nothing is removable: nobody said that anything
// may go.
func Removable(sets []Set, keep Retention, now time.Time) []Set {
	if keep.Age <= 0 && keep.Fulls <= 0 {
		return nil
	}
	from := now.Add(-keep.Age)
	needed := map[string]bool{}
	need := func(to Target) {
		if chain, missing := restoring(sets, to); missing == "" {
			for _, s := range chain.Sets {
				needed[s.ID] = true
			}
			if chain.Witness != nil {
				needed[chain.Witness.ID] = true
			}
		}
	}
	need(Target{})
	if keep.Age > 0 {
		for _, moment := range moments(sets, from) {
			need(Target{Time: moment})
		}
	}
	for i, full := range newestFirst(sets, Full) {
		if i < keep.Fulls {
			needed[full.ID] = true
		}
	}
	var removable []Set
	for _, s := range sets {
		young := keep.Age > 0 && !later(s.Finished, s.end()).Before(from)
		if !needed[s.ID] && !young {
			removable = append(removable, s)
		}
	}
	return removable
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
