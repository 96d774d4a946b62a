// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

func init() {
	row := func(make func(shape *forShape, values []any, types []sqltype.Type) (string, *sqlerr.Error)) *builtinFunction {
		return &builtinFunction{min: 1, max: -1, typ: nmax, pure: true, nulls: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			var shape forShape
			if err := json.Unmarshal([]byte(a[0].(string)), &shape); err != nil {
				return nil, internalError(err)
			}
			text, err := make(&shape, a[1:], e.types[1:])
			if err != nil {
				return nil, err
			}
			return text, nil
		}}
	}
	addBuiltins(map[string]*builtinFunction{
		"for_json_row": row(jsonRow), "for_xml_row": row(xmlRow),
		"json_text": {min: 2, max: 2, typ: nmax, pure: true, run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
			return jsonValue(a[0].(string), a[1].(string), 0)
		}},
	})
}

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
		b.WriteString(quoteJSON(k) + ":")
		if child := n.below[k]; child != nil {
			b.WriteString(child.String())
		} else {
			b.WriteString(n.values[k])
		}
	}
	b.WriteByte('}')
	return b.String()
}

func jsonRow(shape *forShape, values []any, types []sqltype.Type) (string, *sqlerr.Error) {
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
			text = jsonScalar(v, types[i])
		}
		if !root.set(path, text) {
			return "", jsonError(13601, 1, "Property '%s' cannot be generated in JSON output due to a conflict with another column name or alias. Use different names and aliases for each column in SELECT list.", shape.Names[i])
		}
	}
	return root.String(), nil
}

// jsonScalar is a value of T-SQL in JSON
// (docs/relational-databases/json/how-for-json-converts-sql-server-data-types-to-json-data-types-sql-server.md).
func jsonScalar(v any, t sqltype.Type) string {
	switch x := v.(type) {
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return floatText(x)
	case []byte:
		if t.Kind.IsBinary() {
			return quoteJSON(base64.StdEncoding.EncodeToString(x))
		}
	case time.Time:
		return quoteJSON(isoText(x, t))
	}
	s := text(v, t)
	if t.Kind.IsExact() {
		return s
	}
	return quoteJSON(s)
}

func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'e', 15, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	return fmt.Sprintf("%se%s%03s", mantissa, exponent[:1], exponent[1:])
}

// isoText is a date or time in ISO 8601, with the fraction that it has.
func isoText(v time.Time, t sqltype.Type) string {
	layout := map[sqltype.Kind]string{sqltype.Date: "2006-01-02", sqltype.Time: "15:04:05.9999999", sqltype.DateTimeOffset: "2006-01-02T15:04:05.9999999Z07:00",
		sqltype.DateTime: "2006-01-02T15:04:05.999"}[t.Kind]
	if layout == "" {
		layout = "2006-01-02T15:04:05.9999999"
	}
	return v.Format(layout)
}

var (
	xmlText      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0D;")
	xmlAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r", "&#x0D;", "\n", "&#x0A;", "\t", "&#x09;")
)

// xmlName writes what a name of XML may not have as _xHHHH_.
func xmlName(s string) string {
	var b strings.Builder
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r > 127
		if letter || i > 0 && (r >= '0' && r <= '9' || r == '.' || r == '-' || r == ':') {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "_x%04X_", r)
	}
	return b.String()
}

func xmlScalar(v any, t sqltype.Type) string {
	switch x := v.(type) {
	case bool:
		return map[bool]string{false: "0", true: "1"}[x]
	case float64:
		return floatText(x)
	case []byte:
		if t.Kind.IsBinary() {
			return base64.StdEncoding.EncodeToString(x)
		}
	case time.Time:
		return isoText(x, t)
	}
	return text(v, t)
}

// xmlRow is one row of FOR XML: columns are attributes or elements, or (PATH) what their names say.
func xmlRow(shape *forShape, values []any, types []sqltype.Type) (string, *sqlerr.Error) {
	if shape.Path {
		return pathRow(shape, values, types)
	}
	var attributes, body strings.Builder
	for i, v := range values {
		if shape.Names[i] == "" {
			return "", sqlerr.New(6809, 1)
		}
		name := xmlName(shape.Names[i])
		switch {
		case v == nil && shape.Elements && shape.Nulls:
			body.WriteString("<" + name + ` xsi:nil="true"/>`)
		case v == nil:
		case shape.Raw[i]:
			body.WriteString("<" + name + ">" + xmlScalar(v, types[i]) + "</" + name + ">")
		case shape.Elements:
			body.WriteString("<" + name + ">" + xmlText.Replace(xmlScalar(v, types[i])) + "</" + name + ">")
		default:
			attributes.WriteString(" " + name + `="` + xmlAttribute.Replace(xmlScalar(v, types[i])) + `"`)
		}
	}
	return xmlElement(shape.Row, shape.Declared, attributes.String(), body.String())
}

// xmlElement is a row's element with what is in it.
func xmlElement(row, declared, attributes, body string) (string, *sqlerr.Error) {
	switch name := xmlName(row); {
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
