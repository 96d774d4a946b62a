// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// cte is a common table expression in scope.
type cte struct {
	name    string
	sqlite  string
	outputs []output
	// query is its text, recursive when it refers to itself.
	query     string
	recursive bool
	used      bool
	// source is the alias of its last use.
	source string
	// level is the column that counts the recursions of a recursive one, if any.
	level string
	node  *ast.CommonTableExpression
}

// with binds the common table expressions of a statement, each seeing those before it.
func (b *binder) with(w *ast.WithCtesAndXmlNamespaces) {
	if w == nil {
		return
	}
	if w.XmlNamespaces != nil {
		b.xmlNamespaces(w.XmlNamespaces)
	}
	for _, n := range w.CommonTableExpressions {
		name := n.ExpressionName.Value
		for _, c := range b.ctes {
			if strings.EqualFold(c.name, name) {
				b.fail(239, name)
			}
		}
		b.aliases++
		c := &cte{name: name, sqlite: fmt.Sprintf("w%d", b.aliases), node: n}
		switch {
		case refersTo(n.QueryExpression, name):
			b.recursive(c, n)
		case refersWithin(n.QueryExpression, name):
			b.fail(465)
		default:
			q := b.query(&scope{}, n.QueryExpression, queryOptions{subquery: true})
			c.query, c.outputs = q.sql, b.cteOutputs(n, q.outputs)
		}
		b.ctes = append(b.ctes, c)
	}
}

func (b *binder) cteOutputs(n *ast.CommonTableExpression, outputs []output) []output {
	names := b.outputNames(outputs, n.Columns, n.ExpressionName.Value)
	out := make([]output, len(outputs))
	for i, o := range outputs {
		o.expr, o.name = asColumn(o.expr, i), names[i]
		out[i] = o
	}
	return out
}

// recursiveMembers takes a recursive query apart: the anchor, which may be several queries and set operations, and the
// queries that name the expression itself, which follow with UNION ALL
// (docs/t-sql/queries/with-common-table-expression-transact-sql.md).
func (b *binder) recursiveMembers(
	c *cte,
	q ast.QueryExpression,
) (anchor ast.QueryExpression, members []ast.QueryExpression) {
	for refersTo(q, c.name) {
		u, ok := q.(*ast.BinaryQueryExpression)
		switch {
		case !ok && len(members) > 0:
			b.fail(246, c.name)
		case !ok, !u.All, u.BinaryQueryExpressionType != "Union":
			b.fail(252, c.name)
		case !refersTo(u.SecondQueryExpression, c.name):
			b.fail(247, c.name)
		}
		members = append([]ast.QueryExpression{u.SecondQueryExpression}, members...)
		q = u.FirstQueryExpression
	}
	return q, members
}

// recursive binds anchor UNION ALL recursive members.
func (b *binder) recursive(c *cte, n *ast.CommonTableExpression) {
	first, members := b.recursiveMembers(c, n.QueryExpression)
	anchor := b.query(&scope{}, first, queryOptions{subquery: true})
	c.outputs = b.cteOutputs(n, anchor.outputs)
	for i := range c.outputs {
		c.outputs[i].expr.nullable = true
	}
	c.recursive = true
	b.ctes = append(b.ctes, c)
	types := make([]sqltype.Type, len(c.outputs))
	for i, o := range c.outputs {
		types[i] = o.expr.typ
	}
	counted := false
	level := metadata.ColumnName(int32(len(c.outputs) + 1))
	steps := make([]string, len(members))
	for i, member := range members {
		b.checkRecursive(c.name, member)
		step := b.query(
			&scope{},
			member,
			queryOptions{subquery: true, types: types, anchor: c, hidden: func(*scope, []output) []output {
				counted = true
				return []output{{expr: expr{sql: fmt.Sprintf("tsql_depth(%s.%s,%d)", c.source, level, b.maxRecursion)}}}
			}},
		)
		if len(step.outputs) != len(anchor.outputs) {
			b.fail(205)
		}
		steps[i] = " UNION ALL " + step.sql
	}
	b.ctes = b.ctes[:len(b.ctes)-1]
	columns := make([]string, len(c.outputs))
	for i := range columns {
		columns[i] = metadata.ColumnName(int32(i + 1))
	}
	b.recursives = append(b.recursives, c)
	if counted {
		c.level = level
		columns = append(columns, "0")
	}
	c.query = "SELECT " + strings.Join(columns, ", ") + " FROM (" + anchor.sql + ")" + strings.Join(steps, "")
}

// sameType tells whether an expression has exactly that type, as the recursive part has to have the anchor's; an
// untyped NULL has any.
func sameType(e expr, t sqltype.Type) bool {
	return e.null || e.typ == t
}

func (b *binder) findCTE(name string) *cte {
	for i := len(b.ctes) - 1; i >= 0; i-- {
		if strings.EqualFold(b.ctes[i].name, name) {
			return b.ctes[i]
		}
	}
	return nil
}

func (b *binder) cteSource(sc *scope, c *cte, alias string) string {
	c.used = true
	if alias == "" {
		alias = c.name
	}
	src := &source{alias: alias, sqlite: b.nextAlias()}
	c.source = src.sqlite
	for i, o := range c.outputs {
		src.addOutput(o.name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), o.expr, nil)
		src.columns[i].nullable = true
	}
	sc.add(src)
	if c.recursive {
		return c.sqlite + " AS " + src.sqlite
	}
	return "(" + c.query + ") AS " + src.sqlite
}

// withClause is SQLite's WITH for the recursive common table expressions of the statement.
func (b *binder) withClause() string { return withRecursive(b.recursives) }

func withRecursive(recursives []*cte) string {
	var parts []string
	for _, c := range recursives {
		columns := make([]string, len(c.outputs))
		for i := range columns {
			columns[i] = metadata.ColumnName(int32(i + 1))
		}
		if c.level != "" {
			columns = append(columns, c.level)
		}
		parts = append(parts, c.sqlite+"("+strings.Join(columns, ", ")+") AS ("+c.query+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return "WITH RECURSIVE " + strings.Join(parts, ", ") + " "
}

// options notes the query hints of a statement that change its result (docs/t-sql/queries/hints-transact-sql-query.md).
func (b *binder) options(hints []ast.OptimizerHintBase) {
	for _, h := range hints {
		l, ok := h.(*ast.LiteralOptimizerHint)
		if !ok || !strings.EqualFold(l.HintKind, "MaxRecursion") {
			continue
		}
		if n, ok := l.Value.(*ast.IntegerLiteral); ok {
			v, err := strconv.ParseInt(n.Value, 10, 64)
			if err != nil || v > 32767 {
				b.fail(310, n.Value, 32767)
			}
			b.maxRecursion = v
		}
	}
}

// depth computes tsql_depth(level, limit): the next level, or 530 beyond the limit.
func (st *connState) depth(args []sqlite.Value) (any, *sqlerr.Error) {
	next, limit := args[0].Int64()+1, args[1].Int64()
	if limit > 0 && next > limit {
		return nil, sqlerr.New(530, 1, limit)
	}
	return next, nil
}

// refersTo tells whether a query names a table of that one-part name anywhere in its FROM clauses.
func refersTo(q ast.QueryExpression, name string) bool {
	switch n := q.(type) {
	case *ast.BinaryQueryExpression:
		return refersTo(n.FirstQueryExpression, name) || refersTo(n.SecondQueryExpression, name)
	case *ast.QueryParenthesisExpression:
		return refersTo(n.QueryExpression, name)
	case *syntax.Arranged:
		return refersTo(n.QueryExpression, name)
	case *ast.QuerySpecification:
		if n.FromClause == nil {
			return false
		}
		for _, r := range n.FromClause.TableReferences {
			if tableRefersTo(r, name) {
				return true
			}
		}
	}
	return false
}

func tableRefersTo(r ast.TableReference, name string) bool {
	switch n := r.(type) {
	case *ast.NamedTableReference:
		o := NameOf(n.SchemaObject)
		return o.Schema == "" && strings.EqualFold(o.Name, name)
	case *ast.QualifiedJoin:
		return tableRefersTo(n.FirstTableReference, name) || tableRefersTo(n.SecondTableReference, name)
	case *ast.UnqualifiedJoin:
		return tableRefersTo(n.FirstTableReference, name) || tableRefersTo(n.SecondTableReference, name)
	case *ast.JoinParenthesisTableReference:
		return tableRefersTo(n.Join, name)
	case *ast.QueryDerivedTable:
		return refersTo(n.QueryExpression, name)
	}
	return false
}
