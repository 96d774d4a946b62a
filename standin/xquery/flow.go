// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"slices"
	"strings"
)

// variable reads $name.
func (p *parser) variable() expression {
	p.at++
	prefix, name := p.qualified()
	if prefix != "" {
		p.fail(9323)
		return empty{}
	}
	for _, v := range slices.Backward(p.variables) {
		if v.name == name {
			return &variableUse{slot: v.slot, t: v.typ}
		}
	}
	p.fail(2227, "$"+name)
	return empty{}
}

// variableUse is a variable of for, let, some or every.
type variableUse struct {
	slot int
	t    Type
}

func (e *variableUse) typ() Type                     { return e.t }
func (e *variableUse) eval(r *run, _ focus) sequence { return r.variables[e.slot] }

// binding is a variable with what it is bound to: item by item, or (let) whole.
type binding struct {
	slot  int
	from  expression
	whole bool
}

// bind reads a variable of a clause and declares it.
func (p *parser) bindVariable(clause, separator string) binding {
	p.enter()
	defer p.leave()
	if !p.take("$") {
		p.fail(2241)
	}
	name := p.name()
	for _, modifier := range []string{"at", "as"} {
		if p.word(modifier) {
			p.fail(9335, modifier)
		}
	}
	switch {
	case p.err != nil:
	case separator == ":=" && !p.take(separator), separator == "in" && !p.word(separator):
		p.fail(2205, separator)
	}
	from := p.single()
	if p.err == nil && from.typ().constructed {
		p.fail(2373, "'"+clause+"'")
	}
	t := from.typ()
	if separator == "in" {
		t.occurs = one
	}
	b := binding{slot: p.slots, from: from, whole: separator != "in"}
	p.variables = append(p.variables, variable{name: name, typ: t, slot: p.slots})
	p.slots++
	return b
}

// flwor is for ... let ... where ... order by ... return (docs/xquery/flwor-statement-and-iteration-xquery.md).
type flwor struct {
	bindings []binding
	where    expression
	order    []orderKey
	result   expression
	t        Type
}

type orderKey struct {
	e          expression
	descending bool
}

func (p *parser) flowered() expression {
	outside := len(p.variables)
	e := &flwor{}
	var o occurs
	for p.err == nil {
		separator, clause := "in", "for"
		if p.begins("let", "$") {
			separator, clause = ":=", "let"
		} else if !p.begins("for", "$") {
			break
		}
		p.word(clause)
		for {
			b := p.bindVariable(clause, separator)
			e.bindings = append(e.bindings, b)
			if !b.whole && p.err == nil {
				o |= b.from.typ().occurs
			}
			if p.err != nil || !p.take(",") {
				break
			}
		}
	}
	if p.word("where") {
		e.where = p.condition(p.single())
		o |= zero
	}
	if p.words("stable", "order", "by") || p.words("order", "by") {
		p.orderBy(e)
	}
	if !p.word("return") {
		if e.where == nil && e.order == nil {
			p.fail(9332, p.token())
		} else {
			p.fail(9303, p.token(), "return")
		}
	}
	e.result = p.single()
	p.variables = p.variables[:outside]
	e.t = e.result.typ().times(o)
	return e
}

func (p *parser) orderBy(e *flwor) {
	for p.err == nil {
		key := orderKey{e: p.single()}
		p.needsOne("order by", p.data(key.e, "order by"))
		if p.word("descending") {
			key.descending = true
		} else {
			p.word("ascending")
		}
		for _, modifier := range []string{"empty", "collation"} {
			if p.word(modifier) {
				p.fail(9335, modifier)
			}
		}
		e.order = append(e.order, key)
		if !p.take(",") {
			return
		}
	}
}

func (e *flwor) typ() Type { return e.t }

// tuple is what the bindings of a FLWOR are at one turn, with its keys.
type tuple struct {
	values []sequence
	keys   []*Atom
}

func (e *flwor) eval(r *run, f focus) sequence {
	var out sequence
	var tuples []tuple
	e.turns(r, f, 0, func() {
		if e.where != nil && !truth(e.where.eval(r, f)) {
			return
		}
		if e.order == nil {
			out = append(out, e.result.eval(r, f)...)
			return
		}
		t := tuple{}
		for _, b := range e.bindings {
			t.values = append(t.values, r.variables[b.slot])
		}
		for _, k := range e.order {
			values := r.atomize(k.e.eval(r, f))
			if len(values) == 0 {
				values = append(values, nil)
			}
			t.keys = append(t.keys, values[0])
		}
		tuples = append(tuples, t)
	})
	slices.SortStableFunc(tuples, e.compare)
	for _, t := range tuples {
		for i, b := range e.bindings {
			r.variables[b.slot] = t.values[i]
		}
		out = append(out, e.result.eval(r, f)...)
		if !r.spend(1) {
			return nil
		}
	}
	return out
}

// turns runs f for all values of the bindings from one on.
func (e *flwor) turns(r *run, f focus, from int, do func()) {
	if from == len(e.bindings) {
		if r.spend(1) {
			do()
		}
		return
	}
	b := e.bindings[from]
	s := b.from.eval(r, f)
	if b.whole {
		r.variables[b.slot] = s
		e.turns(r, f, from+1, do)
		return
	}
	for i := range s {
		r.variables[b.slot] = s[i : i+1]
		e.turns(r, f, from+1, do)
		if !r.spend(1) {
			return
		}
	}
}

// compare is the order of two turns; what has no key comes first.
func (e *flwor) compare(a, b tuple) int {
	for i, k := range e.order {
		x, y := a.keys[i], b.keys[i]
		c := 0
		switch {
		case x == nil || y == nil:
			c = b2i(x != nil) - b2i(y != nil)
		case x.Kind == UntypedAtomic || y.Kind == UntypedAtomic:
			c = strings.Compare(x.String(), y.String())
		default:
			c, _ = compare(x, y)
		}
		if k.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// quantified is some or every (docs/xquery/quantified-expressions-xquery.md).
type quantified struct {
	bindings flwor
	every    bool
	body     expression
}

func (p *parser) quantified() expression {
	outside := len(p.variables)
	e := &quantified{every: !p.word("some")}
	clause := "some"
	if e.every {
		p.word("every")
		clause = "every"
	}
	for {
		e.bindings.bindings = append(e.bindings.bindings, p.bindVariable(clause, "in"))
		if p.err != nil || !p.take(",") {
			break
		}
	}
	if !p.word("satisfies") {
		p.fail(9303, p.token(), "satisfies")
	}
	e.body = p.condition(p.single())
	p.variables = p.variables[:outside]
	return e
}

func (e *quantified) typ() Type { return One(Boolean) }

func (e *quantified) eval(r *run, f focus) sequence {
	v := e.every
	e.bindings.turns(r, f, 0, func() {
		if v == e.every {
			v = truth(e.body.eval(r, f))
		}
	})
	return oneAtom(boolAtom(v))
}

// choice is if (...) then ... else ... (docs/xquery/conditional-expressions-xquery.md).
type choice struct {
	condition, then, otherwise expression
	t                          Type
}

func (p *parser) conditional() expression {
	p.word("if")
	p.expect("(")
	e := &choice{condition: p.condition(p.sequence())}
	p.expect(")")
	if !p.word("then") {
		p.fail(9303, p.token(), "then")
	}
	e.then = p.single()
	if !p.word("else") {
		p.fail(2355)
	}
	e.otherwise = p.single()
	a, b := e.then.typ(), e.otherwise.typ()
	if a.Kind.isNode() && b.Kind.isAtomic() || a.Kind.isAtomic() && b.Kind.isNode() {
		p.joinedType(a, b)
	}
	e.t = either(a, b)
	return e
}

func (e *choice) typ() Type { return e.t }

func (e *choice) eval(r *run, f focus) sequence {
	if truth(e.condition.eval(r, f)) {
		return e.then.eval(r, f)
	}
	return e.otherwise.eval(r, f)
}
