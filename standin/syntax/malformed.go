// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"geosql.dev/standin/syntax/token"
)

// withoutNested is a batch whose comments have none within them, of the same length: SQL Server's comments nest
// (docs/t-sql/language-elements/slash-star-comment-transact-sql.md), teesql's do not.
func withoutNested(text string, tokens []token.Token) string {
	if strings.Count(text, "/*") < 2 {
		return text
	}
	out := []byte(text)
	from := 0
	for _, t := range tokens {
		blankNested(out[from:t.Pos])
		from = t.End
	}
	return string(out)
}

// blankNested blanks the marks of comments within comments in what is between two tokens.
func blankNested(gap []byte) {
	depth := 0
	for i := 0; i+1 < len(gap); i++ {
		switch mark := string(gap[i : i+2]); {
		case mark == "--" && depth == 0:
			for i < len(gap) && gap[i] != '\n' {
				i++
			}
		case mark == "/*", mark == "*/" && depth > 0:
			if mark == "*/" {
				depth--
			}
			if depth > 0 {
				gap[i], gap[i+1] = ' ', ' '
			}
			if mark == "/*" {
				depth++
			}
			i++
		}
	}
}
