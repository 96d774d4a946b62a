// SPDX-License-Identifier: Apache-2.0

package forclause

import (
	"fmt"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmldata"
)

// pathElement is an element that FOR XML PATH is writing: its start tag waits for the attributes.
type pathElement struct {
	name       string
	attributes strings.Builder
	// begun tells that the start tag is written, content that a column has been put into it, list that the last one was
	// data().
	begun, content, list bool
}

// pathWriter writes a row of FOR XML PATH (docs/relational-databases/xml/use-path-mode-with-for-xml.md): the names of
// columns are paths, and columns that follow each other share the elements that their paths begin with alike.
type pathWriter struct {
	shape *Shape
	out   strings.Builder
	// open are the elements around the place that is written; the first one is the row's.
	open []*pathElement
}

// pathRow is one row of FOR XML PATH.
func pathRow(shape *Shape, values []any, types []sqltype.Type) (string, *sqlerr.Error) {
	row := &pathElement{name: shape.Row}
	row.attributes.WriteString(shape.Declared)
	w := &pathWriter{shape: shape, open: []*pathElement{row}}
	for i, v := range values {
		if err := w.column(i, v, types[i]); err != nil {
			return "", err
		}
	}
	w.closeTo(1)
	if shape.Row == "" {
		return w.out.String(), nil
	}
	if !row.begun {
		return "<" + xmldata.EncodeName(row.name) + row.attributes.String() + "/>", nil
	}
	return w.out.String() + "</" + xmldata.EncodeName(row.name) + ">", nil
}

// column puts a value where its column's name says.
func (w *pathWriter) column(i int, v any, t sqltype.Type) *sqlerr.Error {
	name := w.shape.Names[i]
	steps := strings.Split(name, "/")
	leaf := steps[len(steps)-1]
	steps = steps[:len(steps)-1]
	attribute := strings.HasPrefix(leaf, "@")
	element := false
	before, after, forbidden := nodeTest(leaf)
	switch {
	case before != "" && w.shape.Raw[i]:
		return sqlerr.Unsupported(leaf + " of xml in FOR XML PATH")
	case before != "", attribute, leaf == "", leaf == "*", leaf == "text()", leaf == "node()", leaf == "data()":
	default:
		element = true
		steps = append(steps, leaf)
	}
	for _, step := range append([]string{strings.TrimPrefix(leaf, "@")}, steps...) {
		if err := pathName(name, step, attribute || element || step != leaf); err != nil {
			return err
		}
	}
	w.moveTo(steps)
	at := w.open[len(w.open)-1]
	if attribute {
		return w.attribute(at, name, leaf, v, t)
	}
	for _, e := range w.open {
		e.content = true
	}
	if v == nil {
		if element && w.shape.Nulls && !at.begun {
			w.begin(len(w.open) - 1)
			at.attributes.WriteString(` xsi:nil="true"`)
		}
		return nil
	}
	separated := at.list && leaf == "data()"
	w.begin(len(w.open))
	if separated {
		w.out.WriteByte(' ')
	}
	s := xmlScalar(v, t)
	switch {
	case before != "" && strings.Contains(s, forbidden):
		return sqlerr.Unsupported(forbidden + " within " + leaf + " of FOR XML PATH")
	case before != "":
		s = before + s + after
	case !w.shape.Raw[i]:
		s = xmldata.EscapeText(s)
	}
	w.out.WriteString(s)
	at.list = leaf == "data()"
	return nil
}

// nodeTest is what stands around the value of a column whose name is comment() or processing-instruction(name), and
// what cannot stand in it (docs/relational-databases/xml/columns-with-the-name-of-an-xpath-node-test.md).
func nodeTest(leaf string) (before, after, forbidden string) {
	if leaf == "comment()" {
		return "<!--", "-->", "--"
	}
	if target, ok := strings.CutPrefix(leaf, "processing-instruction("); ok && strings.HasSuffix(target, ")") &&
		xmldata.IsName(strings.TrimSuffix(target, ")")) {
		return "<?" + strings.TrimSuffix(target, ")") + " ", "?>", "?>"
	}
	return "", "", ""
}

// pathName judges a step of a column's name (6850); named is false for what stands for text.
func pathName(column, step string, named bool) *sqlerr.Error {
	if !named {
		return nil
	}
	for i, r := range step {
		if r == ':' && i > 0 {
			continue
		}
		if i == 0 && !xmldata.StartsName(r) || !xmldata.InName(r) {
			return sqlerr.New(6850, 1, "Column", column, string(r), fmt.Sprintf("%04X", r))
		}
	}
	if step == "" {
		return sqlerr.New(6849, 1, column)
	}
	return nil
}

// attribute adds an attribute to an element, which has nothing in it yet (6852).
func (w *pathWriter) attribute(at *pathElement, column, leaf string, v any, t sqltype.Type) *sqlerr.Error {
	switch {
	case at.content:
		return sqlerr.New(6852, 1, column)
	case at.name == "" && v != nil:
		return sqlerr.New(6864, 1)
	case v != nil:
		at.attributes.WriteString(" " + strings.TrimPrefix(leaf, "@") + `="` + xmldata.EscapeAttribute(xmlScalar(v, t)) + `"`)
	}
	return nil
}

// moveTo closes and opens elements so that those of a path are open below the row's.
func (w *pathWriter) moveTo(steps []string) {
	shared := 1
	for shared < len(w.open) && shared <= len(steps) && w.open[shared].name == steps[shared-1] {
		shared++
	}
	w.closeTo(shared)
	for _, step := range steps[shared-1:] {
		w.open[len(w.open)-1].content = true
		e := &pathElement{name: step}
		if len(w.open) == 1 && w.open[0].name == "" {
			e.attributes.WriteString(w.shape.Declared) // without an element around the row, each one in it declares
		}
		w.open = append(w.open, e)
	}
}

// begin writes the start tags of the first n open elements that are not written yet.
func (w *pathWriter) begin(n int) {
	for _, e := range w.open[:n] {
		if !e.begun && e.name != "" {
			w.out.WriteString("<" + xmldata.EncodeName(e.name) + e.attributes.String() + ">")
		}
		e.begun, e.list = true, false
	}
}

// closeTo ends elements until n are open. One that nothing was put into is left out, unless it has attributes.
func (w *pathWriter) closeTo(n int) {
	for len(w.open) > n {
		e := w.open[len(w.open)-1]
		switch {
		case e.begun:
			w.out.WriteString("</" + xmldata.EncodeName(e.name) + ">")
		case e.attributes.Len() > 0:
			w.begin(len(w.open) - 1)
			w.out.WriteString("<" + xmldata.EncodeName(e.name) + e.attributes.String() + "/>")
		}
		w.open = w.open[:len(w.open)-1]
	}
}
