// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/syntax/token"

// switchesOfKeys makes strings of the ON and OFF among the options of a key that the definition of a table variable, a
// table type or a function's table has behind its columns: teesql takes expressions there.
func switchesOfKeys(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := 2; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("WITH") || !tokens[i+1].Is("(") || !tokens[i-1].Is(")") || !ofDeclaredTable(tokens, i) {
			continue
		}
		for at := i + 2; at+1 < len(tokens) && !tokens[at].Is(")"); at++ {
			if tokens[at-1].Is("=") && tokens[at].IsOneOf("ON", "OFF") {
				instead[at] = "'" + tokens[at].Text + "'"
			}
		}
	}
}

// ofDeclaredTable tells whether the token at is within a definition that follows TABLE at once.
func ofDeclaredTable(tokens []token.Token, at int) bool {
	depth := 0
	for ; at > 0; at-- {
		switch {
		case tokens[at].Is(")"):
			depth++
		case tokens[at].Is("("):
			if depth == 0 {
				return tokens[at-1].Is("TABLE")
			}
			depth--
		}
	}
	return false
}
