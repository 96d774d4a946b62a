// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

// CollateFunction is the name of the function that Parse puts around operands that teesql does not read as they are
// written. With a second argument, a name "COLLATE x", it stands for a COLLATE clause, which teesql knows in select
// lists only: X COLLATE name becomes [collate$](X,[COLLATE name]). With one it is its argument: an expression in
// parentheses, or a subquery, that begins a condition and is not compared with a comparison operator.
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

// wrapParentheses notes the same for subqueries, and expressions in parentheses, that begin a condition and are
// followed by anything but a comparison: teesql takes what (a + b) % 2 = 1 begins with for a condition in parentheses.
func wrapParentheses(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("(") || !conditionAt(tokens, i) {
			continue
		}
		end := closingParenthesis(tokens, i)
		if end < 0 || end+1 >= len(tokens) {
			continue
		}
		goesOn := tokens[end+1].isOneOf(
			"LIKE",
			"IN",
			"IS",
			"BETWEEN",
			"NOT",
			"+",
			"-",
			"*",
			"/",
			"%",
			"&",
			"|",
			"^",
			"<<",
			">>",
		)
		// Of ((a)) = 1 teesql takes the outer parentheses for a condition's, too.
		if goesOn || tokens[i+1].is("(") && tokens[end+1].isOneOf("=", "<>", "!=", "<", "<=", ">", ">=", "!<", "!>") {
			before[i] = "[" + CollateFunction + "](" + before[i]
			after[end] += ")"
		}
	}
}

// Quantifiers are the names of the functions that Parse makes of ALL, ANY and SOME behind a comparison, whose argument
// is the subquery: X > ALL (SELECT ...) becomes X > [ALL$]((SELECT ...)).
var Quantifiers = map[string]string{"ALL$": "All", "ANY$": "Any", "SOME$": "Any"}

func wrapQuantifiers(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+2 < len(tokens); i++ {
		t := tokens[i]
		if inside[i] || t.kind != tokenWord || Quantifiers[t.fold+"$"] == "" || !tokens[i+1].is("(") ||
			!tokens[i+2].is("SELECT") ||
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

// wrapVariables puts variables that begin a column and are followed by an operator in parentheses: teesql looks for an
// assignment there, and knows few operators while it does. SELECT @i % 2 becomes SELECT (@i) % 2.
func wrapVariables(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || tokens[i].kind != tokenVariable || !beginsColumn(tokens, i) {
			continue
		}
		if tokens[i+1].isOneOf(operators...) {
			before[i] += "("
			after[i] = ")" + after[i]
		}
	}
}

// beginsColumn tells whether token i may begin a column of a select list. What follows a comma elsewhere is told so,
// too.
func beginsColumn(tokens []token, i int) bool {
	p := tokens[i-1]
	if p.isOneOf("SELECT", "DISTINCT", "ALL", ",", "PERCENT", "TIES") {
		return true
	}
	if p.is(")") {
		open := openingParenthesis(tokens, i-1)
		return open > 0 && tokens[open-1].is("TOP")
	}
	return p.kind == tokenInteger && i > 1 && tokens[i-2].is("TOP")
}

// conditionAt tells whether a condition begins at token i, within parentheses, too.
func conditionAt(tokens []token, i int) bool {
	for i > 0 && tokens[i-1].is("(") {
		i--
		if i > 0 && (tokens[i-1].is("IIF") || tokens[i-1].is("CHECK")) {
			return true
		}
	}
	return i > 0 && beginsCondition(tokens[i-1])
}

func beginsCondition(t token) bool {
	switch t.fold {
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
			if characterTypes[tokens[start-1].fold] || isQuotedType(tokens, start-1) {
				return -1
			}
			start--
		}
	case t.kind == tokenString, t.kind == tokenVariable, t.kind == tokenInteger, t.kind == tokenNumber:
		return start
	case t.is("END"):
		return caseBefore(tokens, start)
	case t.kind == tokenWord && characterTypes[t.fold]:
		if p := tokens[max(start-1, 0)]; start == 0 || p.kind == tokenQuoted || p.kind == tokenWord && !p.reserved {
			return -1
		}
	case isQuotedType(tokens, start):
		return -1
	case t.kind == tokenQuoted, t.kind == tokenWord && !t.reserved:
	default:
		return -1
	}
	for start >= 2 && tokens[start-1].is(".") {
		start -= 2
	}
	return start
}

// caseBefore is the CASE that the END at a token closes; -1 when it is the end of something else.
func caseBefore(tokens []token, at int) int {
	depth := 0
	for i := at; i >= 0; i-- {
		switch {
		case tokens[i].is("END"):
			depth++
		case tokens[i].is("CASE"):
			if depth--; depth == 0 {
				return i
			}
		case tokens[i].is("BEGIN"), tokens[i].is(";"):
			return -1
		}
	}
	return -1
}

// isQuotedType tells whether the token at is a type within quotes, as tools write it behind the name of a column:
// [name] [nvarchar](50).
func isQuotedType(tokens []token, at int) bool {
	if at < 1 || tokens[at].kind != tokenQuoted || !characterTypes[upper(tokens[at].value)] {
		return false
	}
	p := tokens[at-1]
	return p.kind == tokenQuoted || p.kind == tokenWord && !isReserved(p.text)
}

// isCallable tells whether a token before a parenthesis is the name of a function or a type.
func isCallable(t token) bool {
	if t.kind == tokenQuoted {
		return true
	}
	if t.kind != tokenWord {
		return false
	}
	switch t.fold {
	case "LEFT", "RIGHT", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT":
		return true
	}
	return !t.reserved
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
