// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package holder

import "errors"

// kill fails: engines run on Linux alone.
func kill(int) error { return errors.ErrUnsupported }
