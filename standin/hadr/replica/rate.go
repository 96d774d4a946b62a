// SPDX-License-Identifier: Apache-2.0

package replica

import "time"

// rateMeter measures bytes a second over the last seconds of activity.
type rateMeter struct {
	at    time.Time
	bytes uint64
	rate  uint64
}

// rateWindow is over how long a rate is measured.
const rateWindow = time.Second

// note takes the total so far and returns the rate of the last full window; 0 before the first.
func (m *rateMeter) note(total uint64) uint64 {
	now := time.Now()
	if m.at.IsZero() || total < m.bytes {
		m.at, m.bytes = now, total
		return m.rate
	}
	if d := now.Sub(m.at); d >= rateWindow {
		// An idle window keeps the last rate, as the views' average does.
		if total > m.bytes {
			m.rate = uint64(float64(total-m.bytes) / d.Seconds())
		}
		m.at, m.bytes = now, total
	}
	return m.rate
}
