// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xquery"
)

// Scope is what column names mean at one place of a query.
type Scope struct {
	parent  *Scope
	Sources []*Source
	// gate tells that it stands between the two sides of APPLY.
	gate bool
	// outer are the columns of enclosing queries that were used.
	outer []*SourceColumn
	// aggregates tells that an aggregate in this query belongs to the query around it, left counts those that belong to
	// any query around.
	aggregates bool
	left       int
	// outputs are the select list's names, for ORDER BY.
	outputs []Output
	// aggregateOrder is what the aggregates of the query are ordered by within their groups.
	aggregateOrder *ast.OrderByClause
}

// outerCounts are the numbers of columns of enclosing queries that were used so far, from sc outwards.
func (sc *Scope) outerCounts() []int {
	var counts []int
	for at := sc; at != nil; at = at.parent {
		counts = append(counts, len(at.outer))
	}
	return counts
}

// leaveTo gives an aggregate to the query around that it belongs to: its columns, used since the counts were taken, are
// that query's to judge.
func (sc *Scope) leaveTo(owner *Scope, before []int) {
	for at := sc; at != nil && at != owner; at = at.parent {
		at.outer, before = at.outer[:before[0]], before[1:]
		at.aggregates = at.aggregates || at.parent == owner
		at.left++
	}
}

// used is what a subquery has of the query around it, for an expression to inherit.
func (sc *Scope) used() Expr { return Expr{Free: sc.outer, Aggregate: sc.aggregates} }

// Source is one table, view or derived table of a FROM clause.
type Source struct {
	scope *Scope
	// Alias is its name in the query; schema and database qualify it when it has no alias of its own.
	Alias, schema, database string
	// nameless tells that no name is exposed: OPENJSON without an alias may stand there several times
	// (docs/relational-databases/json/json-data-sql-server.md).
	nameless bool
	// correlated tells that alias is a correlation name, which stands behind the table.
	correlated bool
	// sqlite is its alias in SQLite's SQL.
	sqlite string
	// name is what the FROM clause calls a table, for the messages of XQuery.
	name    string
	Columns []*SourceColumn
	Object  *metadata.Object
	space   int32
	// viewed is the view of the home database whose rows these are.
	viewed *metadata.Object
	// view tells that it is a system view, whose rows have numbers as those of tables do.
	view bool
}

// numbered tells whether the rows of a source have numbers (rowid in SQLite) that are the same wherever a statement
// names it.
func (s *Source) numbered() bool { return s.Object != nil || s.view }

// calledAs is what a query calls a source: the correlation name, or the name of the table as the FROM clause has it.
func (s *Source) calledAs() string {
	if s.schema != "" && s.name != "" {
		return s.name
	}
	return s.Alias
}

// SourceColumn is a column of a source.
type SourceColumn struct {
	source    *Source
	Name      string
	SQL       string
	Type      sqltype.Type
	nullable  bool
	collation string
	// coercible tells that the column is one of a query, and there a value whose collation gives way to that of a column.
	coercible bool
	// collationName is what the collation is called, where it is not the column's own.
	collationName string
	Column        *metadata.Column
	// document is set for the column of nodes(): the SQL of the instance whose node the column is, with the name of the
	// column that it is in, if any, and what the node is.
	document, origin string
	context          xquery.Context
}

// Output is a column of a query's result.
type Output struct {
	Name string
	expr Expr
}

// Add adds a source whose columns can be named from now on.
func (sc *Scope) Add(src *Source) {
	src.scope = sc
	sc.Sources = append(sc.Sources, src)
}

// AddColumn adds a column with its SQL; c is the column of a table, nil for another one.
func (src *Source) AddColumn(name, sql string, t sqltype.Type, nullable bool, collation string, c *metadata.Column) {
	src.Columns = append(src.Columns, &SourceColumn{source: src, Name: name, SQL: sql, Type: t, nullable: nullable,
		collation: collation, Column: c})
}

// addOutput adds a column for an output of a query; its collation keeps the place that it has in the query before those
// of others (docs/t-sql/statements/collation-precedence-transact-sql.md).
func (src *Source) addOutput(name, sql string, e Expr, c *metadata.Column) {
	t := e.Type
	if e.Null {
		t = sqltype.IntType
	}
	src.AddColumn(name, sql, t, e.Nullable || e.Null, e.collation, c)
	src.Columns[len(src.Columns)-1].coercible = !e.implicit && !e.explicit
	src.Columns[len(src.Columns)-1].collationName = e.CollationName
}

// matches tells whether a qualifier (alias, or table with schema and database) names the source.
func (src *Source) matches(parts []string) bool {
	if !strings.EqualFold(parts[len(parts)-1], src.Alias) {
		return false
	}
	if len(parts) > 1 && parts[len(parts)-2] != "" && !strings.EqualFold(parts[len(parts)-2], src.schema) {
		return false
	}
	return len(parts) <= 2 || parts[len(parts)-3] == "" || strings.EqualFold(parts[len(parts)-3], src.database)
}

// column resolves a column name of one to four parts.
func (b *Binder) column(sc *Scope, parts []string) Expr {
	name := parts[len(parts)-1]
	qualifier := parts[:len(parts)-1]
	found := false
	for at := sc; at != nil; at = at.parent {
		var hit *SourceColumn
		for _, src := range at.Sources {
			if len(qualifier) > 0 && !src.matches(qualifier) {
				continue
			}
			found = found || len(qualifier) > 0
			for _, c := range src.Columns {
				if !strings.EqualFold(c.Name, name) {
					continue
				}
				if hit != nil && hit.source != c.source {
					b.FailWith(b.named(sqlerr.New(209, 1, name)))
				}
				hit = c
			}
		}
		if hit != nil {
			b.Rough = b.Rough || hit.Type.Kind.IsApproximate()
			for s := sc; s != at && !b.absent(hit); s = s.parent {
				s.outer = append(s.outer, hit)
			}
			b.uses(hit)
			return hit.expr()
		}
	}
	if len(qualifier) > 0 && !found {
		return b.notFound(4104, name, strings.Join(parts, "."))
	}
	return b.notFound(207, name, name)
}

func (c *SourceColumn) expr() Expr {
	e := Expr{
		SQL:       c.SQL,
		Type:      c.Type,
		Nullable:  c.nullable,
		collation: c.collation,
		implicit:  c.collation != "" && !c.coercible,
		column:    c,
		name:      c.Name,
		Free:      []*SourceColumn{c},
	}
	switch {
	case c.collation == "":
	case c.collationName != "":
		e.CollationName = c.collationName
	case c.Column != nil:
		e.CollationName = c.Column.Collation
	}
	return e
}

// Identifiers are the parts of a name.
func Identifiers(m *ast.MultiPartIdentifier) []string {
	if m == nil {
		return nil
	}
	parts := make([]string, len(m.Identifiers))
	for i, id := range m.Identifiers {
		if id != nil {
			parts[i] = id.Value
		}
	}
	return parts
}

// ObjectName is a name of up to four parts; missing ones are empty.
type ObjectName struct{ Server, Database, Schema, Name string }

// NameOf is the name that a node of the tree has.
func NameOf(n *ast.SchemaObjectName) ObjectName {
	if n == nil {
		return ObjectName{}
	}
	var o ObjectName
	parts := n.Identifiers
	if len(parts) == 0 {
		for _, p := range []struct {
			id  *ast.Identifier
			out *string
		}{{n.ServerIdentifier, &o.Server}, {n.DatabaseIdentifier, &o.Database}, {n.SchemaIdentifier, &o.Schema},
			{n.BaseIdentifier, &o.Name}} {
			if p.id != nil {
				*p.out = p.id.Value
			}
		}
		return o
	}
	outs := []*string{&o.Name, &o.Schema, &o.Database, &o.Server}
	for i := 0; i < len(parts) && i < 4; i++ {
		if p := parts[len(parts)-1-i]; p != nil {
			*outs[i] = p.Value
		}
	}
	return o
}

// String is the name as the client wrote it, without quotes.
func (o ObjectName) String() string {
	parts := []string{o.Server, o.Database, o.Schema, o.Name}
	for len(parts) > 1 && parts[0] == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, ".")
}

// Temporary tells whether the name is that of a temporary object.
func (o ObjectName) Temporary() bool { return strings.HasPrefix(o.Name, "#") }
