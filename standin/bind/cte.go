// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// cte is a common table expression in scope.
type cte struct {
	name    string
	sqlite  string
	outputs []Output
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

// With binds the common table expressions of a statement, each seeing those before it.
func (b *Binder) With(w *ast.WithCtesAndXmlNamespaces) {
	if w == nil {
		return
	}
	if w.XmlNamespaces != nil {
		b.xmlNamespaces(w.XmlNamespaces)
	}
	for _, n := range w.CommonTableExpressions {
		name := n.ExpressionName.Value
		for _, c := range b.CTEs {
			if strings.EqualFold(c.name, name) {
				b.Fail(239, name)
			}
		}
		b.aliases++
		c := &cte{name: name, sqlite: fmt.Sprintf("w%d", b.aliases), node: n}
		switch {
		case refersTo(n.QueryExpression, name):
			b.recursive(c, n)
		case refersWithin(n.QueryExpression, name):
			b.Fail(465)
		default:
			q := b.Query(&Scope{}, n.QueryExpression, QueryOptions{Subquery: true})
			c.query, c.outputs = q.sql, b.cteOutputs(n, q.Outputs)
		}
		b.CTEs = append(b.CTEs, c)
	}
}

func (b *Binder) cteOutputs(n *ast.CommonTableExpression, outputs []Output) []Output {
	names := b.outputNames(outputs, n.Columns, n.ExpressionName.Value)
	out := make([]Output, len(outputs))
	for i, o := range outputs {
		o.expr, o.Name = asColumn(o.expr, i), names[i]
		out[i] = o
	}
	return out
}

// recursiveMembers takes a recursive query apart: the anchor, which may be several queries and set operations, and the
// queries that name the expression itself, which follow with UNION ALL
// (docs/t-sql/queries/with-common-table-expression-transact-sql.md).
func (b *Binder) recursiveMembers(
	c *cte,
	q ast.QueryExpression,
) (anchor ast.QueryExpression, members []ast.QueryExpression) {
	for refersTo(q, c.name) {
		u, ok := q.(*ast.BinaryQueryExpression)
		switch {
		case !ok && len(members) > 0:
			b.Fail(246, c.name)
		case !ok, !u.All, u.BinaryQueryExpressionType != "Union":
			b.Fail(252, c.name)
		case !refersTo(u.SecondQueryExpression, c.name):
			b.Fail(247, c.name)
		}
		members = append([]ast.QueryExpression{u.SecondQueryExpression}, members...)
		q = u.FirstQueryExpression
	}
	return q, members
}

// recursive binds anchor UNION ALL recursive members.
func (b *Binder) recursive(c *cte, n *ast.CommonTableExpression) {
	first, members := b.recursiveMembers(c, n.QueryExpression)
	anchor := b.Query(&Scope{}, first, QueryOptions{Subquery: true})
	c.outputs = b.cteOutputs(n, anchor.Outputs)
	for i := range c.outputs {
		c.outputs[i].expr.Nullable = true
	}
	c.recursive = true
	b.CTEs = append(b.CTEs, c)
	types := make([]sqltype.Type, len(c.outputs))
	for i, o := range c.outputs {
		types[i] = o.expr.Type
	}
	counted := false
	level := metadata.ColumnName(int32(len(c.outputs) + 1))
	steps := make([]string, len(members))
	for i, member := range members {
		b.checkRecursive(c.name, member)
		step := b.Query(
			&Scope{},
			member,
			QueryOptions{Subquery: true, types: types, anchor: c, hidden: func(*Scope, []Output) []Output {
				counted = true
				return []Output{{expr: Expr{SQL: fmt.Sprintf("tsql_depth(%s.%s,%d)", c.source, level, b.maxRecursion)}}}
			}},
		)
		if len(step.Outputs) != len(anchor.Outputs) {
			b.Fail(205)
		}
		steps[i] = " UNION ALL " + step.sql
	}
	b.CTEs = b.CTEs[:len(b.CTEs)-1]
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
func sameType(e Expr, t sqltype.Type) bool {
	return e.Null || e.Type == t
}

func (b *Binder) findCTE(name string) *cte {
	for i := len(b.CTEs) - 1; i >= 0; i-- {
		if strings.EqualFold(b.CTEs[i].name, name) {
			return b.CTEs[i]
		}
	}
	return nil
}

func (b *Binder) cteSource(sc *Scope, c *cte, alias string) string {
	c.used = true
	if alias == "" {
		alias = c.name
	}
	src := &Source{Alias: alias, sqlite: b.nextAlias()}
	c.source = src.sqlite
	for i, o := range c.outputs {
		src.addOutput(o.Name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), o.expr, nil)
		src.Columns[i].nullable = true
	}
	sc.Add(src)
	if c.recursive {
		return c.sqlite + " AS " + src.sqlite
	}
	return "(" + c.query + ") AS " + src.sqlite
}

// withClause is SQLite's WITH for the recursive common table expressions of the statement.
func (b *Binder) withClause() string { return withRecursive(b.recursives) }

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
func (b *Binder) options(hints []ast.OptimizerHintBase) {
	for _, h := range hints {
		l, ok := h.(*ast.LiteralOptimizerHint)
		if !ok || !strings.EqualFold(l.HintKind, "MaxRecursion") {
			continue
		}
		if n, ok := l.Value.(*ast.IntegerLiteral); ok {
			v, err := strconv.ParseInt(n.Value, 10, 64)
			if err != nil || v > 32767 {
				b.Fail(310, n.Value, 32767)
			}
			b.maxRecursion = v
		}
	}
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
