// SPDX-License-Identifier: Apache-2.0

package replica

import "strings"

// equalName compares names as the server's collation does.
func equalName(a, b string) bool { return strings.EqualFold(a, b) }
