// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"geosql.dev/standin/syntax/token"
)

// CollateFunction is the name of the function that Parse puts around operands that teesql does not read as they are
// written. With a second argument, a name "COLLATE x", it stands for a COLLATE clause, which teesql knows in select
// lists only: X COLLATE name becomes [collate$](X,[COLLATE name]). With one it is its argument: an expression in
// parentheses, or a subquery, that begins a condition and is not compared with a comparison operator.
const CollateFunction = "collate$"

// characterTypes are names before COLLATE in a column's definition.
var characterTypes = token.Words("CHAR VARCHAR NCHAR NVARCHAR TEXT NTEXT SYSNAME CHARACTER VARYING")

// wrapCollations notes, by token, what is to be written before and after it for the COLLATE clauses of expressions.
func wrapCollations(tokens []token.Token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		name := tokens[i+1]
		if inside[i] || !tokens[i].Is("COLLATE") || name.Kind != token.Word {
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
func wrapParentheses(tokens []token.Token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("(") || !conditionAt(tokens, i) {
			continue
		}
		end := token.ClosingParenthesis(tokens, i)
		if end < 0 || end+1 >= len(tokens) {
			continue
		}
		goesOn := tokens[end+1].IsOneOf(
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
		if goesOn || tokens[i+1].Is("(") && tokens[end+1].IsOneOf("=", "<>", "!=", "<", "<=", ">", ">=", "!<", "!>") {
			before[i] = "[" + CollateFunction + "](" + before[i]
			after[end] += ")"
		}
	}
}

// Quantifiers are the names of the functions that Parse makes of ALL, ANY and SOME behind a comparison, whose argument
// is the subquery: X > ALL (SELECT ...) becomes X > [ALL$]((SELECT ...)).
var Quantifiers = map[string]string{"ALL$": "All", "ANY$": "Any", "SOME$": "Any"}

func wrapQuantifiers(tokens []token.Token, inside []bool, before, after map[int]string) {
	for i := 1; i+2 < len(tokens); i++ {
		t := tokens[i]
		if inside[i] || t.Kind != token.Word || Quantifiers[t.Fold+"$"] == "" || !tokens[i+1].Is("(") ||
			!tokens[i+2].Is("SELECT") ||
			!strings.ContainsAny(tokens[i-1].Text, "=<>") {
			continue
		}
		end := token.ClosingParenthesis(tokens, i+1)
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
func wrapVariables(tokens []token.Token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || tokens[i].Kind != token.Variable || !beginsColumn(tokens, i) {
			continue
		}
		if tokens[i+1].IsOneOf(operators...) {
			before[i] += "("
			after[i] = ")" + after[i]
		}
	}
}

// beginsColumn tells whether token i may begin a column of a select list. What follows a comma elsewhere is told so,
// too.
func beginsColumn(tokens []token.Token, i int) bool {
	p := tokens[i-1]
	if p.IsOneOf("SELECT", "DISTINCT", "ALL", ",", "PERCENT", "TIES") {
		return true
	}
	if p.Is(")") {
		open := token.OpeningParenthesis(tokens, i-1)
		return open > 0 && tokens[open-1].Is("TOP")
	}
	return p.Kind == token.Integer && i > 1 && tokens[i-2].Is("TOP")
}

// conditionAt tells whether a condition begins at token i, within parentheses, too.
func conditionAt(tokens []token.Token, i int) bool {
	for i > 0 && tokens[i-1].Is("(") {
		i--
		if i > 0 && (tokens[i-1].Is("IIF") || tokens[i-1].Is("CHECK")) {
			return true
		}
	}
	return i > 0 && beginsCondition(tokens[i-1])
}

func beginsCondition(t token.Token) bool {
	switch t.Fold {
	case "WHERE", "AND", "OR", "NOT", "ON", "WHEN", "IF", "WHILE", "HAVING":
		return t.Kind == token.Word
	}
	return false
}

// operandBefore is the first token of the operand that ends before token at; -1 when it is a type, or not known.
func operandBefore(tokens []token.Token, at int) int {
	start := at - 1
	switch t := tokens[start]; {
	case t.Is(")"):
		if start = token.OpeningParenthesis(tokens, start); start < 0 {
			return -1
		}
		if start > 0 && isCallable(tokens[start-1]) {
			if characterTypes[tokens[start-1].Fold] || isQuotedType(tokens, start-1) {
				return -1
			}
			start--
		}
	case t.Kind == token.String, t.Kind == token.Variable, t.Kind == token.Integer, t.Kind == token.Number:
		return start
	case t.Is("END"):
		return caseBefore(tokens, start)
	case t.Kind == token.Word && characterTypes[t.Fold]:
		if p := tokens[max(start-1, 0)]; start == 0 || p.Kind == token.Quoted || p.Kind == token.Word && !p.Reserved {
			return -1
		}
	case isQuotedType(tokens, start):
		return -1
	case t.Kind == token.Quoted, t.Kind == token.Word && !t.Reserved:
	default:
		return -1
	}
	for start >= 2 && tokens[start-1].Is(".") {
		start -= 2
	}
	return start
}

// caseBefore is the CASE that the END at a token closes; -1 when it is the end of something else.
func caseBefore(tokens []token.Token, at int) int {
	depth := 0
	for i := at; i >= 0; i-- {
		switch {
		case tokens[i].Is("END"):
			depth++
		case tokens[i].Is("CASE"):
			if depth--; depth == 0 {
				return i
			}
		case tokens[i].Is("BEGIN"), tokens[i].Is(";"):
			return -1
		}
	}
	return -1
}

// isQuotedType tells whether the token at is a type within quotes, as tools write it behind the name of a column:
// [name] [nvarchar](50).
func isQuotedType(tokens []token.Token, at int) bool {
	if at < 1 || tokens[at].Kind != token.Quoted || !characterTypes[token.Upper(tokens[at].Value)] {
		return false
	}
	p := tokens[at-1]
	return p.Kind == token.Quoted || p.Kind == token.Word && !token.IsReserved(p.Text)
}

// isCallable tells whether a token before a parenthesis is the name of a function or a type.
func isCallable(t token.Token) bool {
	if t.Kind == token.Quoted {
		return true
	}
	if t.Kind != token.Word {
		return false
	}
	switch t.Fold {
	case "LEFT", "RIGHT", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT":
		return true
	}
	return !t.Reserved
}
