// SPDX-License-Identifier: Apache-2.0

package token

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
