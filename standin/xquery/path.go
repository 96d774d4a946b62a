// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"strings"

	"geosql.dev/standin/xmldata"
)

// axis is the direction of a step (docs/xquery/path-expressions-specifying-axis.md).
type axis uint8

const (
	child axis = iota
	attribute
	self
	parent
	descendant
	descendantOrSelf
)

var axes = map[string]axis{
	"child":              child,
	"attribute":          attribute,
	"self":               self,
	"parent":             parent,
	"descendant":         descendant,
	"descendant-or-self": descendantOrSelf,
}

// refusedAxes are those of XQuery that SQL Server does not have.
var refusedAxes = map[string]bool{
	"ancestor":          true,
	"ancestor-or-self":  true,
	"following":         true,
	"following-sibling": true,
	"preceding":         true,
	"preceding-sibling": true,
}

// nodeTest says which nodes of an axis a step takes. Kind is nodeElement or nodeAttribute for a test by name.
type nodeTest struct {
	kind               Kind
	space, local       string
	anySpace, anyLocal bool
	written            string
}

func (t *nodeTest) takes(n *xmldata.Node) bool {
	if t.kind == nodeAny {
		return true
	}
	if nodeKind(n) != t.kind {
		return false
	}
	if t.kind != nodeElement && t.kind != nodeAttribute && (t.kind != nodeInstruction || t.anyLocal) {
		return true
	}
	return (t.anyLocal || t.local == n.Name.Local) && (t.anySpace || t.space == n.Name.Space)
}

type step struct {
	axis       axis
	test       nodeTest
	predicates []predicate
}

// predicate is a condition in brackets, by place when its type is a number.
type predicate struct {
	e         expression
	byPlace   bool
	looksAtIt bool
}

// path is a path: steps from the document, from the context item or from the items of an expression.
type path struct {
	root  bool
	start expression
	steps []step
	t     Type
}

// path reads a path expression.
func (p *parser) path() expression {
	p.skip()
	e := &path{t: p.context}
	switch {
	case p.has("//"):
		p.at += 2
		e.root, e.t = true, One(nodeDocument)
		e.add(p, step{axis: descendantOrSelf, test: nodeTest{kind: nodeAny}})
		p.oneStep(e)
	case p.has("/"):
		p.at++
		e.root, e.t = true, One(nodeDocument)
		if !p.stepComes() {
			return e
		}
		p.oneStep(e)
	case p.stepComes():
		p.oneStep(e)
	default:
		start := p.primary()
		if p.err != nil {
			return empty{}
		}
		if start == nil {
			p.fail(2209, p.token())
			return empty{}
		}
		start = p.filtered(start)
		p.skip()
		if !p.has("/") {
			return start
		}
		p.fromNodes(start, "'/'")
		e.start, e.t = start, start.typ()
	}
	for p.err == nil && p.take("/") {
		if p.has("/") {
			p.at++
			e.add(p, step{axis: descendantOrSelf, test: nodeTest{kind: nodeAny}})
		}
		p.oneStep(e)
	}
	return e
}

// fromNodes judges what is taken apart: it has nodes (2374), and none that the query makes (2373).
func (p *parser) fromNodes(e expression, what string) {
	switch t := e.typ(); {
	case t.constructed:
		p.fail(2373, what)
	case t.Kind.isAtomic():
		p.fail(2374, what)
	}
}

// stepComes tells whether a step comes, and no primary expression.
func (p *parser) stepComes() bool {
	p.skip()
	if p.at >= len(p.text) {
		return false
	}
	if c := p.text[p.at]; c == '@' || c == '*' || p.has("..") {
		return true
	}
	from := p.at
	_, local := p.qualified()
	if local == "" {
		return false
	}
	written := p.text[from:p.at]
	p.skip()
	isStep := !p.has("(") || kindTests[written] != Nothing
	if p.has("{") || (written == "element" || written == "attribute") && p.constructorComes() {
		isStep = false
	}
	if p.err == nil {
		p.at = from
	}
	return isStep
}

// constructorComes tells whether a name and a brace come.
func (p *parser) constructorComes() bool {
	from := p.at
	_, local := p.qualified()
	p.skip()
	ok := local != "" && p.has("{")
	p.at = from
	return ok
}

var kindTests = map[string]Kind{
	"node":                   nodeAny,
	"text":                   nodeText,
	"comment":                nodeComment,
	"processing-instruction": nodeInstruction,
}

// oneStep reads a step with its predicates.
func (p *parser) oneStep(e *path) {
	p.part()
	p.skip()
	s := step{axis: child, test: nodeTest{kind: nodeAny}}
	switch {
	case p.has(".."):
		p.at += 2
		s.axis = parent
	case p.has("."):
		p.at++
		s.axis = self
	case p.has("@"):
		p.at++
		s.axis = attribute
		p.nodeTest(&s)
	case p.has("("):
		p.fail(9335, "/(")
	default:
		p.axis(&s)
		p.nodeTest(&s)
	}
	if p.err != nil {
		return
	}
	t := s.typ(e.t)
	for p.err == nil && p.take("[") {
		s.predicates = append(s.predicates, p.predicate(t))
		if s.predicates[len(s.predicates)-1].byPlace {
			t.occurs = zero
		}
	}
	e.add(p, s)
}

// axis reads a name with two colons, if any comes.
func (p *parser) axis(s *step) {
	name := p.peekName()
	if name == "" || !strings.HasPrefix(p.text[p.at+len(name):], "::") {
		return
	}
	a, ok := axes[name]
	switch {
	case refusedAxes[name]:
		p.fail(9335, name)
	case !ok:
		p.fail(2392, name)
	default:
		p.at += len(name) + 2
		s.axis = a
	}
}

// nodeTest reads what follows an axis (docs/xquery/path-expressions-specifying-node-test.md).
func (p *parser) nodeTest(s *step) {
	p.skip()
	s.test.kind = nodeElement
	if s.axis == attribute {
		s.test.kind = nodeAttribute
	}
	if p.has("*") {
		p.at++
		s.test.anyLocal, s.test.anySpace, s.test.written = true, true, "*"
		if p.has(":") && !p.has("::") && p.at+1 < len(p.text) {
			p.at++
			s.test.anyLocal, s.test.local = false, p.name()
			s.test.written = "*:" + s.test.local
			if s.test.local == "" {
				p.fail(2256, p.token())
			}
		}
		return
	}
	from := p.at
	prefix, local := p.qualified()
	if local == "" {
		p.fail(9341, p.token())
		return
	}
	if prefix == "" && p.has(":*") {
		p.at += 2
		s.test.space, s.test.anyLocal, s.test.written = p.resolve(local), true, local+":*"
		return
	}
	end := p.at
	p.skip()
	if p.has("(") {
		p.kindTest(s, p.text[from:end])
		return
	}
	p.at = end
	s.test.local, s.test.written = local, local
	switch {
	case prefix != "":
		s.test.space = p.resolve(prefix)
		s.test.written = prefix + "{" + s.test.space + "}:" + local
	case s.axis != attribute && p.elements != "":
		s.test.space = p.elements
		s.test.written = "{" + p.elements + "}:" + local
	}
}

// kindTest reads the parentheses of text() and its kin.
func (p *parser) kindTest(s *step, name string) {
	kind := kindTests[name]
	if kind == Nothing {
		if name == "element" || name == "attribute" || name == "document-node" || name == "item" {
			p.refuse("The node test " + name + "()")
			return
		}
		p.fail(9335, "/function()")
		return
	}
	p.at++
	s.test = nodeTest{kind: kind, anyLocal: true, written: "*"}
	p.skip()
	if kind == nodeInstruction && !p.has(")") {
		target, ok := p.literal()
		if !ok {
			target = p.name()
		}
		s.test.anyLocal, s.test.anySpace, s.test.local = false, true, target
	}
	p.expect(")")
}

// typ is the type of a step's nodes, without its predicates.
func (s *step) typ(from Type) Type {
	t := Type{Kind: s.test.kind, name: s.test.written, occurs: from.occurs | zero | many}
	switch s.axis {
	case self:
		t.occurs = from.occurs
		if s.test.kind == nodeAny {
			return from
		}
		t.occurs |= zero
	case parent, attribute:
		if s.axis == parent || !s.test.anyLocal && !s.test.anySpace {
			t.occurs = from.occurs | zero
		}
	case child, descendant, descendantOrSelf:
	}
	return t
}

// add adds a step. Two steps for // become one where no predicate looks at places.
func (e *path) add(p *parser, s step) {
	t := s.typ(e.t)
	byPlace := false
	for _, condition := range s.predicates {
		byPlace = byPlace || condition.byPlace || condition.looksAtIt
		if condition.byPlace {
			t.occurs = e.t.occurs | zero
		}
	}
	e.t = t
	if n := len(e.steps); n > 0 && s.axis == child && !byPlace {
		if last := &e.steps[n-1]; last.axis == descendantOrSelf && last.test.kind == nodeAny && len(last.predicates) == 0 {
			s.axis = descendant
			e.steps[n-1] = s
			return
		}
	}
	e.steps = append(e.steps, s)
}

// predicate reads a condition behind its bracket, for items of a type.
func (p *parser) predicate(t Type) predicate {
	p.enter()
	defer p.leave()
	outside, places := p.context, p.places
	p.context = t
	p.context.occurs = one
	p.predicates++
	e := p.single()
	p.predicates--
	p.context = outside
	p.expect("]")
	out := predicate{e: e, looksAtIt: p.places > places}
	switch k := e.typ().Kind; {
	case p.err != nil:
	case k.isNumber():
		if !e.typ().single() {
			p.fail(2389, "[]", e.typ())
		}
		out.byPlace = true
	case k == Boolean && e.typ().single(), k.isNode(), k == Nothing:
		out.byPlace = placed(e)
	default:
		p.fail(2203, e.typ())
	}
	return out
}

// placed tells whether a condition is position() = number.
func placed(e expression) bool {
	c, ok := e.(*comparison)
	if !ok || c.operator != "=" && c.operator != "eq" {
		return false
	}
	_, number := c.right.(*constant)
	call, position := c.left.(*functionCall)
	return number && position && call.f.name == "position"
}

// filtered reads the predicates behind a primary expression.
func (p *parser) filtered(e expression) expression {
	for p.err == nil && p.take("[") {
		if e.typ().constructed {
			p.fail(2373, "'[]'")
		}
		t := e.typ()
		condition := p.predicate(t)
		if condition.byPlace {
			t.occurs = zero
		} else {
			t = t.times(zero)
		}
		e = &filter{e: e, condition: condition, t: t}
	}
	return e
}

// filter is an expression with a predicate: its places are those of the whole sequence.
type filter struct {
	e         expression
	condition predicate
	t         Type
}

func (e *filter) typ() Type { return e.t }

func (e *filter) eval(r *run, f focus) sequence { return e.condition.choose(r, e.e.eval(r, f)) }

// choose gives the items that a predicate takes.
func (c *predicate) choose(r *run, s sequence) sequence {
	if n, ok := c.e.(*constant); ok && n.atom.Kind == Integer {
		place := n.atom.Number.IntPart()
		if place < 1 || place > int64(len(s)) {
			return nil
		}
		return s[place-1 : place]
	}
	var out sequence
	for i, it := range s {
		if !r.spend(1) {
			return nil
		}
		f := focus{item: it, position: i + 1, size: len(s)}
		v := c.e.eval(r, f)
		if c.e.typ().Kind.isNumber() {
			if len(v) == 1 && v[0].atom.cast(Double).Real == float64(f.position) {
				out = append(out, it)
			}
		} else if truth(v) {
			out = append(out, it)
		}
	}
	return out
}
