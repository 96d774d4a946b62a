// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// badModuleParameters refuses what may not stand in the list of a procedure's or function's parameters
// (docs/t-sql/statements/create-procedure-transact-sql.md, create-function-transact-sql.md, Syntax): teesql reads on to
// the body.
func badModuleParameters(tokens []token.Token, _ []bool) *sqlerr.Error {
	name, kind := token.ModuleName(tokens)
	if kind != "PROCEDURE" && kind != "FUNCTION" || !token.IsName(tokens[name]) {
		return nil
	}
	at := token.AfterName(tokens, name)
	if tokens[at].Is(";") && tokens[at+1].Kind == token.Integer {
		at += 2
	}
	enclosed := tokens[at].Is("(")
	if enclosed {
		at++
	}
	if enclosed && tokens[at].Is(")") || !enclosed && tokens[at].Kind != token.Variable {
		return nil
	}
	for {
		next, ok := parameter(tokens, at)
		if !ok {
			return token.Near(tokens, min(next, len(tokens)-1))
		}
		switch t := tokens[next]; {
		case t.Is(","):
			at = next + 1
		case t.Kind == token.End,
			enclosed && t.Is(")"),
			!enclosed && t.IsOneOf("AS", "WITH"),
			!enclosed && t.Is("FOR") && tokens[next+1].Is("REPLICATION"):
			return nil
		case !enclosed && t.Is("FOR"):
			return token.Near(tokens, next+1)
		default:
			return token.Near(tokens, next)
		}
	}
}

// parameter reads one parameter to the token behind it; ok is false at the token that may not be there.
func parameter(tokens []token.Token, at int) (next int, ok bool) {
	if tokens[at].Kind != token.Variable {
		return at, false
	}
	if at++; tokens[at].Is("AS") {
		at++
	}
	if at, ok = typeOf(tokens, at); !ok {
		return at, false
	}
	for tokens[at].IsOneOf("VARYING", "NULL", "NOT") {
		at++
	}
	if tokens[at].Is("=") {
		if at++; tokens[at].IsOneOf("-", "+") {
			at++
		}
		if t := tokens[at]; !isConstant(t) && !token.IsName(t) && !t.IsOneOf("NULL", "ON", "OFF") {
			return at, t.Is("(") // of that another judge tells
		}
		at++
	}
	for tokens[at].IsOneOf("OUT", "OUTPUT", "READONLY", "VARYING") {
		at++
	}
	return at, true
}

// typeOf reads a data type to the token behind it.
func typeOf(tokens []token.Token, at int) (next int, ok bool) {
	first := tokens[at]
	switch {
	case first.Is("CURSOR"), first.Is("TABLE"):
		return at + 1, true
	case first.Is("DOUBLE"):
		if at++; tokens[at].Is("PRECISION") {
			at++
		}
	case first.Is("NATIONAL"):
		at += 2
		if tokens[at].Is("VARYING") {
			at++
		}
	case !token.IsName(first):
		return at, false
	default:
		if at = token.AfterName(tokens, at); !token.IsName(tokens[at-1]) {
			return at, false
		}
		if tokens[at].Is("VARYING") && !first.Is("CURSOR") {
			at++
		}
	}
	if !tokens[at].Is("(") {
		return at, true
	}
	if first.Is("XML") {
		end := token.ClosingParenthesis(tokens, at)
		return end + 1, end > 0
	}
	if at++; tokens[at].Kind != token.Integer && !tokens[at].Is("MAX") {
		return at, false
	}
	if at++; tokens[at].Is(",") {
		if tokens[at+1].Kind != token.Integer {
			return at + 1, false
		}
		at += 2
	}
	if !tokens[at].Is(")") {
		return at, false
	}
	return at + 1, true
}

// badDeclaration judges the types of the variables that DECLARE has before the first one with a value, from the first
// variable on.
func badDeclaration(tokens []token.Token, at int) int {
	for tokens[at].Kind == token.Variable {
		if at++; tokens[at].Is("AS") {
			at++
		}
		next, ok := typeOf(tokens, at)
		if !ok {
			return min(next, len(tokens)-1)
		}
		if !tokens[next].Is(",") {
			return 0
		}
		at = next + 1
	}
	return 0
}
