// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

// SplitName takes a name in a text apart at its points, and its parts out of their brackets or quotes.
func SplitName(text string) []string {
	var parts []string
	var cur strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '"':
			end := c
			if c == '[' {
				end = ']'
			}
			for i++; i < len(text); i++ {
				if text[i] == end {
					if i+1 < len(text) && text[i+1] == end {
						i++
					} else {
						break
					}
				}
				cur.WriteByte(text[i])
			}
		case '.':
			parts = append(parts, cur.String())
			cur.Reset()
		default:
			cur.WriteByte(c)
		}
	}
	return append(parts, cur.String())
}

// QuoteName is a name in brackets.
func QuoteName(s string) string { return "[" + strings.ReplaceAll(s, "]", "]]") + "]" }
