// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"cmp"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
)

// The namespaces that a query has without a declaration (docs/xquery/modules-and-prologs-xquery-prolog.md).
const (
	schemaTypes    = "http://www.w3.org/2001/XMLSchema"
	schemaInstance = "http://www.w3.org/2001/XMLSchema-instance"
	xpathTypes     = "http://www.w3.org/2004/07/xpath-datatypes"
	functionsSpace = "http://www.w3.org/2004/07/xpath-functions"
	sqlSpace       = "urn:schemas-microsoft-com:xml-sql"
)

// Context is what a query begins at.
type Context uint8

// The contexts of queries.
const (
	// AtDocument is the document node of an instance.
	AtDocument Context = iota
	// AtElement and AtAttribute are a node of the rows of nodes(), AtNode one of any kind.
	AtElement
	AtAttribute
	AtNode
)

// Accessor is a use of sql:variable("name") or sql:column("name").
type Accessor struct {
	Column bool
	Name   string
}

// Static is what a query is compiled with.
type Static struct {
	// Method is the call as messages have it: value(), or dbo.t.x.value() for a column.
	Method string
	// Namespaces are those of WITH XMLNAMESPACES; an empty prefix is the default for elements.
	Namespaces []xmldata.Binding
	Context    Context
	Use        Use
	// Budget is how many nodes and values an evaluation may look at; 0 is the constant Budget.
	Budget int
	// Accessor gives the type of a variable or column, or why it has none; nil where there are none.
	Accessor func(Accessor) (Type, *sqlerr.Error)
}

// Query is a compiled expression; many may evaluate it at once.
type Query struct {
	body  expression
	slots int
	// Accessors are the values that Evaluate takes, in their order.
	Accessors []Accessor
	prolog    []xmldata.Binding
	elements  string
	budget    int
}

// expression is a part of a query.
type expression interface {
	typ() Type
	eval(r *run, f focus) sequence
}

// focus is the context item with its place among those that are looked at.
type focus struct {
	item           item
	position, size int
}

// run is one evaluation. Once err is set, results mean nothing.
type run struct {
	root      *xmldata.Node
	accessors []*Atom
	variables []sequence
	left      int
	err       *sqlerr.Error
}

// Budget is how many nodes and values one evaluation may look at.
const Budget = 20_000_000

// spend counts work; false when there was too much.
func (r *run) spend(n int) bool {
	if r.left -= n + 1; r.left < 0 && r.err == nil {
		r.err = sqlerr.Unsupported("An XQuery expression that looks at too many nodes and values")
	}
	return r.err == nil
}

// Compile reads an expression and judges its types. Errors: 2203 to 2396, 9301 to 9344 as
// docs/relational-databases/errors-events has them, 6306 for an empty one, 40517 for XQuery that the stand-in does not
// have.
func Compile(text string, static Static) (*Query, *sqlerr.Error) {
	p := newParser(text, static)
	p.prologs()
	body := p.sequence()
	p.end()
	if p.err == nil {
		p.used(body)
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.query(body), nil
}

func (p *parser) query(body expression) *Query {
	return &Query{
		body:      body,
		slots:     p.slots,
		Accessors: p.accessors,
		prolog:    p.prolog,
		elements:  p.elements,
		budget:    cmp.Or(p.static.Budget, Budget),
	}
}

func newParser(text string, static Static) *parser {
	p := &parser{
		text:   text,
		static: static,
		prefixes: map[string]string{"xml": xmldata.XMLSpace, "xs": schemaTypes, "xsi": schemaInstance, "xdt": xpathTypes,
			"fn": functionsSpace, "sql": sqlSpace},
	}
	switch static.Context {
	case AtDocument:
		p.context = One(nodeDocument)
	case AtElement:
		p.context = Type{Kind: nodeElement, name: "*"}
	case AtAttribute:
		p.context = Type{Kind: nodeAttribute, name: "*"}
	case AtNode:
		p.context = One(nodeAny)
	}
	for _, b := range static.Namespaces {
		p.bind(b.Prefix, b.URI)
	}
	if strings.Trim(text, blanks) == "" {
		p.err = sqlerr.New(6306, 1)
	}
	return p
}

// bind declares a namespace; a later one of the same prefix counts.
func (p *parser) bind(prefix, uri string) {
	if prefix == "" {
		p.elements = uri
		return
	}
	p.prefixes[prefix] = uri
	p.prolog = append([]xmldata.Binding{{Prefix: prefix, URI: uri}}, p.prolog...)
}

func (p *parser) end() {
	p.skip()
	if p.err == nil && p.at < len(p.text) {
		p.fail(2370, p.token())
	}
}

// prologs reads the declarations at the begin (docs/xquery/modules-and-prologs-xquery-prolog.md).
func (p *parser) prologs() {
	if p.words("xquery", "version") {
		if version, ok := p.literal(); !ok || version != "1.0" {
			p.fail(9304)
		}
		p.endDeclaration()
	}
	declared := map[string]bool{}
	for p.err == nil {
		prefix := ""
		switch {
		case p.words("declare", "namespace"):
			p.skip()
			if prefix = p.name(); prefix == "" {
				p.fail(2223, p.token())
			}
			if !p.take("=") {
				p.fail(2205, "=")
			}
		case p.words("declare", "default", "element", "namespace"), p.words("declare", "default", "namespace"):
		case p.words("declare", "default", "function", "namespace"):
			p.refuse("declare default function namespace")
		case p.words("declare", "function"):
			p.fail(9335, "declare function")
		case p.words("declare", "variable"):
			p.fail(9335, "declare variable")
		case p.words("declare", "boundary-space"),
			p.words("declare", "ordering"),
			p.words("declare", "construction"),
			p.words("import"):
			p.fail(2209, "declare")
		default:
			return
		}
		uri, ok := p.literal()
		switch {
		case !ok:
			p.fail(2225)
		case declared[prefix]:
			p.fail(2349, prefix)
		case prefix == "xml" || prefix == "xmlns":
			p.fail(2206)
		}
		p.endDeclaration()
		declared[prefix] = true
		p.bind(prefix, uri)
	}
}

func (p *parser) endDeclaration() {
	if !p.take(";") {
		p.fail(9327, p.token())
	}
}

func (q *Query) evaluate(node *xmldata.Node, root *xmldata.Node, accessors []*Atom) (sequence, *run) {
	r := &run{root: root, accessors: accessors, variables: make([]sequence, q.slots), left: q.budget}
	return q.body.eval(r, focus{item: item{node: node}, position: 1, size: 1}), r
}

// Value is the value of value(): the text of the one item, ok is false when there is none.
func (q *Query) Value(root, node *xmldata.Node, accessors []*Atom) (value string, ok bool, err *sqlerr.Error) {
	s, r := q.evaluate(node, root, accessors)
	if r.err != nil || len(s) == 0 {
		return "", false, r.err
	}
	return r.atomize(s[:1])[0].String(), true, nil
}

// Hexadecimal tells that the value is one of xs:hexBinary, whose text is not that of other binary values.
func (q *Query) Hexadecimal() bool { return q.body.typ().Kind == HexBinary }

// Exists is what exist() gives: whether there is an item at all.
func (q *Query) Exists(root, node *xmldata.Node, accessors []*Atom) (bool, *sqlerr.Error) {
	s, r := q.evaluate(node, root, accessors)
	return len(s) > 0, r.err
}

// Nodes are the nodes of nodes().
func (q *Query) Nodes(root, node *xmldata.Node, accessors []*Atom) ([]*xmldata.Node, *sqlerr.Error) {
	s, r := q.evaluate(node, root, accessors)
	return nodesOf(s), r.err
}

// Query is the text that query() gives: nodes as XML, values with a blank between them.
func (q *Query) Query(root, node *xmldata.Node, accessors []*Atom) (string, *sqlerr.Error) {
	s, r := q.evaluate(node, root, accessors)
	if r.err != nil {
		return "", r.err
	}
	w := xmldata.NewWriter(q.prolog, q.elements)
	for i, it := range s {
		if it.node != nil {
			if it.node.Kind == xmldata.Attribute {
				return "", sqlerr.New(6307, 1)
			}
			w.Node(it.node)
			continue
		}
		if i > 0 && s[i-1].atom != nil {
			w.Raw(" ")
		}
		w.Raw(xmldata.EscapeText(it.atom.String()))
	}
	return w.String(), nil
}

// atomize gives the values of a sequence.
func (r *run) atomize(s sequence) []*Atom {
	out := make([]*Atom, len(s))
	for i, it := range s {
		if out[i] = it.atom; it.atom != nil {
			continue
		}
		out[i] = ofNode(it.node)
		if !r.spend(len(out[i].Text) / 16) {
			return out[:0]
		}
	}
	return out
}
