// SPDX-License-Identifier: Apache-2.0

// Package token splits the text of a batch into its lexical elements, and finds by them alone what a reader of tokens
// asks for: names, parentheses, the header, options and body of a module, the token that an error is near.
package token

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"geosql.dev/standin/sqlerr"
)

// Kind is what a token is.
type Kind uint8

// The kinds of tokens. Every list of tokens ends with one of kind End.
const (
	End      Kind = iota
	Word          // an unquoted identifier or keyword, #temporary names among them
	Quoted        // [name] or "name"
	String        // 'text', N'text', or "text" where QUOTED_IDENTIFIER is OFF
	Integer       // 12
	Number        // 1.5, 1e3
	Binary        // 0x0102
	Money         // $12.50
	Variable      // @name, @@name
	Punct         // everything else, one operator each
)

// Token is one lexical element of a batch. Pos and End are byte offsets, Line counts from 1.
type Token struct {
	Kind  Kind
	Text  string // as written
	Value string // without quotes
	// Fold is the text of a word or a variable in upper case, of others the text.
	Fold     string
	Pos, End int
	Line     int32
	// Reserved is set for an unquoted word that is on the list of those.
	Reserved bool
}

// Is tells whether the token is that unquoted word (in upper case here, in any case in the text) or operator.
func (t Token) Is(word string) bool {
	return t.Fold == word && (t.Kind == Word || t.Kind == Punct)
}

// IsOneOf tells whether the token is one of those words or operators.
func (t Token) IsOneOf(words ...string) bool {
	return (t.Kind == Word || t.Kind == Punct) && slices.Contains(words, t.Fold)
}

type lexer struct {
	text string
	pos  int
	line int32
	// doubleQuotes are the quotes of names (QUOTED_IDENTIFIER ON), not of strings.
	doubleQuotes bool
}

// Split splits a batch. White space and comments (nested block comments too) separate tokens.
// Errors: 105 for an open quote, 113 for an open comment.
func Split(text string, quotedIdentifier bool) ([]Token, *sqlerr.Error) {
	l := &lexer{text: text, line: 1, doubleQuotes: quotedIdentifier}
	tokens := make([]Token, 0, len(text)/5+1)
	for {
		if err := l.skipBlank(); err != nil {
			return nil, err
		}
		start, line := l.pos, l.line
		kind, value, err := l.scan()
		if err != nil {
			return nil, err
		}
		t := Token{Kind: kind, Text: text[start:l.pos], Value: value, Pos: start, End: l.pos, Line: line}
		if kind == Punct && value != "" {
			t.Text = value
		}
		if kind == Word || kind == Punct {
			t.Value = t.Text
		}
		if t.Fold = t.Text; kind == Word || kind == Variable {
			if folded := Upper(t.Text); len(folded) == len(t.Text) { // else letters beyond ASCII would become those of keywords
				t.Fold = folded
			}
			t.Reserved = kind == Word && reserved[t.Fold]
		}
		tokens = append(tokens, t)
		if kind == End {
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

func (l *lexer) scan() (Kind, string, *sqlerr.Error) {
	if l.pos >= len(l.text) {
		return End, "", nil
	}
	c := l.peek(0)
	switch {
	case c == '\'':
		return l.quoted(String, '\'')
	case (c == 'N' || c == 'n') && l.peek(1) == '\'':
		l.pos++
		return l.quoted(String, '\'')
	case c == '[':
		return l.quoted(Quoted, ']')
	case c == '"' && !l.doubleQuotes:
		return l.quoted(String, '"')
	case c == '"':
		return l.quoted(Quoted, '"')
	case c >= '0' && c <= '9', c == '.' && isDigit(l.peek(1)):
		kind := l.number()
		return kind, "", nil
	case l.currency() > 0:
		l.pos += l.currency()
		if l.peek(0) == '-' {
			l.pos++
		}
		l.number()
		return Money, "", nil
	case c == '@':
		l.word()
		return Variable, "", nil
	}
	if r, _ := utf8.DecodeRuneInString(l.text[l.pos:]); isWordRune(r, true) {
		l.word()
		return Word, "", nil
	}
	if operator := l.spacedOperator(); operator != "" {
		return Punct, operator, nil
	}
	l.operator()
	return Punct, "", nil
}

func (l *lexer) quoted(kind Kind, closing byte) (Kind, string, *sqlerr.Error) {
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
			if kind == String {
				value = Continued(value)
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

func (l *lexer) number() Kind {
	if l.peek(0) == '0' && (l.peek(1) == 'x' || l.peek(1) == 'X') {
		l.pos += 2
		for isHex(l.peek(0)) || l.continuation() > 0 {
			if n := l.continuation(); n > 1 {
				l.pos += n - 1
				l.line++
			}
			l.pos++
		}
		return Binary
	}
	kind := Integer
	for isDigit(l.peek(0)) {
		l.pos++
	}
	if l.peek(0) == '.' {
		kind = Number
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
		kind = Number
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

// Continued is a constant without its continuations.
func Continued(text string) string {
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
