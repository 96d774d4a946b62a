// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// forLevel is one of the tables that AUTO nests in each other, with the columns of the select list that are its own.
type forLevel struct {
	Name    string
	Columns []int
	// Restarts tells that no two rows are the same to it, because they have xml, which is not compared.
	Restarts bool `json:",omitempty"`
}

// autoLevels finds the levels of AUTO (docs/relational-databases/xml/use-auto-mode-with-for-xml.md,
// docs/relational-databases/json/format-json-output-automatically-with-auto-mode-sql-server.md): tables in the order in which the
// select list names their columns. What is computed goes with the column before it.
func (b *binder) autoLevels(sc *scope, outputs []output, missing *sqlerr.Error) []forLevel {
	if len(sc.sources) == 0 {
		b.failWith(missing)
	}
	var levels []forLevel
	place := map[*source]int{}
	at := -1
	var before []int
	for i, o := range outputs {
		if c := o.expr.column; c != nil && slices.Contains(sc.sources, c.source) {
			n, known := place[c.source]
			if !known {
				n = len(levels)
				place[c.source] = n
				levels = append(levels, forLevel{Name: c.source.element()})
			}
			at = n
		}
		if at < 0 {
			before = append(before, i)
			continue
		}
		levels[at].Columns = append(levels[at].Columns, i)
		levels[at].Restarts = levels[at].Restarts || o.expr.typ.Kind == sqltype.XML
	}
	if len(levels) == 0 {
		levels = []forLevel{{Name: sc.sources[0].element()}}
	}
	levels[0].Columns = append(before, levels[0].Columns...)
	return levels
}

// element is what AUTO calls the rows of a source: its alias, or its name as the query has it.
func (src *source) element() string {
	if src.schema != "" && src.name != "" {
		return src.name
	}
	return src.alias
}

func init() {
	addBuiltins(map[string]*builtinFunction{
		"for_auto_row": {min: 1, max: -1, typ: nmax, pure: true, nulls: true, run: autoRow},
		"for_auto": {min: 2, max: 2, typ: nmax, pure: true, run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
			var shape forShape
			var rows [][]*string
			if err := json.Unmarshal([]byte(a[0].(string)), &shape); err != nil {
				return nil, internalError(err)
			}
			if err := json.Unmarshal([]byte(a[1].(string)), &rows); err != nil {
				return nil, internalError(err)
			}
			n := &nesting{shape: &shape, rows: rows}
			n.level(0, len(rows), 0)
			return n.out.String(), nil
		}},
	})
}

// autoRow is a row for for_auto: a JSON array of its values, written as JSON or (without what XML escapes) as XML has them.
func autoRow(e *evaluation, a []any) (any, *sqlerr.Error) {
	var shape forShape
	if err := json.Unmarshal([]byte(a[0].(string)), &shape); err != nil {
		return nil, internalError(err)
	}
	texts := make([]*string, len(a)-1)
	for i, v := range a[1:] {
		if v == nil {
			continue
		}
		s, isText := v.(string)
		switch {
		case shape.Raw[i] && isText:
		case shape.JSON:
			s = jsonScalar(v, e.types[i+1])
		default:
			s = xmlScalar(v, e.types[i+1])
		}
		texts[i] = &s
	}
	out, err := json.Marshal(texts)
	if err != nil {
		return nil, internalError(err)
	}
	return string(out), nil
}

// nesting writes rows as objects or elements in each other.
type nesting struct {
	shape *forShape
	rows  [][]*string
	out   strings.Builder
}

// level writes rows from one on, below another, at a level. Rows that follow each other and have the same values there share
// an element, but at the innermost level.
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
		n.out.WriteString(separator + quoteJSON(n.shape.Names[i]) + ":" + text)
		separator = ","
	}
	if depth < len(n.shape.Levels)-1 {
		n.out.WriteString(separator + quoteJSON(n.shape.Levels[depth+1].Name) + ":[")
		n.level(from, end, depth+1)
		n.out.WriteByte(']')
	}
	n.out.WriteByte('}')
}

func (n *nesting) element(from, end, depth int) {
	level := n.shape.Levels[depth]
	var attributes, body strings.Builder
	for _, i := range level.Columns {
		v, name := n.rows[from][i], xmlName(n.shape.Names[i])
		switch {
		case v == nil && n.shape.Elements && n.shape.Nulls:
			body.WriteString("<" + name + ` xsi:nil="true"/>`)
		case v == nil:
		case n.shape.Raw[i]:
			body.WriteString("<" + name + ">" + *v + "</" + name + ">")
		case n.shape.Elements:
			body.WriteString("<" + name + ">" + xmlText.Replace(*v) + "</" + name + ">")
		default:
			attributes.WriteString(" " + name + `="` + xmlAttribute.Replace(*v) + `"`)
		}
	}
	declared := ""
	if depth == 0 {
		declared = n.shape.Declared
	}
	name := xmlName(level.Name)
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
