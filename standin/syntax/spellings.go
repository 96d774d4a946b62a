// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"
	"unicode/utf8"

	"geosql.dev/standin/syntax/token"
)

// usualSpellings writes what SQL Server has several spellings of in the one that teesql knows: comparisons with white
// space in them, numbers with an exponent without digits or with nothing behind their point, symbols of currencies,
// names of elements in Unicode, SET TRAN.
func usualSpellings(text string, tokens []token.Token, inside []bool, instead map[int]string) {
	for i, t := range tokens {
		if inside[i] {
			continue
		}
		switch written := text[t.Pos:t.End]; t.Kind {
		case token.Punct:
			if t.Text != written {
				// What is behind the operator keeps its line.
				instead[i] = t.Text + strings.Repeat("\n", strings.Count(written, "\n"))
			}
		case token.Number:
			if usual := usualNumber(written); usual != written {
				instead[i] = usual
			}
		case token.String:
			if written[0] != '\'' && written[0] != '"' && namesElement(tokens, i) {
				instead[i] = written[1:]
			}
		case token.Money:
			if _, size := utf8.DecodeRuneInString(written); size > 1 {
				instead[i] = "$" + written[size:]
			}
		case token.Word:
			if t.Is("TRAN") && i > 0 && tokens[i-1].Is("SET") && tokens[i+1].Is("ISOLATION") {
				instead[i] = "TRANSACTION"
			}
		}
	}
}

// namesElement tells whether the string at token at is the name that FOR XML or FOR JSON gives to rows or to their
// root, where teesql takes no N'name'.
func namesElement(tokens []token.Token, at int) bool {
	if at < 4 || !tokens[at-1].Is("(") || !tokens[at-2].IsOneOf("RAW", "PATH", "ROOT", "XMLSCHEMA") {
		return false
	}
	for i := at - 3; i > 0; i-- {
		switch t := tokens[i]; {
		case t.IsOneOf("XML", "JSON"):
			return tokens[i-1].Is("FOR")
		case t.Kind != token.Word && t.Kind != token.String && !t.IsOneOf(",", "(", ")"):
			return false
		}
	}
	return false
}

// usualNumber gives an exponent without digits its zero, a point before an exponent the digit that teesql wants behind
// it, and a point at the end the space without which teesql does not count it.
func usualNumber(written string) string {
	number := written
	if strings.HasSuffix(number, ".") {
		return number + " "
	}
	if strings.HasSuffix(strings.TrimRight(token.Upper(number), "+-"), "E") {
		number += "0"
	}
	if at := strings.Index(token.Upper(number), ".E"); at >= 0 {
		number = number[:at+1] + "0" + number[at+1:]
	}
	if number != written && number[0] == '.' {
		number = "0" + number
	}
	return number
}

// operators are those between two values.
var operators = []string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"}

// wrapGroups puts parentheses that an operator follows in CollateFunction where they begin what is grouped by: teesql
// takes them for a list of columns there.
func wrapGroups(tokens []token.Token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("BY") || !tokens[i-1].Is("GROUP") {
			continue
		}
		depth := 0
		for at := i + 1; at+1 < len(tokens); at++ {
			t := tokens[at]
			switch {
			case t.Is(")"):
				depth--
			case t.Is("("):
				depth++
				end := token.ClosingParenthesis(tokens, at)
				if end > 0 && tokens[at-1].IsOneOf("BY", "ALL", ",", "(") && tokens[end+1].IsOneOf(operators...) {
					before[at] = "[" + CollateFunction + "](" + before[at]
					after[end] += ")"
				}
			}
			if depth < 0 ||
				depth == 0 &&
					(t.IsOneOf(";", "HAVING", "ORDER", "OPTION", "UNION", "EXCEPT", "INTERSECT", "FOR") || token.BeginsStatement(t) &&
						!t.Is("END")) {
				break
			}
		}
	}
}

// wrapAssigned puts the first operand of what a variable is set to in parentheses: teesql takes a name there for the
// column of SET @variable = column = value, and reads no operator or argument behind it.
func wrapAssigned(tokens []token.Token, inside []bool, before, after map[int]string) {
	for i := 1; i+3 < len(tokens); i++ {
		if inside[i] || tokens[i].Kind != token.Variable || !tokens[i-1].IsOneOf("SET", ",") ||
			!strings.HasSuffix(tokens[i+1].Text, "=") ||
			!token.IsName(tokens[i+2]) {
			continue
		}
		end := endOfOperand(tokens, i+2)
		if end > 0 && (tokens[end].Is(")") || tokens[end+1].IsOneOf(operators...) || tokens[end+1].Is("COLLATE")) {
			before[i+2] += "("
			after[end] = ")" + after[end]
		}
	}
}

// endOfOperand is the last token of a column or call that begins with the name at token at, 0 when it has no end.
func endOfOperand(tokens []token.Token, at int) int {
	last := len(tokens) - 1
	for {
		for at < last && tokens[at+1].Is("(") {
			if at = token.ClosingParenthesis(tokens, at+1); at < 0 {
				return 0
			}
		}
		if at+2 > last || !tokens[at+1].Is(".") || !token.IsName(tokens[at+2]) {
			return min(at, last-1)
		}
		at += 2
	}
}

// namesOfVariables names what teesql gives no name to behind a variable: SELECT @v 'name', and the table variable that
// PIVOT and UNPIVOT turn, of which it would take that word for the name.
func namesOfVariables(tokens []token.Token, inside []bool, before map[int]string) {
	for i := 1; i+2 < len(tokens); i++ {
		if inside[i] || tokens[i].Kind != token.Variable {
			continue
		}
		switch next := tokens[i+1]; {
		case next.Kind == token.String && beginsColumn(tokens, i):
			before[i+1] += " AS "
		case next.IsOneOf("PIVOT", "UNPIVOT") && tokens[i+2].Is("(") && tokens[i-1].IsOneOf("FROM", "JOIN", "APPLY", ","):
			before[i+1] += "AS [" + tokens[i].Text + "] "
		}
	}
}

// partHints writes the comma between NOWAIT and the table hints around it, which teesql parts by white space where all
// of them are names.
func partHints(tokens []token.Token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].IsOneOf("NOWAIT", "HOLDLOCK") || !token.IsTableHint(tokens, i) {
			continue
		}
		if before[i] == "" && !tokens[i-1].IsOneOf("(", ",") && !strings.HasSuffix(after[i-1], ",") {
			before[i] = ", "
		}
		if next := tokens[i+1]; next.Kind == token.Word {
			after[i] += ","
		}
	}
}
