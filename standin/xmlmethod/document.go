// SPDX-License-Identifier: Apache-2.0

package xmlmethod

import (
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
	"geosql.dev/standin/xquery"
)

// document is one of sp_xml_preparedocument with the namespaces of its patterns.
type document struct {
	instance   *xmldata.Instance
	namespaces []xmldata.Binding
}

// Prepare keeps a document and tells its handle. An empty text is a document, too; namespaces are the declarations of
// an element, empty for none.
func (c *Kept) Prepare(text string, given bool, namespaces string, declared bool) (handle int64, err *sqlerr.Error) {
	d := &document{}
	if d.instance, err = xmldata.Parse(strings.TrimLeft(text, " \t\r\n"), xmldata.Options{Decoded: true}); err == nil &&
		given {
		err = oneRoot(d.instance)
	}
	if err != nil {
		return 0, sqlerr.New(6602, 2, err.Message)
	}
	if declared {
		n, err := xmldata.Parse(namespaces, xmldata.Options{Decoded: true})
		if err == nil {
			err = oneRoot(n)
		}
		if err != nil {
			return 0, sqlerr.New(6602, 2, err.Message)
		}
		for _, e := range n.Root().Children {
			for _, b := range e.Declared {
				if b.Prefix != "" {
					d.namespaces = append(d.namespaces, b)
				}
			}
		}
	}
	if c.documents == nil {
		c.documents, c.lastHandle = map[int64]*document{}, -1
	}
	c.lastHandle += 2
	c.documents[c.lastHandle] = d
	return c.lastHandle, nil
}

// oneRoot tells that a document has one element at its top, and no text beside it.
func oneRoot(d *xmldata.Instance) *sqlerr.Error {
	n := 0
	for _, c := range d.Root().Children {
		switch c.Kind {
		case xmldata.Element:
			n++
		case xmldata.Text:
			n += 2
		}
	}
	if n != 1 {
		return &sqlerr.Error{Message: "Only one top level element is allowed in an XML document."}
	}
	return nil
}

// Remove forgets a document (8179).
func (c *Kept) Remove(handle any) *sqlerr.Error {
	_, err := c.document(handle)
	if n, ok := handle.(int64); ok {
		delete(c.documents, n)
	}
	return err
}

// document is the one of a handle (8179).
func (c *Kept) document(handle any) (*document, *sqlerr.Error) {
	n, _ := handle.(int64)
	if d := c.documents[n]; d != nil {
		return d, nil
	}
	return nil, sqlerr.New(8179, 5, n)
}

// Rows are the nodes that OPENXML's row pattern, nil for NULL, finds in the document of a handle.
func (c *Kept) Rows(handle, pattern any) ([][]any, error) {
	d, problem := c.document(handle)
	if problem != nil {
		return nil, problem
	}
	if pattern == nil {
		return nil, nil
	}
	q, err := c.pattern(pattern.(string), d.namespaces)
	if err != nil {
		return nil, err
	}
	nodes, err := q.Nodes(d.instance.Root(), d.instance.Root(), nil)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(nodes))
	for i, n := range nodes {
		rows[i] = []any{int64(n.Order)}
	}
	return rows, nil
}

// pattern is a compiled row or column pattern, kept with the other expressions of the session.
func (c *Kept) pattern(text string, namespaces []xmldata.Binding) (*xquery.Query, *sqlerr.Error) {
	key := "pattern " + text
	for _, b := range namespaces {
		key += "\x00" + b.Prefix + "\x00" + b.URI
	}
	if x := c.expressions[key]; x != nil {
		return x.expression, nil
	}
	q, err := xquery.Compile(
		text,
		xquery.Static{Method: "OPENXML", Namespaces: namespaces, Context: xquery.AtNode, Use: xquery.ForPattern},
	)
	if err != nil {
		// What XQuery does not have may well be XPath.
		return nil, sqlerr.Unsupported("The pattern " + text + " of OPENXML")
	}
	c.expressions.keep(key, &compiledExpression[xquery.Query]{expression: q})
	return q, nil
}

// column is a column of OPENXML's rows: see DocumentValue.
func (c *Kept) column(
	a []any,
	value func(q *xquery.Query, d *document, n *xmldata.Node) (any, *sqlerr.Error),
) (any, *sqlerr.Error) {
	d, err := c.document(a[0])
	if err != nil || a[1] == nil {
		return nil, err
	}
	n, _ := a[1].(int64)
	if n < 0 || n >= int64(len(d.instance.Nodes)) {
		return nil, sqlerr.New(8179, 5, a[0])
	}
	pattern, given := a[2].(string)
	if !given {
		flags, _ := a[4].(int64)
		node, ok := mapped(d.instance.Nodes[n], a[3].(string), flags)
		if !ok {
			return nil, nil
		}
		return value(nil, d, node)
	}
	q, err := c.pattern(pattern, d.namespaces)
	if err != nil {
		return nil, err
	}
	return value(q, d, d.instance.Nodes[n])
}

// valueOf is the text of a node, or of what a pattern finds below it.
func valueOf(q *xquery.Query, d *document, n *xmldata.Node) (any, *sqlerr.Error) {
	if q == nil {
		return n.Text(), nil
	}
	text, ok, err := q.Value(d.instance.Root(), n, nil)
	if !ok {
		return nil, err
	}
	return text, err
}

// markupOf is a node, or the first one that a pattern finds below it, as XML.
func markupOf(q *xquery.Query, d *document, n *xmldata.Node) (any, *sqlerr.Error) {
	if q != nil {
		nodes, err := q.Nodes(d.instance.Root(), n, nil)
		if err != nil || len(nodes) == 0 {
			return nil, err
		}
		n = nodes[0]
	}
	if n.Kind == xmldata.Attribute {
		return xmldata.EscapeText(n.Value), nil
	}
	w := xmldata.NewWriter(nil, "")
	w.Node(n)
	return w.String(), nil
}

// mapped is the attribute or element that a column without a pattern is: flags 1 (or 0) are attributes, 2 elements, 3
// attributes first.
func mapped(n *xmldata.Node, column string, flags int64) (*xmldata.Node, bool) {
	find := func(list []*xmldata.Node, kind xmldata.Kind) *xmldata.Node {
		for _, c := range list {
			if c.Kind == kind && c.Name.Space == "" && (c.Name.Local == column || c.Name.Local == xmldata.EncodeName(column)) {
				return c
			}
		}
		return nil
	}
	var found *xmldata.Node
	if flags&3 != 2 {
		found = find(n.Attributes, xmldata.Attribute)
	}
	if found == nil && flags&2 != 0 {
		found = find(n.Children, xmldata.Element)
	}
	return found, found != nil
}
