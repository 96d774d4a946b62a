// SPDX-License-Identifier: Apache-2.0

// Package schedule is when something is due by the clock, and when a maintenance window is open.
package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the operator's image has no time zone data

	"github.com/robfig/cron/v3"
)

// Schedule tells when something is due.
type Schedule struct {
	cron cron.Schedule
	zone *time.Location
}

// Parse reads cron's five fields, in a zone of the tz database or in UTC. The error says what is wrong with
// which.
func Parse(schedule, zone string) (Schedule, error) {
	if zone == "" {
		zone = "Etc/UTC"
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Schedule{}, fmt.Errorf("%q is no time zone of the tz database, such as Europe/Dublin", zone)
	}
	if strings.Contains(schedule, "TZ=") {
		return Schedule{}, fmt.Errorf("a time zone belongs in timeZone, not in the schedule")
	}
	if strings.HasPrefix(schedule, "@") {
		// "@every 24h" counts from whenever it is looked at, so it would never be due.
		return Schedule{}, fmt.Errorf("%q is none of cron's five fields - minute, hour, day of the month, month, day of the "+
			"week - such as \"0 3 * * 0\"", schedule)
	}
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return Schedule{}, fmt.Errorf(
			"it must be cron's five fields - minute, hour, day of the month, month, day of the week - such as \"0 3 * * 0\": %w",
			err,
		)
	}
	return Schedule{parsed, location}, nil
}

// Next is the first time after that one; zero when there is none within five years. Each date and time of the zone
// comes once: one that the clocks show twice is the first or the second of them, and one that they leave out comes when
// they have gone on.
func (s Schedule) Next(after time.Time) time.Time {
	shown := inZone(after.In(s.zone), time.UTC)
	for {
		if shown = s.cron.Next(shown); shown.IsZero() {
			return shown
		}
		if next := inZone(shown, s.zone); next.After(after) {
			return next
		}
	}
}

// inZone is when clocks of a zone show the same as that time does in its own.
func inZone(t time.Time, zone *time.Location) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
}

// Due is the newest time in (after, now], and how many lie before it in that span; zero when there is none. It looks at
// no more than 10,000 times; of a longer span the rest comes the next time.
func (s Schedule) Due(after, now time.Time) (due time.Time, missed int64) {
	for next, n := s.Next(after), 0; !next.IsZero() && !next.After(now) && n < 10_000; next, n = s.Next(next), n+1 {
		if !due.IsZero() {
			missed++
		}
		due = next
	}
	return due, missed
}
