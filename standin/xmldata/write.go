// SPDX-License-Identifier: Apache-2.0

package xmldata

import (
	"strconv"
	"strings"
)

var (
	textEscapes      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0D;")
	attributeEscapes = strings.NewReplacer(
		"&",
		"&amp;",
		"<",
		"&lt;",
		">",
		"&gt;",
		`"`,
		"&quot;",
		"\r",
		"&#x0D;",
		"\n",
		"&#x0A;",
		"\t",
		"&#x09;",
	)
)

// EscapeText and EscapeAttribute write characters of text and of an attribute's value.
func EscapeText(s string) string { return textEscapes.Replace(s) }

// EscapeAttribute writes the value of an attribute, without its quotes.
func EscapeAttribute(s string) string { return attributeEscapes.Replace(s) }

// String is the whole instance as SQL Server gives it back: without a declaration, attributes in double quotes, empty
// elements in one tag.
func (d *Instance) String() string {
	w := NewWriter(nil, "")
	for _, c := range d.Root().Children {
		w.Node(c)
	}
	return w.String()
}

// Writer writes nodes. A node that is written without what is around it gets declarations of the namespaces that it has
// from there: with the prefixes that the query declares, else with p1, p2 ...
type Writer struct {
	b strings.Builder
	// prolog are the bindings that a query declares, fallback its default namespace for elements.
	prolog   []Binding
	fallback string
	scope    []Binding
	made     int
}

// NewWriter makes a writer for the results of a query with these bindings and this default namespace for elements.
func NewWriter(prolog []Binding, fallback string) *Writer {
	return &Writer{prolog: prolog, fallback: fallback}
}

func (w *Writer) String() string { return w.b.String() }

// Raw writes text as it is.
func (w *Writer) Raw(s string) { w.b.WriteString(s) }

// Node writes a node with all below it; an attribute by itself is not written.
func (w *Writer) Node(n *Node) {
	switch n.Kind {
	case Document:
		for _, c := range n.Children {
			w.Node(c)
		}
	case Element:
		w.element(n)
	case Text:
		w.b.WriteString(EscapeText(n.Value))
	case Comment:
		w.b.WriteString("<!--" + n.Value + "-->")
	case Instruction:
		w.b.WriteString("<?" + n.Name.Local)
		if n.Value != "" {
			w.b.WriteString(" " + n.Value)
		}
		w.b.WriteString("?>")
	}
}

func (w *Writer) element(n *Node) {
	outside := len(w.scope)
	w.scope = append(w.scope, n.Declared...)
	declared := len(w.scope)
	name := w.name(n.Name, true)
	w.b.WriteString("<" + name)
	for _, b := range n.Declared {
		w.declaration(b)
	}
	for _, b := range w.scope[declared:] {
		w.declaration(b)
	}
	for _, a := range n.Attributes {
		before := len(w.scope)
		written := w.name(a.Name, false)
		for _, b := range w.scope[before:] {
			w.declaration(b)
		}
		w.b.WriteString(" " + written + `="` + EscapeAttribute(a.Value) + `"`)
	}
	if len(n.Children) == 0 {
		w.b.WriteString("/>")
	} else {
		w.b.WriteString(">")
		for _, c := range n.Children {
			w.Node(c)
		}
		w.b.WriteString("</" + name + ">")
	}
	w.scope = w.scope[:outside]
}

func (w *Writer) declaration(b Binding) {
	w.b.WriteString(" xmlns")
	if b.Prefix != "" {
		w.b.WriteString(":" + b.Prefix)
	}
	w.b.WriteString(`="` + EscapeAttribute(b.URI) + `"`)
}

// bound is the URI of a prefix at the place that is written.
func (w *Writer) bound(prefix string) (string, bool) {
	for i := len(w.scope) - 1; i >= 0; i-- {
		if w.scope[i].Prefix == prefix {
			return w.scope[i].URI, true
		}
	}
	return "", prefix == ""
}

// name is a name as it is written here. A binding that is needed for it is added to the scope.
func (w *Writer) name(n Name, element bool) string {
	if n.Space == XMLSpace && n.Prefix == "xml" || n.Space == "" && !element {
		return n.String()
	}
	if uri, ok := w.bound(n.Prefix); ok && uri == n.Space && (element || n.Prefix != "") {
		return n.String()
	}
	if n.Space == "" {
		w.scope = append(w.scope, Binding{})
		return n.Local
	}
	for i := len(w.scope) - 1; i >= 0; i-- {
		b := w.scope[i]
		if uri, _ := w.bound(b.Prefix); b.URI == n.Space && uri == n.Space && (element || b.Prefix != "") {
			return Name{Prefix: b.Prefix, Local: n.Local}.String()
		}
	}
	b := w.make(n.Space, element)
	w.scope = append(w.scope, b)
	return Name{Prefix: b.Prefix, Local: n.Local}.String()
}

// make chooses the prefix for a namespace that is not bound.
func (w *Writer) make(uri string, element bool) Binding {
	for _, b := range w.prolog {
		if _, taken := w.bound(b.Prefix); b.URI == uri && !taken {
			return b
		}
	}
	if element && w.fallback == uri {
		return Binding{URI: uri}
	}
	for {
		w.made++
		prefix := "p" + strconv.Itoa(w.made)
		if _, taken := w.bound(prefix); !taken {
			return Binding{Prefix: prefix, URI: uri}
		}
	}
}
