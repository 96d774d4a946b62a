// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"geosql.dev/standin/sqlerr"
)

// cutShort refuses statements without the word that they are about, and RAISERROR of what it takes not.
func cutShort(tokens []token, inside []bool) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || tokens[i].kind != tokenWord {
			continue
		}
		at, next := 0, tokens[i+1]
		switch t := tokens[i]; {
		case t.is("AUTHORIZATION") && i < 4 && i > 1 && tokens[0].is("CREATE") && tokens[1].is("SCHEMA"):
			if !isName(next) {
				at = i + 1
			}
		case t.is("CONSTRAINT") && i > 0 && tokens[i-1].isOneOf("ADD", "DROP"):
			if next.kind == tokenEnd || next.is(";") {
				at = i + 1
			}
		case t.is("INDEX") && i > 0 && tokens[i-1].is("ALTER"):
			at = actionless(tokens, i+1)
		case t.is("RAISERROR") && next.is("("):
			at = badRaise(tokens, i+2)
		}
		if at > 0 {
			return near(tokens, at)
		}
	}
	return nil
}

// actionless is the token behind the WITH that ALTER INDEX has in place of an action, 0 where it has one; WITH
// XMLNAMESPACES may come first (docs/t-sql/statements/alter-index-transact-sql.md and
// alter-index-selective-xml-indexes-transact-sql.md, Syntax).
func actionless(tokens []token, at int) int {
	switch {
	case tokens[at].is("ALL"):
		at++
	case isName(tokens[at]):
		at = afterName(tokens, at)
	}
	if !tokens[at].is("ON") || !isName(tokens[at+1]) {
		return 0
	}
	if at = afterName(tokens, at+1); tokens[at].is("WITH") && !tokens[at+1].is("XMLNAMESPACES") {
		return min(at+1, len(tokens)-1)
	}
	return 0
}

// badRaise is the first token within the parentheses of RAISERROR that may not be there, from the one behind the first
// of them on, 0 when there is none: message, severity and state are whole numbers or variables, the message may be a
// string, and what follows are constants and variables (docs/t-sql/language-elements/raiserror-transact-sql.md,
// Syntax).
func badRaise(tokens []token, at int) int {
	for place := 0; ; place++ {
		signed := tokens[at].is("-")
		if signed {
			at++
		}
		switch t := tokens[at]; {
		case t.kind == tokenInteger:
		case t.kind == tokenVariable && !strings.HasPrefix(t.text, "@@") && !signed:
		case t.kind == tokenString && place != 1 && place != 2 && !signed:
		case place > 2 && (isConstant(t) || t.is("NULL")):
		default:
			return at
		}
		at++
		switch {
		case tokens[at].is(","):
			at++
		case place > 1 && tokens[at].is(")"):
			return 0
		default:
			return at
		}
	}
}
