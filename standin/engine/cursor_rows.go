// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// readCursor reads all rows of a cursor's query, and which rows of its tables they are when that can be told.
func (s *Session) readCursor(ctx context.Context, c *cursor) error {
	p, err := s.compile(ctx, nil, func(b *binder) *plan { return b.cursorPlan(c) })
	if err != nil {
		return err
	}
	if err := s.allowRead(ctx, p); err != nil {
		return err
	}
	width := len(p.columns) - len(c.tables)
	c.columns, c.rows, c.numbers = p.columns[:width], nil, nil
	return s.queryPlan(ctx, p, func(values []any) error {
		c.rows = append(c.rows, append([]any(nil), values[:width]...))
		numbers := make([]int64, len(c.tables))
		for i := range numbers {
			numbers[i] = integer(values[width+i])
		}
		c.numbers = append(c.numbers, numbers)
		return nil
	})
}

// cursorPlan binds a cursor's query. Behind its columns are the row numbers of its base tables, unless it groups rows.
func (b *binder) cursorPlan(c *cursor) *plan {
	n := c.definition.Select
	b.with(n.WithCtesAndXmlNamespaces)
	c.tables = nil
	o := queryOptions{}
	query := n.QueryExpression
	if q, ok := query.(*ast.QuerySpecification); ok && q.ForClause != nil {
		plain := *q
		switch q.ForClause.(type) {
		case *ast.ReadOnlyForClause:
			c.readOnly, plain.ForClause = true, nil
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
	if q, ok := query.(*ast.QuerySpecification); ok && !c.readOnly && !expandsGroups(q.GroupByClause) &&
		q.ForClause == nil {
		o.hidden = func(sc *scope, _ []output) []output {
			var hidden []output
			for _, src := range sc.sources {
				if src.object == nil || src.object.Kind != metadata.KindTable {
					continue
				}
				c.tables = append(c.tables, src)
				hidden = append(hidden, output{expr: expr{sql: src.sqlite + ".rowid", typ: sqltype.BigIntType}})
			}
			return hidden
		}
	}
	q := b.query(&scope{}, query, o)
	p := b.plan(q.sql)
	for _, out := range q.outputs {
		p.columns = append(p.columns, resultColumn(out))
	}
	for range c.tables {
		p.columns = append(p.columns, tds.Column{Type: sqltype.BigIntType, Nullable: true})
	}
	return p
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
func (b *binder) currentRow(c *change, name string, wanted []string) string {
	b.volatile = true
	cur, err := b.s.currentCursor(name)
	if err != nil {
		b.failWith(AsError(err))
	}
	switch {
	case !cur.open:
		b.fail(16917)
	case cur.readOnly:
		b.fail(16929)
	case cur.at < 0 || cur.at >= len(cur.rows):
		b.fail(16931)
	}
	for _, column := range wanted {
		if len(cur.updates) > 0 && !slices.Contains(cur.updates, lower(column)) {
			b.fail(16932)
		}
	}
	for i, src := range cur.tables {
		if src.object.ID == c.obj.ID && src.space == c.space {
			number := cur.numbers[cur.at][i]
			return " WHERE " + c.rowid + " = " + b.computed(
				"current of "+lower(name),
				sqltype.BigIntType,
				func(*Session) any { return number },
			).sql
		}
	}
	if len(cur.tables) == 0 {
		b.fail(16929)
	}
	b.fail(16933)
	return ""
}

func (s *Session) currentCursor(name string) (*cursor, error) {
	if strings.HasPrefix(name, "@") {
		v := s.variable(name)
		if v == nil {
			return nil, sqlerr.New(137, 1, name)
		}
		return v.allocated()
	}
	if rest, global := strings.CutPrefix(name, "GLOBAL "); global {
		return s.cursorNamed(rest, true)
	}
	return s.cursorNamed(name, false)
}
