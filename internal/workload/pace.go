// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/workload/history"
)

// pace is what a user does between operations: it keeps a schedule, or thinks.
type pace struct{ every, think time.Duration }

// trips are how many round trips an operation has at least to be due after the one before it.
const trips = 3

// roundTrip to the server, the shortest of some; 0 where that does not matter, or the server does not answer.
func (o RecordOptions) roundTrip(ctx context.Context, db *mssql.DB) time.Duration {
	if !o.Fits || o.Rate <= 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	shortest := time.Duration(0)
	for range 5 {
		began := time.Now()
		if err := db.Ping(ctx); err != nil {
			return 0
		}
		if took := time.Since(began); shortest == 0 || took < shortest {
			shortest = took
		}
	}
	return shortest
}

// pace of these users at that round trip, which the header of their histories tells.
func (o RecordOptions) pace(h *history.Header, roundTrip time.Duration) pace {
	if o.Rate <= 0 {
		h.Loop = history.Closed
		return pace{think: o.ThinkTime}
	}
	h.Loop, h.Every = history.Open, max(time.Duration(float64(time.Second)/o.Rate), trips*roundTrip)
	return pace{every: h.Every}
}

// begin begins a schedule now: a user has come.
func (p pace) begin(r *history.Recorder) {
	if p.every > 0 {
		r.Schedule(history.Now().Monotonic)
	}
}

// wait until the next operation is due; not at all when it was due before: what one answer held up is made up for, and
// counts from when it was due. A schedule that waited for answers would leave out what users would have met meanwhile.
func (p pace) wait(ctx context.Context, r *history.Recorder) {
	pause := p.think
	if p.every > 0 {
		pause = time.Duration(r.Due() - history.Now().Monotonic)
	}
	if pause <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
