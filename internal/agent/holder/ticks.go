// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/tsql"
)

// ticks are the milliseconds that the engine counted from the start of its machine, as they were read at a time of the
// agent's own clock that nobody sets. Engine and agent share a machine.
type ticks struct {
	count int64
	at    time.Duration
}

// maxTickDrift is by how much the two clocks may go apart between two readings. What differs by more, or was never
// compared, is not relied on: an engine whose count stands still or runs ahead would refuse every renewal, or none.
const maxTickDrift = time.Second

// agree tells whether both clocks have gone equally far between two readings.
func (t ticks) agree(later ticks) bool {
	apart := time.Duration(later.count-t.count)*time.Millisecond - (later.at - t.at)
	return t.at > 0 && apart.Abs() <= maxTickDrift
}

// until is the count at a moment of the agent's clock, no later than that: the engine had read its own before at.
func (t ticks) until(moment time.Duration) int64 { return t.count + (moment - t.at).Milliseconds() }

// count takes a new reading. One that does not agree with the last is the first of those to come.
func (e *sqlEngine) count(read ticks) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counted, e.ticks = e.ticks.agree(read), read
}

// until is a deadline on both clocks of the engine. A queued batch is begun, at the latest, when the first of them says
// so: the time of day may be set back meanwhile, by NTP or by hand.
func (e *sqlEngine) until(deadline time.Time) tsql.Deadline {
	e.mu.Lock()
	defer e.mu.Unlock()
	both := tsql.Deadline{Time: deadline}
	if e.counted {
		both.Ticks = e.ticks.until(ballot.BootClock{}.Now() + time.Until(deadline))
	}
	return both
}
