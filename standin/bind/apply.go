// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
)

// A query that is applied to the rows left of it and is no join in disguise becomes one value for each of those rows:
// SQLite's own tables cannot refer to what stands left of them, but the arguments of a virtual table can, and a
// subquery is an argument.
//
//	tsql_pack(c1, c2, ...)    the aggregate that puts the rows of a query into a blob, NULL for none
//	tsql_rows_N(blob)         the table with the columns c1 to cN that has them again

// PackFunction is the aggregate's name, RowsModule begins those of the tables.
const (
	PackFunction = "tsql_pack"
	RowsModule   = "tsql_rows_"
)

// maxPacked is how many arguments SQLite gives a function (its SQLITE_MAX_FUNCTION_ARG).
const maxPacked = 1000

// apply binds CROSS APPLY and OUTER APPLY (docs/t-sql/queries/from-transact-sql.md). SQLite has no table that refers to
// those left of it: a query that can be told as a join becomes one, any other is an argument of a virtual table
// (appliedRows).
func (b *Binder) apply(sc *Scope, left string, right ast.TableReference, outer bool) string {
	word := " JOIN "
	if outer {
		word = " LEFT JOIN "
	}
	first := len(sc.Sources)
	text := left + b.applied(sc, right, word)
	for _, src := range sc.Sources[first:] {
		src.correlated = src.correlated || correlation(right) != "" && strings.EqualFold(src.Alias, correlation(right))
		if outer {
			src.outer()
		}
	}
	return text
}

// applied is the right side of APPLY, with the word that joins it.
func (b *Binder) applied(sc *Scope, right ast.TableReference, word string) string {
	switch n := right.(type) {
	case *ast.SchemaObjectFunctionTableReference:
		if text, ok := b.nodesOfColumn(sc, n); ok {
			return word + text + " ON 1"
		}
		if call := b.inlineFunction(NameOf(n.SchemaObject)); call != nil {
			return b.applyFunction(sc, call, n, word)
		}
	case *ast.InlineDerivedTable:
		return b.applyValues(sc, n, word)
	case *ast.QueryDerivedTable:
		gate := &Scope{parent: sc, gate: true}
		a := appliedQuery{sc: sc, gate: gate, parent: gate, alias: AliasOf(n.Alias), names: n.Columns, word: word,
			before: b.lateral}
		return b.applyQuery(a, n.QueryExpression)
	}
	// Other functions take their arguments from the left; a table or a join of tables refers to nothing there.
	nullable := b.nullableSide
	defer func() { b.nullableSide = nullable }()
	b.nullableSide = nullable || word != " JOIN "
	return word + b.table(sc, right) + " ON 1"
}

// appliedQuery is what is known of a query that is applied.
type appliedQuery struct {
	// sc gets its columns. gate is the scope between it and the query, which knows the columns that the query takes from
	// the left; parent is that in which the names of the query are looked up after its own, another one than gate for the
	// query of a function.
	sc, gate, parent *Scope
	alias            string
	names            []*ast.Identifier
	// with are the common table expressions of a function.
	with *ast.WithCtesAndXmlNamespaces
	// word joins it, before is how often parameters from the left were used before it.
	word   string
	before int
}

// applyFunction binds APPLY of an inline table-valued function.
func (b *Binder) applyFunction(
	sc *Scope,
	call *InlineCall,
	n *ast.SchemaObjectFunctionTableReference,
	word string,
) string {
	gate := &Scope{parent: sc, gate: true}
	a := appliedQuery{
		sc:     sc,
		gate:   gate,
		parent: &Scope{},
		alias:  AliasOf(n.Alias),
		names:  n.Columns,
		with:   call.Query.WithCtesAndXmlNamespaces,
		word:   word,
	}
	if a.alias == "" {
		a.alias = call.object.Name
	}
	leave := b.EnterFunction(gate, call, n.Parameters)
	defer leave()
	// The arguments are bound: what they take from the left counts where the query uses its parameters.
	gate.outer, a.before = nil, b.lateral
	return b.applyQuery(a, call.Query.QueryExpression)
}

// applyQuery binds the query of APPLY.
func (b *Binder) applyQuery(a appliedQuery, query ast.QueryExpression) string {
	for {
		p, parenthesis := query.(*ast.QueryParenthesisExpression)
		if !parenthesis {
			break
		}
		query = p.QueryExpression
	}
	if q, ok := query.(*ast.QuerySpecification); ok && a.with == nil {
		switch q.ForClause.(type) {
		case *ast.XmlForClause, *ast.JsonForClause:
			q = oneText(q)
		}
		if text, ok := b.applyJoin(a, q); ok {
			return text
		}
	}
	return b.appliedRows(a, query)
}

// appliedRows is the right side of APPLY for any query: the rows of a query that takes something from the left are an
// argument of the table that has them again. Recursive common table expressions stand within it, as they may refer to
// the left, too.
func (b *Binder) appliedRows(a appliedQuery, query ast.QueryExpression) string {
	recursives := len(b.recursives)
	if a.with != nil {
		b.With(a.with)
	}
	q := b.Query(&Scope{parent: a.parent}, query, QueryOptions{Subquery: a.with == nil})
	text := b.derived(a.sc, q, a.alias, a.names, "")
	src := a.sc.Sources[len(a.sc.Sources)-1]
	if len(a.gate.outer) == 0 && b.lateral == a.before {
		return a.word + text + " ON 1"
	}
	columns := make([]string, len(q.Outputs))
	for i := range columns {
		columns[i] = metadata.ColumnName(int32(i + 1))
	}
	if len(columns) > maxPacked {
		b.Refuse(fmt.Sprintf("APPLY of a query with more than %d columns", maxPacked))
	}
	b.Needs = append(b.Needs, VirtualTable{Packed: len(columns)})
	with := withRecursive(b.recursives[recursives:])
	b.recursives = b.recursives[:recursives]
	return fmt.Sprintf(
		"%s%s%d((%sSELECT %s(%s) FROM (%s))) AS %s ON 1",
		a.word,
		RowsModule,
		len(columns),
		with,
		PackFunction,
		strings.Join(columns, ","),
		q.sql,
		src.sqlite,
	)
}

// applyValues binds APPLY (VALUES (a.x), (a.y)) AS v (n): one row for each, whose values are chosen by number.
func (b *Binder) applyValues(sc *Scope, n *ast.InlineDerivedTable, word string) string {
	numbers := b.nextAlias()
	rows := make([][]string, len(n.RowValues))
	var bound [][]Expr
	gate := &Scope{parent: sc, gate: true}
	for i, r := range n.RowValues {
		rows[i] = []string{strconv.Itoa(i + 1)}
		bound = append(bound, b.scalars(gate, r.ColumnValues))
		if len(bound[i]) != len(bound[0]) {
			b.Fail(10709)
		}
	}
	if len(n.Columns) != len(bound[0]) {
		b.Fail(pick(len(n.Columns) > len(bound[0]), 8159, 8158), AliasOf(n.Alias))
	}
	src := &Source{Alias: AliasOf(n.Alias), sqlite: numbers}
	for c := range bound[0] {
		column := make([]Expr, len(bound))
		for r := range bound {
			column[r] = bound[r][c]
		}
		list, t := b.unifyResults(column...)
		from := Expr{}
		if t.Kind.IsCharacter() {
			from = b.collatedBy("VALUES", column...)
		}
		var text strings.Builder
		text.WriteString("(CASE " + numbers + ".c1")
		for r, e := range list {
			fmt.Fprintf(&text, " WHEN %d THEN %s", r+1, e.SQL)
		}
		value := Expr{Type: t, Nullable: true, collation: from.collation, CollationName: from.CollationName,
			implicit: slices.ContainsFunc(column, func(e Expr) bool { return e.implicit || e.explicit })}
		src.addOutput(n.Columns[c].Value, text.String()+" END)", value, nil)
	}
	sc.Add(src)
	return word + "(" + unionOfRows(rows) + ") AS " + numbers + " ON 1"
}
