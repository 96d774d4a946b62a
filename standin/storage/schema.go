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
	// table is the table that the object belongs to.
	kind, name, table, sql string
	order                  int
}

func (o schemaObject) key() string { return o.kind + " " + o.name }

func readSchema(conn *sqlite.Conn) (map[string]schemaObject, error) {
	out := map[string]schemaObject{}
	err := sqlitex.Execute(
		conn,
		"SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' "+
			"ESCAPE '\\' AND substr(name, 1, 15) <> '"+undoTablePrefix+"' ORDER BY rowid",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			o := schemaObject{
				kind:  stmt.ColumnText(0),
				name:  stmt.ColumnText(1),
				table: stmt.ColumnText(2),
				sql:   stmt.ColumnText(3),
				order: len(out),
			}
			out[o.key()] = o
			return nil
		}},
	)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return out, nil
}

// lostTables are the tables that were altered or dropped between two schemas, in the order of the first.
func lostTables(before, after map[string]schemaObject) []string {
	var lost []schemaObject
	for k, o := range before {
		if n, ok := after[k]; o.kind == "table" && (!ok || n.sql != o.sql) {
			lost = append(lost, o)
		}
	}
	sort.Slice(lost, func(i, j int) bool { return lost[i].order < lost[j].order })
	var names []string
	for _, o := range lost {
		names = append(names, o.name)
	}
	return names
}

// undoSchema makes the statements that turn the schema after into the one before. Rows of lost tables come back by the
// statements of refill, by table.
func undoSchema(before, after map[string]schemaObject, refill map[string]string) []string {
	lost := map[string]bool{}
	for _, name := range lostTables(before, after) {
		lost[name] = true
	}
	var dropped, made []schemaObject
	for k, o := range before {
		if n, ok := after[k]; !ok || n.sql != o.sql || lost[o.table] {
			made = append(made, o)
		}
	}
	for k, o := range after {
		if old, ok := before[k]; !ok || old.sql != o.sql {
			dropped = append(dropped, o)
		}
	}
	sort.Slice(dropped, func(i, j int) bool { return dropped[i].order > dropped[j].order })
	sort.Slice(made, func(i, j int) bool { return made[i].order < made[j].order })
	var undo []string
	for _, o := range dropped {
		undo = append(undo, "DROP "+o.kind+" IF EXISTS "+quote(o.name))
	}
	for _, o := range made {
		undo = append(undo, o.sql)
		if sql := refill[o.name]; o.kind == "table" && sql != "" {
			undo = append(undo, sql)
		}
	}
	return undo
}
