// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"sort"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// schemaObject is a row of sqlite_schema.
type schemaObject struct {
	kind, name, sql string
	order           int
}

func (o schemaObject) key() string { return o.kind + " " + o.name }

func readSchema(conn *sqlite.Conn) (map[string]schemaObject, error) {
	out := map[string]schemaObject{}
	err := sqlitex.Execute(conn, "SELECT type, name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			o := schemaObject{kind: stmt.ColumnText(0), name: stmt.ColumnText(1), sql: stmt.ColumnText(2), order: len(out)}
			out[o.key()] = o
			return nil
		}})
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return out, nil
}

// undoSchema makes the statements that turn the schema after into the one before. final is set when there are none: a
// table was altered, or dropped (its rows, too).
func undoSchema(before, after map[string]schemaObject) (undo []string, final bool) {
	var dropped, made []schemaObject
	for k, o := range before {
		n, ok := after[k]
		if ok && n.sql != o.sql {
			return nil, true
		}
		if !ok {
			if o.kind == "table" {
				return nil, true
			}
			made = append(made, o)
		}
	}
	for k, o := range after {
		if _, ok := before[k]; !ok {
			dropped = append(dropped, o)
		}
	}
	sort.Slice(dropped, func(i, j int) bool { return dropped[i].order > dropped[j].order })
	sort.Slice(made, func(i, j int) bool { return made[i].order < made[j].order })
	for _, o := range dropped {
		undo = append(undo, "DROP "+o.kind+" IF EXISTS "+quote(o.name))
	}
	for _, o := range made {
		undo = append(undo, o.sql)
	}
	return undo, false
}
