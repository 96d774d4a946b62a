// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// insertTarget collects the rows of INSERT ... EXEC.
type insertTarget struct {
	tds.Writer
	columns []tds.Column
	rows    [][]any
	types   [][]tds.Column
}

func (t *insertTarget) Columns(cols []tds.Column) error { t.columns = cols; return nil }

func (t *insertTarget) Row(values []any) error {
	t.rows = append(t.rows, append([]any(nil), values...))
	t.types = append(t.types, t.columns)
	return nil
}

func (t *insertTarget) Done(tds.Completion) error { return nil }

func (s *Session) insertExecute(
	ctx context.Context,
	n *ast.InsertStatement,
	src *ast.ExecuteInsertSource,
	w tds.Writer,
) error {
	if s.insertExec != nil {
		return sqlerr.New(8164, 1)
	}
	target := &insertTarget{Writer: w}
	s.insertExec = target
	err := s.executeSpecification(ctx, src.Execute, target)
	s.insertExec = nil
	if err != nil {
		return err
	}
	b := newBinder(ctx, s, s.db.ID())
	var space int32
	var obj *metadata.Object
	var columns []*metadata.Column
	if e := bind.Safely(func() {
		var sch *metadata.Catalog
		space, sch, obj, _ = b.Writable(n.InsertSpecification.Target, "INSERT")
		if len(b.TriggersOf(sch, obj, "INSERT")) > 0 {
			b.Refuse("INSERT ... EXECUTE into a table with triggers")
		}
		columns = b.InsertColumns(n.InsertSpecification.Columns, obj, b.Modification("INSERT", space, sch, obj))
	}); e != nil {
		return e
	}
	count := int64(0)
	for i := 0; i < len(target.rows); {
		j := i
		for j < len(target.rows) && sameColumns(target.types[i], target.types[j]) {
			j++
		}
		if len(target.types[i]) != len(columns) {
			return sqlerr.New(213, 7)
		}
		n, err := s.insertValues(ctx, space, obj, columns, target.types[i], target.rows[i:j], false)
		if err != nil {
			return err
		}
		count += n
		i = j
	}
	s.rowCount = count
	return w.Done(s.completion(count))
}

func sameColumns(a, b []tds.Column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Type != b[i].Type {
			return false
		}
	}
	return true
}
