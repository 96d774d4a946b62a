// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"context"
	"time"
)

// Clock tells times that are compared only with one another.
type Clock interface {
	// Now is the time since an arbitrary start, not stopped by suspension (CLOCK_BOOTTIME).
	Now() time.Duration
	// Sleep returns after d, or earlier with ctx's error.
	Sleep(ctx context.Context, d time.Duration) error
	// Wall is the time of day, for people to read and for the deadlines of statements: the engine has the same.
	Wall() time.Time
}

// BootClock reads CLOCK_BOOTTIME: unlike the monotonic clock that the Go runtime uses it goes on while the machine is
// suspended, so a holder that slept does not take its votes for fresh.
type BootClock struct{}

// Now implements Clock.
func (BootClock) Now() time.Duration { return sinceBoot() }

// Sleep implements Clock.
func (BootClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Wall implements Clock.
func (BootClock) Wall() time.Time { return time.Now() }
