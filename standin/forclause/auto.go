// SPDX-License-Identifier: Apache-2.0

package forclause

import (
	"encoding/json"
	"strings"

	"geosql.dev/standin/jsondata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmldata"
)

// autoRow is a row for for_auto: a JSON array of its values, written as JSON or (without what XML escapes) as XML has
// them.
func autoRow(shape *Shape, values []any, types []sqltype.Type) (string, *sqlerr.Error) {
	texts := make([]*string, len(values))
	for i, v := range values {
		if v == nil {
			continue
		}
		s, isText := v.(string)
		switch {
		case shape.Raw[i] && isText:
		case shape.JSON:
			s = jsondata.Scalar(v, types[i])
		default:
			s = xmlScalar(v, types[i])
		}
		texts[i] = &s
	}
	out, err := json.Marshal(texts)
	if err != nil {
		return "", sqlerr.Internal(err)
	}
	return string(out), nil
}

// nesting writes rows as objects or elements in each other.
type nesting struct {
	shape *Shape
	rows  [][]*string
	out   strings.Builder
}

// level writes rows from one on, below another, at a level. Rows that follow each other and have the same values there
// share an element, but at the innermost level.
func (n *nesting) level(from, end, depth int) {
	last := depth == len(n.shape.Levels)-1
	for first := true; from < end; first = false {
		next := from + 1
		for !last && next < end && n.same(n.rows[from], n.rows[next], depth) {
			next++
		}
		if n.shape.JSON {
			n.object(first, from, next, depth)
		} else {
			n.element(from, next, depth)
		}
		from = next
	}
}

func (n *nesting) same(a, b []*string, depth int) bool {
	if n.shape.Levels[depth].Restarts {
		return false
	}
	for _, i := range n.shape.Levels[depth].Columns {
		if (a[i] == nil) != (b[i] == nil) || a[i] != nil && *a[i] != *b[i] {
			return false
		}
	}
	return true
}

func (n *nesting) object(first bool, from, end, depth int) {
	if !first {
		n.out.WriteByte(',')
	}
	n.out.WriteByte('{')
	separator := ""
	for _, i := range n.shape.Levels[depth].Columns {
		v := n.rows[from][i]
		if v == nil && !n.shape.Nulls {
			continue
		}
		text := "null"
		if v != nil {
			text = *v
		}
		n.out.WriteString(separator + jsondata.Quote(n.shape.Names[i]) + ":" + text)
		separator = ","
	}
	if depth < len(n.shape.Levels)-1 {
		n.out.WriteString(separator + jsondata.Quote(n.shape.Levels[depth+1].Name) + ":[")
		n.level(from, end, depth+1)
		n.out.WriteByte(']')
	}
	n.out.WriteByte('}')
}

func (n *nesting) element(from, end, depth int) {
	level := n.shape.Levels[depth]
	var attributes, body strings.Builder
	for _, i := range level.Columns {
		n.shape.writeColumn(i, n.rows[from][i], &attributes, &body)
	}
	declared := ""
	if depth == 0 {
		declared = n.shape.Declared
	}
	name := xmldata.EncodeName(level.Name)
	n.out.WriteString("<" + name + declared + attributes.String())
	if depth == len(n.shape.Levels)-1 && body.Len() == 0 {
		n.out.WriteString("/>")
		return
	}
	n.out.WriteString(">" + body.String())
	if depth < len(n.shape.Levels)-1 {
		n.level(from, end, depth+1)
	}
	n.out.WriteString("</" + name + ">")
}
