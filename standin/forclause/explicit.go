// SPDX-License-Identifier: Apache-2.0

package forclause

import (
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
)

// Field is a column of a universal table: ElementName!TagNumber!AttributeName!Directive
// (docs/relational-databases/xml/use-explicit-mode-with-for-xml.md).
type Field struct {
	Element   string
	Tag       int
	Name      string `json:",omitempty"`
	Directive string `json:",omitempty"`
}

// The directives of EXPLICIT; "" makes an attribute, or content when the column names none.
const (
	plainField   = ""
	elementField = "element"
	nilField     = "elementxsinil"
	xmlField     = "xml"
	cdataField   = "cdata"
	hiddenField  = "hide"
)

// ReadField reads the name of a column behind Tag and Parent: 6802 for one that is not of the form.
func ReadField(name string) (Field, *sqlerr.Error) {
	parts := strings.Split(name, "!")
	bad := sqlerr.New(6802, 1, name)
	if len(parts) < 2 || len(parts) > 4 || parts[0] == "" {
		return Field{}, bad
	}
	tag, err := strconv.Atoi(parts[1])
	if err != nil || tag < 1 {
		return Field{}, bad
	}
	f := Field{Element: parts[0], Tag: tag}
	if len(parts) > 2 {
		f.Name = parts[2]
	}
	if len(parts) > 3 {
		f.Directive = strings.ToLower(parts[3])
	}
	switch f.Directive {
	case plainField, elementField, nilField, xmlField, hiddenField:
	case cdataField:
		if f.Name != "" {
			return Field{}, bad
		}
	case "id", "idref": // they tell more than an attribute only where a schema is asked for
		f.Directive = plainField
	case "idrefs", "nmtoken", "nmtokens", "xmltext":
		return Field{}, sqlerr.Unsupported("The directive " + f.Directive + " of FOR XML EXPLICIT")
	default:
		return Field{}, bad
	}
	return f, nil
}

// explicit writes the rows of a universal table: each opens an element below the one that its Parent names.
type explicit struct {
	shape *Shape
	out   strings.Builder
	// open are the tags of the elements that are open, from the outermost one on; begun tells that the innermost one's
	// start tag has ended.
	open  []int
	begun bool
}

// explicitRows nests the rows of AutoRow by their tags.
func explicitRows(shape *Shape, rows [][]*string) (string, *sqlerr.Error) {
	e := &explicit{shape: shape}
	for _, row := range rows {
		if err := e.row(row); err != nil {
			return "", err
		}
	}
	e.closeTo(0)
	return e.out.String(), nil
}

// row writes the start of a row's element, which stays open for its children.
func (e *explicit) row(row []*string) *sqlerr.Error {
	tag, err := tagOf(row[0])
	if err != nil || tag == 0 {
		return sqlerr.New(6803, 1)
	}
	parent, err := tagOf(row[1])
	if err != nil {
		return sqlerr.New(6804, 1)
	}
	depth := 0
	if parent > 0 {
		for depth = len(e.open); depth > 0 && e.open[depth-1] != parent; depth-- {
		}
		if depth == 0 {
			return sqlerr.New(6833, 1, parent)
		}
	}
	e.closeTo(depth)
	name := e.element(tag)
	if name == "" {
		return sqlerr.New(6806, 1, tag)
	}
	var attributes, body strings.Builder
	if depth == 0 {
		attributes.WriteString(e.shape.Declared)
	}
	for i, f := range e.shape.Fields {
		if f.Tag == tag {
			f.write(row[i+2], e.shape.Raw[i+2], &attributes, &body)
		}
	}
	e.begin()
	e.out.WriteString("<" + xmldata.EncodeName(name) + attributes.String())
	e.open, e.begun = append(e.open, tag), false
	if body.Len() > 0 {
		e.begin()
		e.out.WriteString(body.String())
	}
	return nil
}

// tagOf is the number of a tag, 0 for NULL.
func tagOf(text *string) (int, error) {
	if text == nil {
		return 0, nil
	}
	n, err := strconv.ParseUint(*text, 10, 31)
	return int(n), err
}

// element is the name of the element that a tag stands for.
func (e *explicit) element(tag int) string {
	for _, f := range e.shape.Fields {
		if f.Tag == tag {
			return f.Element
		}
	}
	return ""
}

// closeTo ends elements until so many are open; one without content is an empty element.
func (e *explicit) closeTo(depth int) {
	for len(e.open) > depth {
		tag := e.open[len(e.open)-1]
		e.open = e.open[:len(e.open)-1]
		if e.begun {
			e.out.WriteString("</" + xmldata.EncodeName(e.element(tag)) + ">")
		} else {
			e.out.WriteString("/>")
		}
		e.begun = true
	}
}

// begin ends the start tag of the innermost element, which gets content.
func (e *explicit) begin() {
	if len(e.open) > 0 && !e.begun {
		e.out.WriteByte('>')
	}
	e.begun = true
}

// write puts a value into its element; xml that is an attribute by its name is an element, as it cannot be one.
func (f Field) write(v *string, raw bool, attributes, body *strings.Builder) {
	name := xmldata.EncodeName(f.Name)
	if v == nil {
		if f.Directive == nilField && name != "" {
			body.WriteString("<" + name + ` xsi:nil="true"/>`)
		}
		return
	}
	content := *v
	if !raw && f.Directive != xmlField {
		content = xmldata.EscapeText(content)
	}
	switch {
	case f.Directive == hiddenField:
	case f.Directive == cdataField:
		body.WriteString("<![CDATA[" + *v + "]]>")
	case name == "":
		body.WriteString(content)
	case f.Directive == plainField && !raw:
		attributes.WriteString(" " + name + `="` + xmldata.EscapeAttribute(*v) + `"`)
	default:
		body.WriteString("<" + name + ">" + content + "</" + name + ">")
	}
}
