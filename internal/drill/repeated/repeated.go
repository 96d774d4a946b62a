// SPDX-License-Identifier: Apache-2.0

// Package repeated sums up drills that were done again and again: how often rows were lost, how often that may be by
// what so many runs can tell, and how long clients went without service.
package repeated

import (
	"math"
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// Confidence of the upper bound.
const Confidence = 0.95

// Summary of runs.
type Summary struct {
	// Runs that are over, by their verdicts.
	Runs, Passed, Failed, Inconclusive int
	// Told are the runs that say whether acknowledged rows were lost, and Lost those in which they were.
	Told, Lost int
	// AtMost is the share of runs that lose rows, from 0 to 1, which so many runs would exceed with Confidence: the exact
	// bound of Clopper and Pearson, one-sided. 1 where no run tells. It takes the runs for independent and alike.
	AtMost float64
	// RTO is the worst time without service of each run in which it was measured, from the shortest to the longest.
	RTO []time.Duration
}

// Summarize sums up the drills that are over. An inconclusive run without a loss tells nothing of losses: it did not
// see enough.
func Summarize(drills []v1alpha1.Drill) Summary {
	var s Summary
	for _, d := range drills {
		lost := d.Status.Counts != nil && d.Status.Counts.Lost > 0
		switch d.Status.Verdict {
		case v1alpha1.VerdictPassed:
			s.Passed++
		case v1alpha1.VerdictFailed:
			s.Failed++
		case v1alpha1.VerdictInconclusive:
			s.Inconclusive++
		default:
			continue
		}
		s.Runs++
		if lost {
			s.Lost++
		}
		if lost || d.Status.Counts != nil && d.Status.Verdict != v1alpha1.VerdictInconclusive {
			s.Told++
		}
		if rto, measured := worst(d.Status.Figures); measured {
			s.RTO = append(s.RTO, rto)
		}
	}
	slices.Sort(s.RTO)
	s.AtMost = UpperBound(s.Lost, s.Told, Confidence)
	return s
}

// worst time without service of a run, of clients that no fault cut off.
func worst(figures []v1alpha1.FaultClientFigures) (longest time.Duration, measured bool) {
	for _, f := range figures {
		if f.RTO != nil && !f.Isolated {
			longest, measured = max(longest, f.RTO.Duration), true
		}
	}
	return longest, measured
}

// UpperBound is the greatest rate, from 0 to 1, at which so few of n trials, k or less, still happen with the
// probability 1-confidence: 0 of 100 is at most 0.03 at 0.95.
func UpperBound(k, n int, confidence float64) float64 {
	if n <= 0 || k >= n {
		return 1
	}
	low, high := float64(k)/float64(n), 1.0
	for range 60 {
		middle := low + (high-low)/2
		if atMost(k, n, middle) > 1-confidence {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// atMost is the probability of k successes or fewer in n trials at a rate between 0 and 1.
func atMost(k, n int, rate float64) float64 {
	sum := 0.0
	whole, _ := math.Lgamma(float64(n + 1))
	for i := range k + 1 {
		hits, _ := math.Lgamma(float64(i + 1))
		misses, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(whole - hits - misses + float64(i)*math.Log(rate) + float64(n-i)*math.Log1p(-rate))
	}
	return sum
}
