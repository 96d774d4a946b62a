// SPDX-License-Identifier: Apache-2.0

package syntax

// beforeLabels ends the statement before a label (docs/t-sql/language-elements/goto-transact-sql.md), whose name teesql
// takes for the alias of what a SELECT before it ends with.
func beforeLabels(tokens []token, inside []bool, before map[int]string) {
	depth := 0
	for i := 1; i+1 < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case inside[i] || depth > 0 || !isName(t) || t.kind != tokenWord || !tokens[i+1].is(":"):
		case endsExpression(tokens[i-1]):
			before[i] += ";"
		}
	}
}

// endsExpression tells whether a token may be the last one of an expression.
func endsExpression(t token) bool {
	switch t.kind {
	case tokenWord:
		return !t.reserved ||
			t.isOneOf("END", "NULL", "USER", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "CURRENT_TIMESTAMP")
	case tokenPunct:
		return t.is(")") || t.is("*")
	case tokenEnd:
		return false
	}
	return true
}

// aliasOfBulk writes AS between OPENROWSET (BULK ...) and its name (docs/t-sql/functions/openrowset-transact-sql.md,
// table_alias), where teesql does not do without.
func aliasOfBulk(tokens []token, inside []bool, before map[int]string) {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("OPENROWSET") || !tokens[i+1].is("(") || !tokens[i+2].is("BULK") {
			continue
		}
		if end := closingParenthesis(tokens, i+1); end > 0 && end+1 < len(tokens) && isName(tokens[end+1]) {
			before[end+1] += "AS "
		}
	}
}
