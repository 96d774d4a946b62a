// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"geosql.dev/standin/sqlerr"
)

type tokenKind uint8

const (
	tokenEnd      tokenKind = iota
	tokenWord               // an unquoted identifier or keyword, #temporary names among them
	tokenQuoted             // [name] or "name"
	tokenString             // 'text', N'text', or "text" where QUOTED_IDENTIFIER is OFF
	tokenInteger            // 12
	tokenNumber             // 1.5, 1e3
	tokenBinary             // 0x0102
	tokenMoney              // $12.50
	tokenVariable           // @name, @@name
	tokenPunct              // everything else, one operator each
)

// token is one lexical element of a batch. pos and end are byte offsets, line counts from 1.
type token struct {
	kind  tokenKind
	text  string // as written
	value string // without quotes
	// fold is the text of a word or a variable in upper case, of others the text.
	fold     string
	pos, end int
	line     int32
	// reserved is set for an unquoted word that is on the list of those.
	reserved bool
}

// is tells whether the token is that unquoted word (in upper case here, in any case in the text) or operator.
func (t token) is(word string) bool {
	return t.fold == word && (t.kind == tokenWord || t.kind == tokenPunct)
}

func (t token) isOneOf(words ...string) bool {
	return (t.kind == tokenWord || t.kind == tokenPunct) && slices.Contains(words, t.fold)
}

type lexer struct {
	text string
	pos  int
	line int32
	// doubleQuotes are the quotes of names (QUOTED_IDENTIFIER ON), not of strings.
	doubleQuotes bool
}

// tokenize splits a batch. White space and comments (nested block comments too) separate tokens.
// Errors: 105 for an open quote, 113 for an open comment.
func tokenize(text string, quotedIdentifier bool) ([]token, *sqlerr.Error) {
	l := &lexer{text: text, line: 1, doubleQuotes: quotedIdentifier}
	tokens := make([]token, 0, len(text)/5+1)
	for {
		if err := l.skipBlank(); err != nil {
			return nil, err
		}
		start, line := l.pos, l.line
		kind, value, err := l.scan()
		if err != nil {
			return nil, err
		}
		t := token{kind: kind, text: text[start:l.pos], value: value, pos: start, end: l.pos, line: line}
		if kind == tokenPunct && value != "" {
			t.text = value
		}
		if kind == tokenWord || kind == tokenPunct {
			t.value = t.text
		}
		if t.fold = t.text; kind == tokenWord || kind == tokenVariable {
			if folded := upper(t.text); len(folded) == len(t.text) { // else letters beyond ASCII would become those of keywords
				t.fold = folded
			}
			t.reserved = kind == tokenWord && reserved[t.fold]
		}
		tokens = append(tokens, t)
		if kind == tokenEnd {
			return tokens, nil
		}
		l.quotesFrom(tokens)
	}
}

func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return 0
}

func (l *lexer) skipBlank() *sqlerr.Error {
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		switch {
		case r == '\n':
			l.line++
			l.pos++
		case unicode.IsSpace(r) || r == 0xFEFF || r == 0 || r < ' ':
			l.pos += size
		case r == '-' && l.peek(1) == '-':
			if end := strings.IndexByte(l.text[l.pos:], '\n'); end >= 0 {
				l.pos += end
			} else {
				l.pos = len(l.text)
			}
		case r == '/' && l.peek(1) == '*':
			if err := l.skipComment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) skipComment() *sqlerr.Error {
	line, depth := l.line, 0
	for l.pos < len(l.text) {
		switch {
		case l.peek(0) == '/' && l.peek(1) == '*':
			depth++
			l.pos += 2
		case l.peek(0) == '*' && l.peek(1) == '/':
			depth--
			l.pos += 2
			if depth == 0 {
				return nil
			}
		default:
			if l.peek(0) == '\n' {
				l.line++
			}
			l.pos++
		}
	}
	return sqlerr.New(113, 1).At(line)
}

func (l *lexer) scan() (tokenKind, string, *sqlerr.Error) {
	if l.pos >= len(l.text) {
		return tokenEnd, "", nil
	}
	c := l.peek(0)
	switch {
	case c == '\'':
		return l.quoted(tokenString, '\'')
	case (c == 'N' || c == 'n') && l.peek(1) == '\'':
		l.pos++
		return l.quoted(tokenString, '\'')
	case c == '[':
		return l.quoted(tokenQuoted, ']')
	case c == '"' && !l.doubleQuotes:
		return l.quoted(tokenString, '"')
	case c == '"':
		return l.quoted(tokenQuoted, '"')
	case c >= '0' && c <= '9', c == '.' && isDigit(l.peek(1)):
		kind := l.number()
		return kind, "", nil
	case l.currency() > 0:
		l.pos += l.currency()
		if l.peek(0) == '-' {
			l.pos++
		}
		l.number()
		return tokenMoney, "", nil
	case c == '@':
		l.word()
		return tokenVariable, "", nil
	}
	if r, _ := utf8.DecodeRuneInString(l.text[l.pos:]); isWordRune(r, true) {
		l.word()
		return tokenWord, "", nil
	}
	if operator := l.spacedOperator(); operator != "" {
		return tokenPunct, operator, nil
	}
	l.operator()
	return tokenPunct, "", nil
}

func (l *lexer) quoted(kind tokenKind, closing byte) (tokenKind, string, *sqlerr.Error) {
	line := l.line
	start := l.pos + 1
	l.pos++
	doubled := false
	for l.pos < len(l.text) {
		switch c := l.peek(0); {
		case c == closing && l.peek(1) == closing:
			doubled = true
			l.pos += 2
		case c == closing:
			value := l.text[start:l.pos]
			if doubled {
				value = strings.ReplaceAll(value, string([]byte{closing, closing}), string([]byte{closing}))
			}
			if kind == tokenString {
				value = continued(value)
			}
			l.pos++
			return kind, value, nil
		default:
			if c == '\n' {
				l.line++
			}
			l.pos++
		}
	}
	return 0, "", sqlerr.New(105, 1, l.text[start:]).At(line)
}

func (l *lexer) number() tokenKind {
	if l.peek(0) == '0' && (l.peek(1) == 'x' || l.peek(1) == 'X') {
		l.pos += 2
		for isHex(l.peek(0)) || l.continuation() > 0 {
			if n := l.continuation(); n > 1 {
				l.pos += n - 1
				l.line++
			}
			l.pos++
		}
		return tokenBinary
	}
	kind := tokenInteger
	for isDigit(l.peek(0)) {
		l.pos++
	}
	if l.peek(0) == '.' {
		kind = tokenNumber
		l.pos++
		for isDigit(l.peek(0)) {
			l.pos++
		}
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		n := 1
		if s := l.peek(1); s == '+' || s == '-' {
			n = 2
		}
		kind = tokenNumber
		l.pos += n
		for isDigit(l.peek(0)) {
			l.pos++
		}
		if l.pos > len(l.text) {
			l.pos = len(l.text)
		}
	}
	return kind
}

// continuation is the length of a backslash and the end of the line behind it, which a constant goes on after
// (docs/t-sql/language-elements/sql-server-utilities-statements-backslash.md), 0 where there is none.
func (l *lexer) continuation() int {
	switch {
	case l.peek(0) != '\\':
		return 0
	case l.peek(1) == '\n':
		return 2
	case l.peek(1) == '\r' && l.peek(2) == '\n':
		return 3
	}
	return 0
}

// continued is a constant without its continuations.
func continued(text string) string {
	if !strings.Contains(text, "\\") {
		return text
	}
	return strings.NewReplacer("\\\n", "", "\\\r\n", "").Replace(text)
}

func (l *lexer) word() {
	for first := true; l.pos < len(l.text); first = false {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		if !isWordRune(r, false) && !(first && r == '@') {
			return
		}
		l.pos += size
	}
}

func (l *lexer) operator() {
	for _, op := range []string{"||=", "::", "<>", "<=", ">=", "!=", "!<", "!>", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
		"^=", "<<", ">>", "||"} {
		if strings.HasPrefix(l.text[l.pos:], op) {
			l.pos += len(op)
			return
		}
	}
	_, size := utf8.DecodeRuneInString(l.text[l.pos:])
	l.pos += size
}

// isWordRune follows the rules for regular identifiers
// (docs/relational-databases/databases/database-identifiers.md, "Rules for regular identifiers").
func isWordRune(r rune, first bool) bool {
	if r == '_' || r == '#' || unicode.IsLetter(r) {
		return true
	}
	return !first && (r == '@' || r == '$' || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
