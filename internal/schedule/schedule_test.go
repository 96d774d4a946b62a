// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/schedule"
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
			s, err := schedule.Parse(c.schedule, "Europe/Berlin")
			g.Expect(err).NotTo(HaveOccurred())
			var times []time.Time
			for next := s.Next(c.day.Add(-time.Second)); next.Before(c.day.AddDate(0, 0, 1)); next = s.Next(next) {
				times = append(times, next)
			}
			g.Expect(times).To(HaveLen(c.times))
		})
	}
}

// A schedule knows the last time that was due, and how many went by before it.
func TestScheduleCountsWhatWasMissed(t *testing.T) {
	g := NewWithT(t)
	s, err := schedule.Parse("0 3 * * *", "Europe/Dublin")
	g.Expect(err).NotTo(HaveOccurred())
	from := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	due, missed := s.Due(from, from.Add(3*24*time.Hour))
	g.Expect(due.UTC()).To(Equal(time.Date(2026, 7, 4, 2, 0, 0, 0, time.UTC)), "Dublin is an hour ahead in summer")
	g.Expect(missed).To(BeEquivalentTo(2))
	due, _ = s.Due(from, from.Add(time.Hour))
	g.Expect(due.IsZero()).To(BeTrue())
	for text, zone := range map[string]string{"0 3 * *": "", "every day": "", "CRON_TZ=UTC 0 3 * * *": "",
		"@every 24h": "", "@daily": "",
		"0 3 * * 0": "Nowhere/Town"} {
		_, err := schedule.Parse(text, zone)
		g.Expect(err).To(HaveOccurred(), text+" "+zone)
	}
}
