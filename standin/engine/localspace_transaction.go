// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// localRestore is run when the part of the transaction after a mark is undone.
type localRestore struct {
	mark int
	run  func()
}

// whenUndone has f run when what the transaction does now is undone.
func (l *localSpace) whenUndone(f func()) {
	if l.inTx {
		l.restores = append(l.restores, localRestore{len(l.marks) - 1, f})
	}
}

func (l *localSpace) begin() {
	if l.conn != nil && !l.inTx && l.run("BEGIN") == nil {
		l.inTx, l.marks, l.restores, l.ended = true, []*metadata.Catalog{l.frozen()}, nil, map[int32]*metadata.Object{}
	}
}

// save is a savepoint of the session's transaction.
func (l *localSpace) save() {
	if l.inTx && l.run("SAVEPOINT "+l.savepoint(len(l.marks))) == nil {
		l.marks = append(l.marks, l.frozen())
	}
}

// frozen is a copy of the metadata that ALTER TABLE, which changes objects where they are, leaves alone.
func (l *localSpace) frozen() *metadata.Catalog {
	copied := metadata.Empty()
	for _, o := range l.schema.Objects {
		doc, err := json.Marshal(o)
		again := &metadata.Object{}
		if err == nil && json.Unmarshal(doc, again) == nil {
			o = again
		}
		copied.Add(o)
	}
	return copied
}

func (l *localSpace) savepoint(mark int) string { return fmt.Sprintf("mark%d", mark) }

func (l *localSpace) commit() {
	if l.inTx {
		_ = l.run("COMMIT") // in memory; it fails only when SQLite has rolled back by itself
		l.inTx, l.marks, l.ended = false, nil, nil
	}
}

// rollback undoes the transaction in all but the table variables.
func (l *localSpace) rollback() {
	if l.inTx {
		l.undo("ROLLBACK", 0)
		l.inTx, l.marks, l.ended = false, nil, nil
	}
}

// rollbackTo undoes what came after one of the savepoints, counted from 0.
func (l *localSpace) rollbackTo(save int) {
	if mark := save + 1; l.inTx && mark < len(l.marks) {
		l.undo("ROLLBACK TO "+l.savepoint(mark), mark)
		l.marks = l.marks[:mark+1]
	}
}

// release forgets one of the savepoints, counted from 0, and what came after it.
func (l *localSpace) release(save int) {
	if mark := save + 1; l.inTx && mark < len(l.marks) && l.run("RELEASE "+l.savepoint(mark)) == nil {
		l.marks = l.marks[:mark]
		for i := range l.restores {
			l.restores[i].mark = min(l.restores[i].mark, mark-1)
		}
	}
}

// undo goes back to what temporary tables and procedures were. Table variables are not part of transactions
// (docs/t-sql/data-types/table-transact-sql.md): they have to be carried over by hand, because they lie in the same
// SQLite database.
func (l *localSpace) undo(sql string, mark int) {
	before := l.marks[mark]
	for len(l.restores) > 0 && l.restores[len(l.restores)-1].mark >= mark {
		l.restores[len(l.restores)-1].run()
		l.restores = l.restores[:len(l.restores)-1]
	}
	l.conn.SetInterrupt(nil)
	l.done = nil
	now := l.schema
	var kept []*keptTable
	for _, o := range now.Objects {
		if o.Kind == metadata.KindTable && o.IsVariable() {
			if k, err := l.keep(o); err == nil {
				kept = append(kept, k)
			}
		}
	}
	_ = l.run(sql)
	for _, o := range l.ended {
		_ = l.run("DROP TABLE IF EXISTS " + o.StorageName())
	}
	l.version++
	next := metadata.Empty()
	next.Version = l.version
	for _, o := range before.Objects {
		if owner := before.Owner(o); !owner.IsVariable() && l.ended[owner.ID] == nil {
			next.Add(o)
		}
	}
	for _, o := range now.Objects {
		if now.Owner(o).IsVariable() {
			next.Add(o)
		}
	}
	l.schema = next
	for _, k := range kept {
		if err := k.restore(l.conn); err != nil {
			l.forget(k.object)
		}
	}
}

// keptTable is a table variable with its rows while the database that it lies in is rolled back.
type keptTable struct {
	object      *metadata.Object
	definitions []string
	columns     []string
	rows        [][]any
}

func (l *localSpace) keep(o *metadata.Object) (*keptTable, error) {
	k := &keptTable{object: o}
	err := sqlitex.Execute(
		l.conn,
		"SELECT sql FROM main.sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type = 'index'",
		&sqlitex.ExecOptions{Args: []any{o.StorageName()}, ResultFunc: func(stmt *sqlite.Stmt) error {
			k.definitions = append(k.definitions, stmt.ColumnText(0))
			return nil
		}},
	)
	if err != nil {
		return nil, err
	}
	// Generated columns are not in it, and cannot be inserted.
	err = sqlitex.Execute(
		l.conn,
		"SELECT name FROM pragma_table_info(?)",
		&sqlitex.ExecOptions{Args: []any{o.StorageName()},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				k.columns = append(k.columns, stmt.ColumnText(0))
				return nil
			}},
	)
	if err != nil {
		return nil, err
	}
	return k, sqlitex.ExecuteTransient(l.conn, "SELECT "+strings.Join(k.columns, ", ")+" FROM main."+o.StorageName(),
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			row := make([]any, len(k.columns))
			for i := range row {
				row[i] = storage.ColumnValue(stmt, i)
			}
			k.rows = append(k.rows, row)
			return nil
		}})
}

func (k *keptTable) restore(conn *sqlite.Conn) error {
	if err := sqlitex.ExecuteTransient(conn, "DROP TABLE IF EXISTS main."+k.object.StorageName(), nil); err != nil {
		return err
	}
	for _, sql := range k.definitions {
		if err := sqlitex.ExecuteTransient(conn, sql, nil); err != nil {
			return err
		}
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(k.columns)), ", ")
	insert := "INSERT INTO main." + k.object.StorageName() + " (" + strings.Join(
		k.columns,
		", ",
	) + ") VALUES (" + marks + ")"
	for _, row := range k.rows {
		if err := sqlitex.Execute(conn, insert, &sqlitex.ExecOptions{Args: row}); err != nil {
			return err
		}
	}
	return nil
}
