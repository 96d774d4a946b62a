// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"
	"unicode/utf8"

	"geosql.dev/standin/sqltype"
)

// currency is the length of the symbol of a constant of money that begins here, 0 where none does.
func (l *lexer) currency() int {
	r, size := utf8.DecodeRuneInString(l.text[l.pos:])
	if !sqltype.IsCurrency(r) {
		return 0
	}
	if c := l.peek(size); isDigit(c) || c == '.' || c == '-' {
		return size
	}
	return 0
}

// spacedOperator reads a comparison whose two characters white space parts, and is it without the space; empty, and
// nothing is read, where none is here.
func (l *lexer) spacedOperator() string {
	first := l.peek(0)
	if first != '<' && first != '>' && first != '!' {
		return ""
	}
	rest := strings.TrimLeft(l.text[l.pos+1:], " \t\r\n")
	blanks := len(l.text) - l.pos - 1 - len(rest)
	if blanks == 0 || rest == "" {
		return ""
	}
	operator := string([]byte{first, rest[0]})
	switch operator {
	case "<>", "<=", ">=", "!=", "!<", "!>":
	default:
		return ""
	}
	l.line += int32(strings.Count(l.text[l.pos:l.pos+1+blanks], "\n"))
	l.pos += blanks + 2
	return operator
}

// usualSpellings writes what SQL Server has several spellings of in the one that teesql knows: comparisons with white
// space in them, numbers with an exponent without digits or with nothing behind their point, symbols of currencies,
// names of elements in Unicode, SET TRAN.
func usualSpellings(text string, tokens []token, inside []bool, instead map[int]string) {
	for i, t := range tokens {
		if inside[i] {
			continue
		}
		switch written := text[t.pos:t.end]; t.kind {
		case tokenPunct:
			if t.text != written {
				// What is behind the operator keeps its line.
				instead[i] = t.text + strings.Repeat("\n", strings.Count(written, "\n"))
			}
		case tokenNumber:
			if usual := usualNumber(written); usual != written {
				instead[i] = usual
			}
		case tokenString:
			if written[0] != '\'' && written[0] != '"' && namesElement(tokens, i) {
				instead[i] = written[1:]
			}
		case tokenMoney:
			if _, size := utf8.DecodeRuneInString(written); size > 1 {
				instead[i] = "$" + written[size:]
			}
		case tokenWord:
			if t.is("TRAN") && i > 0 && tokens[i-1].is("SET") && tokens[i+1].is("ISOLATION") {
				instead[i] = "TRANSACTION"
			}
		}
	}
}

// namesElement tells whether the string at token at is the name that FOR XML or FOR JSON gives to rows or to their
// root, where teesql takes no N'name'.
func namesElement(tokens []token, at int) bool {
	if at < 4 || !tokens[at-1].is("(") || !tokens[at-2].isOneOf("RAW", "PATH", "ROOT", "XMLSCHEMA") {
		return false
	}
	for i := at - 3; i > 0; i-- {
		switch t := tokens[i]; {
		case t.isOneOf("XML", "JSON"):
			return tokens[i-1].is("FOR")
		case t.kind != tokenWord && t.kind != tokenString && !t.isOneOf(",", "(", ")"):
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
	if strings.HasSuffix(strings.TrimRight(upper(number), "+-"), "E") {
		number += "0"
	}
	if at := strings.Index(upper(number), ".E"); at >= 0 {
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
func wrapGroups(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("BY") || !tokens[i-1].is("GROUP") {
			continue
		}
		depth := 0
		for at := i + 1; at+1 < len(tokens); at++ {
			t := tokens[at]
			switch {
			case t.is(")"):
				depth--
			case t.is("("):
				depth++
				end := closingParenthesis(tokens, at)
				if end > 0 && tokens[at-1].isOneOf("BY", "ALL", ",", "(") && tokens[end+1].isOneOf(operators...) {
					before[at] = "[" + CollateFunction + "](" + before[at]
					after[end] += ")"
				}
			}
			if depth < 0 ||
				depth == 0 &&
					(t.isOneOf(";", "HAVING", "ORDER", "OPTION", "UNION", "EXCEPT", "INTERSECT", "FOR") || beginsStatement(t) &&
						!t.is("END")) {
				break
			}
		}
	}
}

// wrapAssigned puts the first operand of what a variable is set to in parentheses: teesql takes a name there for the
// column of SET @variable = column = value, and reads no operator or argument behind it.
func wrapAssigned(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+3 < len(tokens); i++ {
		if inside[i] || tokens[i].kind != tokenVariable || !tokens[i-1].isOneOf("SET", ",") ||
			!strings.HasSuffix(tokens[i+1].text, "=") ||
			!isName(tokens[i+2]) {
			continue
		}
		end := endOfOperand(tokens, i+2)
		if end > 0 && (tokens[end].is(")") || tokens[end+1].isOneOf(operators...) || tokens[end+1].is("COLLATE")) {
			before[i+2] += "("
			after[end] = ")" + after[end]
		}
	}
}

// endOfOperand is the last token of a column or call that begins with the name at token at, 0 when it has no end.
func endOfOperand(tokens []token, at int) int {
	last := len(tokens) - 1
	for {
		for at < last && tokens[at+1].is("(") {
			if at = closingParenthesis(tokens, at+1); at < 0 {
				return 0
			}
		}
		if at+2 > last || !tokens[at+1].is(".") || !isName(tokens[at+2]) {
			return min(at, last-1)
		}
		at += 2
	}
}

// namesOfVariables names what teesql gives no name to behind a variable: SELECT @v 'name', and the table variable that
// PIVOT and UNPIVOT turn, of which it would take that word for the name.
func namesOfVariables(tokens []token, inside []bool, before map[int]string) {
	for i := 1; i+2 < len(tokens); i++ {
		if inside[i] || tokens[i].kind != tokenVariable {
			continue
		}
		switch next := tokens[i+1]; {
		case next.kind == tokenString && beginsColumn(tokens, i):
			before[i+1] += " AS "
		case next.isOneOf("PIVOT", "UNPIVOT") && tokens[i+2].is("(") && tokens[i-1].isOneOf("FROM", "JOIN", "APPLY", ","):
			before[i+1] += "AS [" + tokens[i].text + "] "
		}
	}
}

// partHints writes the comma between NOWAIT and the table hints around it, which teesql parts by white space where all
// of them are names.
func partHints(tokens []token, inside []bool, before, after map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].isOneOf("NOWAIT", "HOLDLOCK") || !isTableHint(tokens, i) {
			continue
		}
		if before[i] == "" && !tokens[i-1].isOneOf("(", ",") && !strings.HasSuffix(after[i-1], ",") {
			before[i] = ", "
		}
		if next := tokens[i+1]; next.kind == tokenWord {
			after[i] += ","
		}
	}
}
