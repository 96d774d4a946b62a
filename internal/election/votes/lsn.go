// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"cmp"
	"strings"
)

// CompareLSN compares two LSNs in decimal; the empty one is the lowest.
func CompareLSN(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
