// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// deferKey computes tsql_defer(key): a row violates the foreign key of a table to itself, which counts only if it still
// does when the statement ends.
func (st *connState) deferKey(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.deferred == nil {
		st.deferred = map[int32]bool{}
	}
	st.deferred[int32(args[0].Int64())] = true
	return nil, nil
}

// judged makes a change and judges then the foreign keys that were deferred; a violated one undoes the change.
func (s *Session) judged(d *bind.Modification, conn *sqlite.Conn, change func() error) (err error) {
	if len(d.SelfKeys) == 0 {
		return change()
	}
	st := s.inst.conns.of(conn)
	outer := st.deferred
	st.deferred = nil
	defer func() { st.deferred = outer }()
	defer sqlitex.Save(conn)(&err)
	if err = change(); err != nil {
		return err
	}
	for _, fk := range d.SelfKeys {
		if !st.deferred[fk.ID] {
			continue
		}
		table := d.Object
		if table.ID != fk.Parent {
			table = &metadata.Object{ID: fk.Parent}
		}
		violated := false
		err = sqlitex.Execute(conn, orphans(fk.ForeignKey, table, table), &sqlitex.ExecOptions{
			ResultFunc: func(*sqlite.Stmt) error { violated = true; return nil }})
		if err != nil {
			return fmt.Errorf("judge the foreign key %s: %w", fk.Name, err)
		}
		if violated {
			return s.conflict(&d.Target, fk.ID)
		}
	}
	return nil
}

// orphans finds a row of child that refers to no row of parent.
func orphans(k *metadata.ForeignKey, child, parent *metadata.Object) string {
	var given, match []string
	for i := range k.Columns {
		given = append(given, "c."+metadata.ColumnName(k.Columns[i])+" IS NOT NULL")
		match = append(match, "p."+metadata.ColumnName(k.RefColumns[i])+" = c."+metadata.ColumnName(k.Columns[i]))
	}
	return fmt.Sprintf("SELECT 1 FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s) LIMIT 1",
		child.StorageName(), strings.Join(given, " AND "), parent.StorageName(), strings.Join(match, " AND "))
}
