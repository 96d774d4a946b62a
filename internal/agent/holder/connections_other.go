// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package holder

import "time"

// unheard is so of every connection: nothing asks the system here, and one that cannot be asked about counts. Agents
// run on Linux alone.
func (c *connection) unheard(time.Time) bool { return true }
