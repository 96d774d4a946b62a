// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/operator/standin/tds"
)

// oldRows is an UPDATE whose OUTPUT names deleted columns. SQLite's RETURNING knows only the new row, so that the old
// ones are read first, and each row is then updated by itself with its old values as parameters.
type oldRows struct {
	// find gives, for each row, its number, the new values and the old ones.
	find string
	// update takes the new values, the old ones and the number as parameters ?1, ?2 ...
	update string
	width  int
}

func (b *binder) updateWithOld(spec *ast.UpdateSpecification, c *change, columns []*Column, values []string) *plan {
	found := append([]string(nil), values...)
	for _, col := range c.src.columns {
		found = append(found, col.sql)
	}
	find := c.rowQuery(found)
	sets := make([]string, len(columns))
	for i, col := range columns {
		sets[i] = fmt.Sprintf("%s = ?%d", columnName(col.ID), i+1)
	}
	old := &source{alias: "deleted", object: c.obj}
	inserted := &source{alias: "inserted", object: c.obj}
	for i, col := range c.src.columns {
		old.addColumn(col.name, fmt.Sprintf("?%d", len(values)+i+1), col.typ, col.nullable, col.collation, col.column)
		if col.column != nil && col.column.Computed == "" {
			inserted.addColumn(col.name, columnName(col.column.ID), col.typ, col.nullable, col.collation, col.column)
		}
	}
	sc := &scope{}
	sc.add(inserted)
	sc.add(old)
	var elements []ast.SelectElement
	if spec.OutputClause != nil {
		elements = spec.OutputClause.SelectColumns
	}
	if into := spec.OutputIntoClause; into != nil {
		elements = into.SelectColumns
		name := b.outputTarget(into.IntoTable)
		c.d.into = &name
		for _, col := range into.IntoTableColumns {
			parts := identifiers(col.MultiPartIdentifier)
			c.d.intoColumns = append(c.d.intoColumns, parts[len(parts)-1])
		}
	}
	before := len(b.params)
	list := b.selectList(sc, &ast.QuerySpecification{SelectElements: elements}, queryOptions{})
	if len(b.params) > before {
		b.refuse("Variables in the OUTPUT clause of an UPDATE that names deleted columns")
	}
	parts := make([]string, len(list.outputs))
	cols := make([]tds.Column, len(list.outputs))
	for i, o := range list.outputs {
		parts[i], cols[i] = o.expr.sql, resultColumn(o)
	}
	c.d.output = true
	c.d.old = &oldRows{find: find, width: len(found), update: fmt.Sprintf("UPDATE main.%s SET %s WHERE rowid = ?%d RETURNING %s",
		c.obj.storageName(), strings.Join(sets, ", "), len(found)+1, strings.Join(parts, ", "))}
	p := b.plan(find)
	p.dml, p.columns = c.d, cols
	return p
}

// updateOld executes such an UPDATE; row gets each row of the OUTPUT clause, as stored.
func (s *Session) updateOld(p *plan, conn *sqlite.Conn, row func(stmt *sqlite.Stmt) error) (int64, error) {
	find, st, err := s.prepare(p, conn)
	if err != nil {
		return 0, err
	}
	var all [][]any
	for {
		more, err := find.Step()
		if err != nil {
			st.statements.put(p.sql, find)
			return 0, s.stepError(s.context(), st, err)
		}
		if !more {
			break
		}
		values := make([]any, p.dml.old.width+1)
		for i := range values {
			values[i] = columnRaw(find, i)
		}
		all = append(all, values)
	}
	st.statements.put(p.sql, find)
	update, err := st.statements.take(conn, p.dml.old.update)
	if err != nil {
		return 0, err
	}
	defer st.statements.put(p.dml.old.update, update)
	for _, values := range all {
		for i, v := range values[1:] {
			if i < update.BindParamCount()-1 {
				bindRaw(update, i+1, v)
			}
		}
		bindRaw(update, p.dml.old.width+1, values[0])
		for {
			more, err := update.Step()
			if err != nil {
				return 0, s.stepError(s.context(), st, err)
			}
			if !more {
				break
			}
			if err := row(update); err != nil {
				return 0, err
			}
		}
		if err := update.Reset(); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}
