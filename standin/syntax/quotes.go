// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"geosql.dev/standin/syntax/token"
)

// stringLiteral is a value in single quotes.
func stringLiteral(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// withSingleQuotes is the batch's text between two bytes, its strings in single quotes.
func (b *Batch) withSingleQuotes(from, to int) string {
	if to < from {
		return ""
	}
	var out strings.Builder
	for _, t := range b.tokens {
		if t.Kind != token.String || t.Text[0] != '"' || t.Pos < from || t.End > to {
			continue
		}
		out.WriteString(b.Text[from:t.Pos])
		out.WriteString(stringLiteral(t.Value))
		from = t.End
	}
	out.WriteString(b.Text[from:to])
	return out.String()
}
