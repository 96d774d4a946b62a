// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package history

// sinceBoot panics: clients run on Linux alone, and no history can be trusted that goes by another clock. Elsewhere the
// plugin reads what they saw.
func sinceBoot() int64 { panic("clients' histories need Linux: this system has no CLOCK_BOOTTIME") }
