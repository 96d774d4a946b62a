// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// badModuleParameters refuses what may not stand in the list of a procedure's or function's parameters
// (docs/t-sql/statements/create-procedure-transact-sql.md, create-function-transact-sql.md, Syntax): teesql reads on to
// the body.
func badModuleParameters(tokens []token, _ []bool) *sqlerr.Error {
	name, kind := moduleName(tokens)
	if kind != "PROCEDURE" && kind != "FUNCTION" || !isName(tokens[name]) {
		return nil
	}
	at := afterName(tokens, name)
	if tokens[at].is(";") && tokens[at+1].kind == tokenInteger {
		at += 2
	}
	enclosed := tokens[at].is("(")
	if enclosed {
		at++
	}
	if enclosed && tokens[at].is(")") || !enclosed && tokens[at].kind != tokenVariable {
		return nil
	}
	for {
		next, ok := parameter(tokens, at)
		if !ok {
			return near(tokens, min(next, len(tokens)-1))
		}
		switch t := tokens[next]; {
		case t.is(","):
			at = next + 1
		case t.kind == tokenEnd,
			enclosed && t.is(")"),
			!enclosed && t.isOneOf("AS", "WITH"),
			!enclosed && t.is("FOR") && tokens[next+1].is("REPLICATION"):
			return nil
		case !enclosed && t.is("FOR"):
			return near(tokens, next+1)
		default:
			return near(tokens, next)
		}
	}
}

// parameter reads one parameter to the token behind it; ok is false at the token that may not be there.
func parameter(tokens []token, at int) (next int, ok bool) {
	if tokens[at].kind != tokenVariable {
		return at, false
	}
	if at++; tokens[at].is("AS") {
		at++
	}
	if at, ok = typeOf(tokens, at); !ok {
		return at, false
	}
	for tokens[at].isOneOf("VARYING", "NULL", "NOT") {
		at++
	}
	if tokens[at].is("=") {
		if at++; tokens[at].isOneOf("-", "+") {
			at++
		}
		if t := tokens[at]; !isConstant(t) && !isName(t) && !t.isOneOf("NULL", "ON", "OFF") {
			return at, t.is("(") // of that another judge tells
		}
		at++
	}
	for tokens[at].isOneOf("OUT", "OUTPUT", "READONLY", "VARYING") {
		at++
	}
	return at, true
}

// typeOf reads a data type to the token behind it.
func typeOf(tokens []token, at int) (next int, ok bool) {
	first := tokens[at]
	switch {
	case first.is("CURSOR"), first.is("TABLE"):
		return at + 1, true
	case first.is("DOUBLE"):
		if at++; tokens[at].is("PRECISION") {
			at++
		}
	case first.is("NATIONAL"):
		at += 2
		if tokens[at].is("VARYING") {
			at++
		}
	case !isName(first):
		return at, false
	default:
		if at = afterName(tokens, at); !isName(tokens[at-1]) {
			return at, false
		}
		if tokens[at].is("VARYING") && !first.is("CURSOR") {
			at++
		}
	}
	if !tokens[at].is("(") {
		return at, true
	}
	if first.is("XML") {
		end := closingParenthesis(tokens, at)
		return end + 1, end > 0
	}
	if at++; tokens[at].kind != tokenInteger && !tokens[at].is("MAX") {
		return at, false
	}
	if at++; tokens[at].is(",") {
		if tokens[at+1].kind != tokenInteger {
			return at + 1, false
		}
		at += 2
	}
	if !tokens[at].is(")") {
		return at, false
	}
	return at + 1, true
}

// badDeclaration judges the types of the variables that DECLARE has before the first one with a value, from the first
// variable on.
func badDeclaration(tokens []token, at int) int {
	for tokens[at].kind == tokenVariable {
		if at++; tokens[at].is("AS") {
			at++
		}
		next, ok := typeOf(tokens, at)
		if !ok {
			return min(next, len(tokens)-1)
		}
		if !tokens[next].is(",") {
			return 0
		}
		at = next + 1
	}
	return 0
}
