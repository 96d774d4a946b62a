// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/tds"
)

// replacedBy is the INSTEAD OF trigger that a statement runs in place of its change
// (docs/t-sql/statements/create-trigger-transact-sql.md, INSTEAD OF), with the view or table that it is on; nil when
// there is none, or it is running already.
func (b *binder) replacedBy(
	verb string,
	target ast.TableReference,
) (t *metadata.Object, space int32, sch *metadata.Catalog, on *metadata.Object) {
	n, ok := target.(*ast.NamedTableReference)
	if !ok {
		return nil, 0, nil, nil
	}
	name := NameOf(n.SchemaObject)
	if name.Server != "" || name.Temporary() || b.s.pseudoTable(name) != nil ||
		name.Schema == "" && b.findCTE(name.Name) != nil {
		return nil, 0, nil, nil
	}
	space, sch, on = b.resolveWrite(name)
	if on == nil || on.Kind != metadata.KindTable && on.Kind != metadata.KindView {
		return nil, 0, nil, nil
	}
	for _, o := range sch.Children(on.ID) {
		if o.Kind == metadata.KindTrigger && !o.Disabled && !b.s.spares(o) && o.Properties[metadata.InsteadOf] != "" &&
			strings.Contains(o.Properties[metadata.TriggerEvents], verb) {
			b.volatile = true // whether it runs already is not the plan's to know
			if b.s.runs(o) {
				return nil, 0, nil, nil
			}
			return o, space, sch, on
		}
	}
	return nil, 0, nil, nil
}

// runs tells whether a trigger runs, at whatever depth.
func (s *Session) runs(t *metadata.Object) bool {
	for _, f := range s.frames {
		if f.trigger != nil && f.objectID == t.ID {
			return true
		}
	}
	return false
}

// replaced begins the plan of a change that a trigger replaces. Its object has the columns of the table or view, all of
// which take NULL: no constraint is judged.
func (b *binder) replaced(
	verb string,
	t *metadata.Object,
	space int32,
	sch *metadata.Catalog,
	on *metadata.Object,
	output bool,
) (*change, *rowwise) {
	if output {
		b.refuse("OUTPUT in a statement that an INSTEAD OF trigger replaces")
	}
	b.require(verb, space, sch, on)
	b.home = space
	pseudo := b.imageOf(space, on)
	c := &change{space: space, sch: sch, obj: pseudo, sc: &scope{}}
	c.d = b.dmlPlan(verb, space, sch, pseudo)
	c.d.triggers, c.d.instead = []*metadata.Object{t}, true
	return c, &rowwise{image: storedColumns(pseudo)}
}

// imageOf is a table or view as an INSTEAD OF trigger has it in inserted and deleted: any column may be NULL there.
func (b *binder) imageOf(space int32, on *metadata.Object) *metadata.Object {
	pseudo := *on
	pseudo.Table = &metadata.Table{}
	if on.Kind == metadata.KindTable {
		for _, c := range on.Table.Columns {
			copied := *c
			copied.Nullable = true
			pseudo.Table.Columns = append(pseudo.Table.Columns, &copied)
		}
	} else {
		sc := &scope{}
		b.view(sc, space, on, "", ObjectName{Name: on.Name})
		for i, c := range sc.sources[0].columns {
			col := &metadata.Column{ID: int32(i + 1), Name: c.name, Type: c.typ, Nullable: true}
			if c.column != nil {
				col.Collation = c.column.Collation
			}
			pseudo.Table.Columns = append(pseudo.Table.Columns, col)
		}
	}
	return &pseudo
}

// insteadOfInsert binds an INSERT whose rows a trigger gets.
func (b *binder) insteadOfInsert(spec *ast.InsertSpecification, c *change, r *rowwise) *plan {
	var given []*metadata.Column
	if len(spec.Columns) == 0 {
		for _, col := range c.obj.Table.Columns {
			if col.Computed == "" && col.Identity == nil {
				given = append(given, col)
			}
		}
	}
	for _, ref := range spec.Columns {
		parts := identifiers(ref.MultiPartIdentifier)
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
			given, all, rows = nil, r.image[:1], []*ast.RowValue{{}}
		}
		body = b.insertValues(c.sch, c.obj, given, all, rows, c.d)
	case *ast.SelectInsertSource:
		body = b.insertQuery(c.sch, c.obj, given, all, src.Select, c.d)
	default:
		b.refuse("INSERT ... EXECUTE that an INSTEAD OF trigger replaces")
	}
	r.add(rowFind{action: "INSERT", set: all, query: b.withClause() + "SELECT 0, * FROM (" + body + ")"}, c.obj)
	return b.rowwisePlan(r, c.d, nil)
}

// replacedRows begins an UPDATE or DELETE that an INSTEAD OF trigger replaces with the rows that it names; nil when
// none does.
func (b *binder) replacedRows(
	verb string,
	target ast.TableReference,
	from *ast.FromClause,
	where *ast.WhereClause,
	top *ast.TopRowFilter,
	output bool,
) (*change, *rowwise) {
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
func (b *binder) insteadOfRows(
	c *change,
	target ast.TableReference,
	from *ast.FromClause,
	where *ast.WhereClause,
	top *ast.TopRowFilter,
	on *metadata.Object,
) {
	alias := ""
	if n, ok := target.(*ast.NamedTableReference); ok {
		alias = aliasOf(n.Alias)
	}
	switch {
	case from != nil:
		c.from = b.from(c.sc, from.TableReferences)
		for _, src := range c.sc.sources {
			if c.src == nil && (strings.EqualFold(src.alias, alias) || alias == "" && strings.EqualFold(src.alias, on.Name)) {
				c.src = src
			}
		}
		if c.src == nil {
			b.refuse("UPDATE or DELETE of a view that its FROM clause does not name")
		}
	case on.Kind == metadata.KindView:
		c.from = b.view(c.sc, c.space, on, alias, ObjectName{Name: on.Name})
		c.src = c.sc.sources[0]
	default:
		c.from = b.baseTable(c.sc, c.space, c.sch, on, alias, ObjectName{Name: on.Name})
		c.src = c.sc.sources[0]
		c.src.schema = c.sch.SchemaName(on)
	}
	c.rowid = "row_number() OVER ()"
	for _, col := range storedColumns(c.obj) {
		for _, sc := range c.src.columns {
			if strings.EqualFold(sc.name, col.Name) {
				c.image = append(c.image, sc.sql)
				break
			}
		}
	}
	if where != nil && where.SearchCondition != nil {
		condition := b.predicate(c.sc, where.SearchCondition)
		if condition.aggregate {
			b.fail(147)
		}
		c.where = " WHERE " + condition.sql
	}
	if top != nil {
		if top.Percent {
			b.refuse("TOP ... PERCENT in a change that an INSTEAD OF trigger takes")
		}
		c.limit = " LIMIT " + b.topOfChange(top)
	}
}

func (b *binder) insteadOfUpdate(spec *ast.UpdateSpecification, c *change, r *rowwise) *plan {
	var columns []*metadata.Column
	var values []string
	seen := map[int32]bool{}
	for _, set := range spec.SetClauses {
		a, ok := set.(*ast.AssignmentSetClause)
		if !ok || a.Column == nil || a.Variable != nil {
			b.refuse("SET of a variable or method in a statement that an INSTEAD OF trigger replaces")
		}
		parts := identifiers(a.Column.MultiPartIdentifier)
		col := c.obj.Table.Column(parts[len(parts)-1])
		if col == nil {
			b.noColumn(a.Column)
			continue
		}
		b.updatable(col, seen)
		seen[col.ID] = true
		columns, values = append(columns, col), append(values, b.newValue(c, a, col))
	}
	r.add(rowFind{action: "UPDATE", set: columns, query: b.withClause() + c.rowQuery(append(values, c.image...))}, c.obj)
	return b.rowwisePlan(r, c.d, nil)
}

// changeInstead finds the rows that a change would make and gives them to its trigger.
func (s *Session) changeInstead(ctx context.Context, p *plan, w tds.Writer) error {
	r := p.dml.rows
	var rows []*foundRow
	err := s.writing(ctx, p.dml, func(conn *sqlite.Conn) (err error) {
		rows, err = s.findRows(ctx, p, r, conn)
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.find.action == "DELETE" {
			continue
		}
		row.new = append([]any(nil), row.old...)
		if row.new == nil {
			row.new = make([]any, len(r.image))
		}
		for i, c := range row.find.set {
			for at, col := range r.image {
				if col.ID == c.ID {
					row.new[at] = row.values[i]
				}
			}
		}
	}
	count := int64(len(rows))
	s.rowCount = count
	if err := s.fire(ctx, p, p.dml.triggers[0], rows, w); err != nil {
		return err
	}
	s.rowCount = count
	return w.Done(s.completion(count))
}
