// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
)

// changeTarget binds target, FROM, WHERE and TOP of UPDATE and DELETE.
func (b *Binder) changeTarget(
	verb string,
	target ast.TableReference,
	from *ast.FromClause,
	where *ast.WhereClause,
	top *ast.TopRowFilter,
	wanted []string,
) *change {
	c := &change{sc: &Scope{}}
	target = b.aliasedTarget(target, from)
	t := b.changeThrough(verb, target)
	var alias string
	if t == nil {
		c.space, c.sch, c.obj, alias = b.Writable(target, verb)
		c.d = b.Modification(verb, c.space, c.sch, c.obj)
	}
	switch {
	case t != nil:
		b.throughFrom(c, t, verb, target, from, wanted)
	case from != nil:
		c.from = b.from(c.sc, from.TableReferences)
		if c.src = b.targetSource(c.sc, c.obj, alias); c.src == nil {
			c.from += ", " + b.loneTarget(c, alias)
		}
	default:
		c.from = b.loneTarget(c, alias)
	}
	if !c.through {
		c.rowid = c.src.sqlite + ".rowid"
		for _, col := range StoredColumns(c.obj) {
			c.image = append(c.image, c.src.sqlite+"."+metadata.ColumnName(col.ID))
		}
	}
	if cursor := currentOf(where); cursor != "" {
		c.where = b.currentRow(c, cursor, wanted)
	} else if where != nil && where.SearchCondition != nil {
		condition := b.Predicate(c.sc, where.SearchCondition)
		if condition.Aggregate {
			b.Fail(147)
		}
		c.where = " WHERE " + condition.SQL
	}
	if top != nil {
		if c.limit = " LIMIT " + b.topOfChange(top); top.Percent {
			c.limit = b.percentOf(c.from+c.where, top)
		}
	}
	return c
}

// percentOf limits a statement to a percentage of rows, rounded up (docs/t-sql/queries/top-transact-sql.md, PERCENT).
func (b *Binder) percentOf(rows string, top *ast.TopRowFilter) string {
	part := b.topOfChange(top)
	return " LIMIT (SELECT CAST(count(*) * " + part + " / 100 AS INTEGER) + (count(*) * " + part +
		" / 100 > CAST(count(*) * " + part + " / 100 AS INTEGER)) FROM " + rows + ")"
}

// loneTarget binds a target that the FROM clause does not have: every row of it goes with every row of FROM.
func (b *Binder) loneTarget(c *change, alias string) string {
	from := b.BaseTable(c.sc, c.space, c.sch, c.obj, alias, ObjectName{Name: c.obj.Name})
	c.src = c.sc.Sources[len(c.sc.Sources)-1]
	c.src.schema = c.sch.SchemaName(c.obj)
	return from
}

// throughFrom binds the FROM clause of a change through a view or common table expression. A target that the clause
// does not have is joined with all of its rows (docs/t-sql/queries/update-transact-sql.md, common table expressions as
// targets).
func (b *Binder) throughFrom(
	c *change,
	t *through,
	verb string,
	target ast.TableReference,
	from *ast.FromClause,
	wanted []string,
) {
	alias := ""
	if n, ok := target.(*ast.NamedTableReference); ok {
		alias = AliasOf(n.Alias)
	}
	if from == nil {
		c.from = b.bindThrough(c, c.sc, t, verb, alias, wanted)
		return
	}
	ref := namedTarget(target, from, !t.cte)
	if ref == nil && !t.cte {
		b.Refuse(verb + " of a view that its FROM clause does not name")
	}
	if n, ok := ref.(*ast.NamedTableReference); ok {
		alias = AliasOf(n.Alias)
	}
	b.locate(t, wanted)
	b.Home = t.space
	b.target = &joinedTarget{
		ref:  ref,
		bind: func(sc *Scope) string { return b.bindThrough(c, sc, t, verb, alias, wanted) },
	}
	c.from = b.from(c.sc, from.TableReferences)
	b.target = nil
	if c.src == nil {
		c.from += ", " + b.bindThrough(c, c.sc, t, verb, alias, wanted)
	}
}

// joined are the tables of a FROM clause, those within joins too.
func joined(from *ast.FromClause) []ast.TableReference {
	var out []ast.TableReference
	var walk func(r ast.TableReference)
	walk = func(r ast.TableReference) {
		switch t := r.(type) {
		case *ast.QualifiedJoin:
			walk(t.FirstTableReference)
			walk(t.SecondTableReference)
		case *ast.UnqualifiedJoin:
			walk(t.FirstTableReference)
			walk(t.SecondTableReference)
		case *ast.JoinParenthesisTableReference:
			walk(t.Join)
		default:
			out = append(out, r)
		}
	}
	for _, r := range from.TableReferences {
		walk(r)
	}
	return out
}

// aliasedTarget finds the table of FROM whose alias the statement names as its target.
func (b *Binder) aliasedTarget(target ast.TableReference, from *ast.FromClause) ast.TableReference {
	n, ok := target.(*ast.NamedTableReference)
	if !ok || from == nil {
		return target
	}
	name := NameOf(n.SchemaObject)
	if name.Schema != "" {
		return target
	}
	for _, r := range joined(from) {
		var alias *ast.Identifier
		switch t := r.(type) {
		case *ast.NamedTableReference:
			alias = t.Alias
		case *ast.VariableTableReference:
			alias = t.Alias
		}
		if alias != nil && strings.EqualFold(alias.Value, name.Name) {
			return r
		}
	}
	return target
}

// namedTarget finds the view of FROM that the statement names as its target by the view's own name, and a common table
// expression where it has no alias; nil when FROM has it under another name or not at all.
func namedTarget(target ast.TableReference, from *ast.FromClause, view bool) ast.TableReference {
	n, ok := target.(*ast.NamedTableReference)
	if !ok {
		return nil
	}
	name := NameOf(n.SchemaObject)
	for _, r := range joined(from) {
		t, ok := r.(*ast.NamedTableReference)
		if r == target {
			return r
		}
		if ok && (view || t.Alias == nil) && strings.EqualFold(NameOf(t.SchemaObject).Name, name.Name) {
			return r
		}
	}
	return nil
}

// targetSource is the source of FROM that is the target, nil when FROM does not have it.
func (b *Binder) targetSource(sc *Scope, obj *metadata.Object, alias string) *Source {
	var under []*Source
	for _, src := range sc.Sources {
		if src.Object == obj && (strings.EqualFold(src.Alias, alias) || alias == "" && !src.correlated) {
			return src
		}
		if src.Object == obj && alias == "" {
			under = append(under, src)
		}
	}
	if len(under) > 1 {
		b.Fail(8154, obj.Name)
	}
	for _, src := range sc.Sources {
		if src.Object != nil && src.Object.ID == obj.ID {
			return src
		}
	}
	return nil
}
