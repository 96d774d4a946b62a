// SPDX-License-Identifier: Apache-2.0

package engine

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
func (b *binder) changeThrough(verb string, target ast.TableReference) *through {
	n, ok := target.(*ast.NamedTableReference)
	if !ok {
		return nil
	}
	name := NameOf(n.SchemaObject)
	if name.Schema == "" && name.Database == "" {
		if c := b.findCTE(name.Name); c != nil {
			if c.recursive {
				b.fail(4403, name.Name)
			}
			return &through{
				name:    c.name,
				cte:     true,
				query:   c.node.QueryExpression,
				names:   c.node.Columns,
				space:   b.s.db.ID(),
				prepare: func() func() { return func() {} },
			}
		}
	}
	if name.Server != "" || b.s.pseudoTable(name) != nil {
		return nil
	}
	space, sch, obj := b.resolveWrite(name)
	if obj == nil || obj.Kind != metadata.KindView {
		return nil
	}
	b.require(verb, space, sch, obj)
	def, names := viewDefinition(obj)
	_, node, _ := parseModule(obj)
	if def == nil {
		b.fail(4413, obj.Name)
	}
	if hasCheckOption(node) {
		b.refuse("Changing rows through a view WITH CHECK OPTION")
	}
	return &through{name: obj.Name, query: def.QueryExpression, names: names, space: space, prepare: func() func() {
		outer := b.ctes
		b.ctes = nil
		b.with(def.WithCtesAndXmlNamespaces)
		restore, leave := b.inDatabase(space), b.s.within(obj)
		return func() { leave(); restore(); b.ctes = outer }
	}}
}

// HasCheckOption tells whether a view has WITH CHECK OPTION.
func HasCheckOption(view *metadata.Object) bool {
	_, node, _ := parseModule(view)
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
func (t *through) base(b *binder, sc *scope, outputs []output, wanted []string) *source {
	if len(wanted) == 0 {
		if len(sc.sources) != 1 || sc.sources[0].object == nil {
			b.fail(4405, t.name)
		}
		return sc.sources[0]
	}
	var base *source
	for i, o := range outputs {
		for _, name := range wanted {
			if !strings.EqualFold(t.columnName(i, o), name) {
				continue
			}
			if o.expr.column == nil || o.expr.column.column == nil || o.expr.column.source.object == nil {
				b.fail(4406, t.name)
			}
			if base != nil && base != o.expr.column.source {
				b.fail(4405, t.name)
			}
			base = o.expr.column.source
		}
	}
	if base == nil {
		b.fail(207, wanted[0])
	}
	return base
}

func (t *through) columnName(i int, o output) string {
	if i < len(t.names) {
		return t.names[i].Value
	}
	return o.name
}

// locate finds the space of the table behind a common table expression, which can be that of a temporary table or a
// table variable: the whole statement is bound for it.
func (b *binder) locate(t *through, wanted []string) {
	if !t.cte || t.located {
		return
	}
	t.located = true
	b.query(&scope{}, t.query, queryOptions{name: t.name, hidden: func(sc *scope, outputs []output) []output {
		t.space = t.base(b, sc, outputs, wanted).space
		return nil
	}})
}

// joinedTarget is the reference of a FROM clause that is a view or common table expression to change rows through.
type joinedTarget struct {
	ref  ast.TableReference
	bind func(sc *scope) string
}

// queryThrough binds what a view or common table expression is over, in its database and among the names of its schema.
func (b *binder) queryThrough(t *through, options queryOptions) boundQuery {
	defer t.prepare()()
	return b.query(&scope{}, t.query, options)
}

// bindThrough makes c a change of the base table of a view or common table expression, which becomes a source of sc.
// wanted are the columns that the statement sets. It returns the source's SQL.
func (b *binder) bindThrough(c *change, sc *scope, t *through, verb, alias string, wanted []string) string {
	b.locate(t, wanted)
	var base *source
	b.home = t.space
	width := 0
	q := b.queryThrough(t, queryOptions{name: t.name, hidden: func(sc *scope, outputs []output) []output {
		base = t.base(b, sc, outputs, wanted)
		width = len(outputs)
		hidden := []output{{expr: expr{sql: base.sqlite + ".rowid"}}}
		for _, col := range storedColumns(base.object) {
			hidden = append(hidden, output{expr: expr{sql: base.sqlite + "." + metadata.ColumnName(col.ID)}})
		}
		return hidden
	}})
	if base == nil {
		b.fail(4403, t.name)
	}
	if base.space != t.space {
		b.refuse("Changing rows of another database through a view")
	}
	if alias == "" {
		alias = t.name
	}
	c.space, c.sch, c.obj, c.through = base.space, b.schema(base.space), base.object, true
	if c.obj.Kind != metadata.KindTable {
		b.fail(4405, t.name)
	}
	c.d = b.dmlPlan(verb, c.space, c.sch, c.obj)
	from := b.derived(sc, q, alias, t.names, "")
	c.src = sc.sources[len(sc.sources)-1]
	c.src.object = c.obj
	c.columns = map[string]*metadata.Column{}
	for i, o := range q.outputs {
		if o.expr.column != nil && o.expr.column.source == base && o.expr.column.column != nil {
			c.columns[lower(t.columnName(i, o))] = o.expr.column.column
		}
	}
	c.rowid = fmt.Sprintf("%s.c%d", c.src.sqlite, width+1)
	for i := range storedColumns(c.obj) {
		c.image = append(c.image, fmt.Sprintf("%s.c%d", c.src.sqlite, width+2+i))
	}
	return from
}
