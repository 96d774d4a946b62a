// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/tds"
)

// outputClause binds OUTPUT; tables are the pseudo tables that it may name.
func (b *binder) outputClause(
	o *ast.OutputClause,
	into *ast.OutputIntoClause,
	obj *metadata.Object,
	d *dmlPlan,
	table string,
) (string, []tds.Column) {
	if o == nil && into == nil {
		return "", nil
	}
	elements := b.outputElements(o, into, d)
	src := &source{alias: table, object: obj}
	b.addColumns(src, obj.Table, func(c *metadata.Column) string { return metadata.ColumnName(c.ID) })
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
	b.takesOutput(name)
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

// outputList binds the elements of the OUTPUT clause; those of a clause beside OUTPUT INTO follow the ones that are
// stored.
func (b *binder) outputList(sc *scope, elements []ast.SelectElement, d *dmlPlan) []output {
	if hasSubquery(elements) || hasSubquery(d.shown) {
		b.fail(10705)
	}
	list := b.selectList(sc, &ast.QuerySpecification{SelectElements: elements}, queryOptions{}).outputs
	d.stored = len(list)
	if d.shown != nil {
		list = append(list, b.selectList(sc, &ast.QuerySpecification{SelectElements: d.shown}, queryOptions{}).outputs...)
	}
	for _, out := range list {
		if out.expr.aggregate {
			b.fail(158)
		}
	}
	return list
}

// takesOutput refuses targets of OUTPUT INTO (docs/t-sql/queries/output-clause-transact-sql.md, Arguments): views
// (330), and tables with triggers (331), on either side of a foreign key (332) or with CHECK constraints (333).
func (b *binder) takesOutput(name ObjectName) {
	_, sch, o := b.resolveWrite(name)
	switch {
	case o == nil:
		return
	case o.Kind == metadata.KindView:
		b.fail(330, name.String())
	case o.Kind != metadata.KindTable:
		return
	}
	for _, other := range sch.Objects {
		switch k := other.ForeignKey; {
		case other.Disabled, k == nil && other.Parent != o.ID:
		case k != nil && (other.Parent == o.ID || k.Referenced == o.ID):
			b.fail(332, name.String(), other.Name)
		case other.Kind == metadata.KindTrigger:
			b.fail(331, name.String())
		case other.Kind == metadata.KindCheck:
			b.fail(333, name.String(), other.Name)
		}
	}
}

func (b *binder) outputTarget(ref ast.TableReference) ObjectName {
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		return NameOf(n.SchemaObject)
	case *ast.VariableTableReference:
		return ObjectName{Name: n.Variable.Name}
	}
	b.refuse(fmt.Sprintf("OUTPUT INTO %s", named(ref)))
	return ObjectName{}
}
