// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

// CollateFunction is the name of the function that Parse puts around operands that teesql does not read as they are
// written. With a second argument, a name "COLLATE x", it stands for a COLLATE clause, which teesql knows in select
// lists only: X COLLATE name becomes [collate$](X,[COLLATE name]). With one it is its argument: a subquery that begins a
// condition and is not compared with a comparison operator.
const CollateFunction = "collate$"

// characterTypes are names before COLLATE in a column's definition.
var characterTypes = wordSet("CHAR VARCHAR NCHAR NVARCHAR TEXT NTEXT SYSNAME CHARACTER VARYING")

// wrapCollations notes, by token, what is to be written before and after it for the COLLATE clauses of expressions.
func wrapCollations(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		name := tokens[i+1]
		if inside[i] || !tokens[i].is("COLLATE") || name.kind != tokenWord {
			continue
		}
		start := operandBefore(tokens, i)
		if start < 0 {
			continue
		}
		before[start] = "[" + CollateFunction + "](" + before[start]
		before[i] += ",["
		after[i+1] += "])"
	}
}

// wrapSubqueries notes the same for subqueries that begin a condition and are followed by anything but a comparison.
func wrapSubqueries(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("(") || !tokens[i+1].is("SELECT") || !beginsCondition(tokens[i-1]) {
			continue
		}
		end := closingParenthesis(tokens, i)
		if end < 0 || end+1 >= len(tokens) {
			continue
		}
		for _, word := range []string{"LIKE", "IN", "IS", "BETWEEN", "NOT", "+", "-", "*", "/", "%", "&", "|", "^"} {
			if tokens[end+1].is(word) {
				before[i] = "[" + CollateFunction + "](" + before[i]
				after[end] += ")"
				break
			}
		}
	}
}

// Quantifiers are the names of the functions that Parse makes of ALL, ANY and SOME behind a comparison, whose argument is
// the subquery: X > ALL (SELECT ...) becomes X > [ALL$]((SELECT ...)).
var Quantifiers = map[string]string{"ALL$": "All", "ANY$": "Any", "SOME$": "Any"}

func wrapQuantifiers(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+2 < len(tokens); i++ {
		t := tokens[i]
		if inside[i] || t.kind != tokenWord || Quantifiers[upper(t.text)+"$"] == "" || !tokens[i+1].is("(") || !tokens[i+2].is("SELECT") ||
			!strings.ContainsAny(tokens[i-1].text, "=<>") {
			continue
		}
		end := closingParenthesis(tokens, i+1)
		if end < 0 {
			continue
		}
		before[i] += "["
		after[i] += "$]("
		after[end] += ")"
	}
}

func beginsCondition(t token) bool {
	switch upper(t.text) {
	case "WHERE", "AND", "OR", "NOT", "ON", "WHEN", "IF", "WHILE", "HAVING":
		return t.kind == tokenWord
	}
	return false
}

// operandBefore is the first token of the operand that ends before token at; -1 when it is a type, or not known.
func operandBefore(tokens []token, at int) int {
	start := at - 1
	switch t := tokens[start]; {
	case t.is(")"):
		if start = openingParenthesis(tokens, start); start < 0 {
			return -1
		}
		if start > 0 && isCallable(tokens[start-1]) {
			if characterTypes[upper(tokens[start-1].text)] {
				return -1
			}
			start--
		}
	case t.kind == tokenString, t.kind == tokenVariable:
		return start
	case t.kind == tokenWord && characterTypes[upper(t.text)]:
		if p := tokens[max(start-1, 0)]; start == 0 || p.kind == tokenQuoted || p.kind == tokenWord && !isReserved(p.text) {
			return -1
		}
	case t.kind == tokenQuoted, t.kind == tokenWord && !isReserved(t.text):
	default:
		return -1
	}
	for start >= 2 && tokens[start-1].is(".") {
		start -= 2
	}
	return start
}

// isCallable tells whether a token before a parenthesis is the name of a function or a type.
func isCallable(t token) bool {
	if t.kind == tokenQuoted {
		return true
	}
	if t.kind != tokenWord {
		return false
	}
	switch upper(t.text) {
	case "LEFT", "RIGHT", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT":
		return true
	}
	return !isReserved(t.text)
}

func openingParenthesis(tokens []token, closing int) int {
	depth := 0
	for i := closing; i >= 0; i-- {
		switch {
		case tokens[i].is(")"):
			depth++
		case tokens[i].is("("):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
