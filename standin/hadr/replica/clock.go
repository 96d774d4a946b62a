// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime is CLOCK_BOOTTIME: it goes on while the machine sleeps and nobody sets it, so a lease measured by it is
// never longer than its holder was told.
func BootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("hadr: the kernel has no CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(t.Nano())
}
