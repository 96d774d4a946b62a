// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
)

// through is a view or common table expression that a statement changes rows through: its query, with the number and
// the stored columns of its base table's rows besides its own columns.
type through struct {
	name string
	// cte tells a common table expression from a view.
	cte bool
	// located tells that space is the table's.
	located bool
	query   ast.QueryExpression
	names   []*ast.Identifier
	space   int32
	prepare func() func()
}

// changeThrough finds the view or common table expression that a statement's target names; nil for a table.
func (b *Binder) changeThrough(verb string, target ast.TableReference) *through {
	n, ok := target.(*ast.NamedTableReference)
	if !ok {
		return nil
	}
	name := NameOf(n.SchemaObject)
	if name.Schema == "" && name.Database == "" {
		if c := b.findCTE(name.Name); c != nil {
			if c.recursive {
				b.Fail(4403, name.Name)
			}
			return &through{
				name:    c.name,
				cte:     true,
				query:   c.node.QueryExpression,
				names:   c.node.Columns,
				space:   b.session.DatabaseID(),
				prepare: func() func() { return func() {} },
			}
		}
	}
	if name.Server != "" || b.session.TriggerRows(name) != nil {
		return nil
	}
	space, sch, obj := b.ResolveWrite(name)
	if obj == nil || obj.Kind != metadata.KindView {
		return nil
	}
	b.Require(verb, space, sch, obj)
	def, names := ViewDefinition(obj)
	_, node, _ := ParseModule(obj)
	if def == nil {
		b.Fail(4413, obj.Name)
	}
	if hasCheckOption(node) {
		b.Refuse("Changing rows through a view WITH CHECK OPTION")
	}
	return &through{name: obj.Name, query: def.QueryExpression, names: names, space: space, prepare: func() func() {
		outer := b.CTEs
		b.CTEs = nil
		b.With(def.WithCtesAndXmlNamespaces)
		restore, leave := b.InDatabase(space), b.session.Within(obj)
		return func() { leave(); restore(); b.CTEs = outer }
	}}
}

// HasCheckOption tells whether a view has WITH CHECK OPTION.
func HasCheckOption(view *metadata.Object) bool {
	_, node, _ := ParseModule(view)
	return hasCheckOption(node)
}

func hasCheckOption(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.CreateViewStatement:
		return n.WithCheckOption
	case *ast.AlterViewStatement:
		return n.WithCheckOption
	case *ast.CreateOrAlterViewStatement:
		return n.WithCheckOption
	}
	return false
}

// base is the one table that a query changes: the only one of its FROM clause, or the one that has the columns wanted.
func (t *through) base(b *Binder, sc *Scope, outputs []Output, wanted []string) *Source {
	if len(wanted) == 0 {
		if len(sc.Sources) != 1 || sc.Sources[0].Object == nil {
			b.Fail(4405, t.name)
		}
		return sc.Sources[0]
	}
	var base *Source
	for i, o := range outputs {
		for _, name := range wanted {
			if !strings.EqualFold(t.columnName(i, o), name) {
				continue
			}
			if o.expr.column == nil || o.expr.column.Column == nil || o.expr.column.source.Object == nil {
				b.Fail(4406, t.name)
			}
			if base != nil && base != o.expr.column.source {
				b.Fail(4405, t.name)
			}
			base = o.expr.column.source
		}
	}
	if base == nil {
		b.Fail(207, wanted[0])
	}
	return base
}

func (t *through) columnName(i int, o Output) string {
	if i < len(t.names) {
		return t.names[i].Value
	}
	return o.Name
}

// locate finds the space of the table behind a common table expression, which can be that of a temporary table or a
// table variable: the whole statement is bound for it.
func (b *Binder) locate(t *through, wanted []string) {
	if !t.cte || t.located {
		return
	}
	t.located = true
	b.Query(&Scope{}, t.query, QueryOptions{name: t.name, hidden: func(sc *Scope, outputs []Output) []Output {
		t.space = t.base(b, sc, outputs, wanted).space
		return nil
	}})
}

// joinedTarget is the reference of a FROM clause that is a view or common table expression to change rows through.
type joinedTarget struct {
	ref  ast.TableReference
	bind func(sc *Scope) string
}

// queryThrough binds what a view or common table expression is over, in its database and among the names of its schema.
func (b *Binder) queryThrough(t *through, options QueryOptions) BoundQuery {
	defer t.prepare()()
	return b.Query(&Scope{}, t.query, options)
}

// bindThrough makes c a change of the base table of a view or common table expression, which becomes a source of sc.
// wanted are the columns that the statement sets. It returns the source's SQL.
func (b *Binder) bindThrough(c *change, sc *Scope, t *through, verb, alias string, wanted []string) string {
	b.locate(t, wanted)
	var base *Source
	b.Home = t.space
	width := 0
	q := b.queryThrough(t, QueryOptions{name: t.name, hidden: func(sc *Scope, outputs []Output) []Output {
		base = t.base(b, sc, outputs, wanted)
		width = len(outputs)
		hidden := []Output{{expr: Expr{SQL: base.sqlite + ".rowid"}}}
		for _, col := range StoredColumns(base.Object) {
			hidden = append(hidden, Output{expr: Expr{SQL: base.sqlite + "." + metadata.ColumnName(col.ID)}})
		}
		return hidden
	}})
	if base == nil {
		b.Fail(4403, t.name)
	}
	if base.space != t.space {
		b.Refuse("Changing rows of another database through a view")
	}
	if alias == "" {
		alias = t.name
	}
	c.space, c.sch, c.obj, c.through = base.space, b.Catalog(base.space), base.Object, true
	if c.obj.Kind != metadata.KindTable {
		b.Fail(4405, t.name)
	}
	c.d = b.Modification(verb, c.space, c.sch, c.obj)
	from := b.derived(sc, q, alias, t.names, "")
	c.src = sc.Sources[len(sc.Sources)-1]
	c.src.Object = c.obj
	c.columns = map[string]*metadata.Column{}
	for i, o := range q.Outputs {
		if o.expr.column != nil && o.expr.column.source == base && o.expr.column.Column != nil {
			c.columns[lower(t.columnName(i, o))] = o.expr.column.Column
		}
	}
	c.rowid = fmt.Sprintf("%s.c%d", c.src.sqlite, width+1)
	for i := range StoredColumns(c.obj) {
		c.image = append(c.image, fmt.Sprintf("%s.c%d", c.src.sqlite, width+2+i))
	}
	return from
}
