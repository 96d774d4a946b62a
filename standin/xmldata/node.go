// SPDX-License-Identifier: Apache-2.0

// Package xmldata reads and writes instances of the xml data type: documents and fragments, as SQL Server parses them
// when a value is converted to xml (docs/relational-databases/xml/create-instances-of-xml-data.md), and as it writes
// them back.
package xmldata

// Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	// Document is the node above everything of an instance; each has one, fragments too.
	Document Kind = iota
	// Element is an element.
	Element
	// Attribute is an attribute; declarations of namespaces are none.
	Attribute
	// Text is a run of characters, CDATA sections included.
	Text
	// Comment is a comment.
	Comment
	// Instruction is a processing instruction.
	Instruction
)

// Name is the name of an element, an attribute or (Local alone) a processing instruction.
type Name struct {
	// Space is the namespace's URI, empty for none; Prefix is how the text writes it.
	Space, Prefix, Local string
}

// String is the name as the text writes it.
func (n Name) String() string {
	if n.Prefix == "" {
		return n.Local
	}
	return n.Prefix + ":" + n.Local
}

// Binding is a declaration of a namespace: xmlns:Prefix="URI", or xmlns="URI" without a prefix.
type Binding struct{ Prefix, URI string }

// Node is a node of an instance. Nodes of one instance are in document order by Order.
type Node struct {
	Kind Kind
	Name Name
	// Value is an attribute's value, the characters of text or comment, the data of a processing instruction.
	Value      string
	Parent     *Node
	Attributes []*Node
	Children   []*Node
	// Declared are the namespaces that an element declares, in their order.
	Declared []Binding
	// Order is the node's place in its instance: 0 is the document, attributes come after their element.
	Order int
}

// Instance is a parsed value of the type xml. Nobody changes it once it is shared.
type Instance struct {
	// Nodes are all nodes in document order; the first one is the document.
	Nodes []*Node
}

// Root is the document node.
func (d *Instance) Root() *Node { return d.Nodes[0] }

// Number puts the nodes in their order again after a change.
func (d *Instance) Number() {
	root := d.Nodes[0]
	d.Nodes = d.Nodes[:0]
	d.number(root)
}

func (d *Instance) number(n *Node) {
	add := func(n *Node) {
		n.Order = len(d.Nodes)
		d.Nodes = append(d.Nodes, n)
	}
	add(n)
	for _, a := range n.Attributes {
		add(a)
	}
	for _, c := range n.Children {
		d.number(c)
	}
}

// Text is the string value of a node: its own characters, or those of all text below an element or a document.
func (n *Node) Text() string {
	if n.Kind != Element && n.Kind != Document {
		return n.Value
	}
	if len(n.Children) == 1 && n.Children[0].Kind == Text {
		return n.Children[0].Value
	}
	return string(n.appendText(nil))
}

func (n *Node) appendText(out []byte) []byte {
	for _, c := range n.Children {
		switch c.Kind {
		case Text:
			out = append(out, c.Value...)
		case Element:
			out = c.appendText(out)
		}
	}
	return out
}

// Size is how many nodes there are below a node, attributes included.
func (n *Node) Size() int {
	out := len(n.Attributes) + len(n.Children)
	for _, c := range n.Children {
		out += c.Size()
	}
	return out
}

// Copy is a copy of a node and of what is below it, without a parent.
func (n *Node) Copy() *Node {
	out := &Node{Kind: n.Kind, Name: n.Name, Value: n.Value, Declared: append([]Binding(nil), n.Declared...)}
	for _, a := range n.Attributes {
		c := a.Copy()
		c.Parent = out
		out.Attributes = append(out.Attributes, c)
	}
	for _, c := range n.Children {
		below := c.Copy()
		below.Parent = out
		out.Children = append(out.Children, below)
	}
	return out
}

// Resolve is the URI that a prefix stands for at a node; ok is false for a prefix that nobody declared.
func (n *Node) Resolve(prefix string) (uri string, ok bool) {
	if prefix == "xml" {
		return XMLSpace, true
	}
	for at := n; at != nil; at = at.Parent {
		for _, b := range at.Declared {
			if b.Prefix == prefix {
				return b.URI, true
			}
		}
	}
	return "", prefix == ""
}
