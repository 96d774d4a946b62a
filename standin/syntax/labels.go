// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/syntax/token"

// beforeLabels ends the statement before a label (docs/t-sql/language-elements/goto-transact-sql.md), whose name teesql
// takes for the alias of what a SELECT before it ends with.
func beforeLabels(tokens []token.Token, inside []bool, before map[int]string) {
	depth := 0
	for i := 1; i+1 < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case inside[i] || depth > 0 || !token.IsName(t) || t.Kind != token.Word || !tokens[i+1].Is(":"):
		case endsExpression(tokens[i-1]):
			before[i] += ";"
		}
	}
}

// endsExpression tells whether a token may be the last one of an expression.
func endsExpression(t token.Token) bool {
	switch t.Kind {
	case token.Word:
		return !t.Reserved ||
			t.IsOneOf("END", "NULL", "USER", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "CURRENT_TIMESTAMP")
	case token.Punct:
		return t.Is(")") || t.Is("*")
	case token.End:
		return false
	}
	return true
}

// aliasOfBulk writes AS between OPENROWSET (BULK ...) and its name (docs/t-sql/functions/openrowset-transact-sql.md,
// table_alias), where teesql does not do without.
func aliasOfBulk(tokens []token.Token, inside []bool, before map[int]string) {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("OPENROWSET") || !tokens[i+1].Is("(") || !tokens[i+2].Is("BULK") {
			continue
		}
		if end := token.ClosingParenthesis(tokens, i+1); end > 0 && end+1 < len(tokens) && token.IsName(tokens[end+1]) {
			before[end+1] += "AS "
		}
	}
}
