// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// cutShort refuses statements without the word that they are about, and RAISERROR of what it takes not.
func cutShort(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || tokens[i].Kind != token.Word {
			continue
		}
		at, next := 0, tokens[i+1]
		switch t := tokens[i]; {
		case t.Is("AUTHORIZATION") && i < 4 && i > 1 && tokens[0].Is("CREATE") && tokens[1].Is("SCHEMA"):
			if !token.IsName(next) {
				at = i + 1
			}
		case t.Is("CONSTRAINT") && i > 0 && tokens[i-1].IsOneOf("ADD", "DROP"):
			if next.Kind == token.End || next.Is(";") {
				at = i + 1
			}
		case t.Is("INDEX") && i > 0 && tokens[i-1].Is("ALTER"):
			at = actionless(tokens, i+1)
		case t.Is("RAISERROR") && next.Is("("):
			at = badRaise(tokens, i+2)
		}
		if at > 0 {
			return token.Near(tokens, at)
		}
	}
	return nil
}

// actionless is the token behind the WITH that ALTER INDEX has in place of an action, 0 where it has one; WITH
// XMLNAMESPACES may come first (docs/t-sql/statements/alter-index-transact-sql.md and
// alter-index-selective-xml-indexes-transact-sql.md, Syntax).
func actionless(tokens []token.Token, at int) int {
	switch {
	case tokens[at].Is("ALL"):
		at++
	case token.IsName(tokens[at]):
		at = token.AfterName(tokens, at)
	}
	if !tokens[at].Is("ON") || !token.IsName(tokens[at+1]) {
		return 0
	}
	if at = token.AfterName(tokens, at+1); tokens[at].Is("WITH") && !tokens[at+1].Is("XMLNAMESPACES") {
		return min(at+1, len(tokens)-1)
	}
	return 0
}

// badRaise is the first token within the parentheses of RAISERROR that may not be there, from the one behind the first
// of them on, 0 when there is none: message, severity and state are whole numbers or variables, the message may be a
// string, and what follows are constants and variables (docs/t-sql/language-elements/raiserror-transact-sql.md,
// Syntax).
func badRaise(tokens []token.Token, at int) int {
	for place := 0; ; place++ {
		signed := tokens[at].Is("-")
		if signed {
			at++
		}
		switch t := tokens[at]; {
		case t.Kind == token.Integer:
		case t.Kind == token.Variable && !strings.HasPrefix(t.Text, "@@") && !signed:
		case t.Kind == token.String && place != 1 && place != 2 && !signed:
		case place > 2 && (isConstant(t) || t.Is("NULL")):
		default:
			return at
		}
		at++
		switch {
		case tokens[at].Is(","):
			at++
		case place > 1 && tokens[at].Is(")"):
			return 0
		default:
			return at
		}
	}
}
