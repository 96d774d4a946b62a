// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Latency is a distribution in milliseconds.
type Latency struct {
	P50 float64 `json:"p50Ms"`
	P90 float64 `json:"p90Ms"`
	P99 float64 `json:"p99Ms"`
	Max float64 `json:"maxMs"`
}

// LatencyOf sorts the samples by size; a percentile is the nearest-rank one. No samples give zeros.
func LatencyOf(samples []time.Duration) Latency {
	if len(samples) == 0 {
		return Latency{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := func(p float64) float64 {
		rank := max(int(math.Ceil(p*float64(len(sorted)))), 1)
		return milliseconds(sorted[rank-1])
	}
	return Latency{P50: at(0.50), P90: at(0.90), P99: at(0.99), Max: milliseconds(sorted[len(sorted)-1])}
}

func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Millisecond)*10) / 10
}

// counter counts rows of several writers.
type counter struct{ n atomic.Int64 }

func (c *counter) add()       { c.n.Add(1) }
func (c *counter) value() int { return int(c.n.Load()) }

// report calls progress every second until the returned function is called.
func (c *counter) report(ctx context.Context, progress func(int)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	if progress == nil {
		return cancel
	}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				progress(c.value())
			}
		}
	}()
	return cancel
}
