// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
)

// from binds a FROM clause; its sources are added to sc.
func (b *Binder) from(sc *Scope, refs []ast.TableReference) string {
	parts := make([]string, len(refs))
	for i, r := range refs {
		parts[i] = b.joined(sc, r, i > 0)
	}
	b.exposedOnce(sc)
	return strings.Join(parts, ", ")
}

// joined binds a table or a join that stands to the right of a comma or a join. SQLite joins from left to right, commas
// among joins: a join that is an operand of its own keeps its rows apart by parentheses.
func (b *Binder) joined(sc *Scope, ref ast.TableReference, right bool) string {
	text := b.table(sc, ref)
	if _, join := ref.(*ast.QualifiedJoin); join && right {
		return "(" + text + ")"
	}
	return text
}

// exposedOnce refuses sources of one FROM clause that go by the same name: two correlation names (1011), one and a
// table's own (1012), or two tables' (1013).
func (b *Binder) exposedOnce(sc *Scope) {
	for i, src := range sc.Sources {
		for _, earlier := range sc.Sources[:i] {
			if src.Alias == "" || src.nameless || !strings.EqualFold(src.Alias, earlier.Alias) {
				continue
			}
			switch {
			case src.correlated && earlier.correlated:
				b.Fail(1011, src.Alias)
			case src.correlated:
				b.Fail(1012, src.Alias, earlier.shown())
			case earlier.correlated:
				b.Fail(1012, earlier.Alias, src.shown())
			case strings.EqualFold(src.schema, earlier.schema) && strings.EqualFold(src.database, earlier.database):
				b.Fail(1013, src.shown(), earlier.shown())
			}
		}
	}
}

// shown is what the FROM clause calls a source that has no correlation name.
func (src *Source) shown() string {
	if src.name != "" {
		return src.name
	}
	return src.Alias
}

// table binds one table reference and returns its SQL; a source that has a correlation name knows that.
func (b *Binder) table(sc *Scope, ref ast.TableReference) string {
	text := b.tableReference(sc, ref)
	if last := len(sc.Sources) - 1; last >= 0 && correlation(ref) != "" {
		sc.Sources[last].correlated = strings.EqualFold(sc.Sources[last].Alias, correlation(ref))
	}
	return text
}

// correlation is the name that stands behind a table of a FROM clause, empty for none and for joins.
func correlation(ref ast.TableReference) string {
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		return AliasOf(n.Alias)
	case *ast.QueryDerivedTable:
		return AliasOf(n.Alias)
	case *ast.InlineDerivedTable:
		return AliasOf(n.Alias)
	case *ast.VariableTableReference:
		return AliasOf(n.Alias)
	case *ast.SchemaObjectFunctionTableReference:
		return AliasOf(n.Alias)
	case *ast.GlobalFunctionTableReference:
		return AliasOf(n.Alias)
	case *ast.OpenJsonTableReference:
		return AliasOf(n.Alias)
	}
	return ""
}

func (b *Binder) tableReference(sc *Scope, ref ast.TableReference) string {
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
		inner := &Scope{parent: sc.parent}
		q := b.Query(inner, n.QueryExpression, QueryOptions{Subquery: true})
		sc.aggregates = sc.aggregates || inner.aggregates
		return b.derived(sc, q, AliasOf(n.Alias), n.Columns, "")
	case *ast.InlineDerivedTable:
		return b.derived(sc, b.values(sc, n.RowValues), AliasOf(n.Alias), n.Columns, "")
	case *ast.VariableTableReference:
		return b.tableVariable(sc, n)
	case *ast.VariableMethodCallTableReference:
		return b.nodesOfVariable(sc, n)
	case *ast.SchemaObjectFunctionTableReference:
		if text, ok := b.nodesOfColumn(sc, n); ok {
			return text
		}
		return b.tableFunction(sc, NameOf(n.SchemaObject), n.Parameters, AliasOf(n.Alias), n.Columns)
	case *ast.GlobalFunctionTableReference:
		return b.tableFunction(sc, ObjectName{Name: n.Name.Value}, n.Parameters, AliasOf(n.Alias), n.Columns)
	case *ast.BuiltInFunctionTableReference:
		return b.tableFunction(sc, ObjectName{Schema: "sys", Name: n.Name.Value}, n.Parameters, AliasOf(n.Alias), n.Columns)
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
	b.Refuse("The table reference " + NodeName(ref))
	return ""
}

// AliasOf is the alias of a table reference, empty for none.
func AliasOf(id *ast.Identifier) string {
	if id == nil {
		return ""
	}
	return id.Value
}

func (b *Binder) nextAlias() string {
	b.aliases++
	return fmt.Sprintf("s%d", b.aliases)
}

func (b *Binder) join(sc *Scope, n *ast.QualifiedJoin) string {
	words := map[string]string{
		"Inner":      "JOIN",
		"LeftOuter":  "LEFT JOIN",
		"RightOuter": "RIGHT JOIN",
		"FullOuter":  "FULL JOIN",
	}
	word, ok := words[n.QualifiedJoinType]
	if !ok {
		b.Refuse("The join " + n.QualifiedJoinType)
	}
	first := len(sc.Sources)
	nullable := b.nullableSide
	b.nullableSide = nullable || n.QualifiedJoinType == "RightOuter" || n.QualifiedJoinType == "FullOuter"
	left := b.table(sc, n.FirstTableReference)
	second := len(sc.Sources)
	b.nullableSide = nullable || n.QualifiedJoinType == "LeftOuter" || n.QualifiedJoinType == "FullOuter"
	right := b.joined(sc, n.SecondTableReference, true)
	b.nullableSide = nullable
	if n.QualifiedJoinType != "Inner" {
		for i, src := range sc.Sources[first:] {
			if (first+i >= second) == (n.QualifiedJoinType == "LeftOuter") || n.QualifiedJoinType == "FullOuter" {
				src.outer()
			}
		}
	}
	b.exposedOnce(sc)
	on := b.Predicate(sc, n.SearchCondition)
	if on.Aggregate {
		b.Fail(1015)
	}
	return left + " " + word + " " + right + " ON " + on.SQL
}

// outer makes of a source the side of an outer join that may have no row: then its columns are NULL, those too that are
// computed.
func (src *Source) outer() {
	for _, c := range src.Columns {
		c.nullable = true
		if c.Column != nil && c.Column.Computed != "" && src.Object != nil {
			c.SQL = "(CASE WHEN " + src.sqlite + ".rowid IS NOT NULL THEN " + c.SQL + " END)"
		}
	}
}

func (b *Binder) unqualifiedJoin(sc *Scope, n *ast.UnqualifiedJoin) string {
	left := b.table(sc, n.FirstTableReference)
	switch n.UnqualifiedJoinType {
	case "CrossJoin":
		return left + " JOIN " + b.joined(sc, n.SecondTableReference, true) + " ON 1"
	case "CrossApply", "OuterApply":
		return b.apply(sc, left, n.SecondTableReference, n.UnqualifiedJoinType == "OuterApply")
	}
	b.Refuse("The join " + n.UnqualifiedJoinType)
	return ""
}

// outputNames are the names that the columns of a query in FROM have: those listed behind its alias, else its own. Each
// column has one, and no two have the same.
func (b *Binder) outputNames(outputs []Output, listed []*ast.Identifier, alias string) []string {
	if len(listed) > 0 && len(listed) != len(outputs) {
		b.Fail(pick(len(listed) > len(outputs), 8159, 8158), alias)
	}
	names, seen := make([]string, len(outputs)), map[string]bool{}
	for i, o := range outputs {
		names[i] = o.Name
		if len(listed) > 0 {
			names[i] = listed[i].Value
		}
		if names[i] == "" {
			b.Fail(8155, i+1, alias)
		}
		if seen[lower(names[i])] {
			b.Fail(8156, names[i], alias)
		}
		seen[lower(names[i])] = true
	}
	return names
}

// derived makes a source of a query.
func (b *Binder) derived(sc *Scope, q BoundQuery, alias string, names []*ast.Identifier, schema string) string {
	src := &Source{Alias: alias, sqlite: b.nextAlias(), schema: schema}
	columns := b.outputNames(q.Outputs, names, alias)
	for i, o := range q.Outputs {
		var col *metadata.Column
		if o.expr.column != nil && o.expr.column.Column != nil {
			col = o.expr.column.Column
		}
		src.addOutput(columns[i], src.sqlite+"."+metadata.ColumnName(int32(i+1)), o.expr, col)
	}
	sc.Add(src)
	return "(" + q.sql + ") AS " + src.sqlite
}

// values is a table value constructor: (VALUES (1, 'a'), (2, 'b')).
func (b *Binder) values(sc *Scope, rows []*ast.RowValue) BoundQuery {
	var q BoundQuery
	bound := make([][]Expr, len(rows))
	for i, r := range rows {
		bound[i] = b.scalars(&Scope{parent: sc.parent}, r.ColumnValues)
		if len(bound[i]) != len(bound[0]) {
			b.Fail(10709)
		}
	}
	texts := make([][]string, len(rows))
	for c := range bound[0] {
		column := make([]Expr, len(rows))
		for r := range bound {
			column[r] = bound[r][c]
		}
		list, t := b.unifyResults(column...)
		e := Expr{SQL: metadata.ColumnName(int32(c + 1)), Type: t}
		if t.Kind.IsCharacter() {
			from := b.collatedBy("VALUES", column...)
			e.collation, e.CollationName = from.collation, from.CollationName
			e.implicit = slices.ContainsFunc(column, func(x Expr) bool { return x.implicit || x.explicit })
		}
		e.Nullable = anyNullable(column, list)
		for r := range list {
			texts[r] = append(texts[r], list[r].SQL)
		}
		q.Outputs = append(q.Outputs, Output{expr: e})
	}
	q.sql = unionOfRows(texts)
	return q
}

// maxCompound is how many SELECT SQLite joins with UNION ALL (its SQLITE_LIMIT_COMPOUND_SELECT); its own VALUES has no
// such limit, and names its columns itself.
const maxCompound = 500

// unionOfRows is a query that gives rows, with the columns c1, c2, ...
func unionOfRows(rows [][]string) string {
	columns, named := make([]string, len(rows[0])), make([]string, len(rows[0]))
	for c := range columns {
		columns[c] = fmt.Sprintf("column%d AS %s", c+1, metadata.ColumnName(int32(c+1)))
		named[c] = rows[0][c] + " AS " + metadata.ColumnName(int32(c+1))
	}
	lines := make([]string, len(rows))
	for r, values := range rows {
		lines[r] = strings.Join(values, ", ")
	}
	if len(rows) <= maxCompound {
		lines[0] = strings.Join(named, ", ")
		return "SELECT " + strings.Join(lines, " UNION ALL SELECT ")
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM (VALUES (" + strings.Join(lines, "), (") + "))"
}
