// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"sort"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// SELECT @v = @v + column sets the variable once for every row, and each row sees what the one before it has left
// (docs/t-sql/language-elements/select-local-variable-transact-sql.md). These two functions, which no client can name,
// read and set a variable while SQLite goes from row to row.
const (
	variableNow    = "variable now"
	assignVariable = "assign variable"
)

func init() {
	at := func(e *evaluation, name any) (*variable, *sqlerr.Error) {
		if e.session == nil {
			return nil, internalError(errNoSession)
		}
		text, _ := name.(string)
		v := e.session.variable(text)
		if v == nil {
			return nil, sqlerr.New(137, 2, text)
		}
		return v, nil
	}
	addBuiltins(map[string]*builtinFunction{
		variableNow: {Min: 1, Max: 1, Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			v, err := at(e, a[0])
			if err != nil {
				return nil, err
			}
			return v.value, nil
		}},
		assignVariable: {Min: 2, Max: 2, Nulls: true, Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			v, err := at(e, a[0])
			if err != nil {
				return nil, err
			}
			v.value = a[1]
			return v.value, nil
		}},
	})
}

// assignInTurn makes each output set its variable, from left to right.
func (b *binder) assignInTurn(out *boundQuery) {
	for i, a := range out.variables {
		e := out.outputs[i].expr
		if e.null {
			e = literal(b.s.variable(a.variable).typ, nil)
		}
		out.outputs[i].expr = b.goCall(assignVariable, []expr{literal(sqltype.VarCharMax, a.variable), e}, e.typ, false)
	}
}

// inTurn is the query with its rows put in order before the first of them is assigned: a sorter would be fed with
// values computed in the order of the table.
func (p *selectParts) inTurn(outputs []output) string {
	inner, seen := *p, map[string]bool{}
	var columns []string
	for _, o := range outputs {
		for _, c := range o.expr.free {
			if !seen[c.sql] {
				seen[c.sql] = true
				columns = append(columns, c.sql)
			}
		}
	}
	// The longest first: a computed column's text may have another column's in it.
	sort.SliceStable(columns, func(i, j int) bool { return len(columns[i]) > len(columns[j]) })
	ordered := make([]output, len(columns))
	for i, c := range columns {
		ordered[i].expr.sql = c
	}
	if len(ordered) == 0 {
		ordered = []output{{expr: expr{sql: "1"}}}
	}
	if inner.limit == "" {
		inner.limit = "-1" // keeps SQLite from making one query of the two
	}
	parts := make([]string, len(outputs))
	for i, o := range outputs {
		text := o.expr.sql
		for j, c := range columns {
			text = replaceWhole(text, c, "ordered."+metadata.ColumnName(int32(j+1)))
		}
		parts[i] = fmt.Sprintf("%s AS c%d", text, i+1)
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM (" + inner.text(ordered, false) + ") AS ordered"
}

// replaceWhole replaces old where no longer name goes on behind it.
func replaceWhole(text, old, with string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, old)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after != "" && (after[0] >= '0' && after[0] <= '9' || after[0] == '_' || after[0] >= 'a' && after[0] <= 'z') {
			b.WriteString(old)
		} else {
			b.WriteString(with)
		}
		text = after
	}
}
