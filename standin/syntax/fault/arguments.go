// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// badArguments refuses what may be no argument of EXECUTE, or not follow one: an argument is a constant, a variable, a
// word or DEFAULT, and never an expression (docs/t-sql/language-elements/execute-transact-sql.md, Syntax), which teesql
// would read.
func badArguments(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := range tokens {
		at := i + 1
		switch {
		case inside[i]:
			continue
		case i == 0 && token.StartsWithProcedureName(tokens):
			at = 0
		case !tokens[i].IsOneOf("EXEC", "EXECUTE"):
			continue
		}
		if at = afterProcedure(tokens, at); at == 0 {
			continue
		}
		bad := badArgument(tokens, at)
		switch {
		case bad > 0 && tokens[min(bad, len(tokens)-1)].IsOneOf("OUTPUT", "OUT"):
			return sqlerr.New(179, 1).At(tokens[bad].Line)
		case bad > 0:
			return token.Near(tokens, min(bad, len(tokens)-1))
		}
	}
	return nil
}

// afterProcedure is the token behind the name of the procedure that EXECUTE runs, 0 where it runs none.
func afterProcedure(tokens []token.Token, at int) int {
	if tokens[at].Kind == token.Variable {
		if !tokens[at+1].Is("=") {
			return at + 1
		}
		if at += 2; tokens[at].Kind == token.Variable {
			return at + 1
		}
	}
	if !token.IsName(tokens[at]) && !tokens[at].Is(".") || tokens[at].Is("AT") {
		return 0
	}
	at = token.AfterName(tokens, at)
	if tokens[at].Is(";") && tokens[at+1].Kind == token.Integer {
		at += 2
	}
	return at
}

// badArgument is the first token from one on that may be no argument, 0 when there is none. A parenthesis may begin the
// next statement.
func badArgument(tokens []token.Token, at int) int {
	if tokens[at].Is("(") {
		if tokens[at+1].IsOneOf("(", "SELECT") {
			return 0
		}
		return at + 1
	}
	for {
		if tokens[at].Kind == token.Variable && tokens[at+1].Is("=") {
			at += 2
			if tokens[at].IsOneOf("(", "SELECT") {
				return at
			}
		}
		if tokens[at].IsOneOf("-", "+") {
			at++
		}
		if !isArgument(tokens[at]) {
			return badUnless(tokens[at].Kind != token.Word || !neverFirst[tokens[at].Fold] || tokens[at].Is("AS"), at)
		}
		switch next := tokens[at+1]; {
		case next.IsOneOf("+", "-", "*", "/", "%", "&", "|", "^", "."):
			return at + 1
		case next.Is("(") && !tokens[at+2].IsOneOf("(", "SELECT"):
			return at + 2
		case next.IsOneOf("OUTPUT", "OUT") &&
			(isConstant(tokens[at]) && tokens[at].Kind != token.Variable || tokens[at].Is("NULL")):
			return at + 1
		case next.IsOneOf("OUTPUT", "OUT"):
			at++
		}
		if at++; !tokens[at].Is(",") {
			return 0
		}
		if at++; tokens[at].Is("(") {
			return at
		}
	}
}

func isArgument(t token.Token) bool {
	return isConstant(t) || t.Kind == token.Quoted || t.Kind == token.Word && (!t.Reserved || t.IsOneOf("NULL", "DEFAULT"))
}
