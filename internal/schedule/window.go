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
	for i, w := range windows {
		s, err := Parse(w.Schedule, w.TimeZone)
		if err != nil {
			return false, time.Time{}, fmt.Errorf("maintenance window %d: %w", i, err)
		}
		if began, _ := s.Due(now.Add(-w.Duration.Duration), now); !began.IsZero() {
			return true, time.Time{}, nil
		}
		if at := s.Next(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return false, next, nil
}
