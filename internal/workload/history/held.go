// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Served says when users count as served again: from a moment on, for a time, at least a share of the operations of all
// users of a client succeeds. Without a time the first acknowledgement alone counts.
type Served struct {
	// Share of the operations that were to begin in the time, above 0 up to 1.
	Share float64 `json:"share"`
	// For is how long.
	For time.Duration `json:"for"`
}

// DefaultServed is what counts unless something else is declared.
var DefaultServed = Served{Share: 0.99, For: 5 * time.Second}

// String for people.
func (s Served) String() string {
	return fmt.Sprintf("%.4g %% of the operations for %s", 100*s.Share, s.For)
}

// noted says that the histories tell when operations were to begin. Those of earlier releases do not.
func noted(runs []Run) bool {
	return !slices.ContainsFunc(runs, func(r Run) bool { return r.Loop == "" })
}

// load is what all users of a client were to do, in the order of the intended starts, and what came of it. What was
// sent a whole turn late or more is there once more, when it was sent: it tells of that time, too.
type load struct {
	Served
	due []int64
	// failed is how many of those before a place did not succeed.
	failed []int
	// bad are the times of those that did not succeed.
	bad []int64
	// ends is when the last user ended.
	ends int64
	// missing is why it does not tell when service holds; empty where it does.
	missing string
}

// loadsOf are the loads of the clients, by their names; none of those whose first acknowledgement counts.
func loadsOf(clients map[string][]Run, served Served, faults []Fault, a axis) map[string]*load {
	loads := map[string]*load{}
	for client, runs := range clients {
		if served.For <= 0 || len(faults) == 0 || !noted(runs) {
			continue
		}
		_, cut := cutOff(client, faults, a)
		l := loadOf(runs, a, served, cut, math.MaxInt64)
		struck := a.of(faults[0].Injected)
		before := loadOf(runs, a, served, cut, struck)
		from := before.first()
		// In a short baseline one operation is more than a small share of all, and tells nothing of the load.
		if before.unsuccessful(from, struck) > 1 && !before.enough(from, struck) {
			l.missing = fmt.Sprintf("%.4g %% of its operations succeeded before any fault, so that %s tell nothing",
				100*before.share(from, struck), served)
		}
		loads[client] = l
	}
	return loads
}

// sample is an operation at a time.
type sample struct {
	at int64
	ok bool
}

// loadOf are the operations of the runs that were over before a time, without those that were under way while a fault
// cut the client off.
func loadOf(runs []Run, a axis, served Served, cut []span, before int64) *load {
	var all []sample
	l := load{Served: served, failed: []int{0}, ends: math.MinInt64}
	for _, run := range runs {
		_, end := working(run, a)
		l.ends = max(l.ends, end)
		for _, o := range run.Operations {
			sent, ok := a.of(o.Invoked), o.Outcome == OK
			due, over := sent-int64(o.Late), a.of(o.Completed)
			if o.Completed == (Instant{}) {
				over = math.MaxInt64
			}
			if before < math.MaxInt64 && over >= before || (span{due, max(a.of(o.Completed), sent) + 1}).within(cut) > 0 {
				continue
			}
			all = append(all, sample{due, ok})
			if run.Every > 0 && o.Late >= run.Every {
				all = append(all, sample{sent, ok})
			}
		}
	}
	slices.SortFunc(all, func(x, y sample) int { return cmp.Compare(x.at, y.at) })
	for _, o := range all {
		l.due = append(l.due, o.at)
		bad := 0
		if !o.ok {
			bad, l.bad = 1, append(l.bad, o.at)
		}
		l.failed = append(l.failed, l.failed[len(l.failed)-1]+bad)
	}
	return &l
}

// between are the places of the operations that were to begin in [from, until).
func (l *load) between(from, until int64) (first, last int) {
	first, _ = slices.BinarySearch(l.due, from)
	last, _ = slices.BinarySearch(l.due, until)
	return first, max(first, last)
}

// unsuccessful is how many of the operations that were to begin in [from, until) did not succeed.
func (l *load) unsuccessful(from, until int64) int {
	first, last := l.between(from, until)
	return l.failed[last] - l.failed[first]
}

// share of the operations that were to begin in [from, until) that succeeded; 1 where none was.
func (l *load) share(from, until int64) float64 {
	first, last := l.between(from, until)
	if last == first {
		return 1
	}
	return 1 - float64(l.unsuccessful(from, until))/float64(last-first)
}

// holds says whether users are served from a moment on. Where the next fault or the end of the clients comes before its
// time is over, early goes by what there is; else it does not hold.
func (l *load) holds(at, next int64, early bool) bool {
	until, known := add(at, l.For), l.ends
	if at < next {
		known = min(known, next)
	}
	if until > known {
		if !early {
			return false
		}
		until = max(known, at)
	}
	return l.enough(at, until)
}

// enough of the operations that were to begin in [from, until) succeeded.
func (l *load) enough(from, until int64) bool {
	const rounding = 1e-9
	return l.share(from, until)+rounding >= l.Share
}

// first is when the first operation that succeeded was to begin.
func (l *load) first() int64 {
	for i, at := range l.due {
		if l.failed[i+1] == l.failed[i] {
			return at
		}
	}
	return math.MaxInt64
}

// troubled says that service did not hold just before a moment, for something that went wrong since an earlier one.
func (l *load) troubled(since, at int64) bool {
	i, _ := slices.BinarySearch(l.bad, since)
	return i < len(l.bad) && l.bad[i] <= at && !l.enough(add(at, -l.For), at+1)
}

// loopsOf says of each client what its operations waited for; nothing where a history does not tell.
func loopsOf(runs []Run) map[string]Loop {
	loops := map[string]Loop{}
	for _, run := range runs {
		if loop, known := loops[run.Client]; !known || loop == run.Loop {
			loops[run.Client] = run.Loop
		} else {
			loops[run.Client] = ""
		}
	}
	return loops
}
