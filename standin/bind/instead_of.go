// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
)

// replacedBy is the INSTEAD OF trigger that a statement runs in place of its change
// (docs/t-sql/statements/create-trigger-transact-sql.md, INSTEAD OF), with the view or table that it is on; nil when
// there is none, or it is running already.
func (b *Binder) replacedBy(
	verb string,
	target ast.TableReference,
) (t *metadata.Object, space int32, sch *metadata.Catalog, on *metadata.Object) {
	n, ok := target.(*ast.NamedTableReference)
	if !ok {
		return nil, 0, nil, nil
	}
	name := NameOf(n.SchemaObject)
	if name.Server != "" || name.Temporary() || b.session.TriggerRows(name) != nil ||
		name.Schema == "" && b.findCTE(name.Name) != nil {
		return nil, 0, nil, nil
	}
	space, sch, on = b.ResolveWrite(name)
	if on == nil || on.Kind != metadata.KindTable && on.Kind != metadata.KindView {
		return nil, 0, nil, nil
	}
	for _, o := range sch.Children(on.ID) {
		if o.Kind == metadata.KindTrigger && !o.Disabled && !b.session.Spares(o) && o.Properties[metadata.InsteadOf] != "" &&
			strings.Contains(o.Properties[metadata.TriggerEvents], verb) {
			b.Volatile = true // whether it runs already is not the plan's to know
			if b.session.Runs(o) {
				return nil, 0, nil, nil
			}
			return o, space, sch, on
		}
	}
	return nil, 0, nil, nil
}

// replaced begins the plan of a change that a trigger replaces. Its object has the columns of the table or view, all of
// which take NULL: no constraint is judged.
func (b *Binder) replaced(
	verb string,
	t *metadata.Object,
	space int32,
	sch *metadata.Catalog,
	on *metadata.Object,
	output bool,
) (*change, *RowByRow) {
	if output {
		b.Refuse("OUTPUT in a statement that an INSTEAD OF trigger replaces")
	}
	b.Require(verb, space, sch, on)
	b.Home = space
	pseudo := b.ImageOf(space, on)
	c := &change{space: space, sch: sch, obj: pseudo, sc: &Scope{}}
	c.d = b.Modification(verb, space, sch, pseudo)
	c.d.Triggers, c.d.Instead = []*metadata.Object{t}, true
	return c, &RowByRow{Image: StoredColumns(pseudo)}
}

// ImageOf is a table or view as an INSTEAD OF trigger has it in inserted and deleted: any column may be NULL there.
func (b *Binder) ImageOf(space int32, on *metadata.Object) *metadata.Object {
	pseudo := *on
	pseudo.Table = &metadata.Table{}
	if on.Kind == metadata.KindTable {
		for _, c := range on.Table.Columns {
			copied := *c
			copied.Nullable = true
			pseudo.Table.Columns = append(pseudo.Table.Columns, &copied)
		}
	} else {
		sc := &Scope{}
		b.view(sc, space, on, "", ObjectName{Name: on.Name})
		for i, c := range sc.Sources[0].Columns {
			col := &metadata.Column{ID: int32(i + 1), Name: c.Name, Type: c.Type, Nullable: true}
			if c.Column != nil {
				col.Collation = c.Column.Collation
			}
			pseudo.Table.Columns = append(pseudo.Table.Columns, col)
		}
	}
	return &pseudo
}

// insteadOfInsert binds an INSERT whose rows a trigger gets.
func (b *Binder) insteadOfInsert(spec *ast.InsertSpecification, c *change, r *RowByRow) *Plan {
	var given []*metadata.Column
	if len(spec.Columns) == 0 {
		for _, col := range c.obj.Table.Columns {
			if col.Computed == "" && col.Identity == nil {
				given = append(given, col)
			}
		}
	}
	for _, ref := range spec.Columns {
		parts := Identifiers(ref.MultiPartIdentifier)
		col := c.obj.Table.Column(parts[len(parts)-1])
		if col == nil {
			b.noColumn(ref)
			continue
		}
		given = append(given, col)
	}
	c.d.named = len(spec.Columns) > 0
	all := append([]*metadata.Column(nil), given...)
	for _, col := range c.obj.Table.Columns {
		if col.Default != 0 && !metadata.HasColumn(given, col) {
			all = append(all, col)
		}
	}
	body := ""
	switch src := spec.InsertSource.(type) {
	case *ast.ValuesInsertSource:
		rows := src.RowValues
		if src.IsDefaultValues {
			given, all, rows = nil, r.Image[:1], []*ast.RowValue{{}}
		}
		body = b.insertValues(c.sch, c.obj, given, all, rows, c.d)
	case *ast.SelectInsertSource:
		body = b.insertQuery(c.sch, c.obj, given, all, src.Select, c.d)
	default:
		b.Refuse("INSERT ... EXECUTE that an INSTEAD OF trigger replaces")
	}
	r.add(Finding{Action: "INSERT", Set: all, Query: b.withClause() + "SELECT 0, * FROM (" + body + ")"}, c.obj)
	return b.rowwisePlan(r, c.d, nil)
}

// replacedRows begins an UPDATE or DELETE that an INSTEAD OF trigger replaces with the rows that it names; nil when
// none does.
func (b *Binder) replacedRows(
	verb string,
	target ast.TableReference,
	from *ast.FromClause,
	where *ast.WhereClause,
	top *ast.TopRowFilter,
	output bool,
) (*change, *RowByRow) {
	target = b.aliasedTarget(target, from)
	t, space, sch, on := b.replacedBy(verb, target)
	if t == nil {
		return nil, nil
	}
	c, r := b.replaced(verb, t, space, sch, on, output)
	b.insteadOfRows(c, target, from, where, top, on)
	return c, r
}

// insteadOfRows binds the rows that an UPDATE or DELETE would change.
func (b *Binder) insteadOfRows(
	c *change,
	target ast.TableReference,
	from *ast.FromClause,
	where *ast.WhereClause,
	top *ast.TopRowFilter,
	on *metadata.Object,
) {
	alias := ""
	if n, ok := target.(*ast.NamedTableReference); ok {
		alias = AliasOf(n.Alias)
	}
	switch {
	case from != nil:
		c.from = b.from(c.sc, from.TableReferences)
		for _, src := range c.sc.Sources {
			if c.src == nil && (strings.EqualFold(src.Alias, alias) || alias == "" && strings.EqualFold(src.Alias, on.Name)) {
				c.src = src
			}
		}
		if c.src == nil {
			b.Refuse("UPDATE or DELETE of a view that its FROM clause does not name")
		}
	case on.Kind == metadata.KindView:
		c.from = b.view(c.sc, c.space, on, alias, ObjectName{Name: on.Name})
		c.src = c.sc.Sources[0]
	default:
		c.from = b.BaseTable(c.sc, c.space, c.sch, on, alias, ObjectName{Name: on.Name})
		c.src = c.sc.Sources[0]
		c.src.schema = c.sch.SchemaName(on)
	}
	c.rowid = "row_number() OVER ()"
	for _, col := range StoredColumns(c.obj) {
		for _, sc := range c.src.Columns {
			if strings.EqualFold(sc.Name, col.Name) {
				c.image = append(c.image, sc.SQL)
				break
			}
		}
	}
	if where != nil && where.SearchCondition != nil {
		condition := b.Predicate(c.sc, where.SearchCondition)
		if condition.Aggregate {
			b.Fail(147)
		}
		c.where = " WHERE " + condition.SQL
	}
	if top != nil {
		if top.Percent {
			b.Refuse("TOP ... PERCENT in a change that an INSTEAD OF trigger takes")
		}
		c.limit = " LIMIT " + b.topOfChange(top)
	}
}

func (b *Binder) insteadOfUpdate(spec *ast.UpdateSpecification, c *change, r *RowByRow) *Plan {
	var columns []*metadata.Column
	var values []string
	seen := map[int32]bool{}
	for _, set := range spec.SetClauses {
		a, ok := set.(*ast.AssignmentSetClause)
		if !ok || a.Column == nil || a.Variable != nil {
			b.Refuse("SET of a variable or method in a statement that an INSTEAD OF trigger replaces")
		}
		parts := Identifiers(a.Column.MultiPartIdentifier)
		col := c.obj.Table.Column(parts[len(parts)-1])
		if col == nil {
			b.noColumn(a.Column)
			continue
		}
		b.updatable(col, seen)
		seen[col.ID] = true
		columns, values = append(columns, col), append(values, b.newValue(c, a, col))
	}
	r.add(Finding{Action: "UPDATE", Set: columns, Query: b.withClause() + c.rowQuery(append(values, c.image...))}, c.obj)
	return b.rowwisePlan(r, c.d, nil)
}
