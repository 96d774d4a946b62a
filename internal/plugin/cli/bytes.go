// SPDX-License-Identifier: Apache-2.0

package cli

import "fmt"

// Bytes is a number of bytes for people, such as 1.5 KiB.
func Bytes(bytes int64) string {
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
