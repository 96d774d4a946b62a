// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// undisturbed is what each client saw from the beginning of the baseline to the first fault: how long users go without
// an acknowledgement though nothing is done to the servers. Each acknowledgement counts, whether or not service holds
// from then on: the figures of faults that go by that are to be seen against it all the same. A client that was first
// served in the baseline is looked at from then on. None without a baseline, and where no fault came after it.
func undisturbed(e Evidence, a axis) []ClientFigures {
	if e.Baseline == (Instant{}) || len(e.Faults) == 0 {
		return nil
	}
	first := slices.MinFunc(e.Faults, func(x, y Fault) int { return cmp.Compare(a.of(x.Injected), a.of(y.Injected)) })
	w := window{span: span{a.of(e.Baseline), a.of(first.Injected)}, settled: math.MaxInt64}
	if w.from >= w.until {
		return nil
	}
	clients := map[string][]Run{}
	for _, run := range e.Runs {
		clients[run.Client] = append(clients[run.Client], run)
	}
	var list []ClientFigures
	for _, client := range slices.Sorted(maps.Keys(clients)) {
		w := w
		w.from = max(w.from, servedFrom(clients[client], a))
		c := measureUsers(clients[client], a, w, nil)
		c.Client = client
		list = append(list, c)
	}
	return list
}

// servedFrom is when a client had certainly been served for the first time; the beginning of time when it never was.
func servedFrom(runs []Run, a axis) int64 {
	first := int64(math.MaxInt64)
	for _, run := range runs {
		unsure, _ := a.unsure(run.Boot)
		for _, o := range run.Operations {
			if o.Outcome == OK {
				first = min(first, add(a.of(o.Completed), unsure)+1)
				break
			}
		}
	}
	if first == math.MaxInt64 {
		return math.MinInt64
	}
	return first
}
