// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"
	"unicode/utf8"

	"geosql.dev/operator/standin/sqltype"
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

// spacedOperator reads a comparison whose two characters white space parts, and is it without the space; empty, and nothing is
// read, where none is here.
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

// usualSpellings writes what SQL Server has several spellings of in the one that teesql knows: comparisons with white space in them, numbers with an
// exponent without digits, symbols of currencies, SET TRAN.
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

// usualNumber gives an exponent without digits its zero, and a point before an exponent the digit that teesql wants behind it.
func usualNumber(written string) string {
	number := written
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
