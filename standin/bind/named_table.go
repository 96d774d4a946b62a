// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Unpersisted refuses a condition over a computed column that is not persisted
// (docs/t-sql/statements/create-table-transact-sql.md, computed columns), what is what it is a part of.
func (b *Binder) Unpersisted(e Expr, table, what string) {
	for _, c := range e.Free {
		if c.Column != nil && c.Column.Computed != "" && !c.Column.Persisted {
			b.Fail(1764, c.Column.Name, table, what)
		}
	}
}

// namedTable binds a table, view, synonym or common table expression by its name.
func (b *Binder) namedTable(sc *Scope, n *ast.NamedTableReference) string {
	name := NameOf(n.SchemaObject)
	if n.TemporalClause != nil {
		b.Refuse("FOR SYSTEM_TIME")
	}
	outside := b.levelled
	b.levelled = false
	defer func() { b.levelled = outside }()
	b.hints(n.TableHints)
	if n.TableSampleClause != nil {
		if name.Server != "" || name.Schema == "" && name.Database == "" && b.findCTE(name.Name) != nil {
			b.Fail(494)
		}
		return b.sampled(sc, n.TableSampleClause, b.tableByName(sc, name, AliasOf(n.Alias)))
	}
	if name.Server != "" {
		return b.remoteTable(sc, name, AliasOf(n.Alias))
	}
	if name.Schema == "" && name.Database == "" {
		if c := b.findCTE(name.Name); c != nil {
			text := b.cteSource(sc, c, AliasOf(n.Alias))
			sc.Sources[len(sc.Sources)-1].correlated = true
			return text
		}
	}
	text := b.tableByName(sc, name, AliasOf(n.Alias))
	b.hintedIndexes(sc, name, n.TableHints)
	return text
}

func (b *Binder) hints(hints []ast.TableHintType) {
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

func (b *Binder) tableByName(sc *Scope, name ObjectName, alias string) string {
	if pseudo := b.session.TriggerRows(name); pseudo != nil {
		if alias == "" {
			alias = name.Name
		}
		return b.BaseTable(sc, TempSpace, b.Catalog(TempSpace), b.session.Local(pseudo), alias, name)
	}
	space, sch, obj := b.Resolve(name)
	if obj == nil {
		if sql := b.systemView(sc, name, alias); sql != "" {
			return sql
		}
		b.Fail(208, name.String())
	}
	switch obj.Kind {
	case metadata.KindTable:
		b.Require("SELECT", space, sch, obj)
		return b.BaseTable(sc, space, sch, obj, alias, name)
	case metadata.KindView:
		b.Require("SELECT", space, sch, obj)
		return b.view(sc, space, obj, alias, name)
	case metadata.KindSynonym:
		if b.depth++; b.depth > 32 {
			b.Fail(217, 32)
		}
		defer func() { b.depth-- }()
		if alias == "" {
			alias = obj.Name
		}
		return b.tableByName(sc, SplitName(obj.Target), alias)
	case metadata.KindInline, metadata.KindTableFunction:
		b.Fail(216, name.String())
	}
	b.Fail(208, name.String())
	return ""
}

// BaseTable adds a table as a source.
func (b *Binder) BaseTable(
	sc *Scope,
	space int32,
	sch *metadata.Catalog,
	obj *metadata.Object,
	alias string,
	name ObjectName,
) string {
	src := &Source{Alias: alias, sqlite: b.nextAlias(), Object: obj, space: space, name: name.String()}
	if alias == "" {
		src.Alias, src.schema, src.database = name.Name, sch.SchemaName(obj), name.Database
		if src.database == "" && space > 0 {
			src.database = b.session.Database()
		}
	}
	if b.Used[space] = true; !b.levelled {
		b.Tables[space] = true
	}
	b.addColumns(src, obj.Table, func(c *metadata.Column) string { return src.sqlite + "." + metadata.ColumnName(c.ID) })
	sc.Add(src)
	if space == b.Home {
		return "main." + obj.StorageName() + " AS " + src.sqlite
	}
	b.Needs = append(b.Needs, VirtualTable{Space: space, Version: sch.Version, Object: obj})
	return "temp." + ForeignName(space, sch.Version, obj) + " AS " + src.sqlite
}

// addColumns adds the columns of a table to a source, in their order; stored is the SQL of those that are not computed.
func (b *Binder) addColumns(src *Source, t *metadata.Table, stored func(*metadata.Column) string) {
	plain := &Source{Alias: src.Alias, sqlite: src.sqlite, Object: src.Object, space: src.space}
	for _, c := range t.Columns {
		if c.Computed == "" {
			plain.AddColumn(c.Name, stored(c), c.Type, c.Nullable, c.CollationKey(), c)
		}
	}
	for _, c := range t.Columns {
		if c.Computed != "" {
			b.computedColumn(src, plain, c)
			continue
		}
		src.AddColumn(c.Name, stored(c), c.Type, c.Nullable, c.CollationKey(), c)
	}
}

// computedColumn adds a column that is computed from the plain ones of its table.
func (b *Binder) computedColumn(src, plain *Source, c *metadata.Column) {
	node := ParseExpression(c.Computed)
	if node == nil {
		b.Fail(207, c.Name)
	}
	defer b.InDatabase(plain.space)()
	usage := b.Usage
	b.Usage = nil
	defer func() { b.Usage = usage }()
	inner := &Scope{Sources: []*Source{plain}}
	e := b.Scalar(inner, node)
	e = b.Convert(e, c.Type, sqltype.Implicit, 0, false)
	src.AddColumn(c.Name, e.SQL, c.Type, e.Nullable || e.Null, c.CollationKey(), c)
}

// view expands a view's definition.
func (b *Binder) view(sc *Scope, space int32, obj *metadata.Object, alias string, name ObjectName) string {
	if b.depth++; b.depth > 32 {
		b.Fail(217, 32)
	}
	defer func() { b.depth-- }()
	def, names := ViewDefinition(obj)
	if def == nil {
		b.Fail(4413, obj.Name)
	}
	outerCTEs, outerNamespaces := b.CTEs, b.namespaces
	defer func() { b.CTEs, b.namespaces = outerCTEs, outerNamespaces }()
	b.CTEs, b.namespaces = nil, nil
	if def.WithCtesAndXmlNamespaces != nil {
		b.With(def.WithCtesAndXmlNamespaces)
	}
	defer b.session.Within(obj)()
	restore := b.InDatabase(space)
	defer restore()
	q := b.ofView(name.String(), func() BoundQuery { return b.Query(&Scope{}, def.QueryExpression, QueryOptions{}) })
	called := alias
	if alias == "" {
		called = obj.Name
	}
	text := b.derived(sc, q, called, names, name.Schema)
	src := sc.Sources[len(sc.Sources)-1]
	if alias == "" {
		src.name = name.String()
	}
	if space == b.Home {
		src.viewed = obj
	}
	return text
}

// systemView binds a catalog view, DMV or other registered view; empty when there is none of that name.
func (b *Binder) systemView(sc *Scope, name ObjectName, alias string) string {
	v := b.session.SystemView(name)
	if v == nil {
		return ""
	}
	src := &Source{Alias: alias, sqlite: b.nextAlias(), view: true}
	if alias == "" {
		src.Alias, src.schema, src.database = v.Name, v.Schema, name.Database
		src.name = name.String()
	}
	for i, c := range v.Columns {
		collation := ""
		if c.Type.Kind.IsCharacter() {
			collation = "tsql_ci_as"
		}
		src.AddColumn(c.Name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, c.Nullable, collation, nil)
	}
	sc.Add(src)
	key := lower(v.Database + "." + v.Schema + "." + v.Name)
	if name.Database != "" && !strings.EqualFold(name.Database, b.session.Database()) {
		key += "@" + lower(name.Database)
	}
	return b.virtualTable(src, VirtualTable{View: key, Columns: v.Columns})
}

// virtualTable is the text in FROM of the virtual table behind a system view or function, with the arguments of the
// latter.
func (b *Binder) virtualTable(src *Source, n VirtualTable, args ...string) string {
	n.Args = len(args)
	b.Needs = append(b.Needs, n)
	text := "temp.v_" + IdentifierSafe(n.View)
	if len(args) > 0 {
		// SQLite takes arguments in parentheses for the hidden columns.
		text += "(" + strings.Join(args, ", ") + ")"
	}
	return text + " AS " + src.sqlite
}

// ResultColumn is an output as a client sees it.
func ResultColumn(o Output) tds.Column {
	c := tds.Column{Name: o.Name, Type: o.expr.Type, Nullable: o.expr.Nullable || o.expr.Null}
	if o.expr.Null {
		c.Type, c.Nullable = sqltype.IntType, true
	}
	if c.Type.Kind.IsCharacter() {
		c.Collation = o.expr.collationShown()
	}
	if o.expr.column != nil && o.expr.column.Column != nil {
		c.Identity, c.Numeric = o.expr.column.Column.Identity != nil, o.expr.column.Column.Numeric
	}
	return c
}

// changedRows binds the rows that a nested change has given.
func (b *Binder) changedRows(sc *Scope, n *ast.DataModificationTableReference) string {
	changed := b.session.ChangedRows()
	if changed == nil {
		b.Fail(10729)
	}
	alias, _ := syntax.ChangeAlias(n)
	return b.BaseTable(sc, TempSpace, b.Catalog(TempSpace), b.session.Local(changed), alias, ObjectName{Name: alias})
}

// levels are hints that say at which isolation level a table is read, whatever the session's is
// (docs/t-sql/queries/hints-transact-sql-table.md).
var levels = map[string]bool{
	"NOLOCK":            true,
	"READUNCOMMITTED":   true,
	"READCOMMITTED":     true,
	"READCOMMITTEDLOCK": true,
	"REPEATABLEREAD":    true,
	"SERIALIZABLE":      true,
	"HOLDLOCK":          true,
}
