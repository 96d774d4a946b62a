// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Conceal keeps other processes of the same user out of this one: its mounts (/proc/PID/root), memory, environment and
// open files. The sidecar has the engine's user, since it must be able to end it, and the containers of a pod share
// their process namespace: by /proc the engine would read what is mounted in the sidecar alone (proc(5), ptrace(2)
// "Ptrace access mode checking").
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep other processes of the user out of the sidecar's: %w", err)
	}
	return nil
}
