// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// Open tells whether one of the windows is open now, and else when the next one opens; zero when none does within five
// years. Without windows it is open at any time. The error names what can't be read, and then nothing is open.
func Open(windows []v1alpha1.MaintenanceWindow, now time.Time) (open bool, next time.Time, err error) {
	if len(windows) == 0 {
		return true, time.Time{}, nil
	}
	list, err := openings(windows)
	if err != nil {
		return false, time.Time{}, err
	}
	open, next = isOpen(list, now)
	return open, next, nil
}

// opening is a window that was read: zones are dear to read.
type opening struct {
	at    Schedule
	lasts time.Duration
}

func openings(windows []v1alpha1.MaintenanceWindow) ([]opening, error) {
	var all []opening
	for i, w := range windows {
		s, err := Parse(w.Schedule, w.TimeZone)
		if err != nil {
			return nil, fmt.Errorf("maintenance window %d: %w", i, err)
		}
		all = append(all, opening{s, w.Duration.Duration})
	}
	return all, nil
}

func isOpen(list []opening, now time.Time) (open bool, next time.Time) {
	for _, w := range list {
		if began := w.at.Next(now.Add(-w.lasts)); !began.IsZero() && !began.After(now) {
			return true, time.Time{}
		}
		if at := w.at.Next(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return false, next
}

// within is how far Common looks, and steps how many openings of one set or another it looks at.
const (
	within = 366 * 24 * time.Hour
	steps  = 20_000
)

// Common is the first time from now on at which of each of several sets of windows one is open; zero when none is found
// within a year. The error names what can't be read.
func Common(sets [][]v1alpha1.MaintenanceWindow, now time.Time) (time.Time, error) {
	var all [][]opening
	for _, windows := range sets {
		list, err := openings(windows)
		if err != nil {
			return time.Time{}, err
		}
		if len(list) > 0 {
			all = append(all, list)
		}
	}
	at := now
	for range steps {
		latest := at
		for _, list := range all {
			open, next := isOpen(list, at)
			switch {
			case open:
			case next.IsZero():
				return time.Time{}, nil
			case next.After(latest):
				latest = next
			}
		}
		switch {
		case latest.Equal(at):
			return at, nil
		case latest.Sub(now) > within:
			return time.Time{}, nil
		}
		at = latest
	}
	return time.Time{}, nil
}
