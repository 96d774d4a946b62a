// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io/fs"
	"syscall"
)

// allocated are the bytes that a file takes on its volume, 0 where that is not known.
func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return 0
}
