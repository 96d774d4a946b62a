// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/tds"
)

// outputClause binds OUTPUT; tables are the pseudo tables that it may name.
func (b *Binder) outputClause(
	o *ast.OutputClause,
	into *ast.OutputIntoClause,
	obj *metadata.Object,
	d *Modification,
	table string,
) (string, []tds.Column) {
	if o == nil && into == nil {
		return "", nil
	}
	elements := b.outputElements(o, into, d)
	src := &Source{Alias: table, Object: obj}
	b.addColumns(src, obj.Table, func(c *metadata.Column) string { return metadata.ColumnName(c.ID) })
	sc := &Scope{}
	sc.Add(src)
	list := b.outputList(sc, elements, d)
	parts := make([]string, len(list))
	cols := make([]tds.Column, len(list))
	for i, out := range list {
		parts[i], cols[i] = out.expr.SQL, ResultColumn(out)
	}
	return " RETURNING " + strings.Join(parts, ", "), cols
}

// outputElements are the elements of the OUTPUT clause; where its rows go is noted in d.
func (b *Binder) outputElements(o *ast.OutputClause, into *ast.OutputIntoClause, d *Modification) []ast.SelectElement {
	d.Output, d.Into, d.IntoColumns, d.Shown = true, nil, nil, nil
	if into == nil {
		return o.SelectColumns
	}
	name := b.outputTarget(into.IntoTable)
	b.takesOutput(name)
	d.Into = &name
	for _, c := range into.IntoTableColumns {
		parts := Identifiers(c.MultiPartIdentifier)
		d.IntoColumns = append(d.IntoColumns, parts[len(parts)-1])
	}
	if o != nil {
		d.Shown = o.SelectColumns
	}
	return into.SelectColumns
}

// outputList binds the elements of the OUTPUT clause; those of a clause beside OUTPUT INTO follow the ones that are
// stored.
func (b *Binder) outputList(sc *Scope, elements []ast.SelectElement, d *Modification) []Output {
	if HasSubquery(elements) || HasSubquery(d.Shown) {
		b.Fail(10705)
	}
	list := b.selectList(sc, &ast.QuerySpecification{SelectElements: elements}, QueryOptions{}).Outputs
	d.Stored = len(list)
	if d.Shown != nil {
		list = append(list, b.selectList(sc, &ast.QuerySpecification{SelectElements: d.Shown}, QueryOptions{}).Outputs...)
	}
	for _, out := range list {
		if out.expr.Aggregate {
			b.Fail(158)
		}
	}
	return list
}

// takesOutput refuses targets of OUTPUT INTO (docs/t-sql/queries/output-clause-transact-sql.md, Arguments): views
// (330), and tables with triggers (331), on either side of a foreign key (332) or with CHECK constraints (333).
func (b *Binder) takesOutput(name ObjectName) {
	_, sch, o := b.ResolveWrite(name)
	switch {
	case o == nil:
		return
	case o.Kind == metadata.KindView:
		b.Fail(330, name.String())
	case o.Kind != metadata.KindTable:
		return
	}
	for _, other := range sch.Objects {
		switch k := other.ForeignKey; {
		case other.Disabled, k == nil && other.Parent != o.ID:
		case k != nil && (other.Parent == o.ID || k.Referenced == o.ID):
			b.Fail(332, name.String(), other.Name)
		case other.Kind == metadata.KindTrigger:
			b.Fail(331, name.String())
		case other.Kind == metadata.KindCheck:
			b.Fail(333, name.String(), other.Name)
		}
	}
}

func (b *Binder) outputTarget(ref ast.TableReference) ObjectName {
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		return NameOf(n.SchemaObject)
	case *ast.VariableTableReference:
		return ObjectName{Name: n.Variable.Name}
	}
	b.Refuse(fmt.Sprintf("OUTPUT INTO %s", NodeName(ref)))
	return ObjectName{}
}
