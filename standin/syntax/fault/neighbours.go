// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// badNeighbours refuses tokens that no statement has next to each other, and which teesql reads over: an equal sign
// after nothing, two variables, NOT NOT NULL, a type without its length, VARYING of what is no cursor, and a second
// name behind the table of an INSERT.
func badNeighbours(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch t, before, next := tokens[i], tokens[i-1], tokens[i+1]; {
		case t.Is("=") && (before.Is("(") || before.Is(",")):
			return token.Near(tokens, i)
		case t.Kind == token.Variable && before.Kind == token.Variable && !isCalled(tokens, i-1):
			return token.Near(tokens, i)
		case t.Is("NOT") && before.Is("NOT") && next.Is("NULL"):
			return token.Near(tokens, i)
		case t.Is("(") && before.Kind == token.Word && sizedTypes[before.Fold] &&
			!tokens[max(i-2, 0)].IsOneOf(".", "FUNCTION") &&
			(next.Is(")") || next.Is("NULL") || next.Kind == token.Variable || next.Kind == token.String):
			return token.Near(tokens, i+1)
		case t.Is("VARYING") && next.IsOneOf("OUTPUT", "OUT") && !before.IsOneOf("CURSOR", "CHAR", "CHARACTER", "BINARY"):
			return token.Near(tokens, i)
		case before.Is("INSERT") && !t.Is("BULK"):
			if at := aliasOfInsert(tokens, i); at > 0 {
				return token.Near(tokens, at)
			}
		}
	}
	return nil
}

// sizedTypes are types that take a length or a precision, and no functions.
var sizedTypes = token.Words("VARCHAR NVARCHAR VARBINARY DECIMAL NUMERIC DATETIME2 DATETIMEOFFSET")

// isCalled tells whether the variable at a token has the name of a procedure that EXECUTE calls, whose arguments follow
// it.
func isCalled(tokens []token.Token, at int) bool {
	if at >= 3 && tokens[at-1].Is("=") {
		at -= 2
	}
	return at >= 1 && tokens[at-1].IsOneOf("EXEC", "EXECUTE")
}

// aliasOfInsert finds a name behind that of an INSERT's table, which begins at a token.
func aliasOfInsert(tokens []token.Token, at int) int {
	if tokens[at].Is("TOP") && tokens[at+1].Is("(") {
		if at = token.ClosingParenthesis(tokens, at+1) + 1; at == 0 {
			return 0
		}
		if tokens[at].Is("PERCENT") {
			at++
		}
	}
	if tokens[at].Is("INTO") {
		at++
	}
	if !token.IsName(tokens[at]) {
		return 0
	}
	at++
	for at+1 < len(tokens) && tokens[at].Is(".") {
		for at++; tokens[at].Is("."); at++ { // database..table has no schema's name
		}
		at++
	}
	if at < len(tokens) && (token.IsName(tokens[at]) && !tokens[at].Is("OUTPUT") || tokens[at].Is("AS")) {
		return at
	}
	return 0
}
