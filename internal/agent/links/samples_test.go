// SPDX-License-Identifier: Apache-2.0

package links

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestTheMedianOfALink(t *testing.T) {
	began := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		// took are a sample every fifteen seconds, 0 for one that nobody answered.
		took []time.Duration
		// later is when it is asked for after the last.
		later  time.Duration
		median time.Duration
		age    time.Duration
	}{
		{"nobody answered", []time.Duration{0, 0, 0}, 0, 0, 0},
		{"two are too few", []time.Duration{4 * ms, 4 * ms}, 0, 0, 0},
		{"three", []time.Duration{4 * ms, 6 * ms, 5 * ms}, ms, 5 * ms, ms},
		{"one that was slow by itself", []time.Duration{4 * ms, 4 * ms, 900 * ms, 4 * ms}, 0, 4 * ms, 0},
		{"a link that is slower for three quarters of a minute",
			[]time.Duration{4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 90 * ms, 90 * ms, 90 * ms}, 0, 4 * ms, 0},
		{"for a minute",
			[]time.Duration{4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 90 * ms, 90 * ms, 90 * ms, 90 * ms}, 0,
			90 * ms, 0},
		{"cut off for a minute", []time.Duration{4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 0, 0, 0, 0}, 0, 4 * ms,
			time.Minute},
		{"cut off for longer", []time.Duration{4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms}, 2 * time.Minute, 0, 0},
		{"an agent that stood still", []time.Duration{4 * ms, 4 * ms, 4 * ms, 4 * ms}, time.Hour, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			var s samples
			now := began
			for i, took := range c.took {
				now = began.Add(time.Duration(i) * 15 * time.Second)
				if took > 0 {
					s.add(took, now)
				}
			}
			now = now.Add(c.later)
			median, at, known := s.median(now)
			g.Expect(known).To(Equal(c.median > 0))
			g.Expect(median).To(Equal(c.median))
			if known {
				g.Expect(now.Sub(at)).To(Equal(c.age))
			}
			g.Expect(len(s)).To(BeNumerically("<=", mostSamples))
		})
	}
}
