// SPDX-License-Identifier: Apache-2.0

package history

import "golang.org/x/sys/unix"

// sinceBoot reads CLOCK_BOOTTIME, in nanoseconds.
func sinceBoot() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		// Linux has had this clock since 2.6.39; without it no history can be trusted.
		panic("read CLOCK_BOOTTIME: " + err.Error())
	}
	return t.Nano()
}
