// SPDX-License-Identifier: Apache-2.0

package links

import (
	"slices"
	"time"
)

const (
	// mostSamples is of how many the median is, and leastSamples how few tell something.
	mostSamples, leastSamples = 7, 3
	// oldest is how old a sample may be: what nobody has answered for that long is not known.
	oldest = 2 * time.Minute
)

// sample is one round trip.
type sample struct {
	took time.Duration
	at   time.Time
}

// samples are the last ones of a link, the oldest first.
type samples []sample

func (s *samples) add(took time.Duration, at time.Time) {
	kept := append(slices.Clone(*s), sample{took, at})
	*s = kept[max(0, len(kept)-mostSamples):]
}

// median of those that are not too old, and when the last of them was taken. One that was slow by itself changes
// nothing.
func (s samples) median(now time.Time) (median time.Duration, at time.Time, known bool) {
	var took []time.Duration
	for _, x := range s {
		if now.Sub(x.at) <= oldest {
			took, at = append(took, x.took), x.at
		}
	}
	if len(took) < leastSamples {
		return 0, time.Time{}, false
	}
	slices.Sort(took)
	return took[(len(took)-1)/2], at, true
}
