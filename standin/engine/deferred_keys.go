// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/sqlerr"
)

// selfKeys are the foreign keys to their own table of the tables that a change of obj's rows changes: obj itself, and
// those that referential actions reach.
func (s *schema) selfKeys(obj *Object) []*Object {
	reached := []*Object{obj}
	var out []*Object
	for i := 0; i < len(reached); i++ {
		for _, o := range s.objects {
			k := o.ForeignKey
			switch {
			case k == nil || o.Disabled || k.Referenced != reached[i].ID:
			case o.Parent == k.Referenced:
				out = append(out, o)
			case k.OnDelete != "NO_ACTION" || k.OnUpdate != "NO_ACTION":
				if child := s.objects[o.Parent]; child != nil && !contains(reached, child) {
					reached = append(reached, child)
				}
			}
		}
	}
	return out
}

// contains tells whether an object is in a list.
func contains(list []*Object, o *Object) bool {
	for _, other := range list {
		if other.ID == o.ID {
			return true
		}
	}
	return false
}

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
func (s *Session) judged(d *dmlPlan, conn *sqlite.Conn, change func() error) (err error) {
	if len(d.selfKeys) == 0 {
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
	for _, fk := range d.selfKeys {
		if !st.deferred[fk.ID] {
			continue
		}
		table := d.object
		if table.ID != fk.Parent {
			table = &Object{ID: fk.Parent}
		}
		violated := false
		err = sqlitex.Execute(conn, orphans(fk.ForeignKey, table, table), &sqlitex.ExecOptions{
			ResultFunc: func(*sqlite.Stmt) error { violated = true; return nil }})
		if err != nil {
			return fmt.Errorf("judge the foreign key %s: %w", fk.Name, err)
		}
		if violated {
			return s.conflict(&d.target, fk.ID)
		}
	}
	return nil
}

// orphans finds a row of child that refers to no row of parent.
func orphans(k *ForeignKey, child, parent *Object) string {
	var given, match []string
	for i := range k.Columns {
		given = append(given, "c."+columnName(k.Columns[i])+" IS NOT NULL")
		match = append(match, "p."+columnName(k.RefColumns[i])+" = c."+columnName(k.Columns[i]))
	}
	return fmt.Sprintf("SELECT 1 FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s) LIMIT 1",
		child.storageName(), strings.Join(given, " AND "), parent.storageName(), strings.Join(match, " AND "))
}
