// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// namedTable binds a table, view, synonym or common table expression by its name.
func (b *binder) namedTable(sc *scope, n *ast.NamedTableReference) string {
	name := NameOf(n.SchemaObject)
	if n.TemporalClause != nil {
		b.refuse("FOR SYSTEM_TIME")
	}
	outside := b.levelled
	b.levelled = false
	defer func() { b.levelled = outside }()
	b.hints(n.TableHints)
	if n.TableSampleClause != nil {
		if name.Server != "" || name.Schema == "" && name.Database == "" && b.findCTE(name.Name) != nil {
			b.fail(494)
		}
		return b.sampled(sc, n.TableSampleClause, b.tableByName(sc, name, aliasOf(n.Alias)))
	}
	if name.Server != "" {
		return b.remoteTable(sc, name, aliasOf(n.Alias))
	}
	if name.Schema == "" && name.Database == "" {
		if c := b.findCTE(name.Name); c != nil {
			text := b.cteSource(sc, c, aliasOf(n.Alias))
			sc.sources[len(sc.sources)-1].correlated = true
			return text
		}
	}
	text := b.tableByName(sc, name, aliasOf(n.Alias))
	b.hintedIndexes(sc, name, n.TableHints)
	return text
}

func (b *binder) hints(hints []ast.TableHintType) {
	for _, h := range hints {
		if t, ok := h.(*ast.TableHint); ok {
			switch strings.ToUpper(t.HintKind) {
			case "UPDLOCK", "XLOCK", "TABLOCKX", "HOLDLOCK", "SERIALIZABLE", "REPEATABLEREAD":
				b.locks = true
			}
			b.levelled = b.levelled || levels[strings.ToUpper(t.HintKind)]
		}
	}
}

func (b *binder) tableByName(sc *scope, name ObjectName, alias string) string {
	if pseudo := b.s.pseudoTable(name); pseudo != nil {
		if alias == "" {
			alias = name.Name
		}
		return b.baseTable(sc, tempSpace, b.schema(tempSpace), b.s.localObject(pseudo), alias, name)
	}
	space, sch, obj := b.resolve(name)
	if obj == nil {
		if sql := b.systemView(sc, name, alias); sql != "" {
			return sql
		}
		b.fail(208, name.String())
	}
	switch obj.Kind {
	case metadata.KindTable:
		b.require("SELECT", space, sch, obj)
		return b.baseTable(sc, space, sch, obj, alias, name)
	case metadata.KindView:
		b.require("SELECT", space, sch, obj)
		return b.view(sc, space, obj, alias, name)
	case metadata.KindSynonym:
		if b.depth++; b.depth > 32 {
			b.fail(217, 32)
		}
		defer func() { b.depth-- }()
		if alias == "" {
			alias = obj.Name
		}
		return b.tableByName(sc, splitName(obj.Target), alias)
	case metadata.KindInline, metadata.KindTableFunction:
		b.fail(216, name.String())
	}
	b.fail(208, name.String())
	return ""
}

// baseTable adds a table as a source.
func (b *binder) baseTable(
	sc *scope,
	space int32,
	sch *metadata.Catalog,
	obj *metadata.Object,
	alias string,
	name ObjectName,
) string {
	src := &source{alias: alias, sqlite: b.nextAlias(), object: obj, space: space, name: name.String()}
	if alias == "" {
		src.alias, src.schema, src.database = name.Name, sch.SchemaName(obj), name.Database
		if src.database == "" && space > 0 {
			src.database = b.s.db.Name()
		}
	}
	if b.used[space] = true; !b.levelled {
		b.tables[space] = true
	}
	b.addColumns(src, obj.Table, func(c *metadata.Column) string { return src.sqlite + "." + metadata.ColumnName(c.ID) })
	sc.add(src)
	if space == b.home {
		return "main." + obj.StorageName() + " AS " + src.sqlite
	}
	b.needs = append(b.needs, need{space: space, version: sch.Version, object: obj})
	return "temp." + foreignName(space, sch.Version, obj) + " AS " + src.sqlite
}

// addColumns adds the columns of a table to a source, in their order; stored is the SQL of those that are not computed.
func (b *binder) addColumns(src *source, t *metadata.Table, stored func(*metadata.Column) string) {
	plain := &source{alias: src.alias, sqlite: src.sqlite, object: src.object, space: src.space}
	for _, c := range t.Columns {
		if c.Computed == "" {
			plain.addColumn(c.Name, stored(c), c.Type, c.Nullable, c.CollationKey(), c)
		}
	}
	for _, c := range t.Columns {
		if c.Computed != "" {
			b.computedColumn(src, plain, c)
			continue
		}
		src.addColumn(c.Name, stored(c), c.Type, c.Nullable, c.CollationKey(), c)
	}
}

// computedColumn adds a column that is computed from the plain ones of its table.
func (b *binder) computedColumn(src, plain *source, c *metadata.Column) {
	node := parseExpression(c.Computed)
	if node == nil {
		b.fail(207, c.Name)
	}
	defer b.inDatabase(plain.space)()
	usage := b.usage
	b.usage = nil
	defer func() { b.usage = usage }()
	inner := &scope{sources: []*source{plain}}
	e := b.scalar(inner, node)
	e = b.convert(e, c.Type, sqltype.Implicit, 0, false)
	src.addColumn(c.Name, e.sql, c.Type, e.nullable || e.null, c.CollationKey(), c)
}

// view expands a view's definition.
func (b *binder) view(sc *scope, space int32, obj *metadata.Object, alias string, name ObjectName) string {
	if b.depth++; b.depth > 32 {
		b.fail(217, 32)
	}
	defer func() { b.depth-- }()
	def, names := viewDefinition(obj)
	if def == nil {
		b.fail(4413, obj.Name)
	}
	outerCTEs, outerNamespaces := b.ctes, b.namespaces
	defer func() { b.ctes, b.namespaces = outerCTEs, outerNamespaces }()
	b.ctes, b.namespaces = nil, nil
	if def.WithCtesAndXmlNamespaces != nil {
		b.with(def.WithCtesAndXmlNamespaces)
	}
	defer b.s.within(obj)()
	restore := b.inDatabase(space)
	defer restore()
	q := b.ofView(name.String(), func() boundQuery { return b.query(&scope{}, def.QueryExpression, queryOptions{}) })
	called := alias
	if alias == "" {
		called = obj.Name
	}
	text := b.derived(sc, q, called, names, name.Schema)
	src := sc.sources[len(sc.sources)-1]
	if alias == "" {
		src.name = name.String()
	}
	if space == b.home {
		src.viewed = obj
	}
	return text
}

// systemView binds a catalog view, DMV or other registered view; empty when there is none of that name.
func (b *binder) systemView(sc *scope, name ObjectName, alias string) string {
	v := b.s.findView(name)
	if v == nil {
		return ""
	}
	src := &source{alias: alias, sqlite: b.nextAlias(), view: true}
	if alias == "" {
		src.alias, src.schema, src.database = v.Name, v.Schema, name.Database
		src.name = name.String()
	}
	for i, c := range v.Columns {
		collation := ""
		if c.Type.Kind.IsCharacter() {
			collation = "tsql_ci_as"
		}
		src.addColumn(c.Name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, c.Nullable, collation, nil)
	}
	sc.add(src)
	key := lower(v.Database + "." + v.Schema + "." + v.Name)
	if name.Database != "" && !strings.EqualFold(name.Database, b.s.db.Name()) {
		key += "@" + lower(name.Database)
	}
	return b.virtualTable(src, need{view: key, columns: v.Columns})
}

// virtualTable is the text in FROM of the virtual table behind a system view or function, with the arguments of the
// latter.
func (b *binder) virtualTable(src *source, n need, args ...string) string {
	n.args = len(args)
	b.needs = append(b.needs, n)
	text := "temp.v_" + identifierSafe(n.view)
	if len(args) > 0 {
		// SQLite takes arguments in parentheses for the hidden columns.
		text += "(" + strings.Join(args, ", ") + ")"
	}
	return text + " AS " + src.sqlite
}

// resultColumn is an output as a client sees it.
func resultColumn(o output) tds.Column {
	c := tds.Column{Name: o.name, Type: o.expr.typ, Nullable: o.expr.nullable || o.expr.null}
	if o.expr.null {
		c.Type, c.Nullable = sqltype.IntType, true
	}
	if c.Type.Kind.IsCharacter() {
		c.Collation = o.expr.collationShown()
	}
	if o.expr.column != nil && o.expr.column.column != nil {
		c.Identity, c.Numeric = o.expr.column.column.Identity != nil, o.expr.column.column.Numeric
	}
	return c
}
