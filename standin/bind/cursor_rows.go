// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"slices"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Cursor binds a cursor's query, and tells which tables have rows that can be changed through it. Behind its columns
// are the row numbers of these tables, unless it groups rows.
func (b *Binder) Cursor(n *ast.SelectStatement, readOnly bool) (*Plan, CursorPosition) {
	c := CursorPosition{ReadOnly: readOnly}
	b.With(n.WithCtesAndXmlNamespaces)
	o := QueryOptions{}
	query := n.QueryExpression
	if q, ok := query.(*ast.QuerySpecification); ok && q.ForClause != nil {
		plain := *q
		switch q.ForClause.(type) {
		case *ast.ReadOnlyForClause:
			c.ReadOnly, plain.ForClause = true, nil
		case *ast.UpdateForClause:
			plain.ForClause = nil
		}
		query = &plain
	}
	if q, ok := query.(*syntax.Arranged); ok {
		plain := *q
		switch q.ForClause.(type) {
		case *ast.ReadOnlyForClause, *ast.UpdateForClause:
			plain.ForClause = nil
		}
		query = &plain
	}
	if q, ok := query.(*ast.QuerySpecification); ok && !c.ReadOnly && !expandsGroups(q.GroupByClause) &&
		q.ForClause == nil {
		o.hidden = func(sc *Scope, _ []Output) []Output {
			var hidden []Output
			for _, src := range sc.Sources {
				if src.Object == nil || src.Object.Kind != metadata.KindTable {
					continue
				}
				c.Tables = append(c.Tables, src)
				hidden = append(hidden, Output{expr: Expr{SQL: src.sqlite + ".rowid", Type: sqltype.BigIntType}})
			}
			return hidden
		}
	}
	q := b.Query(&Scope{}, query, o)
	p := b.Plan(q.sql)
	for _, out := range q.Outputs {
		p.Columns = append(p.Columns, ResultColumn(out))
	}
	for range c.Tables {
		p.Columns = append(p.Columns, tds.Column{Type: sqltype.BigIntType, Nullable: true})
	}
	return p, c
}

// currentOf is the cursor that WHERE CURRENT OF names; empty for any other condition.
func currentOf(where *ast.WhereClause) string {
	if where == nil {
		return ""
	}
	cmp, ok := where.SearchCondition.(*ast.BooleanComparisonExpression)
	if !ok {
		return ""
	}
	call, ok := cmp.FirstExpression.(*ast.FunctionCall)
	if !ok || call.FunctionName.Value != syntax.CurrentFunction || len(call.Parameters) != 1 {
		return ""
	}
	name, _ := call.Parameters[0].(*ast.StringLiteral)
	return name.Value
}

// currentRow is the condition that WHERE CURRENT OF stands for: the row of the target that the cursor was at when it
// was fetched last (docs/t-sql/queries/update-transact-sql.md, CURRENT OF).
func (b *Binder) currentRow(c *change, name string, wanted []string) string {
	b.Volatile = true
	cur, err := b.session.Cursor(name)
	if err != nil {
		b.FailWith(err)
	}
	switch {
	case !cur.Open:
		b.Fail(16917)
	case cur.ReadOnly:
		b.Fail(16929)
	case cur.Rows == nil:
		b.Fail(16931)
	}
	for _, column := range wanted {
		if len(cur.Updates) > 0 && !slices.Contains(cur.Updates, lower(column)) {
			b.Fail(16932)
		}
	}
	for i, src := range cur.Tables {
		if src.Object.ID == c.obj.ID && src.space == c.space {
			number := cur.Rows[i]
			return " WHERE " + c.rowid + " = " + b.computed(
				"current of "+lower(name),
				sqltype.BigIntType,
				func(Session) any { return number },
			).SQL
		}
	}
	if len(cur.Tables) == 0 {
		b.Fail(16929)
	}
	b.Fail(16933)
	return ""
}
