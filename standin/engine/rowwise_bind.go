// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// rowOutput binds the OUTPUT clause of a change that is made row by row. others are the sources besides the target; the
// expressions that finds have to give for them are returned.
func (b *binder) rowOutput(
	r *rowwise,
	o *ast.OutputClause,
	into *ast.OutputIntoClause,
	d *dmlPlan,
	tables []string,
	others []*source,
) ([]string, []tds.Column) {
	if o == nil && into == nil {
		return nil, nil
	}
	elements := b.outputElements(o, into, d)
	at := rowParameters
	sc := &scope{}
	image := func(alias string) {
		src := &source{alias: alias, object: d.object}
		places := map[int32]string{}
		for i, c := range r.image {
			places[c.ID] = fmt.Sprintf("?%d", at+i)
		}
		b.addColumns(src, d.object.Table, func(c *metadata.Column) string { return places[c.ID] })
		if d.verb == "MERGE" {
			// What a row of it was before it was inserted, and is after it was deleted, is NULL.
			for _, c := range src.columns {
				c.nullable = true
			}
		}
		for _, name := range tables {
			if name == alias {
				sc.add(src)
			}
		}
	}
	image("inserted")
	at += len(r.image)
	image("deleted")
	at += len(r.image)
	var wanted []string
	for _, other := range others {
		src := &source{alias: other.alias, schema: other.schema, database: other.database}
		for _, c := range other.columns {
			src.addColumn(c.name, fmt.Sprintf("?%d", at+len(wanted)), c.typ, true, c.collation, nil)
			wanted = append(wanted, c.sql)
		}
		sc.add(src)
	}
	at += len(wanted)
	r.sources = len(wanted)
	if d.verb == "MERGE" {
		action := &source{}
		action.addColumn("$action", fmt.Sprintf("?%d", at), sqltype.NVarCharOf(10), false, "tsql_ci_as", nil)
		sc.add(action)
	}
	list := b.outputList(sc, elements, d)
	if len(b.params) >= rowParameters {
		b.refuse(fmt.Sprintf("An OUTPUT clause in a statement with %d values", len(b.params)))
	}
	parts := make([]string, len(list))
	cols := make([]tds.Column, len(list))
	for i, out := range list {
		parts[i], cols[i] = out.expr.sql, resultColumn(out)
	}
	r.output = "SELECT " + strings.Join(parts, ", ")
	return wanted, cols
}

// otherSources are the sources of a FROM clause without the target.
func (c *change) otherSources() []*source {
	var out []*source
	for _, src := range c.sc.sources {
		if src != c.src {
			out = append(out, src)
		}
	}
	return out
}

// imageOf are the target's stored columns in the query that finds its rows.
func (r *rowwise) imageOf(src *source) []string { return r.imageNames(src.sqlite + ".") }

// assignedVariable binds SET @variable = expression, without a column.
func (b *binder) assignedVariable(c *change, a *ast.AssignmentSetClause) assigned {
	v := b.s.variable(a.Variable.Name)
	if v == nil {
		b.fail(137, a.Variable.Name)
	}
	e := b.scalar(c.sc, a.NewValue)
	if op := compoundOperator(a.AssignmentKind); op != "" {
		e = b.binary(op, b.variable(a.Variable.Name), e)
	}
	return assigned{lower(a.Variable.Name), b.convert(e, v.typ, sqltype.Implicit, 0, false).sql}
}

// updateRowwise is an UPDATE that is made row by row.
func (b *binder) updateRowwise(
	spec *ast.UpdateSpecification,
	c *change,
	columns []*metadata.Column,
	values []string,
	variables []assigned,
) *plan {
	r := b.newRowwise(c.sch, c.obj)
	wanted, cols := b.rowOutput(
		r,
		spec.OutputClause,
		spec.OutputIntoClause,
		c.d,
		[]string{"inserted", "deleted"},
		c.otherSources(),
	)
	find := rowFind{action: "UPDATE", set: columns}
	list := append([]string(nil), values...)
	for _, v := range variables {
		find.variables = append(find.variables, v.variable)
		list = append(list, v.sql)
	}
	list = append(append(list, c.image...), wanted...)
	find.query = b.withClause() + c.rowQuery(list)
	if len(columns) == 0 {
		// Only variables are set; the rows are read and stay as they are.
		find.set = r.image[:1]
		list = append([]string{c.image[0]}, list...)
		find.query = b.withClause() + c.rowQuery(list)
	}
	r.add(find, c.obj)
	return b.rowwisePlan(r, c.d, cols)
}

func (b *binder) rowwisePlan(r *rowwise, d *dmlPlan, cols []tds.Column) *plan {
	p := b.plan(r.finds[0].query)
	copied := *d
	copied.rows = r
	p.dml, p.columns = &copied, cols
	return p
}

// deleteRowwise is a DELETE that is made row by row.
func (b *binder) deleteRowwise(spec *ast.DeleteSpecification, c *change) *plan {
	r := b.newRowwise(c.sch, c.obj)
	wanted, cols := b.rowOutput(r, spec.OutputClause, spec.OutputIntoClause, c.d, []string{"deleted"}, c.otherSources())
	list := append(append([]string(nil), c.image...), wanted...)
	r.add(rowFind{action: "DELETE", query: b.withClause() + c.rowQuery(list)}, c.obj)
	return b.rowwisePlan(r, c.d, cols)
}

// insertRowwise is an INSERT into a table with triggers: SQLite's statement, whose rows are kept.
func (b *binder) insertRowwise(
	spec *ast.InsertSpecification,
	sch *metadata.Catalog,
	obj *metadata.Object,
	d *dmlPlan,
	statement string,
) *plan {
	r := b.newRowwise(sch, obj)
	_, cols := b.rowOutput(r, spec.OutputClause, spec.OutputIntoClause, d, []string{"inserted"}, nil)
	query := b.withClause() + statement + " RETURNING " + strings.Join(r.imageNames(""), ", ")
	r.add(rowFind{action: "INSERT", direct: true, query: query}, obj)
	return b.rowwisePlan(r, d, cols)
}

// insertFound is an INSERT into a table that ignores duplicates: the rows are found first and inserted one by one.
func (b *binder) insertFound(
	spec *ast.InsertSpecification,
	sch *metadata.Catalog,
	obj *metadata.Object,
	d *dmlPlan,
	all []*metadata.Column,
	body string,
) *plan {
	r := b.newRowwise(sch, obj)
	_, cols := b.rowOutput(r, spec.OutputClause, spec.OutputIntoClause, d, []string{"inserted"}, nil)
	r.add(rowFind{action: "INSERT", set: all, query: b.withClause() + "SELECT 0, * FROM (" + body + ")"}, obj)
	return b.rowwisePlan(r, d, cols)
}
