// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ballot

import "time"

// sinceBoot panics: only Linux is known to have a clock that goes on in a suspended machine, and no election may go by
// another. The plugin is built for other systems and takes part in none.
func sinceBoot() time.Duration { panic("elections need Linux: this system has no CLOCK_BOOTTIME") }
