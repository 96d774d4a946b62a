// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"path/filepath"
	"syscall"
)

// Volume is the size and the free space of the file system that has a file, in bytes.
func Volume(path string) (total, free int64) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		return 0, 0
	}
	return int64(st.Blocks) * st.Bsize, int64(st.Bavail) * st.Bsize
}

// Meter is a Watcher that says how much free space the volume of its files has.
type Meter interface {
	// Free is the free space of the volume that has a file, in bytes.
	Free(path string) int64
}

// Free is the free space of the file system that has a file, in bytes.
func Free(path string) int64 {
	if m, ok := watcherOf(path).(Meter); ok {
		return m.Free(path)
	}
	_, free := Volume(path)
	return free
}
