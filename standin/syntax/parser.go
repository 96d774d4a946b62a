// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"encoding/hex"
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// parser is the strict recursive-descent parser of the statements this package defines itself. Its methods leave by
// panic(refusal) at the first token that doesn't fit; attempt turns that into an error.
type parser struct {
	tokens []token.Token
	at     int
}

type refusal struct{ err *sqlerr.Error }

// attempt runs parse and returns the error it was refused with, nil when it wasn't.
func attempt(parse func()) (err *sqlerr.Error) {
	defer func() {
		if r := recover(); r != nil {
			refused, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			err = refused.err
		}
	}()
	parse()
	return nil
}

func (p *parser) peek() token.Token { return p.tokens[p.at] }

func (p *parser) peekAt(n int) token.Token {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n]
	}
	return p.tokens[len(p.tokens)-1]
}

func (p *parser) next() token.Token {
	t := p.tokens[p.at]
	if t.Kind != token.End {
		p.at++
	}
	return t
}

// refuse leaves with 102 or 156 near the current token.
func (p *parser) refuse() {
	panic(refusal{token.Near(p.tokens, p.at)})
}

// refuseWith leaves with that error on the current token's line.
func (p *parser) refuseWith(number int32, args ...any) {
	panic(refusal{sqlerr.New(number, 1, args...).At(p.peek().Line)})
}

// unsupported leaves with 40517 for what the documents have and the stand-in has not.
func (p *parser) unsupported(what string) {
	panic(refusal{sqlerr.Unsupported(what).At(p.peek().Line)})
}

// unknownOption leaves with 155: the current word is not a known option of that kind.
func (p *parser) unknownOption(kind string) {
	if p.peek().Kind != token.Word || p.peek().Reserved {
		p.refuse()
	}
	p.refuseWith(155, p.peek().Text, kind)
}

// Is tells whether the words come next.
func (p *parser) is(words ...string) bool {
	for i, w := range words {
		if !p.peekAt(i).Is(w) {
			return false
		}
	}
	return true
}

// accept consumes the words if they come next.
func (p *parser) accept(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.at += len(words)
	return true
}

// expect consumes the words or refuses the first that differs.
func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.refuse()
		}
	}
}

// oneOf consumes one of the words and returns it as given here.
func (p *parser) oneOf(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	p.refuse()
	return ""
}

// Name consumes an identifier, quoted or not a reserved word.
func (p *parser) name() string {
	t := p.peek()
	if t.Kind != token.Quoted && (t.Kind != token.Word || t.Reserved) {
		p.refuse()
	}
	if len([]rune(t.Value)) > token.MaxIdentifier {
		p.refuseWith(103, "identifier", token.FirstRunes(t.Value, token.MaxIdentifier), token.MaxIdentifier)
	}
	if t.Value == "" {
		p.refuseWith(1038)
	}
	p.at++
	return t.Value
}

// serverName consumes a name that may be written as a string, as replica and server names are.
func (p *parser) serverName() string {
	if p.peek().Kind == token.String {
		return p.stringLiteral()
	}
	return p.name()
}

// names consumes a comma-separated list of names.
func (p *parser) names() []string {
	all := []string{p.name()}
	for p.accept(",") {
		all = append(all, p.name())
	}
	return all
}

// objectName consumes a name of up to max parts and returns it with the last part last; omitted parts are empty.
func (p *parser) objectName(max int) []string {
	for max > 1 && p.accept(".") { // the schema, or the database as well, is left out
	}
	parts := []string{p.name()}
	for p.accept(".") {
		if p.is(".") {
			parts = append(parts, "")
			continue
		}
		parts = append(parts, p.name())
	}
	if len(parts) > max {
		p.refuseWith(117, "object", strings.Join(parts, "."), max-1)
	}
	return parts
}

// stringLiteral consumes 'text' or N'text'.
func (p *parser) stringLiteral() string {
	if p.peek().Kind != token.String {
		p.refuse()
	}
	return p.next().Value
}

// integer consumes an unsigned whole number of at most 64 bits.
func (p *parser) integer() int64 {
	t := p.peek()
	if t.Kind != token.Integer {
		p.refuse()
	}
	n, err := strconv.ParseInt(t.Text, 10, 64)
	if err != nil {
		p.refuseWith(1080, t.Text)
	}
	p.at++
	return n
}

// integerIn consumes a whole number from min to max; outside them it is refused near the number.
func (p *parser) integerIn(min, max int64) int64 {
	t := p.peek()
	n := p.integer()
	if n < min || n > max {
		p.at--
		p.refuseWith(1080, t.Text)
	}
	return n
}

// binary consumes 0x..
func (p *parser) binary() []byte {
	t := p.peek()
	if t.Kind != token.Binary {
		p.refuse()
	}
	digits := t.Text[2:]
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		p.refuse()
	}
	p.at++
	return b
}

// onOff consumes ON or OFF.
func (p *parser) onOff() bool { return p.oneOf("ON", "OFF") == "ON" }

// list consumes ( item [, item]... ).
func (p *parser) list(item func()) {
	p.expect("(")
	for {
		item()
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

// once leaves with 1039 when an option comes a second time.
func (p *parser) once(seen map[string]bool, option string) {
	if seen[option] {
		p.refuseWith(1039, option)
	}
	seen[option] = true
}
