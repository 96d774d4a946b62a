// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// sequence reads expressions with commas between them.
func (p *parser) sequence() expression {
	e := p.single()
	if p.err != nil || !p.take(",") {
		return e
	}
	list := &listed{parts: []expression{e}, t: e.typ()}
	for {
		next := p.single()
		list.parts, list.t = append(list.parts, next), p.joinedType(list.t, next.typ())
		if p.err != nil || !p.take(",") {
			return list
		}
	}
}

// joinedType is the type of a sequence, whose items may not be nodes beside values (2210).
func (p *parser) joinedType(a, b Type) Type {
	if a.Kind.isNode() && b.Kind.isAtomic() {
		p.fail(2210, b, a)
	}
	if a.Kind.isAtomic() && b.Kind.isNode() {
		p.fail(2210, a, b)
	}
	return joined(a, b)
}

// listed is a sequence of expressions.
type listed struct {
	parts []expression
	t     Type
}

func (e *listed) typ() Type { return e.t }

func (e *listed) eval(r *run, f focus) sequence {
	var out sequence
	for _, part := range e.parts {
		s := part.eval(r, f)
		if !r.spend(len(s)) {
			return nil
		}
		out = append(out, s...)
	}
	return out
}

// single reads one expression (ExprSingle).
func (p *parser) single() expression {
	p.enter()
	defer p.leave()
	p.skip()
	switch {
	case p.begins("for", "$"), p.begins("let", "$"):
		return p.flowered()
	case p.begins("some", "$"), p.begins("every", "$"):
		return p.quantified()
	case p.begins("if", "("):
		return p.conditional()
	case p.begins("typeswitch", "("):
		p.fail(9335, "typeswitch")
	}
	for _, construct := range []string{"validate", "ordered", "unordered"} {
		if p.begins(construct, "{") {
			p.fail(9335, construct)
		}
	}
	return p.or()
}

// begins tells whether a word comes with a symbol behind it; nothing is passed.
func (p *parser) begins(keyword, symbol string) bool {
	from := p.at
	ok := p.word(keyword) && p.take(symbol)
	if p.err == nil {
		p.at = from
	}
	return ok
}

func (p *parser) or() expression {
	left := p.and()
	for p.err == nil && p.word("or") {
		left = p.logical(left, p.and(), true)
	}
	return left
}

func (p *parser) and() expression {
	left := p.comparison()
	for p.err == nil && p.word("and") {
		left = p.logical(left, p.comparison(), false)
	}
	return left
}

// condition judges what stands where a truth value does (2204).
func (p *parser) condition(e expression) expression {
	if k := e.typ().Kind; !k.isNode() && k != Nothing && (k != Boolean || !e.typ().single()) {
		p.fail(2204, e.typ())
	}
	return e
}

func (p *parser) additive() expression {
	left := p.multiplicative()
	for p.err == nil {
		switch {
		case p.take("+"):
			left = p.arithmetic("+", left, p.multiplicative())
		case p.take("-"):
			left = p.arithmetic("-", left, p.multiplicative())
		default:
			return left
		}
	}
	return left
}

func (p *parser) multiplicative() expression {
	left := p.union()
	for p.err == nil {
		switch {
		case p.take("*"):
			left = p.arithmetic("*", left, p.union())
		case p.word("div"):
			left = p.arithmetic("div", left, p.union())
		case p.word("mod"):
			left = p.arithmetic("mod", left, p.union())
		case p.word("idiv"):
			p.fail(9335, "idiv")
		default:
			return left
		}
	}
	return left
}

// union reads what binds tighter than arithmetic; the operators on sequences are none of SQL Server's (9335).
func (p *parser) union() expression {
	e := p.casted()
	for _, operator := range []string{"union", "intersect", "except", "to"} {
		if p.err == nil && p.word(operator) {
			p.fail(9335, operator)
		}
	}
	p.skip()
	if p.err == nil && p.has("|") {
		p.fail(9335, "union")
	}
	return e
}

// casted reads an expression with cast as behind it.
func (p *parser) casted() expression {
	e := p.unary()
	switch {
	case p.err != nil:
	case p.words("treat", "as"):
		p.fail(9335, "treat as")
	case p.words("castable", "as"):
		p.fail(9335, "castable as")
	case p.words("instance", "of"):
		p.refuse("instance of")
	case p.words("cast", "as"):
		p.skip()
		prefix, local := p.qualified()
		name := local
		if prefix != "" {
			name = prefix + ":" + local
		}
		if !p.take("?") {
			p.fail(9301, "")
			return e
		}
		to, ok := typeNamed(p.resolve(prefix), local)
		if !ok {
			p.fail(2232, prefix, local)
		}
		return p.cast(e, to, name)
	}
	return e
}

func (p *parser) unary() expression {
	p.skip()
	switch {
	case p.has("-"):
		p.at++
		p.enter()
		defer p.leave()
		return p.arithmetic("-", &constant{atom: wholeAtom(0)}, p.unary())
	case p.has("+"):
		p.at++
		p.enter()
		defer p.leave()
		return p.arithmetic("+", &constant{atom: wholeAtom(0)}, p.unary())
	}
	return p.path()
}

// constant is a literal.
type constant struct{ atom *Atom }

func (e *constant) typ() Type                 { return One(e.atom.Kind) }
func (e *constant) eval(*run, focus) sequence { return oneAtom(e.atom) }

// empty is ().
type empty struct{}

func (empty) typ() Type                 { return emptyType }
func (empty) eval(*run, focus) sequence { return nil }

// contextItem is a dot.
type contextItem struct{ t Type }

func (e *contextItem) typ() Type                     { return e.t }
func (e *contextItem) eval(_ *run, f focus) sequence { return sequence{f.item} }

// primary reads an expression that is not a step: a literal, a variable, parentheses or a call; nil when none comes.
func (p *parser) primary() expression {
	p.part()
	p.skip()
	if p.at >= len(p.text) {
		return nil
	}
	switch c := p.text[p.at]; {
	case c == '"' || c == '\'':
		s, _ := p.literal()
		return &constant{atom: textAtom(String, s)}
	case c >= '0' && c <= '9', c == '.' && p.at+1 < len(p.text) && p.text[p.at+1] >= '0' && p.text[p.at+1] <= '9':
		return p.number()
	case c == '$':
		return p.variable()
	case c == '(':
		p.at++
		p.enter()
		defer p.leave()
		if p.take(")") {
			return empty{}
		}
		e := p.sequence()
		p.expect(")")
		return e
	case c == '.' && !p.has(".."):
		p.at++
		return &contextItem{t: p.context}
	case c == '<':
		return p.constructed()
	}
	return p.call()
}

func (p *parser) number() expression {
	from := p.at
	digits := func() {
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
	}
	kind := Integer
	digits()
	if p.has(".") {
		p.at++
		kind = Decimal
		digits()
	}
	if p.has("e") || p.has("E") {
		p.at++
		kind = Double
		if p.has("+") || p.has("-") {
			p.at++
		}
		digits()
	}
	s := p.text[from:p.at]
	if p.continues(p.at) || len(s) > maxDigits {
		p.fail(2342)
		return empty{}
	}
	if kind == Double {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			p.fail(2342)
		}
		return &constant{atom: realAtom(Double, f)}
	}
	d, err := decimal.NewFromString(strings.TrimSuffix(s, "."))
	a := exact(kind, d)
	if err != nil || a == nil {
		p.fail(2342)
		return empty{}
	}
	return &constant{atom: a}
}
