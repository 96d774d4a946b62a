// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	"geosql.dev/operator/internal/workload/history"
)

// pace is what a user does between operations: it keeps a schedule, or thinks.
type pace struct{ every, think time.Duration }

// pace of these users, which the header of their histories tells.
func (o RecordOptions) pace(h *history.Header) pace {
	if o.Rate <= 0 {
		h.Loop = history.Closed
		return pace{think: o.ThinkTime}
	}
	h.Loop, h.Every = history.Open, time.Duration(float64(time.Second)/o.Rate)
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
