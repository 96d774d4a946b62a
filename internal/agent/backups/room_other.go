// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package backups

import (
	"errors"
	"fmt"
)

// FileSystem fails: servers run on Linux alone, and nobody asks for their volumes elsewhere.
func FileSystem(dir string) (capacity, free int64, err error) {
	return 0, 0, fmt.Errorf("ask how much room %s has: %w", dir, errors.ErrUnsupported)
}
