// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/tds"
)

// from binds a FROM clause; its sources are added to sc.
func (b *binder) from(sc *scope, refs []ast.TableReference) string {
	parts := make([]string, len(refs))
	for i, r := range refs {
		parts[i] = b.joined(sc, r, i > 0)
	}
	b.exposedOnce(sc)
	return strings.Join(parts, ", ")
}

// joined binds a table or a join that stands to the right of a comma or a join. SQLite joins from left to right, commas among joins: a
// join that is an operand of its own keeps its rows apart by parentheses.
func (b *binder) joined(sc *scope, ref ast.TableReference, right bool) string {
	text := b.table(sc, ref)
	if _, join := ref.(*ast.QualifiedJoin); join && right {
		return "(" + text + ")"
	}
	return text
}

// exposedOnce refuses sources of one FROM clause that go by the same name: two correlation names (1011), one and a table's own
// (1012), or two tables' (1013).
func (b *binder) exposedOnce(sc *scope) {
	for i, src := range sc.sources {
		for _, earlier := range sc.sources[:i] {
			if src.alias == "" || !strings.EqualFold(src.alias, earlier.alias) {
				continue
			}
			switch {
			case src.correlated && earlier.correlated:
				b.fail(1011, src.alias)
			case src.correlated:
				b.fail(1012, src.alias, earlier.shown())
			case earlier.correlated:
				b.fail(1012, earlier.alias, src.shown())
			case strings.EqualFold(src.schema, earlier.schema) && strings.EqualFold(src.database, earlier.database):
				b.fail(1013, src.shown(), earlier.shown())
			}
		}
	}
}

// shown is what the FROM clause calls a source that has no correlation name.
func (src *source) shown() string {
	if src.name != "" {
		return src.name
	}
	return src.alias
}

// table binds one table reference and returns its SQL; a source that has a correlation name knows that.
func (b *binder) table(sc *scope, ref ast.TableReference) string {
	text := b.tableReference(sc, ref)
	if last := len(sc.sources) - 1; last >= 0 && correlation(ref) != "" {
		sc.sources[last].correlated = strings.EqualFold(sc.sources[last].alias, correlation(ref))
	}
	return text
}

// correlation is the name that stands behind a table of a FROM clause, empty for none and for joins.
func correlation(ref ast.TableReference) string {
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		return aliasOf(n.Alias)
	case *ast.QueryDerivedTable:
		return aliasOf(n.Alias)
	case *ast.InlineDerivedTable:
		return aliasOf(n.Alias)
	case *ast.VariableTableReference:
		return aliasOf(n.Alias)
	case *ast.SchemaObjectFunctionTableReference:
		return aliasOf(n.Alias)
	case *ast.GlobalFunctionTableReference:
		return aliasOf(n.Alias)
	case *ast.OpenJsonTableReference:
		return aliasOf(n.Alias)
	}
	return ""
}

func (b *binder) tableReference(sc *scope, ref ast.TableReference) string {
	if t := b.target; t != nil && t.ref == ref {
		b.target = nil
		return t.bind(sc)
	}
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		return b.namedTable(sc, n)
	case *ast.QualifiedJoin:
		return b.join(sc, n)
	case *ast.UnqualifiedJoin:
		return b.unqualifiedJoin(sc, n)
	case *ast.JoinParenthesisTableReference:
		if _, single := n.Join.(*ast.InlineDerivedTable); single {
			return b.table(sc, n.Join)
		}
		return "(" + b.table(sc, n.Join) + ")"
	case *ast.QueryDerivedTable:
		inner := &scope{parent: sc.parent}
		q := b.query(inner, n.QueryExpression, queryOptions{subquery: true})
		return b.derived(sc, q, aliasOf(n.Alias), n.Columns, "")
	case *ast.InlineDerivedTable:
		return b.derived(sc, b.values(sc, n.RowValues), aliasOf(n.Alias), n.Columns, "")
	case *ast.VariableTableReference:
		return b.tableVariable(sc, n)
	case *ast.VariableMethodCallTableReference:
		return b.nodesOfVariable(sc, n)
	case *ast.SchemaObjectFunctionTableReference:
		if text, ok := b.nodesOfColumn(sc, n); ok {
			return text
		}
		return b.tableFunction(sc, nameOf(n.SchemaObject), n.Parameters, aliasOf(n.Alias), n.Columns)
	case *ast.GlobalFunctionTableReference:
		return b.tableFunction(sc, objectName{name: n.Name.Value}, n.Parameters, aliasOf(n.Alias), n.Columns)
	case *ast.BuiltInFunctionTableReference:
		return b.tableFunction(sc, objectName{schema: "sys", name: n.Name.Value}, n.Parameters, aliasOf(n.Alias), n.Columns)
	case *ast.OpenXmlTableReference:
		return b.openXML(sc, n)
	case *ast.OpenJsonTableReference:
		return b.openJSONTable(sc, n)
	case *ast.PivotedTableReference:
		return b.pivot(sc, n)
	case *ast.UnpivotedTableReference:
		return b.unpivot(sc, n)
	case *ast.DataModificationTableReference:
		return b.changedRows(sc, n)
	case *ast.BulkOpenRowset:
		return b.bulkRowset(sc, n)
	case *ast.OpenQueryTableReference:
		return b.openQuery(sc, n)
	}
	b.refuse("The table reference " + named(ref))
	return ""
}

func aliasOf(id *ast.Identifier) string {
	if id == nil {
		return ""
	}
	return id.Value
}

func (b *binder) nextAlias() string {
	b.aliases++
	return fmt.Sprintf("s%d", b.aliases)
}

func (b *binder) join(sc *scope, n *ast.QualifiedJoin) string {
	words := map[string]string{"Inner": "JOIN", "LeftOuter": "LEFT JOIN", "RightOuter": "RIGHT JOIN", "FullOuter": "FULL JOIN"}
	word, ok := words[n.QualifiedJoinType]
	if !ok {
		b.refuse("The join " + n.QualifiedJoinType)
	}
	first := len(sc.sources)
	left := b.table(sc, n.FirstTableReference)
	second := len(sc.sources)
	right := b.joined(sc, n.SecondTableReference, true)
	if n.QualifiedJoinType != "Inner" {
		for i, src := range sc.sources[first:] {
			if (first+i >= second) == (n.QualifiedJoinType == "LeftOuter") || n.QualifiedJoinType == "FullOuter" {
				src.outer()
			}
		}
	}
	on := b.predicate(sc, n.SearchCondition)
	if on.aggregate {
		b.fail(1015)
	}
	return left + " " + word + " " + right + " ON " + on.sql
}

// outer makes of a source the side of an outer join that may have no row: then its columns are NULL, those too that are computed.
func (src *source) outer() {
	for _, c := range src.columns {
		c.nullable = true
		if c.column != nil && c.column.Computed != "" && src.object != nil {
			c.sql = "(CASE WHEN " + src.sqlite + ".rowid IS NOT NULL THEN " + c.sql + " END)"
		}
	}
}

func (b *binder) unqualifiedJoin(sc *scope, n *ast.UnqualifiedJoin) string {
	left := b.table(sc, n.FirstTableReference)
	switch n.UnqualifiedJoinType {
	case "CrossJoin":
		return left + " JOIN " + b.joined(sc, n.SecondTableReference, true) + " ON 1"
	case "CrossApply", "OuterApply":
		return b.apply(sc, left, n.SecondTableReference, n.UnqualifiedJoinType == "OuterApply")
	}
	b.refuse("The join " + n.UnqualifiedJoinType)
	return ""
}

// outputNames are the names that the columns of a query in FROM have: those listed behind its alias, else its own. Each
// column has one, and no two have the same.
func (b *binder) outputNames(outputs []output, listed []*ast.Identifier, alias string) []string {
	if len(listed) > 0 && len(listed) != len(outputs) {
		b.fail(pick(len(listed) > len(outputs), 8159, 8158), alias)
	}
	names, seen := make([]string, len(outputs)), map[string]bool{}
	for i, o := range outputs {
		names[i] = o.name
		if len(listed) > 0 {
			names[i] = listed[i].Value
		}
		if names[i] == "" {
			b.fail(8155, i+1, alias)
		}
		if seen[lower(names[i])] {
			b.fail(8156, names[i], alias)
		}
		seen[lower(names[i])] = true
	}
	return names
}

// derived makes a source of a query.
func (b *binder) derived(sc *scope, q boundQuery, alias string, names []*ast.Identifier, schema string) string {
	src := &source{alias: alias, sqlite: b.nextAlias(), schema: schema}
	columns := b.outputNames(q.outputs, names, alias)
	for i, o := range q.outputs {
		t := o.expr.typ
		if o.expr.null {
			t = sqltype.IntType
		}
		var col *Column
		if o.expr.column != nil && o.expr.column.column != nil {
			col = o.expr.column.column
		}
		src.addColumn(columns[i], src.sqlite+"."+columnName(int32(i+1)), t, o.expr.nullable || o.expr.null, o.expr.collation, col)
	}
	sc.add(src)
	return "(" + q.sql + ") AS " + src.sqlite
}

// values is a table value constructor: (VALUES (1, 'a'), (2, 'b')).
func (b *binder) values(sc *scope, rows []*ast.RowValue) boundQuery {
	var q boundQuery
	bound := make([][]expr, len(rows))
	for i, r := range rows {
		bound[i] = b.scalars(&scope{parent: sc.parent}, r.ColumnValues)
		if len(bound[i]) != len(bound[0]) {
			b.fail(10709)
		}
	}
	texts := make([][]string, len(rows))
	for c := range bound[0] {
		column := make([]expr, len(rows))
		for r := range bound {
			column[r] = bound[r][c]
		}
		list, t := b.unifyResults(column...)
		e := expr{sql: columnName(int32(c + 1)), typ: t}
		if t.Kind.IsCharacter() {
			e.collation = b.collate("VALUES", column...)
		}
		e.nullable = anyNullable(column, list)
		for r := range list {
			text := list[r].sql
			if r == 0 {
				text += fmt.Sprintf(" AS c%d", c+1)
			}
			texts[r] = append(texts[r], text)
		}
		q.outputs = append(q.outputs, output{expr: e})
	}
	selects := make([]string, len(rows))
	for r := range texts {
		selects[r] = "SELECT " + strings.Join(texts[r], ", ")
	}
	q.sql = strings.Join(selects, " UNION ALL ")
	return q
}

// namedTable binds a table, view, synonym or common table expression by its name.
func (b *binder) namedTable(sc *scope, n *ast.NamedTableReference) string {
	name := nameOf(n.SchemaObject)
	if n.TemporalClause != nil {
		b.refuse("FOR SYSTEM_TIME")
	}
	outside := b.levelled
	b.levelled = false
	defer func() { b.levelled = outside }()
	b.hints(n.TableHints)
	if n.TableSampleClause != nil {
		if name.server != "" || name.schema == "" && name.database == "" && b.findCTE(name.name) != nil {
			b.fail(494)
		}
		return b.sampled(sc, n.TableSampleClause, b.tableByName(sc, name, aliasOf(n.Alias)))
	}
	if name.server != "" {
		return b.remoteTable(sc, name, aliasOf(n.Alias))
	}
	if name.schema == "" && name.database == "" {
		if c := b.findCTE(name.name); c != nil {
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

func (b *binder) tableByName(sc *scope, name objectName, alias string) string {
	if pseudo := b.s.pseudoTable(name); pseudo != nil {
		if alias == "" {
			alias = name.name
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
	case kindTable:
		b.require("SELECT", space, sch, obj)
		return b.baseTable(sc, space, sch, obj, alias, name)
	case kindView:
		b.require("SELECT", space, sch, obj)
		return b.view(sc, space, obj, alias, name)
	case kindSynonym:
		if b.depth++; b.depth > 32 {
			b.fail(217, 32)
		}
		defer func() { b.depth-- }()
		if alias == "" {
			alias = obj.Name
		}
		return b.tableByName(sc, splitName(obj.Target), alias)
	case kindInline, kindTableFunction:
		b.fail(216, name.String())
	}
	b.fail(208, name.String())
	return ""
}

// baseTable adds a table as a source.
func (b *binder) baseTable(sc *scope, space int32, sch *schema, obj *Object, alias string, name objectName) string {
	src := &source{alias: alias, sqlite: b.nextAlias(), object: obj, space: space, name: name.String()}
	if alias == "" {
		src.alias, src.schema, src.database = name.name, sch.schemaName(obj), name.database
		if src.database == "" && space > 0 {
			src.database = b.s.db.Name()
		}
	}
	if b.used[space] = true; !b.levelled {
		b.tables[space] = true
	}
	b.addColumns(src, obj.Table, func(c *Column) string { return src.sqlite + "." + columnName(c.ID) })
	sc.add(src)
	if space == b.home {
		return "main." + obj.storageName() + " AS " + src.sqlite
	}
	b.needs = append(b.needs, need{space: space, version: sch.version, object: obj})
	return fmt.Sprintf("temp.f_%d_%x_%s AS %s", uint32(space), uint64(sch.version), obj.storageName(), src.sqlite)
}

// addColumns adds the columns of a table to a source, in their order; stored is the SQL of those that are not computed.
func (b *binder) addColumns(src *source, t *Table, stored func(*Column) string) {
	plain := &source{alias: src.alias, sqlite: src.sqlite, object: src.object, space: src.space}
	for _, c := range t.Columns {
		if c.Computed == "" {
			plain.addColumn(c.Name, stored(c), c.Type, c.Nullable, c.collationKey(), c)
		}
	}
	for _, c := range t.Columns {
		if c.Computed != "" {
			b.computedColumn(src, plain, c)
			continue
		}
		src.addColumn(c.Name, stored(c), c.Type, c.Nullable, c.collationKey(), c)
	}
}

// computedColumn adds a column that is computed from the plain ones of its table.
func (b *binder) computedColumn(src, plain *source, c *Column) {
	node := parseExpression(c.Computed)
	if node == nil {
		b.fail(207, c.Name)
	}
	defer b.inDatabase(plain.space)()
	inner := &scope{sources: []*source{plain}}
	e := b.scalar(inner, node)
	e = b.convert(e, c.Type, sqltype.Implicit, 0, false)
	src.addColumn(c.Name, e.sql, c.Type, e.nullable || e.null, c.collationKey(), c)
}

// view expands a view's definition.
func (b *binder) view(sc *scope, space int32, obj *Object, alias string, name objectName) string {
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
	restore := b.inDatabase(space)
	defer restore()
	q := b.ofView(name.String(), func() boundQuery { return b.query(&scope{}, def.QueryExpression, queryOptions{}) })
	if alias != "" {
		return b.derived(sc, q, alias, names, name.schema)
	}
	text := b.derived(sc, q, obj.Name, names, name.schema)
	sc.sources[len(sc.sources)-1].name = name.String()
	return text
}

// systemView binds a catalog view, DMV or other registered view; empty when there is none of that name.
func (b *binder) systemView(sc *scope, name objectName, alias string) string {
	v := b.s.findView(name)
	if v == nil {
		return ""
	}
	src := &source{alias: alias, sqlite: b.nextAlias()}
	if alias == "" {
		src.alias, src.schema, src.database = v.Name, v.Schema, name.database
		src.name = name.String()
	}
	for i, c := range v.Columns {
		collation := ""
		if c.Type.Kind.IsCharacter() {
			collation = "tsql_ci_as"
		}
		src.addColumn(c.Name, src.sqlite+"."+columnName(int32(i+1)), c.Type, c.Nullable, collation, nil)
	}
	sc.add(src)
	key := lower(v.Database + "." + v.Schema + "." + v.Name)
	if name.database != "" && !strings.EqualFold(name.database, b.s.db.Name()) {
		key += "@" + lower(name.database)
	}
	return b.virtualTable(src, need{view: key, columns: v.Columns})
}

// virtualTable is the text in FROM of the virtual table behind a system view or function, with the arguments of the latter.
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

// tableFunction binds a system table function with its arguments.
func (b *binder) tableFunction(sc *scope, name objectName, args []ast.ScalarExpression, alias string, names []*ast.Identifier) string {
	schema := name.schema
	if schema == "" {
		schema = "sys"
	}
	key := lower(schema + "." + name.name)
	if key == "sys.string_split" && len(args) == 3 {
		if n, ok := args[2].(*ast.IntegerLiteral); ok && n.Value == "1" {
			key += " ordinal"
		} else {
			args = args[:2]
		}
	}
	series := key == "sys.generate_series"
	if series {
		if len(args) == 3 {
			key += " step"
		}
	}
	f := b.s.inst.registry.tableFunctions[key]
	if f == nil {
		if refusedFunctions[lower(name.name)] && (schema == "sys" || name.schema == "") {
			b.refuse(name.name)
		}
		return b.userTableFunction(sc, name, args, alias, names)
	}
	if len(args) < len(f.Parameters) {
		b.fail(313, name.String())
	}
	if len(args) > len(f.Parameters) {
		b.fail(8144, name.String())
	}
	src := &source{alias: alias, sqlite: b.nextAlias()}
	if alias == "" {
		src.alias, src.schema = f.Name, f.Schema
	}
	var terms []string
	whole := sqltype.Type{}
	for i, a := range args {
		e := expr{sql: "NULL"}
		if _, isDefault := a.(*ast.DefaultLiteral); !isDefault {
			e = b.scalar(sc, a)
			if i == 0 && f.Schema == "sys" {
				b.fits(lower(strings.Fields(f.Name)[0]), []expr{e})
			}
			if series {
				whole = b.seriesType(whole, e, i)
			}
			e = b.convert(e, f.Parameters[i], sqltype.Implicit, 0, false)
		}
		terms = append(terms, e.sql)
	}
	for i, c := range f.Columns {
		if series && whole.Kind != sqltype.Unknown {
			c.Type = whole
		}
		collation := ""
		if c.Type.Kind.IsCharacter() {
			collation = "tsql_ci_as"
		}
		cname := c.Name
		if len(names) == len(f.Columns) {
			cname = names[i].Value
		}
		src.addColumn(cname, src.sqlite+"."+columnName(int32(i+1)), c.Type, true, collation, nil)
	}
	sc.add(src)
	return b.virtualTable(src, need{view: key, columns: f.Columns}, terms...)
}

// resultColumn is an output as a client sees it.
func resultColumn(o output) tds.Column {
	c := tds.Column{Name: o.name, Type: o.expr.typ, Nullable: o.expr.nullable || o.expr.null}
	if o.expr.null {
		c.Type, c.Nullable = sqltype.IntType, true
	}
	if o.expr.column != nil && o.expr.column.column != nil {
		c.Identity = o.expr.column.column.Identity != nil
	}
	return c
}
