// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math/bits"
	"time"
)

// subBuckets divides each power of two, so that a percentile is at most an
// eighth too high.
const subBuckets = 8

// Lateness is a histogram of how long after their due time frames left. The
// zero Lateness is empty.
type Lateness struct {
	counts [64 * subBuckets]uint64
	total  uint64
	worst  time.Duration
}

// Add records one frame; a negative lateness counts as none.
func (l *Lateness) Add(late time.Duration) {
	late = max(late, 0)
	l.counts[bucket(uint64(late))]++
	l.total++
	l.worst = max(l.worst, late)
}

// Count returns how many frames were recorded.
func (l *Lateness) Count() uint64 { return l.total }

// Worst returns the largest lateness recorded.
func (l *Lateness) Worst() time.Duration { return l.worst }

// Quantile returns a lateness that the given share of the frames, 0 to 1, did
// not exceed: the upper end of its bucket, so never too low.
func (l *Lateness) Quantile(share float64) time.Duration {
	if l.total == 0 {
		return 0
	}
	wanted := uint64(share*float64(l.total) + 0.5)
	var seen uint64
	for i, count := range l.counts {
		seen += count
		if count > 0 && seen >= wanted {
			return min(upperEnd(i), l.worst)
		}
	}
	return l.worst
}

func bucket(value uint64) int {
	if value < subBuckets {
		return int(value)
	}
	exponent := bits.Len64(value) - 1
	fraction := value >> (exponent - 3) & (subBuckets - 1)
	return (exponent-2)*subBuckets + int(fraction)
}

func upperEnd(index int) time.Duration {
	if index < subBuckets {
		return time.Duration(index)
	}
	exponent := index/subBuckets + 2
	fraction := uint64(index % subBuckets)
	return time.Duration((subBuckets+fraction+1)<<(exponent-3) - 1)
}
