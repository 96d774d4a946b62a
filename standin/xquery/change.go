// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"slices"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
)

// Change is a compiled expression of modify(): insert, delete or replace value of
// (docs/t-sql/xml/xml-data-modification-language-xml-dml.md).
type Change struct {
	*Query
	verb string
	// place is first, last, before or after for insert.
	place           string
	target, content expression
	// clears tells that the new value is written as ().
	clears bool
}

// CompileChange reads an expression of modify(). Errors: as Compile, and 2207 to 2264, 2337, 2356, 6305, 9310.
func CompileChange(text string, static Static) (*Change, *sqlerr.Error) {
	p := newParser(text, static)
	p.prologs()
	c := &Change{}
	switch {
	case p.err != nil:
	case p.word("insert"):
		c.verb = "insert"
		p.insertion(c)
	case p.word("delete"):
		c.verb = "delete"
		c.target = p.sequence()
		p.deletion(c)
	case p.words("replace", "value", "of"):
		c.verb = "replace"
		c.target = p.single()
		p.replacement(c)
	default:
		p.sequence()
		if p.end(); p.err == nil {
			p.err = sqlerr.New(6305, 1)
		}
	}
	p.end()
	if p.err != nil {
		return nil, p.err
	}
	c.Query = p.query(c.target)
	return c, nil
}

// insertion reads content, place and target of insert, and judges them.
func (p *parser) insertion(c *Change) {
	if p.blanks(); p.has("<![CDATA[") {
		c.content = p.characterData()
	} else {
		c.content = p.sequence()
	}
	switch {
	case p.err != nil:
		return
	case p.word("as"):
		c.place = "last"
		if p.word("first") {
			c.place = "first"
		} else if !p.word("last") {
			p.fail(2351)
		}
		if !p.word("into") {
			p.fail(2205, "into")
		}
	case p.word("into"):
		c.place = "last"
	case p.word("before"):
		c.place = "before"
	case p.word("after"):
		c.place = "after"
	default:
		p.fail(2248, p.token())
	}
	c.target = p.single()
	if p.err != nil {
		return
	}
	t, content := c.target.typ(), c.content.typ()
	within := c.place == "first" || c.place == "last"
	switch {
	case t.constructed:
		p.fail(2359, "insert")
	case !t.single():
		p.fail(2226, t)
	case content.Kind.isAtomic(), content.Kind == nodeDocument:
		p.fail(2207, content)
	case !within && content.Kind == nodeAttribute:
		p.fail(2258, content)
	case within && t.Kind != nodeElement && t.Kind != nodeDocument && t.Kind != nodeAny && t.Kind != Nothing:
		p.fail(2240, t)
	case !within && (t.Kind == nodeAttribute || t.Kind == nodeDocument || t.Kind.isAtomic()):
		p.fail(2249, t)
	}
}

// characterData is a text node that is written as a CDATA section, which insert takes as its content
// (docs/t-sql/xml/insert-xml-dml.md, example F).
func (p *parser) characterData() expression {
	text, _, closed := strings.Cut(p.text[p.at+len("<![CDATA["):], "]]>")
	if !closed {
		p.fail(2273)
		return empty{}
	}
	p.at += len("<![CDATA[") + len(text) + len("]]>")
	return &maker{kind: nodeText, literal: text, plain: true}
}

func (p *parser) deletion(c *Change) {
	if p.err != nil {
		return
	}
	switch t := c.target.typ(); {
	case t.constructed:
		p.fail(2359, "delete")
	case t.Kind == nodeDocument || t.Kind.isAtomic():
		p.fail(2264, t)
	}
}

// replacement reads the new value behind with, and judges it and its target.
func (p *parser) replacement(c *Change) {
	if p.err != nil {
		return
	}
	if !p.word("with") {
		p.fail(2205, "with")
		return
	}
	c.content = p.sequence()
	if p.err != nil {
		return
	}
	_, c.clears = c.content.(empty)
	switch t := c.target.typ(); {
	case t.constructed:
		p.fail(2359, "replace value of")
	case !t.single():
		p.fail(2337, t)
	case t.Kind != nodeAttribute && t.Kind != nodeText && t.Kind != Nothing:
		p.fail(2356, t)
	case c.content.typ().constructed:
		p.fail(9310)
	}
}

// Apply changes an instance that nobody else has, and gives its new text. A target that there is none of changes
// nothing.
func (c *Change) Apply(d *xmldata.Instance, accessors []*Atom) (string, *sqlerr.Error) {
	r := &run{root: d.Root(), accessors: accessors, variables: make([]sequence, c.slots), left: c.budget}
	f := focus{item: item{node: d.Root()}, position: 1, size: 1}
	var content sequence
	if c.content != nil {
		content = c.content.eval(r, f)
	}
	targets := nodesOf(c.target.eval(r, f))
	switch {
	case r.err != nil || len(targets) == 0:
	case c.verb == "delete":
		for _, n := range targets {
			remove(n)
		}
	case c.verb == "insert":
		c.insert(r, targets[0], content)
	default:
		c.replace(r, targets[0], content)
	}
	if r.err != nil {
		return "", r.err
	}
	w := xmldata.NewWriter(c.prolog, c.elements)
	w.Node(d.Root())
	return w.String(), nil
}

// remove takes a node out of its parent.
func remove(n *xmldata.Node) {
	if n.Parent == nil {
		return
	}
	is := func(other *xmldata.Node) bool { return other == n }
	if n.Kind == xmldata.Attribute {
		n.Parent.Attributes = slices.DeleteFunc(n.Parent.Attributes, is)
		return
	}
	n.Parent.Children = slices.DeleteFunc(n.Parent.Children, is)
}

func (c *Change) insert(r *run, target *xmldata.Node, content sequence) {
	parent, at := target, len(target.Children)
	switch c.place {
	case "first":
		at = 0
	case "before", "after":
		parent = target.Parent
		if parent == nil {
			return
		}
		at = slices.Index(parent.Children, target)
		if c.place == "after" {
			at++
		}
	}
	var attributes, children []*xmldata.Node
	for _, it := range content {
		n := r.copy(it.node)
		n.Parent = parent
		if n.Kind == xmldata.Attribute {
			attributes = append(attributes, n)
		} else {
			children = append(children, n)
		}
	}
	if len(attributes) > 0 && parent.Kind != xmldata.Element {
		r.err = sqlerr.New(6307, 1)
		return
	}
	parent.Children = slices.Insert(parent.Children, at, children...)
	parent.Attributes = interleaved(parent.Attributes, attributes)
	seen := map[xmldata.Name]bool{}
	for _, a := range parent.Attributes {
		key := xmldata.Name{Space: a.Name.Space, Local: a.Name.Local}
		if seen[key] {
			r.err = sqlerr.New(6308, 1, a.Name)
			return
		}
		seen[key] = true
	}
}

// interleaved puts new attributes where SQL Server has them: each behind one of those that were there.
func interleaved(old, added []*xmldata.Node) []*xmldata.Node {
	if len(added) == 0 {
		return old
	}
	var out []*xmldata.Node
	for i := range max(len(old), len(added)) {
		if i < len(old) {
			out = append(out, old[i])
		}
		if i < len(added) {
			out = append(out, added[i])
		}
	}
	return out
}

func (c *Change) replace(r *run, target *xmldata.Node, content sequence) {
	values := r.atomize(content)
	switch {
	case len(values) > 0:
	case target.Kind != xmldata.Text:
		r.err = sqlerr.New(6320, 1)
		return
	case !c.clears:
		r.err = sqlerr.New(6325, 1)
		return
	}
	if target.Value = listText(values); target.Value == "" && target.Kind == xmldata.Text {
		remove(target)
	}
}
