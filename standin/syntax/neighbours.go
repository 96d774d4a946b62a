// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// badNeighbours refuses tokens that no statement has next to each other, and which teesql reads over: an equal sign
// after nothing, two variables, NOT NOT NULL, a type without its length, VARYING of what is no cursor, and a second
// name behind the table of an INSERT.
func badNeighbours(tokens []token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch t, before, next := tokens[i], tokens[i-1], tokens[i+1]; {
		case t.is("=") && (before.is("(") || before.is(",")):
			return near(tokens, i)
		case t.kind == tokenVariable && before.kind == tokenVariable && !isCalled(tokens, i-1):
			return near(tokens, i)
		case t.is("NOT") && before.is("NOT") && next.is("NULL"):
			return near(tokens, i)
		case t.is("(") && before.kind == tokenWord && sizedTypes[before.fold] &&
			!tokens[max(i-2, 0)].isOneOf(".", "FUNCTION") &&
			(next.is(")") || next.is("NULL") || next.kind == tokenVariable || next.kind == tokenString):
			return near(tokens, i+1)
		case t.is("VARYING") && next.isOneOf("OUTPUT", "OUT") && !before.isOneOf("CURSOR", "CHAR", "CHARACTER", "BINARY"):
			return near(tokens, i)
		case before.is("INSERT") && !t.is("BULK"):
			if at := aliasOfInsert(tokens, i); at > 0 {
				return near(tokens, at)
			}
		}
	}
	return nil
}

// sizedTypes are types that take a length or a precision, and no functions.
var sizedTypes = wordSet("VARCHAR NVARCHAR VARBINARY DECIMAL NUMERIC DATETIME2 DATETIMEOFFSET")

// isCalled tells whether the variable at a token has the name of a procedure that EXECUTE calls, whose arguments follow
// it.
func isCalled(tokens []token, at int) bool {
	if at >= 3 && tokens[at-1].is("=") {
		at -= 2
	}
	return at >= 1 && tokens[at-1].isOneOf("EXEC", "EXECUTE")
}

// aliasOfInsert finds a name behind that of an INSERT's table, which begins at a token.
func aliasOfInsert(tokens []token, at int) int {
	if tokens[at].is("TOP") && tokens[at+1].is("(") {
		if at = closingParenthesis(tokens, at+1) + 1; at == 0 {
			return 0
		}
		if tokens[at].is("PERCENT") {
			at++
		}
	}
	if tokens[at].is("INTO") {
		at++
	}
	if !isName(tokens[at]) {
		return 0
	}
	at++
	for at+1 < len(tokens) && tokens[at].is(".") {
		for at++; tokens[at].is("."); at++ { // database..table has no schema's name
		}
		at++
	}
	if at < len(tokens) && (isName(tokens[at]) && !tokens[at].is("OUTPUT") || tokens[at].is("AS")) {
		return at
	}
	return 0
}
