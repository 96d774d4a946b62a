// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
)

// maker is an expression that makes one node (docs/xquery/xml-construction-xquery.md).
type maker struct {
	kind Kind
	name xmldata.Name
	// declared are the namespaces that a direct constructor declares.
	declared []xmldata.Binding
	// attributes and content are makers and other expressions; literal is the text of what has no expression in it.
	attributes []expression
	content    []expression
	literal    string
	plain      bool
}

func (e *maker) typ() Type { return Type{Kind: e.kind, name: e.name.String(), constructed: true} }

func (e *maker) eval(r *run, f focus) sequence {
	if !r.spend(len(e.literal) / 16) {
		return nil
	}
	n := &xmldata.Node{Kind: nodeKindOf[e.kind], Name: e.name, Value: e.literal}
	if e.kind != nodeElement {
		if e.plain {
			return sequence{{node: n}}
		}
		return e.evalText(r, f, n)
	}
	n.Declared = slices.Clone(e.declared)
	for _, a := range e.attributes {
		for _, it := range a.eval(r, f) {
			r.append(n, it.node)
		}
	}
	for _, part := range e.content {
		r.fill(n, part.eval(r, f))
	}
	return sequence{{node: n}}
}

var nodeKindOf = map[Kind]xmldata.Kind{
	nodeElement:     xmldata.Element,
	nodeAttribute:   xmldata.Attribute,
	nodeText:        xmldata.Text,
	nodeComment:     xmldata.Comment,
	nodeInstruction: xmldata.Instruction,
}

// evalText makes a node whose text are the values of an expression, with a blank between them; without values no text
// node.
func (e *maker) evalText(r *run, f focus, n *xmldata.Node) sequence {
	var values []*Atom
	for _, part := range e.content {
		values = append(values, r.atomize(part.eval(r, f))...)
	}
	if len(values) == 0 && e.kind == nodeText {
		return nil
	}
	n.Value = listText(values)
	r.spend(len(n.Value) / 16)
	return sequence{{node: n}}
}

// listText are values with a blank between them.
func listText(values []*Atom) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String()
	}
	return strings.Join(texts, " ")
}

// fill puts a sequence into an element: copies of nodes, and values as text with a blank between them.
func (r *run) fill(n *xmldata.Node, s sequence) {
	for i, it := range s {
		switch {
		case it.atom != nil:
			t := it.atom.String()
			if i > 0 && s[i-1].atom != nil {
				t = " " + t
			}
			r.append(n, &xmldata.Node{Kind: xmldata.Text, Value: t})
		case it.node.Kind == xmldata.Document:
			for _, c := range it.node.Children {
				r.append(n, r.copy(c))
			}
		default:
			r.append(n, r.copy(it.node))
		}
	}
}

// copy is a copy of a node, whose size counts.
func (r *run) copy(n *xmldata.Node) *xmldata.Node {
	if !r.spend(n.Size()) {
		return &xmldata.Node{Kind: xmldata.Comment}
	}
	return n.Copy()
}

// append adds a node to an element: an attribute (6307 behind other content, 6308 twice) or a child, text to text.
func (r *run) append(to, n *xmldata.Node) {
	switch {
	case n == nil || r.err != nil:
		return
	case n.Kind == xmldata.Attribute:
		for _, c := range to.Children {
			if c.Kind != xmldata.Text {
				r.err = sqlerr.New(6307, 1)
				return
			}
		}
		for _, a := range to.Attributes {
			if a.Name.Space == n.Name.Space && a.Name.Local == n.Name.Local {
				r.err = sqlerr.New(6308, 1, n.Name)
				return
			}
		}
		n.Parent = to
		to.Attributes = append(to.Attributes, n)
		return
	case n.Kind == xmldata.Text && n.Value == "":
		return
	case n.Kind == xmldata.Text && len(to.Children) > 0 && to.Children[len(to.Children)-1].Kind == xmldata.Text:
		last := to.Children[len(to.Children)-1]
		to.Children[len(to.Children)-1] = &xmldata.Node{Kind: xmldata.Text, Value: last.Value + n.Value, Parent: to}
		r.spend((len(last.Value) + len(n.Value)) / 16)
		return
	}
	n.Parent = to
	to.Children = append(to.Children, n)
}

// constructed reads a direct constructor at its bracket: <name ...>...</name>, a comment or a processing instruction.
func (p *parser) constructed() expression {
	p.enter()
	defer p.leave()
	switch {
	case p.err != nil:
		return empty{}
	case p.has("<!--"):
		return p.directComment()
	case p.has("<?"):
		return p.directInstruction()
	case p.has("<!"):
		p.fail(2209, "<!")
		return empty{}
	}
	p.at++
	outside, outsideElements := p.prefixes, p.elements
	p.prefixes = maps.Clone(p.prefixes)
	defer func() { p.prefixes, p.elements = outside, outsideElements }()
	from := p.at
	prefix, local := p.qualified()
	if local == "" {
		p.fail(2209, p.token())
		return empty{}
	}
	written := p.text[from:p.at]
	e := &maker{kind: nodeElement, name: xmldata.Name{Prefix: prefix, Local: local}}
	p.directAttributes(e)
	e.name.Space = p.elements
	if prefix != "" {
		e.name.Space = p.resolve(prefix)
	}
	for _, a := range e.attributes {
		if m := a.(*maker); m.name.Prefix != "" {
			m.name.Space = p.resolve(m.name.Prefix)
		}
	}
	if p.has("/>") {
		p.at += 2
		return e
	}
	if !p.has(">") {
		p.fail(2205, ">")
		return e
	}
	p.at++
	p.directContent(e, written)
	return e
}

// directAttributes reads the attributes of a direct constructor up to the end of its tag.
func (p *parser) directAttributes(e *maker) {
	for p.err == nil {
		spaced := p.blanks()
		if p.has(">") || p.has("/>") {
			return
		}
		prefix, local := p.qualified()
		if local == "" || !spaced {
			p.fail(2209, p.token())
			return
		}
		p.blanks()
		if !p.has("=") {
			p.fail(2205, "=")
			return
		}
		p.at++
		p.blanks()
		a := &maker{kind: nodeAttribute, name: xmldata.Name{Prefix: prefix, Local: local}}
		p.directValue(a)
		if prefix == "xmlns" || prefix == "" && local == "xmlns" {
			p.declares(e, a)
			continue
		}
		e.attributes = append(e.attributes, a)
	}
}

// declares takes an attribute that declares a namespace, whose value is a literal (9338).
func (p *parser) declares(e, a *maker) {
	b := xmldata.Binding{URI: a.literal}
	if a.name.Prefix != "" {
		b.Prefix = a.name.Local
	}
	switch {
	case !a.plain:
		p.fail(9338)
	case b.Prefix == "xml" || b.Prefix == "xmlns":
		p.fail(2206)
	case b.Prefix == "":
		p.elements = b.URI
	default:
		p.prefixes[b.Prefix] = b.URI
	}
	for _, other := range e.declared {
		if other.Prefix == b.Prefix {
			p.fail(2349, b.Prefix)
		}
	}
	e.declared = append(e.declared, b)
}

// blanks passes white space, in which tags have no comments; it tells whether there was any.
func (p *parser) blanks() bool {
	from := p.at
	for p.at < len(p.text) && strings.IndexByte(blanks, p.text[p.at]) >= 0 {
		p.at++
	}
	return p.at > from
}

// directValue reads the value of an attribute: a literal, or one expression in braces (9313 for a mixture).
func (p *parser) directValue(a *maker) {
	if !p.has(`"`) && !p.has("'") {
		p.fail(2225)
		return
	}
	quote := p.text[p.at]
	p.at++
	var out strings.Builder
	literal := false
	for p.err == nil {
		if p.at >= len(p.text) {
			p.fail(2209, "<eof>")
			return
		}
		switch c := p.text[p.at]; {
		case c == quote && p.at+1 < len(p.text) && p.text[p.at+1] == quote:
			out.WriteByte(quote)
			literal = true
			p.at += 2
		case c == quote:
			p.at++
			if len(a.content) > 0 && literal {
				p.fail(9313)
			}
			a.literal, a.plain = out.String(), len(a.content) == 0
			return
		case c == '{' && !p.has("{{"):
			if len(a.content) > 0 {
				p.fail(9313)
				return
			}
			a.content = append(a.content, p.enclosed())
			p.data(a.content[0], "")
		case c == '<':
			p.fail(2209, "<")
		default:
			literal = true
			out.WriteString(p.literalCharacter())
		}
	}
}

// literalCharacter reads one character of a constructor's text, as itself, as {{ or }}, or as a reference.
func (p *parser) literalCharacter() string {
	switch c := p.text[p.at]; {
	case c == '&':
		return p.reference()
	case p.has("{{"), p.has("}}"):
		p.at += 2
		return string(c)
	case c == '}':
		p.fail(9324)
		return ""
	default:
		_, size := utf8.DecodeRuneInString(p.text[p.at:])
		s := p.text[p.at : p.at+size]
		p.at += size
		return s
	}
}

// enclosed reads an expression in braces.
func (p *parser) enclosed() expression {
	p.enter()
	defer p.leave()
	p.at++
	e := p.sequence()
	if !p.take("}") {
		p.fail(9303, p.token(), "}")
	}
	return e
}

// directContent reads what an element holds, and its end tag (2323 for another's).
func (p *parser) directContent(e *maker, name string) {
	var out strings.Builder
	significant := false
	flush := func() {
		if s := out.String(); significant {
			e.content = append(e.content, &maker{kind: nodeText, literal: s, plain: true})
		}
		out.Reset()
		significant = false
	}
	for p.err == nil {
		if p.at >= len(p.text) {
			p.fail(2267, name)
			return
		}
		p.part()
		switch c := p.text[p.at]; {
		case p.has("</"):
			flush()
			p.endTag(name)
			return
		case p.has("<![CDATA["):
			end := strings.Index(p.text[p.at:], "]]>")
			if end < 0 {
				p.fail(2273)
				return
			}
			out.WriteString(p.text[p.at+len("<![CDATA[") : p.at+end])
			significant = true
			p.at += end + len("]]>")
		case c == '<':
			flush()
			e.content = append(e.content, p.constructed())
		case c == '{' && !p.has("{{"):
			flush()
			e.content = append(e.content, p.enclosed())
		default:
			significant = significant || strings.IndexByte(blanks, c) < 0
			out.WriteString(p.literalCharacter())
			p.parts--
		}
	}
}

func (p *parser) endTag(name string) {
	p.at += len("</")
	from := p.at
	p.qualified()
	if end := p.text[from:p.at]; end != name {
		line := strings.Count(p.text[:from], "\n") + 1
		p.fail(2323, end, name, line)
		return
	}
	p.blanks()
	if !p.has(">") {
		p.fail(2205, ">")
		return
	}
	p.at++
}

func (p *parser) directComment() expression {
	from := p.at + len("<!--")
	end := strings.Index(p.text[from:], "--")
	if end < 0 || !strings.HasPrefix(p.text[from+end:], "-->") {
		p.fail(9322)
		return empty{}
	}
	p.at = from + end + len("-->")
	return &maker{kind: nodeComment, literal: p.text[from : from+end], plain: true}
}

func (p *parser) directInstruction() expression {
	p.at += len("<?")
	target := p.name()
	end := strings.Index(p.text[p.at:], "?>")
	switch {
	case target == "":
		p.fail(2209, p.token())
		return empty{}
	case strings.EqualFold(target, "xml"):
		p.fail(2294)
		return empty{}
	case end < 0:
		p.fail(2272)
		return empty{}
	}
	data := strings.TrimLeft(p.text[p.at:p.at+end], blanks)
	p.at += end + len("?>")
	return &maker{kind: nodeInstruction, name: xmldata.Name{Local: target}, literal: data, plain: true}
}

// computedConstructor reads element name {...}, attribute name {...} or text {...} behind its first word.
func (p *parser) computedConstructor(word string) expression {
	p.enter()
	defer p.leave()
	kind := map[string]Kind{"element": nodeElement, "attribute": nodeAttribute, "text": nodeText}[word]
	switch {
	case word == "comment":
		p.fail(9326)
	case word == "processing-instruction":
		p.fail(9325)
	case kind == Nothing:
		p.refuse("The constructor " + word)
	}
	e := &maker{kind: kind}
	if p.err == nil && kind != nodeText {
		p.computedName(e)
	}
	p.skip()
	if p.err != nil || !p.has("{") {
		p.fail(2209, p.token())
		return empty{}
	}
	p.at++
	if kind != nodeText && p.take("}") {
		e.plain = kind == nodeAttribute
		return e
	}
	p.at--
	e.content = []expression{p.enclosed()}
	if kind != nodeElement && p.err == nil {
		p.data(e.content[0], "")
	}
	return e
}

// computedName reads the name of a computed constructor, which is written out (9315).
func (p *parser) computedName(e *maker) {
	p.skip()
	if p.has("{") {
		p.fail(9315)
		return
	}
	prefix, local := p.qualified()
	e.name = xmldata.Name{Prefix: prefix, Local: local}
	switch {
	case local == "":
		p.fail(2209, p.token())
	case e.kind == nodeAttribute && (local == "xmlns" || prefix == "xmlns"):
		p.fail(9316)
	case prefix != "":
		e.name.Space = p.resolve(prefix)
	case e.kind == nodeElement:
		e.name.Space = p.elements
	}
}
