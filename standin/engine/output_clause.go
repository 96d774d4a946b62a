// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/tds"
)

// outputClause binds OUTPUT; tables are the pseudo tables that it may name.
func (b *binder) outputClause(o *ast.OutputClause, into *ast.OutputIntoClause, obj *Object, d *dmlPlan, table string) (string, []tds.Column) {
	if o == nil && into == nil {
		return "", nil
	}
	elements := b.outputElements(o, into, d)
	src := &source{alias: table, object: obj}
	b.addColumns(src, obj.Table, func(c *Column) string { return columnName(c.ID) })
	sc := &scope{}
	sc.add(src)
	list := b.outputList(sc, elements, d)
	parts := make([]string, len(list))
	cols := make([]tds.Column, len(list))
	for i, out := range list {
		parts[i], cols[i] = out.expr.sql, resultColumn(out)
	}
	return " RETURNING " + strings.Join(parts, ", "), cols
}

// outputElements are the elements of the OUTPUT clause; where its rows go is noted in d.
func (b *binder) outputElements(o *ast.OutputClause, into *ast.OutputIntoClause, d *dmlPlan) []ast.SelectElement {
	d.output, d.into, d.intoColumns, d.shown = true, nil, nil, nil
	if into == nil {
		return o.SelectColumns
	}
	name := b.outputTarget(into.IntoTable)
	d.into = &name
	for _, c := range into.IntoTableColumns {
		parts := identifiers(c.MultiPartIdentifier)
		d.intoColumns = append(d.intoColumns, parts[len(parts)-1])
	}
	if o != nil {
		d.shown = o.SelectColumns
	}
	return into.SelectColumns
}

// outputList binds the elements of the OUTPUT clause; those of a clause beside OUTPUT INTO follow the ones that are stored.
func (b *binder) outputList(sc *scope, elements []ast.SelectElement, d *dmlPlan) []output {
	list := b.selectList(sc, &ast.QuerySpecification{SelectElements: elements}, queryOptions{})
	d.stored = len(list.outputs)
	if d.shown == nil {
		return list.outputs
	}
	return append(list.outputs, b.selectList(sc, &ast.QuerySpecification{SelectElements: d.shown}, queryOptions{}).outputs...)
}

func (b *binder) outputTarget(ref ast.TableReference) objectName {
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		return nameOf(n.SchemaObject)
	case *ast.VariableTableReference:
		return objectName{name: n.Variable.Name}
	}
	b.refuse(fmt.Sprintf("OUTPUT INTO %s", named(ref)))
	return objectName{}
}
