// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// badArguments refuses what may be no argument of EXECUTE, or not follow one: an argument is a constant, a variable, a
// word or DEFAULT, and never an expression (docs/t-sql/language-elements/execute-transact-sql.md, Syntax), which teesql
// would read.
func badArguments(tokens []token, inside []bool) *sqlerr.Error {
	for i := range tokens {
		at := i + 1
		switch {
		case inside[i]:
			continue
		case i == 0 && startsWithProcedureName(tokens):
			at = 0
		case !tokens[i].isOneOf("EXEC", "EXECUTE"):
			continue
		}
		if at = afterProcedure(tokens, at); at == 0 {
			continue
		}
		bad := badArgument(tokens, at)
		switch {
		case bad > 0 && tokens[min(bad, len(tokens)-1)].isOneOf("OUTPUT", "OUT"):
			return sqlerr.New(179, 1).At(tokens[bad].line)
		case bad > 0:
			return near(tokens, min(bad, len(tokens)-1))
		}
	}
	return nil
}

// afterProcedure is the token behind the name of the procedure that EXECUTE runs, 0 where it runs none.
func afterProcedure(tokens []token, at int) int {
	if tokens[at].kind == tokenVariable {
		if !tokens[at+1].is("=") {
			return at + 1
		}
		if at += 2; tokens[at].kind == tokenVariable {
			return at + 1
		}
	}
	if !isName(tokens[at]) && !tokens[at].is(".") || tokens[at].is("AT") {
		return 0
	}
	at = afterName(tokens, at)
	if tokens[at].is(";") && tokens[at+1].kind == tokenInteger {
		at += 2
	}
	return at
}

// badArgument is the first token from one on that may be no argument, 0 when there is none. A parenthesis may begin the
// next statement.
func badArgument(tokens []token, at int) int {
	if tokens[at].is("(") {
		if tokens[at+1].isOneOf("(", "SELECT") {
			return 0
		}
		return at + 1
	}
	for {
		if tokens[at].kind == tokenVariable && tokens[at+1].is("=") {
			at += 2
			if tokens[at].isOneOf("(", "SELECT") {
				return at
			}
		}
		if tokens[at].isOneOf("-", "+") {
			at++
		}
		if !isArgument(tokens[at]) {
			return badUnless(tokens[at].kind != tokenWord || !neverFirst[tokens[at].fold] || tokens[at].is("AS"), at)
		}
		switch next := tokens[at+1]; {
		case next.isOneOf("+", "-", "*", "/", "%", "&", "|", "^", "."):
			return at + 1
		case next.is("(") && !tokens[at+2].isOneOf("(", "SELECT"):
			return at + 2
		case next.isOneOf("OUTPUT", "OUT") &&
			(isConstant(tokens[at]) && tokens[at].kind != tokenVariable || tokens[at].is("NULL")):
			return at + 1
		case next.isOneOf("OUTPUT", "OUT"):
			at++
		}
		if at++; !tokens[at].is(",") {
			return 0
		}
		if at++; tokens[at].is("(") {
			return at
		}
	}
}

func isArgument(t token) bool {
	return isConstant(t) || t.kind == tokenQuoted || t.kind == tokenWord && (!t.reserved || t.isOneOf("NULL", "DEFAULT"))
}
