// SPDX-License-Identifier: Apache-2.0

package holder

import "syscall"

// kill sends SIGKILL to a process.
func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
