// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package agent

import (
	"errors"
	"fmt"
)

// Conceal fails: sidecars run on Linux alone.
func Conceal() error {
	return fmt.Errorf("keep other processes of the user out of the sidecar's: %w", errors.ErrUnsupported)
}
