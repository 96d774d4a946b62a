// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"math"
	"strings"

	"github.com/shopspring/decimal"
)

// truth is the effective boolean value of what condition or predicate let pass.
func truth(s sequence) bool {
	if len(s) == 0 {
		return false
	}
	return s[0].node != nil || s[0].atom.Flag
}

// logical is and, or or.
type logical struct {
	left, right expression
	or          bool
}

func (p *parser) logical(left, right expression, or bool) expression {
	return &logical{left: p.condition(left), right: p.condition(right), or: or}
}

func (e *logical) typ() Type { return One(Boolean) }

func (e *logical) eval(r *run, f focus) sequence {
	v := truth(e.left.eval(r, f))
	if v != e.or {
		v = truth(e.right.eval(r, f))
	}
	return oneAtom(boolAtom(v))
}

// comparison is a general comparison (=), one of values (eq) or one of nodes (is).
type comparison struct {
	operator    string
	left, right expression
	byValue     bool
	t           Type
}

var generalOperators = []string{"!=", "<=", ">=", "<<", ">>", "=", "<", ">"}

var valueOperators = map[string]string{"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

// comparison reads an expression with at most one operator of comparison.
func (p *parser) comparison() expression {
	left := p.additive()
	if p.err != nil {
		return left
	}
	p.skip()
	operator := ""
	for _, o := range generalOperators {
		if p.has(o) {
			operator = o
			break
		}
	}
	if operator != "" {
		p.at += len(operator)
		return p.compared(operator, left, p.additive())
	}
	for _, o := range []string{"eq", "ne", "lt", "le", "gt", "ge", "is"} {
		if p.word(o) {
			return p.compared(o, left, p.additive())
		}
	}
	return left
}

func (p *parser) compared(operator string, left, right expression) expression {
	e := &comparison{operator: operator, left: left, right: right, t: One(Boolean)}
	if operator == "is" || operator == "<<" || operator == ">>" {
		p.refuse("The operator " + operator)
		return e
	}
	a, b := p.data(left, operator), p.data(right, operator)
	if p.err != nil {
		return e
	}
	if plain, ok := valueOperators[operator]; ok {
		p.needsOne(operator, a)
		p.needsOne(operator, b)
		e.operator, e.byValue = plain, true
		e.t.occurs = (a.occurs | b.occurs) & zero
	}
	if !comparable(a.Kind, b.Kind) {
		p.fail(2234, operator, a, b)
	}
	return e
}

// data is the type of the values of an expression; what the query makes has none (2373).
func (p *parser) data(e expression, _ string) Type {
	if e.typ().constructed {
		p.fail(2373, "data()")
	}
	return e.typ().atomized()
}

// needsOne is the rule that an operand is one value or none (2389).
func (p *parser) needsOne(what string, t Type) {
	if !t.single() {
		p.fail(2389, what, t)
	}
}

// comparable tells whether values of two types can be compared.
func comparable(a, b Kind) bool {
	switch {
	case a == Nothing || b == Nothing, a == UntypedAtomic || b == UntypedAtomic, a == AnyAtomic || b == AnyAtomic, a == b:
		return true
	}
	return a.isNumber() && b.isNumber()
}

func (e *comparison) typ() Type { return e.t }

func (e *comparison) eval(r *run, f focus) sequence {
	left, right := r.atomize(e.left.eval(r, f)), r.atomize(e.right.eval(r, f))
	if e.byValue && (len(left) == 0 || len(right) == 0) {
		return nil
	}
	for _, a := range left {
		for _, b := range right {
			if !r.spend((len(a.Text) + len(b.Text)) / 64) {
				return nil
			}
			if holds(e.operator, a, b) {
				return oneAtom(boolAtom(true))
			}
		}
	}
	return oneAtom(boolAtom(false))
}

// holds compares two values. One that is not of the other's type makes nothing true.
func holds(operator string, a, b *Atom) bool {
	a, b = likened(a, b), likened(b, a)
	if a == nil || b == nil {
		return false
	}
	order, ok := compare(a, b)
	if !ok {
		return false
	}
	switch operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// likened is a value in the type that it is compared in: one without a type takes the other's.
func likened(a, other *Atom) *Atom {
	switch {
	case a.Kind != UntypedAtomic:
		return a
	case other.Kind == UntypedAtomic:
		return a.cast(String)
	case other.Kind.isNumber():
		return a.cast(Double)
	}
	return a.cast(other.Kind)
}

// compare is the order of two values; ok is false when there is none.
func compare(a, b *Atom) (order int, ok bool) {
	switch {
	case a.Kind.isExact() && b.Kind.isExact():
		return a.Number.Cmp(b.Number), true
	case a.Kind.isNumber() && b.Kind.isNumber():
		x, y := a.cast(Double).Real, b.cast(Double).Real
		switch {
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, x == y
	case a.Kind != b.Kind:
		return 0, false
	case a.Kind == Boolean:
		return b2i(a.Flag) - b2i(b.Flag), true
	case a.Kind == DateTime || a.Kind == Date || a.Kind == Time:
		return a.When.Compare(b.When), true
	}
	return strings.Compare(a.Text, b.Text), true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// arithmetic is an operator on two numbers.
type arithmetic struct {
	operator    string
	left, right expression
	t           Type
}

// arithmetic judges the operands (2389, 9308) and finds the type of the result.
func (p *parser) arithmetic(operator string, left, right expression) expression {
	p.part()
	e := &arithmetic{operator: operator, left: left, right: right, t: Type{Kind: Integer}}
	for _, operand := range []expression{left, right} {
		t := p.data(operand, operator)
		p.needsOne(operator, t)
		if t.Kind != UntypedAtomic && t.Kind != Nothing && !t.Kind.isNumber() {
			p.fail(9308, operator, t)
		}
		e.t.occurs |= t.occurs & zero
		e.t.Kind = promoted(e.t.Kind, t.Kind)
	}
	if operator == "div" && e.t.Kind == Integer {
		e.t.Kind = Decimal
	}
	if operator == "div" || operator == "mod" || e.t.Kind.isExact() {
		e.t.occurs |= zero
	}
	return e
}

// promoted is the type that a sum of two numbers has.
func promoted(a, b Kind) Kind {
	switch {
	case a == Double || b == Double || b == UntypedAtomic || a == UntypedAtomic:
		return Double
	case a == Float || b == Float:
		return Float
	case a == Decimal || b == Decimal:
		return Decimal
	}
	return Integer
}

func (e *arithmetic) typ() Type { return e.t }

func (e *arithmetic) eval(r *run, f focus) sequence {
	left, right := r.atomize(e.left.eval(r, f)), r.atomize(e.right.eval(r, f))
	if len(left) == 0 || len(right) == 0 || !r.spend(1) {
		return nil
	}
	a, b := left[0].cast(e.t.Kind), right[0].cast(e.t.Kind)
	if a == nil || b == nil {
		return nil
	}
	var out *Atom
	if e.t.Kind.isFloating() {
		out = realAtom(e.t.Kind, reals(e.operator, a.Real, b.Real))
		if math.IsNaN(out.Real) || math.IsInf(out.Real, 0) {
			return nil
		}
	} else {
		out = exacts(e.t.Kind, e.operator, a.Number, b.Number)
	}
	if out == nil {
		return nil
	}
	return oneAtom(out)
}

func reals(operator string, a, b float64) float64 {
	switch operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "div":
		return a / b
	}
	return math.Mod(a, b)
}

// quotientScale is how many digits behind the point a quotient or a product has.
const quotientScale = 6

func exacts(k Kind, operator string, a, b decimal.Decimal) *Atom {
	switch operator {
	case "+":
		return exact(k, a.Add(b))
	case "-":
		return exact(k, a.Sub(b))
	case "*":
		return exact(k, a.Mul(b).Round(quotientScale))
	}
	if b.IsZero() {
		return nil
	}
	if operator == "mod" {
		return exact(k, a.Mod(b))
	}
	return exact(k, a.DivRound(b, exactScale+2).Truncate(quotientScale))
}
