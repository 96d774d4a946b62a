// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"sync"
	"time"
)

// window is over how many seconds the rate is taken.
const window = 10

// Progress of a transfer.
type Progress struct {
	// Here are the bytes of the files that are here.
	Here int64
	// Moved are the bytes that came over the link, as they were sent: compressed, and again where they came wrong.
	Moved int64
	// Reused are those of Here that were not sent: they were on this side already.
	Reused int64
	// Seconds since the beginning, until the end.
	Seconds float64
	// Rate of Moved in bytes per second: lately, or over all the time once it has ended.
	Rate float64
	// Pace of Here in bytes per second, likewise.
	Pace float64
}

// Meter counts what a transfer moves. Its zero value is no meter; NewMeter begins one.
type Meter struct {
	now   func() time.Time
	began time.Time

	mu    sync.Mutex
	ended time.Time
	// here is what is here of this attempt, before what was here at the end of the former ones of this meter.
	here, before, moved, reused int64
	// lately are the bytes of each of the last seconds, by the second since began modulo the length.
	lately [window + 1]struct{ second, moved, here int64 }
}

// NewMeter begins to count.
func NewMeter() *Meter { return newMeter(time.Now) }

func newMeter(now func() time.Time) *Meter { return &Meter{now: now, began: now()} }

// slot of the present second. m.mu is held.
func (m *Meter) slot() *struct{ second, moved, here int64 } {
	second := int64(m.now().Sub(m.began) / time.Second)
	slot := &m.lately[second%int64(len(m.lately))]
	if slot.second != second {
		slot.second, slot.moved, slot.here = second, 0, 0
	}
	return slot
}

// Attempt begins with so many bytes that were found here, as an earlier attempt has left them, in whatever way that
// brought them. What this meter has counted before is not counted as reused. Until it is known what is here, what was
// counted last stays.
func (m *Meter) Attempt(found int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.here = max(m.before, m.here), found
	m.reused += max(0, found-m.before)
}

// Reused counts bytes that were copied on this side.
func (m *Meter) Reused(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.here += n
	m.reused += n
}

// Moved counts bytes as they come over the link.
func (m *Meter) Moved(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moved += n
	m.slot().moved += n
}

// Fetched counts bytes of files that have come, and are whole.
func (m *Meter) Fetched(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.here += n
	m.slot().here += n
}

// End stops the clock.
func (m *Meter) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = m.now()
}

// Progress so far.
func (m *Meter) Progress() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	until := m.ended
	if until.IsZero() {
		until = m.now()
	}
	p := Progress{Here: m.here, Moved: m.moved, Reused: m.reused, Seconds: until.Sub(m.began).Seconds()}
	if !m.ended.IsZero() {
		p.Rate, p.Pace = float64(m.moved)/max(p.Seconds, 0.001), float64(m.here-m.reused)/max(p.Seconds, 0.001)
		return p
	}
	second := int64(until.Sub(m.began) / time.Second)
	var moved, here int64
	for _, slot := range m.lately {
		if slot.second >= second-window {
			moved += slot.moved
			here += slot.here
		}
	}
	spent := min(p.Seconds, float64(window)+p.Seconds-float64(second))
	p.Rate, p.Pace = float64(moved)/max(spent, 0.001), float64(here)/max(spent, 0.001)
	return p
}
