// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// continuing are reserved words that go on with what is before them, and so follow no operator, comma or opening
// parenthesis in any statement.
var continuing = token.Words("THEN WHEN ELSE BY TO BEGIN END GROUP INTO HAVING JOIN INNER AND OR IN IS LIKE BETWEEN")

// withoutValue refuses such a word in the place of a value or a name.
func withoutValue(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 1; i < len(tokens); i++ {
		if inside[i] || tokens[i].Kind != token.Word || tokens[i-1].Kind != token.Punct || !continuing[tokens[i].Fold] {
			continue
		}
		if tokens[i-1].IsOneOf("(", ",", "=", "<", ">", "<>", "<=", ">=", "!=", "+", "-", "/", "+=", "-=", "&", "|", "^") {
			return token.Near(tokens, i)
		}
	}
	return nil
}
