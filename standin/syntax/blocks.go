// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// blocks refuses a BEGIN or CASE that nothing ends, an END of nothing, and TRY without its CATCH
// (docs/t-sql/language-elements/begin-end-transact-sql.md, try-catch-transact-sql.md): within modules teesql takes the
// end of the text for theirs.
func blocks(tokens []token, inside []bool) *sqlerr.Error {
	var open []string // the word that has to follow END, empty for any
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch t, next := tokens[i], tokens[i+1]; {
		case t.is("CASE"):
			open = append(open, "")
		case t.is("BEGIN") && next.isOneOf("TRY", "CATCH"):
			open = append(open, next.fold)
		case t.is("BEGIN") && !next.isOneOf("TRAN", "TRANSACTION", "DISTRIBUTED", "CONVERSATION", "DIALOG"):
			open = append(open, "")
		case !t.is("END") || next.is("CONVERSATION") &&
			(tokens[i+2].kind == tokenVariable || tokens[i+2].kind == tokenString) || i > 2 && tokens[i-2].is("AS") &&
			tokens[i-3].is("ALWAYS"):
		case len(open) == 0:
			return near(tokens, i)
		default:
			word := open[len(open)-1]
			open = open[:len(open)-1]
			switch {
			case word == "":
				continue
			case !next.is(word):
				return near(tokens, i+1)
			case word == "TRY" && !tokens[min(i+2, len(tokens)-1)].is("BEGIN"):
				return near(tokens, min(i+2, len(tokens)-1))
			case word == "TRY" && !tokens[i+3].is("CATCH"):
				return near(tokens, i+3)
			}
		}
	}
	if len(open) > 0 {
		return near(tokens, len(tokens)-1)
	}
	return nil
}

// continuing are reserved words that go on with what is before them, and so follow no operator, comma or opening
// parenthesis in any statement.
var continuing = wordSet("THEN WHEN ELSE BY TO BEGIN END GROUP INTO HAVING JOIN INNER AND OR IN IS LIKE BETWEEN")

// withoutValue refuses such a word in the place of a value or a name.
func withoutValue(tokens []token, inside []bool) *sqlerr.Error {
	for i := 1; i < len(tokens); i++ {
		if inside[i] || tokens[i].kind != tokenWord || tokens[i-1].kind != tokenPunct || !continuing[tokens[i].fold] {
			continue
		}
		if tokens[i-1].isOneOf("(", ",", "=", "<", ">", "<>", "<=", ">=", "!=", "+", "-", "/", "+=", "-=", "&", "|", "^") {
			return near(tokens, i)
		}
	}
	return nil
}
