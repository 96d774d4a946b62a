// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"strings"

	"geosql.dev/standin/repl/stored"
)

// fill replaces each ? of a text by a literal. The text must have no other question mark.
func fill(format string, args ...any) string {
	parts := strings.Split(format, "?")
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(parts)-1 {
			b.WriteString(stored.Literal(args[i]))
		}
	}
	return b.String()
}

// bracket is an identifier in brackets.
func bracket(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }
