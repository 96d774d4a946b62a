// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
)

// Bounds of an expression: how deep it nests, and how many parts it has. SQL Server calls what is beyond its own too
// complex (2363).
const (
	maxNesting = 64
	maxParts   = 4096
)

// parser reads one expression. After an error at is the end of the text, so that every loop ends.
type parser struct {
	text   string
	at     int
	depth  int
	parts  int
	static Static
	// prefixes are the namespaces by prefix, elements the default one of elements; prolog are those that the query may
	// write.
	prefixes map[string]string
	elements string
	prolog   []xmldata.Binding
	// variables are those in scope, by slot.
	variables []variable
	slots     int
	// context is the type of the context item; predicates counts those that are around.
	context    Type
	predicates int
	// places counts the uses of position() and last().
	places    int
	accessors []Accessor
	err       *sqlerr.Error
}

// variable is a $name in scope.
type variable struct {
	name string
	typ  Type
	slot int
}

func (p *parser) fail(number int32, args ...any) {
	if p.err == nil {
		p.err = sqlerr.New(number, 1, append([]any{p.static.Method}, args...)...)
	}
	p.at = len(p.text)
}

// refuse is the error for XQuery that SQL Server has and the stand-in has not.
func (p *parser) refuse(what string) {
	if p.err == nil {
		p.err = sqlerr.Unsupported(what + " in XQuery")
	}
	p.at = len(p.text)
}

// enter counts a part of the expression; leave ends its nesting.
func (p *parser) enter() {
	p.depth++
	p.part()
	if p.depth > maxNesting {
		p.fail(2363)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) part() {
	if p.parts++; p.parts > maxParts {
		p.fail(2363)
	}
}

// skip passes blanks and comments, which nest: (: ... :).
func (p *parser) skip() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case c == '(' && p.has("(:"):
			p.comment()
		default:
			return
		}
	}
}

func (p *parser) comment() {
	line := strings.Count(p.text[:p.at], "\n") + 1
	open := 0
	for p.at < len(p.text) {
		switch {
		case p.has("(:"):
			open++
			p.at += 2
		case p.has(":)"):
			open--
			p.at += 2
			if open == 0 {
				return
			}
		default:
			p.at++
		}
	}
	p.fail(2340, line)
}

func (p *parser) has(s string) bool { return strings.HasPrefix(p.text[p.at:], s) }

// take passes a symbol behind blanks.
func (p *parser) take(symbol string) bool {
	p.skip()
	if !p.has(symbol) {
		return false
	}
	p.at += len(symbol)
	return true
}

// expect passes a symbol that has to come (9303).
func (p *parser) expect(symbol string) {
	if !p.take(symbol) {
		p.fail(9303, p.token(), symbol)
	}
}

// word tells whether a keyword comes, and passes it.
func (p *parser) word(keyword string) bool {
	p.skip()
	if !p.has(keyword) || p.continues(p.at+len(keyword)) {
		return false
	}
	p.at += len(keyword)
	return true
}

// words are keywords one behind the other; none is passed unless all come.
func (p *parser) words(keywords ...string) bool {
	from := p.at
	for _, k := range keywords {
		if !p.word(k) {
			p.at = from
			return false
		}
	}
	return true
}

// continues tells whether a name goes on at a place.
func (p *parser) continues(at int) bool {
	if at >= len(p.text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(p.text[at:])
	return xmldata.InName(r)
}

// token is what comes next, for messages.
func (p *parser) token() string {
	p.skip()
	if p.at >= len(p.text) {
		return "<eof>"
	}
	from := p.at
	if name := p.peekName(); name != "" {
		return name
	}
	if c := p.text[from]; c >= '0' && c <= '9' {
		end := from
		for end < len(p.text) && strings.IndexByte("0123456789.eE", p.text[end]) >= 0 {
			end++
		}
		return p.text[from:end]
	}
	for _, two := range []string{"//", "..", "::", ":=", "!=", "<=", ">=", "<<", ">>", "</"} {
		if p.has(two) {
			return two
		}
	}
	_, size := utf8.DecodeRuneInString(p.text[from:])
	return p.text[from : from+size]
}

// peekName is the name without a colon that comes next, which is not passed.
func (p *parser) peekName() string {
	for i, r := range p.text[p.at:] {
		if i == 0 && !xmldata.StartsName(r) || !xmldata.InName(r) {
			return p.text[p.at : p.at+i]
		}
	}
	return p.text[p.at:]
}

// name passes a name without a colon; it is empty when none comes.
func (p *parser) name() string {
	name := p.peekName()
	p.at += len(name)
	return name
}

// qualified passes a name with or without a prefix.
func (p *parser) qualified() (prefix, local string) {
	local = p.name()
	if local != "" && p.has(":") && !p.has("::") && p.at+1 < len(p.text) {
		r, _ := utf8.DecodeRuneInString(p.text[p.at+1:])
		if xmldata.StartsName(r) {
			p.at++
			return local, p.name()
		}
	}
	return "", local
}

// resolve is the namespace of a prefix (2229).
func (p *parser) resolve(prefix string) string {
	uri, ok := p.prefixes[prefix]
	if !ok {
		p.fail(2229, prefix)
	}
	return uri
}

// literal passes a string literal (2225 when none comes, or another error of the caller's).
func (p *parser) literal() (string, bool) {
	p.skip()
	if !p.has(`"`) && !p.has("'") {
		return "", false
	}
	line := strings.Count(p.text[:p.at], "\n") + 1
	quote := p.text[p.at]
	p.at++
	var out strings.Builder
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == quote && p.at+1 < len(p.text) && p.text[p.at+1] == quote:
			out.WriteByte(quote)
			p.at += 2
		case c == quote:
			p.at++
			return out.String(), true
		case c == '&':
			out.WriteString(p.reference())
		default:
			out.WriteByte(c)
			p.at++
		}
	}
	p.fail(2274, line)
	return "", false
}

// reference passes &name; or &#number; within a literal.
func (p *parser) reference() string {
	p.at++
	if p.has("#") {
		p.at++
		base := 10
		if p.has("x") {
			p.at++
			base = 16
		}
		end := strings.IndexByte(p.text[p.at:], ';')
		if end < 0 {
			p.fail(2285)
			return ""
		}
		n, err := strconv.ParseInt(p.text[p.at:p.at+end], base, 32)
		if err != nil || n <= 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			p.fail(2285)
			return ""
		}
		p.at += end + 1
		return string(rune(n))
	}
	entity := xmldata.Entity(p.name())
	switch {
	case entity == "":
		p.fail(2282)
	case !p.has(";"):
		r, _ := utf8.DecodeRuneInString(p.text[p.at:])
		p.fail(2283, string(r))
	default:
		p.at++
	}
	return entity
}
