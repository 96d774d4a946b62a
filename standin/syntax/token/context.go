// SPDX-License-Identifier: Apache-2.0

package token

// OpeningParenthesis is the token that opens the parenthesis which token closing closes, -1 when none does.
func OpeningParenthesis(tokens []Token, closing int) int {
	depth := 0
	for i := closing; i >= 0; i-- {
		switch {
		case tokens[i].Is(")"):
			depth++
		case tokens[i].Is("("):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// AfterName is where the name of an object that begins at a token is over.
func AfterName(tokens []Token, at int) int {
	for at+1 < len(tokens) && (tokens[at].Is(".") || IsName(tokens[at])) {
		at++
		if IsName(tokens[at-1]) && !tokens[at].Is(".") {
			break
		}
	}
	return at
}

// OfAlterTable tells whether a clause is the first one of an ALTER TABLE: the table's name is before it.
func OfAlterTable(tokens []Token, at int) bool {
	if at--; at > 2 && tokens[at].IsOneOf("CHECK", "NOCHECK") && tokens[at-1].Is("WITH") {
		at -= 2
	}
	for at > 2 && IsName(tokens[at]) && tokens[at-1].Is(".") {
		at -= 2
	}
	return at > 1 && IsName(tokens[at]) && tokens[at-1].Is("TABLE") && tokens[at-2].Is("ALTER")
}

// ClosingParenthesis is the token that closes the parenthesis at token open, -1 when none does.
func ClosingParenthesis(tokens []Token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch {
		case tokens[i].Is("("):
			depth++
		case tokens[i].Is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// IsTableHint tells whether the word at i is a table hint in parentheses, behind WITH (which names columns where it
// follows arguments: OPENJSON) or a table's name alone.
func IsTableHint(tokens []Token, i int) bool {
	at := OpensBefore(tokens, i) - 1
	first := at
	if at > 0 && tokens[at].Is("WITH") {
		return !tokens[at-1].Is(")") && !tokens[i-1].Is("=")
	}
	for at > 0 && (IsName(tokens[at]) || tokens[at].IsOneOf(".", "AS")) {
		at--
	}
	return at >= 0 && at < first && !tokens[first].Is("AS") && tokens[at].IsOneOf("FROM", "JOIN")
}

// OpensBefore is the parenthesis that the token at i is directly in, or -1: no statement begins between them.
func OpensBefore(tokens []Token, i int) int {
	depth := 0
	for at := i - 1; at >= 0; at-- {
		switch t := tokens[at]; {
		case t.Is(")"):
			depth++
		case t.Is("(") && depth == 0:
			return at
		case t.Is("("):
			depth--
		case depth == 0 && t.IsOneOf(";", "SELECT"):
			return -1
		}
	}
	return -1
}

// BeginsStatement tells whether a reserved word begins the next statement.
func BeginsStatement(t Token) bool {
	switch t.Fold {
	case "SELECT",
		"INSERT",
		"UPDATE",
		"DELETE",
		"CREATE",
		"ALTER",
		"DROP",
		"EXEC",
		"EXECUTE",
		"DECLARE",
		"SET",
		"IF",
		"WHILE",
		"BEGIN",
		"END",
		"PRINT",
		"DBCC",
		"WITH":
		return true
	}
	return false
}
