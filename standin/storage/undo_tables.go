// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A statement that alters or drops a table loses what the table was. Where another copy of the database may make this
// one take the statement back (it is a secondary, or a primary that has some), the table's rows are copied aside first,
// in the same file, for as long as the log reaches back to the statement. The copies are each server's own: they are
// not in the log, and have no key, so that they are not captured.
const (
	undoTablePrefix = "__storage_undo_"
	undoKeyPrefix   = "undo "
)

// keptTable is a table whose rows are copied aside before a change of the schema.
type keptTable struct {
	table, copy string
}

// newKept names the copies of tables.
func newKept(tables []string) []keptTable {
	id := strings.ReplaceAll(uuid.NewString(), "-", "")
	var out []keptTable
	for i, t := range tables {
		out = append(out, keptTable{t, fmt.Sprintf("%s%s_%d", undoTablePrefix, id, i)})
	}
	return out
}

// keepsUndo tells whether this copy may have to take back changes of the schema.
func (db *Database) keepsUndo() bool {
	if db.Mode() == Redo {
		return true
	}
	for owner := range db.Holds() {
		if strings.HasPrefix(owner, HoldReplica) {
			return true
		}
	}
	return false
}

// keepTables copies tables aside, in the transaction in progress.
func keepTables(conn *sqlite.Conn, kept []keptTable) error {
	for _, k := range kept {
		columns, err := columnList(conn, k.table)
		if err == nil {
			// A crash while it was taken back may have left it.
			err = executeScript(
				conn,
				"DROP TABLE IF EXISTS main."+quote(
					k.copy,
				)+"; CREATE TABLE main."+quote(
					k.copy,
				)+" AS SELECT "+columns+" FROM main."+quote(
					k.table,
				),
			)
		}
		if err == nil {
			err = sqlitex.Execute(
				conn,
				"INSERT INTO main.__storage VALUES (?, NULL)",
				&sqlitex.ExecOptions{Args: []any{undoKeyPrefix + k.copy}},
			)
		}
		if err != nil {
			return fmt.Errorf("keep table %s for undo: %w", k.table, err)
		}
	}
	return nil
}

// datedKept notes the position of the changes whose copies have none yet.
func datedKept(conn *sqlite.Conn, lsn LSN) error {
	err := sqlitex.Execute(conn, "UPDATE main.__storage SET value = ? WHERE substr(key, 1, 5) = ? AND value IS NULL",
		&sqlitex.ExecOptions{Args: []any{lsn[:], undoKeyPrefix}})
	if err != nil {
		return fmt.Errorf("note the position of what is kept for undo: %w", err)
	}
	return nil
}

// refillSQL puts a kept table's rows back once the table is there again.
func refillSQL(conn *sqlite.Conn, k keptTable) (string, error) {
	columns, err := columnList(conn, k.table)
	if err != nil {
		return "", err
	}
	return "INSERT INTO main." + quote(
		k.table,
	) + " (" + columns + ") SELECT " + columns + " FROM main." + quote(
		k.copy,
	), nil
}

func columnList(conn *sqlite.Conn, table string) (string, error) {
	columns, err := tableColumns(conn, table)
	if err != nil {
		return "", err
	}
	for i := range columns {
		columns[i] = quote(columns[i])
	}
	return strings.Join(columns, ", "), nil
}

// haveKept tells whether all copies of a change of the schema are there.
func haveKept(conn *sqlite.Conn, kept []keptTable) (bool, error) {
	for _, k := range kept {
		n, err := readInt(conn, "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = "+literal(k.copy))
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// dropKept removes the copies that belong to changes before position oldest, which can no longer be taken back. The
// caller has the turn.
func (db *Database) dropKept(oldest LSN) (err error) {
	var names []string
	err = sqlitex.Execute(
		db.writer,
		"SELECT key, value FROM main.__storage WHERE substr(key, 1, 5) = ? AND value IS NOT NULL",
		&sqlitex.ExecOptions{
			Args: []any{undoKeyPrefix},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				var at LSN
				stmt.ColumnBytes(1, at[:])
				if at.Less(oldest) {
					names = append(names, strings.TrimPrefix(stmt.ColumnText(0), undoKeyPrefix))
				}
				return nil
			}},
	)
	if err != nil || len(names) == 0 {
		return err
	}
	end, err := sqlitex.ImmediateTransaction(db.writer)
	if err != nil {
		return fmt.Errorf("drop what was kept for undo: %w", err)
	}
	defer end(&err)
	for _, n := range names {
		if err := executeScript(db.writer, "DROP TABLE IF EXISTS main."+quote(n)); err != nil {
			return fmt.Errorf("drop what was kept for undo: %w", err)
		}
		if err := sqlitex.Execute(db.writer, "DELETE FROM main.__storage WHERE key = ?",
			&sqlitex.ExecOptions{Args: []any{undoKeyPrefix + n}}); err != nil {
			return fmt.Errorf("drop what was kept for undo: %w", err)
		}
	}
	return nil
}
