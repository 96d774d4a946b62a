// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"time"
)

// Schedule begins a schedule: the next operation should begin at due, by the monotonic clock, and each after it the
// header's Every later, whenever the one before is answered.
func (r *Recorder) Schedule(due int64) { r.due, r.unsaid = due, true }

// Due is when the next operation should begin.
func (r *Recorder) Due() int64 { return r.due }

// Asked notes when the client was asked to stop, by the monotonic clock: End notes what was due until then and was
// never begun.
func (r *Recorder) Asked(at int64) { r.asked = at }

// late is by how much the operation that this line begins is late.
func (r *Run) late(l line) time.Duration {
	if r.Every <= 0 {
		return 0
	}
	if l.Due != 0 {
		r.first, r.firstDue = l.Number, l.Due
	}
	if r.first == 0 {
		return 0
	}
	due := r.firstDue + (l.Number-r.first)*int64(r.Every)
	return time.Duration(max(l.Monotonic-due, 0))
}

// Unsent are the ages, from their intended starts to when the client was asked to stop, of operations that were due and
// that it never began, since others held it up.
func (r Run) Unsent() []time.Duration {
	var ages []time.Duration
	for due := r.Next; r.Every > 0 && due != 0 && due <= r.Asked; due += int64(r.Every) {
		ages = append(ages, time.Duration(r.Asked-due))
	}
	return ages
}

// Wait is how long a user waited for an operation, from its intended start.
type Wait struct {
	// Took is the time until it was acknowledged; until it was given up where it never was.
	Took time.Duration
	// AtLeast says that no answer came: it took at least that long.
	AtLeast bool
}

// Waited is how long a user waited for an operation; false where it was refused, which is an answer, and none to what
// was asked.
func (r Run) Waited(o Operation) (Wait, bool) {
	took := o.Late
	if o.Completed != (Instant{}) {
		took += r.took(o.Invoked, o.Completed, axis{})
	}
	return Wait{took, o.Outcome != OK}, o.Outcome != Fail
}

// PercentileOfWaits is the nearest-rank percentile p, above 0 up to 1; false of none. What never answered is in it at
// its age.
func PercentileOfWaits(waits []Wait, p float64) (Wait, bool) {
	if len(waits) == 0 {
		return Wait{}, false
	}
	sorted := slices.SortedFunc(slices.Values(waits), func(x, y Wait) int {
		if x.Took == y.Took {
			return btoi(x.AtLeast) - btoi(y.AtLeast)
		}
		if x.Took < y.Took {
			return -1
		}
		return 1
	})
	return sorted[rank(len(sorted), p)], true
}
