// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// blocks refuses a BEGIN or CASE that nothing ends, an END of nothing, and TRY without its CATCH
// (docs/t-sql/language-elements/begin-end-transact-sql.md, try-catch-transact-sql.md): within modules teesql takes the
// end of the text for theirs.
func blocks(tokens []token.Token, inside []bool) *sqlerr.Error {
	var open []string // the word that has to follow END, empty for any
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch t, next := tokens[i], tokens[i+1]; {
		case t.Is("CASE"):
			open = append(open, "")
		case t.Is("BEGIN") && next.IsOneOf("TRY", "CATCH"):
			open = append(open, next.Fold)
		case t.Is("BEGIN") && !next.IsOneOf("TRAN", "TRANSACTION", "DISTRIBUTED", "CONVERSATION", "DIALOG"):
			open = append(open, "")
		case !t.Is("END") || next.Is("CONVERSATION") &&
			(tokens[i+2].Kind == token.Variable || tokens[i+2].Kind == token.String) || i > 2 && tokens[i-2].Is("AS") &&
			tokens[i-3].Is("ALWAYS"):
		case len(open) == 0:
			return token.Near(tokens, i)
		default:
			word := open[len(open)-1]
			open = open[:len(open)-1]
			switch {
			case word == "":
				continue
			case !next.Is(word):
				return token.Near(tokens, i+1)
			case word == "TRY" && !tokens[min(i+2, len(tokens)-1)].Is("BEGIN"):
				return token.Near(tokens, min(i+2, len(tokens)-1))
			case word == "TRY" && !tokens[i+3].Is("CATCH"):
				return token.Near(tokens, i+3)
			}
		}
	}
	if len(open) > 0 {
		return token.Near(tokens, len(tokens)-1)
	}
	return nil
}
