// SPDX-License-Identifier: Apache-2.0

package link

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Scheduling is what the kernel granted the emulator's thread.
type Scheduling string

const (
	// FIFO is SCHED_FIFO: lateness stays below half a millisecond on a busy
	// machine.
	FIFO Scheduling = "fifo"
	// Nice is the highest ordinary priority; a busy machine adds a
	// millisecond or two now and then.
	Nice Scheduling = "nice"
	// Ordinary is what everything else gets.
	Ordinary Scheduling = "ordinary"
)

// fifoPriority is low among real-time threads: the kernel's own go first.
const fifoPriority = 10

// LockThread ties the calling goroutine to its thread and asks for precise
// timers.
func LockThread() {
	runtime.LockOSThread()
	// Failure costs 50 µs of precision, no more.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// Promote asks for the best scheduling the calling thread can get. A control
// group without a real-time budget refuses FIFO (CONFIG_RT_GROUP_SCHED).
func Promote() Scheduling {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: fifoPriority}
	if unix.SchedSetAttr(0, &attr, 0) == nil {
		return FIFO
	}
	if unix.Setpriority(unix.PRIO_PROCESS, 0, -20) == nil {
		return Nice
	}
	return Ordinary
}

// Poll waits until a descriptor is ready, or for the given nanoseconds, or for
// ever if they are negative.
func Poll(descriptors []unix.PollFd, wait int64) error {
	var timeout *unix.Timespec
	if wait >= 0 {
		span := unix.NsecToTimespec(wait)
		timeout = &span
	}
	var errno unix.Errno
	first := uintptr(unsafe.Pointer(unsafe.SliceData(descriptors)))
	if wait == 0 {
		_, _, errno = unix.RawSyscall6(
			unix.SYS_PPOLL,
			first,
			uintptr(len(descriptors)),
			uintptr(unsafe.Pointer(timeout)),
			0,
			0,
			0,
		)
	} else {
		_, _, errno = unix.Syscall6(unix.SYS_PPOLL, first, uintptr(len(descriptors)), uintptr(unsafe.Pointer(timeout)), 0, 0,
			0)
	}
	if errno != 0 && errno != unix.EINTR {
		return errno
	}
	return nil
}
