// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/drill"
)

// A time of day that the clocks leave out, or show twice, comes once.
func TestTimesWhenClocksAreChanged(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		schedule string
		day      time.Time
		times    int
	}{
		"left out":                 {"30 2 * * *", time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), 1},
		"twice":                    {"30 2 * * *", time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), 1},
		"as ever":                  {"30 2 * * *", time.Date(2026, 6, 1, 0, 0, 0, 0, berlin), 1},
		"each hour, with one left": {"0 * * * *", time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), 23},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, err := drill.ParseSchedule(c.schedule, "Europe/Berlin")
			g.Expect(err).NotTo(HaveOccurred())
			var times []time.Time
			for next := s.Next(c.day.Add(-time.Second)); next.Before(c.day.AddDate(0, 0, 1)); next = s.Next(next) {
				times = append(times, next)
			}
			g.Expect(times).To(HaveLen(c.times))
		})
	}
}
