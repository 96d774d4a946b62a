// SPDX-License-Identifier: Apache-2.0

package forclause

import (
	"encoding/base64"
	"strings"
	"time"

	"geosql.dev/standin/jsondata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmldata"
)

// jsonNode is an object of a row: its keys in the order of the columns.
type jsonNode struct {
	keys   []string
	values map[string]string
	below  map[string]*jsonNode
}

func (n *jsonNode) set(path []string, value string) bool {
	if n.values == nil {
		n.values, n.below = map[string]string{}, map[string]*jsonNode{}
	}
	key := path[0]
	if _, taken := n.values[key]; taken {
		return false
	}
	child := n.below[key]
	if len(path) == 1 {
		if child != nil {
			return false
		}
		n.keys, n.values[key] = append(n.keys, key), value
		return true
	}
	if child == nil {
		child = &jsonNode{}
		n.keys, n.below[key] = append(n.keys, key), child
	}
	return child.set(path[1:], value)
}

func (n *jsonNode) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range n.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(jsondata.Quote(k) + ":")
		if child := n.below[k]; child != nil {
			b.WriteString(child.String())
		} else {
			b.WriteString(n.values[k])
		}
	}
	b.WriteByte('}')
	return b.String()
}

func jsonRow(shape *Shape, values []any, types []sqltype.Type) (string, *sqlerr.Error) {
	var root jsonNode
	for i, v := range values {
		if v == nil && !shape.Nulls {
			continue
		}
		path := []string{shape.Names[i]}
		if shape.Path {
			path = strings.Split(shape.Names[i], ".")
		}
		text := "null"
		switch s, isText := v.(string); {
		case v == nil:
		case shape.Raw[i] && isText:
			text = s
		default:
			text = jsondata.Scalar(v, types[i])
		}
		if !root.set(path, text) {
			return "", jsondata.Error(
				13601,
				1,
				"Property '%s' cannot be generated in JSON output due to a conflict with another column name or alias. Use "+
					"different names and aliases for each column in SELECT list.",
				shape.Names[i],
			)
		}
	}
	return root.String(), nil
}

func xmlScalar(v any, t sqltype.Type) string {
	switch x := v.(type) {
	case bool:
		return map[bool]string{false: "0", true: "1"}[x]
	case float64:
		return sqltype.AsScientific(x)
	case []byte:
		if t.Kind.IsBinary() {
			return base64.StdEncoding.EncodeToString(x)
		}
	case time.Time:
		return sqltype.AsISO8601(x, t)
	}
	return sqltype.AsText(v, t)
}

// xmlRow is one row of FOR XML: columns are attributes or elements, or (PATH) what their names say.
func xmlRow(shape *Shape, values []any, types []sqltype.Type) (string, *sqlerr.Error) {
	if shape.Path {
		return pathRow(shape, values, types)
	}
	var attributes, body strings.Builder
	for i, v := range values {
		if shape.Names[i] == "" && !shape.Raw[i] {
			return "", sqlerr.New(6809, 1)
		}
		var text *string
		if v != nil {
			s := xmlScalar(v, types[i])
			text = &s
		}
		shape.writeColumn(i, text, &attributes, &body)
	}
	return xmlElement(shape.Row, shape.Declared, attributes.String(), body.String())
}

// writeColumn writes a column of RAW or AUTO as an attribute or an element; v is its value before XML escapes it, nil
// for NULL. xml without a name stands there as it is (docs/relational-databases/xml/use-nested-for-xml-queries.md).
func (shape *Shape) writeColumn(i int, v *string, attributes, body *strings.Builder) {
	name := xmldata.EncodeName(shape.Names[i])
	switch {
	case name == "":
		if v != nil {
			body.WriteString(*v)
		}
	case v == nil && shape.Elements && shape.Nulls:
		body.WriteString("<" + name + ` xsi:nil="true"/>`)
	case v == nil:
	case shape.Raw[i]:
		body.WriteString("<" + name + ">" + *v + "</" + name + ">")
	case shape.Elements:
		body.WriteString("<" + name + ">" + xmldata.EscapeText(*v) + "</" + name + ">")
	default:
		attributes.WriteString(" " + name + `="` + xmldata.EscapeAttribute(*v) + `"`)
	}
}

// xmlElement is a row's element with what is in it.
func xmlElement(row, declared, attributes, body string) (string, *sqlerr.Error) {
	switch name := xmldata.EncodeName(row); {
	case row == "" && attributes != "":
		return "", sqlerr.New(6864, 1)
	case row == "":
		return body, nil
	case body == "":
		return "<" + name + declared + attributes + "/>", nil
	default:
		return "<" + name + declared + attributes + ">" + body + "</" + name + ">", nil
	}
}
