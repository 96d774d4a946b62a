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
// from then on: the figures of faults that go by that are to be seen against it all the same. None without a baseline,
// and where no fault came after it.
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
		c := measureUsers(clients[client], a, w, nil)
		c.Client = client
		list = append(list, c)
	}
	return list
}
