// SPDX-License-Identifier: Apache-2.0

package election

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells times that are compared only with one another.
type Clock interface {
	// Now is the time since an arbitrary start, not stopped by suspension (CLOCK_BOOTTIME).
	Now() time.Duration
}

// BootClock reads CLOCK_BOOTTIME: unlike the monotonic clock that the Go runtime uses it goes on while the machine is
// suspended, so a holder that slept does not take its votes for fresh.
type BootClock struct{}

// Now implements Clock.
func (BootClock) Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
