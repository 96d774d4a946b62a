// SPDX-License-Identifier: Apache-2.0

package bind

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
func (b *Binder) rowOutput(
	r *RowByRow,
	o *ast.OutputClause,
	into *ast.OutputIntoClause,
	d *Modification,
	tables []string,
	others []*Source,
) ([]string, []tds.Column) {
	if o == nil && into == nil {
		return nil, nil
	}
	elements := b.outputElements(o, into, d)
	at := RowParameters
	sc := &Scope{}
	image := func(alias string) {
		src := &Source{Alias: alias, Object: d.Object}
		places := map[int32]string{}
		for i, c := range r.Image {
			places[c.ID] = fmt.Sprintf("?%d", at+i)
		}
		b.addColumns(src, d.Object.Table, func(c *metadata.Column) string { return places[c.ID] })
		if d.Verb == "MERGE" {
			// What a row of it was before it was inserted, and is after it was deleted, is NULL.
			for _, c := range src.Columns {
				c.nullable = true
			}
		}
		for _, name := range tables {
			if name == alias {
				sc.Add(src)
			}
		}
	}
	image("inserted")
	at += len(r.Image)
	image("deleted")
	at += len(r.Image)
	var wanted []string
	for _, other := range others {
		src := &Source{Alias: other.Alias, schema: other.schema, database: other.database}
		for _, c := range other.Columns {
			src.AddColumn(c.Name, fmt.Sprintf("?%d", at+len(wanted)), c.Type, true, c.collation, nil)
			wanted = append(wanted, c.SQL)
		}
		sc.Add(src)
	}
	at += len(wanted)
	r.Sources = len(wanted)
	if d.Verb == "MERGE" {
		action := &Source{}
		action.AddColumn("$action", fmt.Sprintf("?%d", at), sqltype.NVarCharOf(10), false, "tsql_ci_as", nil)
		sc.Add(action)
	}
	list := b.outputList(sc, elements, d)
	if len(b.Params) >= RowParameters {
		b.Refuse(fmt.Sprintf("An OUTPUT clause in a statement with %d values", len(b.Params)))
	}
	parts := make([]string, len(list))
	cols := make([]tds.Column, len(list))
	for i, out := range list {
		parts[i], cols[i] = out.expr.SQL, ResultColumn(out)
	}
	r.Output = "SELECT " + strings.Join(parts, ", ")
	return wanted, cols
}

// otherSources are the sources of a FROM clause without the target.
func (c *change) otherSources() []*Source {
	var out []*Source
	for _, src := range c.sc.Sources {
		if src != c.src {
			out = append(out, src)
		}
	}
	return out
}

// imageOf are the target's stored columns in the query that finds its rows.
func (r *RowByRow) imageOf(src *Source) []string { return r.imageNames(src.sqlite + ".") }

// assignedVariable binds SET @variable = expression, without a column.
func (b *Binder) assignedVariable(c *change, a *ast.AssignmentSetClause) assigned {
	v := b.session.Variable(a.Variable.Name)
	if v == nil {
		b.Fail(137, a.Variable.Name)
	}
	e := b.Scalar(c.sc, a.NewValue)
	if op := CompoundOperator(a.AssignmentKind); op != "" {
		e = b.binary(op, b.Variable(a.Variable.Name), e)
	}
	return assigned{lower(a.Variable.Name), b.Convert(e, v.Type, sqltype.Implicit, 0, false).SQL}
}

// updateRowwise is an UPDATE that is made row by row.
func (b *Binder) updateRowwise(
	spec *ast.UpdateSpecification,
	c *change,
	columns []*metadata.Column,
	values []string,
	variables []assigned,
) *Plan {
	r := b.newRowwise(c.sch, c.obj)
	wanted, cols := b.rowOutput(
		r,
		spec.OutputClause,
		spec.OutputIntoClause,
		c.d,
		[]string{"inserted", "deleted"},
		c.otherSources(),
	)
	find := Finding{Action: "UPDATE", Set: columns}
	list := append([]string(nil), values...)
	for _, v := range variables {
		find.Variables = append(find.Variables, v.variable)
		list = append(list, v.sql)
	}
	list = append(append(list, c.image...), wanted...)
	find.Query = b.withClause() + c.rowQuery(list)
	if len(columns) == 0 {
		// Only variables are set; the rows are read and stay as they are.
		find.Set = r.Image[:1]
		list = append([]string{c.image[0]}, list...)
		find.Query = b.withClause() + c.rowQuery(list)
	}
	r.add(find, c.obj)
	return b.rowwisePlan(r, c.d, cols)
}

func (b *Binder) rowwisePlan(r *RowByRow, d *Modification, cols []tds.Column) *Plan {
	p := b.Plan(r.Findings[0].Query)
	copied := *d
	copied.Rows = r
	p.Modification, p.Columns = &copied, cols
	return p
}

// deleteRowwise is a DELETE that is made row by row.
func (b *Binder) deleteRowwise(spec *ast.DeleteSpecification, c *change) *Plan {
	r := b.newRowwise(c.sch, c.obj)
	wanted, cols := b.rowOutput(r, spec.OutputClause, spec.OutputIntoClause, c.d, []string{"deleted"}, c.otherSources())
	list := append(append([]string(nil), c.image...), wanted...)
	r.add(Finding{Action: "DELETE", Query: b.withClause() + c.rowQuery(list)}, c.obj)
	return b.rowwisePlan(r, c.d, cols)
}

// insertRowwise is an INSERT into a table with triggers: SQLite's statement, whose rows are kept.
func (b *Binder) insertRowwise(
	spec *ast.InsertSpecification,
	sch *metadata.Catalog,
	obj *metadata.Object,
	d *Modification,
	statement string,
) *Plan {
	r := b.newRowwise(sch, obj)
	_, cols := b.rowOutput(r, spec.OutputClause, spec.OutputIntoClause, d, []string{"inserted"}, nil)
	query := b.withClause() + statement + " RETURNING " + strings.Join(r.imageNames(""), ", ")
	r.add(Finding{Action: "INSERT", Direct: true, Query: query}, obj)
	return b.rowwisePlan(r, d, cols)
}

// insertFound is an INSERT into a table that ignores duplicates: the rows are found first and inserted one by one.
func (b *Binder) insertFound(
	spec *ast.InsertSpecification,
	sch *metadata.Catalog,
	obj *metadata.Object,
	d *Modification,
	all []*metadata.Column,
	body string,
) *Plan {
	r := b.newRowwise(sch, obj)
	_, cols := b.rowOutput(r, spec.OutputClause, spec.OutputIntoClause, d, []string{"inserted"}, nil)
	r.add(Finding{Action: "INSERT", Set: all, Query: b.withClause() + "SELECT 0, * FROM (" + body + ")"}, obj)
	return b.rowwisePlan(r, d, cols)
}
