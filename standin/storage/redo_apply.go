// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// applyChangeset repeats a changeset. Foreign keys must be off on the connection: rows come in the changeset's order,
// not in the transaction's.
func applyChangeset(conn *sqlite.Conn, changeset []byte) error {
	conflict := ""
	retry := false
	err := conn.ApplyChangeset(bytes.NewReader(changeset), nil,
		func(t sqlite.ConflictType, _ *sqlite.ChangesetIterator) sqlite.ConflictAction {
			conflict = t.String()
			// Rows that exchange the values of a unique column collide on the way, never at the end.
			retry = t == sqlite.ChangesetConstraint || t == sqlite.ChangesetConflict
			return sqlite.ChangesetAbort
		})
	switch {
	case conflict == "" && err != nil:
		return fmt.Errorf("apply changes: %w", err)
	case conflict == "":
		return nil
	case !retry:
		return fmt.Errorf("apply changes: the row does not match the log (%s)", conflict)
	}
	return applyByParts(conn, changeset)
}

// applyByParts removes every row that the changeset deletes or updates before it puts any row in, so that unique
// columns never collide on the way.
func applyByParts(conn *sqlite.Conn, changeset []byte) (err error) {
	defer sqlitex.Save(conn)(&err)
	type put struct {
		table string
		row   []any
	}
	var puts []put
	columnsOf := map[string][]string{}
	err = readChangeset(changeset, func(c *rowChange) error {
		columns := columnsOf[c.table]
		if columns == nil {
			var err error
			if columns, err = tableColumns(conn, c.table); err != nil {
				return err
			}
			columnsOf[c.table] = columns
		}
		if c.op == OpInsert {
			puts = append(puts, put{c.table, c.new})
			return nil
		}
		row, err := readRow(conn, c.table, columns, c.key, c.old)
		if err != nil {
			return err
		}
		if err := deleteRow(conn, c.table, columns, c.key, c.old); err != nil {
			return err
		}
		if c.op == OpUpdate {
			for i, v := range c.new {
				if _, same := v.(Undefined); !same {
					row[i] = v
				}
			}
			puts = append(puts, put{c.table, row})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("apply changes by parts: %w", err)
	}
	for _, p := range puts {
		if err := insertRow(conn, p.table, p.row); err != nil {
			return fmt.Errorf("apply changes by parts: %w", err)
		}
	}
	return nil
}

func deleteRow(conn *sqlite.Conn, table string, columns []string, key []bool, old []any) error {
	where, args := keyCondition(columns, key, old)
	stmt, err := conn.Prepare("DELETE FROM " + quote(table) + " WHERE " + where)
	if err != nil {
		return fmt.Errorf("delete from %s: %w", table, err)
	}
	defer stmt.Reset()
	for i, v := range args {
		BindValue(stmt, i+1, v)
	}
	if _, err = stmt.Step(); err != nil {
		return fmt.Errorf("delete from %s: %w", table, err)
	}
	return nil
}

func insertRow(conn *sqlite.Conn, table string, row []any) error {
	sql := []byte("INSERT INTO " + quote(table) + " VALUES (?")
	for range len(row) - 1 {
		sql = append(sql, ",?"...)
	}
	stmt, err := conn.Prepare(string(append(sql, ')')))
	if err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	defer stmt.Reset()
	for i, v := range row {
		BindValue(stmt, i+1, v)
	}
	if _, err = stmt.Step(); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

// invert turns a changeset around.
func invert(changeset []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := sqlite.InvertChangeset(&out, bytes.NewReader(changeset)); err != nil {
		return nil, fmt.Errorf("invert changes: %w", err)
	}
	return out.Bytes(), nil
}
