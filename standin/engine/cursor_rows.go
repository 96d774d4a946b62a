// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

// readCursor reads all rows of a cursor's query, and which rows of its tables they are when that can be told.
func (s *Session) readCursor(ctx context.Context, c *cursor) error {
	p, err := s.compile(ctx, nil, func(b *bind.Binder) *bind.Plan {
		p, q := b.Cursor(c.definition.Select, c.readOnly)
		c.readOnly, c.tables = q.ReadOnly, q.Tables
		return p
	})
	if err != nil {
		return err
	}
	if err := s.allowRead(ctx, p); err != nil {
		return err
	}
	width := len(p.Columns) - len(c.tables)
	c.columns, c.rows, c.numbers = p.Columns[:width], nil, nil
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
