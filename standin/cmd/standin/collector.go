// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// headroom is how many bytes the heap may grow between two garbage collections. The instance keeps few Go objects
// (pages and rows are SQLite's), and would else collect after every few requests.
const headroom = 24 << 20

// collectLess lets the heap grow by headroom before it is collected, as long as twice what is live is less than that.
// The memory limit still holds.
func collectLess() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := max(sample[0].Value.Uint64(), headroom/6)
	// A collection waits for at least 4 MB times this percentage.
	debug.SetGCPercent(int(max(100, headroom*100/live)))
	// The next collection finds the witness dead, and this is judged again.
	runtime.AddCleanup(&witness{}, func(struct{}) { collectLess() }, struct{}{})
}

// witness must not be tiny, nor free of pointers: such objects may share one place.
type witness struct {
	_ [4]*byte
}
