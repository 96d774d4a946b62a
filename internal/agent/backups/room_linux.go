// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FileSystem asks the file system of a folder for its bytes, and for those that are free for who is not root.
func FileSystem(dir string) (capacity, free int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("ask how much room %s has: %w", dir, err)
	}
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, nil //nolint:gosec // no file system has 2^63 bytes
}
