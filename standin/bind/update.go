// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// change is what UPDATE and DELETE have in common.
type change struct {
	space int32
	sch   *metadata.Catalog
	obj   *metadata.Object
	src   *Source
	sc    *Scope
	d     *Modification
	// from is the FROM clause of the subquery that finds the rows; empty when the statement needs none.
	from, where, limit string
	// through tells that the statement names a view or common table expression over the table.
	through bool
	// rowid and image are the row's number and stored columns in the query; columns are the view's by name.
	rowid   string
	image   []string
	columns map[string]*metadata.Column
}

// column is the target's column of that name; nil when it has none.
func (c *change) column(name string) *metadata.Column {
	if c.through {
		return c.columns[lower(name)]
	}
	return c.obj.Table.Column(name)
}

// assigned is SET @variable = expression of an UPDATE, in the stored form of the variable's type.
type assigned struct{ variable, sql string }

// setNames are the columns that SET clauses name.
func setNames(clauses []ast.SetClause) []string {
	var out []string
	for _, set := range clauses {
		if a, ok := set.(*ast.AssignmentSetClause); ok && a.Column != nil {
			parts := Identifiers(a.Column.MultiPartIdentifier)
			out = append(out, parts[len(parts)-1])
		}
	}
	return out
}

// rowQuery is the subquery that finds the rows and computes values.
func (c *change) rowQuery(values []string) string {
	var s strings.Builder
	s.WriteString("SELECT " + c.rowid + " AS r")
	for i, v := range values {
		s.WriteString(", " + v + " AS n" + metadata.ColumnName(int32(i + 1))[1:])
	}
	where := c.where
	if strings.HasSuffix(c.rowid, ".rowid") {
		// An outer join has rows without one of the table.
		there := " WHERE " + c.rowid + " IS NOT NULL"
		if condition, ok := strings.CutPrefix(where, " WHERE "); ok {
			there += " AND (" + condition + ")"
		}
		where = there
	}
	s.WriteString(" FROM " + c.from + where + c.limit)
	return s.String()
}

// firstRows is rowQuery with the first of the rows that a join finds for a row of the target, as
// docs/t-sql/queries/update-transact-sql.md, Limitations and Restrictions, prints it: SQLite takes the last one.
func (c *change) firstRows(values []string) string {
	if len(c.sc.Sources) < 2 {
		return c.rowQuery(values)
	}
	var names strings.Builder
	for i := range values {
		names.WriteString(", n" + metadata.ColumnName(int32(i + 1))[1:])
	}
	return "SELECT r" + names.String() + ", min(o) FROM (SELECT *, row_number() OVER () AS o FROM (" + c.rowQuery(
		values,
	) + ")) GROUP BY r"
}

// Update binds UPDATE.
func (b *Binder) Update(n *ast.UpdateStatement) *Plan {
	spec := n.UpdateSpecification
	b.options(n.OptimizerHints)
	b.With(n.WithCtesAndXmlNamespaces)
	output := spec.OutputClause != nil || spec.OutputIntoClause != nil
	if c, r := b.replacedRows("UPDATE", spec.Target, spec.FromClause, spec.WhereClause, spec.TopRowFilter,
		output); r != nil {
		return b.insteadOfUpdate(spec, c, r)
	}
	c := b.changeTarget(
		"UPDATE",
		spec.Target,
		spec.FromClause,
		spec.WhereClause,
		spec.TopRowFilter,
		setNames(spec.SetClauses),
	)
	var columns []*metadata.Column
	var values []string
	var variables []assigned
	seen := map[int32]bool{}
	for _, set := range spec.SetClauses {
		if m, ok := set.(*ast.FunctionCallSetClause); ok {
			col, value := b.changingMethod(c, m.MutatorFunction)
			b.updatable(col, seen)
			seen[col.ID] = true
			columns, values = append(columns, col), append(values, value)
			continue
		}
		a, ok := set.(*ast.AssignmentSetClause)
		if !ok {
			b.Refuse("SET of a method")
		}
		if a.Column == nil {
			variables = append(variables, b.assignedVariable(c, a))
			continue
		}
		parts := Identifiers(a.Column.MultiPartIdentifier)
		b.prefixOf(c, spec.Target, parts)
		col := c.column(parts[len(parts)-1])
		if col == nil {
			b.noColumn(a.Column)
			continue
		}
		b.updatable(col, seen)
		seen[col.ID] = true
		columns = append(columns, col)
		values = append(values, b.newValue(c, a, col))
		if a.Variable != nil {
			v := b.session.Variable(a.Variable.Name)
			if v == nil {
				b.Fail(137, a.Variable.Name)
			}
			c.d.Assigned = append(
				c.d.Assigned,
				Assignment{Variable: lower(a.Variable.Name), Operator: metadata.ColumnName(col.ID)},
			)
		}
	}
	columns, values = b.rowVersions(c, columns, values)
	return b.finishUpdate(spec, c, columns, values, variables)
}

// prefixOf refuses the prefix of a column in SET that is not the target's: 1032 for that of another table of the FROM
// clause, 4104 for one that there is not.
func (b *Binder) prefixOf(c *change, target ast.TableReference, parts []string) {
	if len(parts) < 2 || c.src == nil {
		return
	}
	prefix := parts[:len(parts)-1]
	written := ""
	if n, ok := target.(*ast.NamedTableReference); ok {
		written = NameOf(n.SchemaObject).String()
		if strings.EqualFold(NameOf(n.SchemaObject).Name, prefix[len(prefix)-1]) {
			return
		}
	}
	if c.src.matches(prefix) || c.obj != nil && strings.EqualFold(c.obj.Name, prefix[len(prefix)-1]) {
		return
	}
	for _, src := range c.sc.Sources {
		if src.matches(prefix) {
			b.Fail(1032, strings.Join(prefix, "."), written)
		}
	}
	b.Fail(4104, strings.Join(parts, "."))
}

// rowVersions adds the new values of rowversion columns to an update.
func (b *Binder) rowVersions(c *change, columns []*metadata.Column, values []string) ([]*metadata.Column, []string) {
	for _, col := range c.obj.Table.Columns {
		if col.Type.Kind == sqltype.RowVersion {
			columns, values = append(columns, col), append(values, "tsql_rowversion("+itoa(c.space)+")")
		}
	}
	return columns, values
}

func (b *Binder) updatable(col *metadata.Column, seen map[int32]bool) {
	switch {
	case seen[col.ID]:
		b.Fail(264, col.Name)
	case col.Identity != nil:
		b.Fail(8102, col.Name)
	case col.Computed != "":
		b.Fail(271, col.Name)
	case col.Type.Kind == sqltype.RowVersion:
		b.Fail(272)
	}
}

func (b *Binder) newValue(c *change, a *ast.AssignmentSetClause, col *metadata.Column) string {
	if _, isDefault := a.NewValue.(*ast.DefaultLiteral); isDefault {
		if col.Default == 0 {
			return b.Store(Expr{SQL: "NULL", Null: true}, col, &c.d.Target)
		}
		b.sequenceRow = everyRow
		defer func() { b.sequenceRow = 0 }()
		return b.Store(b.DefaultValue(c.space, c.sch, col), col, &c.d.Target)
	}
	b.sequenceRow = everyRow
	e := b.Scalar(c.sc, a.NewValue)
	b.sequenceRow = 0
	if e.Aggregate {
		b.Fail(157)
	}
	if op := CompoundOperator(a.AssignmentKind); op != "" {
		e = b.binary(op, b.Scalar(c.sc, a.Column), e)
	}
	return b.Store(e, col, &c.d.Target)
}

func (b *Binder) finishUpdate(
	spec *ast.UpdateSpecification,
	c *change,
	columns []*metadata.Column,
	values []string,
	variables []assigned,
) *Plan {
	c.d.Triggers = b.TriggersOf(c.sch, c.obj, "UPDATE")
	b.noOutputWithTriggers(c.d, spec.OutputClause)
	others := len(c.sc.Sources) > 1 && (spec.OutputClause != nil || spec.OutputIntoClause != nil)
	if usesDeleted(spec.OutputClause, spec.OutputIntoClause) || len(c.d.Triggers) > 0 || len(variables) > 0 || others {
		return b.updateRowwise(spec, c, columns, values, variables)
	}
	sets := make([]string, len(columns))
	simple := spec.FromClause == nil && c.limit == "" && !c.through
	for i, col := range columns {
		sets[i] = metadata.ColumnName(col.ID) + " = " + values[i]
		if !simple {
			sets[i] = metadata.ColumnName(col.ID) + " = u.n" + metadata.ColumnName(int32(i + 1))[1:]
		}
	}
	returning, cols := b.outputClause(spec.OutputClause, spec.OutputIntoClause, c.obj, c.d, "inserted")
	if len(c.d.Assigned) > 0 {
		if returning != "" {
			b.Refuse("UPDATE with both SET @variable and OUTPUT")
		}
		parts := make([]string, len(c.d.Assigned))
		for i, a := range c.d.Assigned {
			parts[i] = a.Operator
			for _, col := range columns {
				if metadata.ColumnName(col.ID) == a.Operator {
					cols = append(cols, tds.Column{Type: col.Type, Nullable: true})
				}
			}
		}
		returning = " RETURNING " + strings.Join(parts, ", ")
	}
	var sql string
	if simple {
		sql = "UPDATE " + c.from + " SET " + strings.Join(sets, ", ") + c.where
	} else {
		sql = "UPDATE main." + c.obj.StorageName() + " SET " + strings.Join(sets, ", ") +
			" FROM (" + c.firstRows(values) + ") AS u WHERE main." + c.obj.StorageName() + ".rowid = u.r"
	}
	if setsUniqueKey(c.obj, columns) && len(c.d.Assigned) == 0 {
		c.d.Slow = b.updateRowwise(spec, c, columns, values, nil)
		c.d.Rows = nil
	}
	p := b.Plan(sql + returning)
	p.Modification, p.Columns = c.d, cols
	return p
}

// setsUniqueKey tells whether an update of these columns can violate a unique key between two of its own rows.
func setsUniqueKey(o *metadata.Object, columns []*metadata.Column) bool {
	for _, i := range o.Table.Indexes {
		for _, k := range i.Keys {
			key := o.Table.ColumnByID(k.Column)
			for _, c := range columns {
				if i.Unique && !i.Disabled && (c.ID == k.Column || key != nil && key.Computed != "") {
					return true
				}
			}
		}
	}
	return false
}

func usesDeleted(o *ast.OutputClause, into *ast.OutputIntoClause) bool {
	var elements []ast.SelectElement
	if o != nil {
		elements = o.SelectColumns
	}
	if into != nil {
		elements = into.SelectColumns
	}
	found := false
	for _, el := range elements {
		switch n := el.(type) {
		case *ast.SelectStarExpression:
			parts := Identifiers(n.Qualifier)
			found = found || len(parts) == 1 && strings.EqualFold(parts[0], "deleted")
		case *ast.SelectScalarExpression:
			found = found || namesTable(n.Expression, "deleted")
		}
	}
	return found
}

// namesTable tells whether an expression has a column of that qualifier.
func namesTable(node ast.ScalarExpression, table string) bool {
	switch n := node.(type) {
	case *ast.ColumnReferenceExpression:
		parts := Identifiers(n.MultiPartIdentifier)
		return len(parts) > 1 && strings.EqualFold(parts[0], table)
	case *ast.ParenthesisExpression:
		return namesTable(n.Expression, table)
	case *ast.UnaryExpression:
		return namesTable(n.Expression, table)
	case *ast.BinaryExpression:
		return namesTable(n.FirstExpression, table) || namesTable(n.SecondExpression, table)
	case *ast.CastCall:
		return namesTable(n.Parameter, table)
	case *ast.ConvertCall:
		return namesTable(n.Parameter, table)
	case *ast.FunctionCall:
		for _, p := range n.Parameters {
			if namesTable(p, table) {
				return true
			}
		}
	}
	return false
}

// Delete binds DELETE.
func (b *Binder) Delete(n *ast.DeleteStatement) *Plan {
	spec := n.DeleteSpecification
	b.options(n.OptimizerHints)
	b.With(n.WithCtesAndXmlNamespaces)
	output := spec.OutputClause != nil || spec.OutputIntoClause != nil
	if c, r := b.replacedRows("DELETE", spec.Target, spec.FromClause, spec.WhereClause, spec.TopRowFilter,
		output); r != nil {
		r.add(Finding{Action: "DELETE", Query: b.withClause() + c.rowQuery(c.image)}, c.obj)
		return b.rowwisePlan(r, c.d, nil)
	}
	c := b.changeTarget("DELETE", spec.Target, spec.FromClause, spec.WhereClause, spec.TopRowFilter, nil)
	c.d.Triggers = b.TriggersOf(c.sch, c.obj, "DELETE")
	b.noOutputWithTriggers(c.d, spec.OutputClause)
	others := len(c.sc.Sources) > 1 && output
	if len(c.d.Triggers) > 0 || others {
		return b.deleteRowwise(spec, c)
	}
	returning, cols := b.outputClause(spec.OutputClause, spec.OutputIntoClause, c.obj, c.d, "deleted")
	var sql string
	if spec.FromClause == nil && c.limit == "" && !c.through {
		sql = "DELETE FROM " + c.from + c.where
	} else {
		sql = "DELETE FROM main." + c.obj.StorageName() + " WHERE rowid IN (SELECT r FROM (" + c.rowQuery(nil) + "))"
	}
	p := b.Plan(sql + returning)
	p.Modification, p.Columns = c.d, cols
	return p
}
