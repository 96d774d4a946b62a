// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
)

// recordedTables have each kind of key: the rowid, one and two columns beside it, and no rowid.
var recordedTables = []string{
	"CREATE TABLE numbered (id INTEGER PRIMARY KEY, a, b UNIQUE, twice AS (a + a) STORED)",
	"CREATE TABLE named (name TEXT PRIMARY KEY, a, b UNIQUE)",
	"CREATE TABLE \"two \"\"keys\" (a NOT NULL, k1, k2, b UNIQUE, PRIMARY KEY (k2, k1))",
	"CREATE TABLE alone (k1 INTEGER, b UNIQUE, k2 BLOB, a, PRIMARY KEY (k1, k2)) WITHOUT ROWID",
}

// statement draws a statement whose keys and values collide often.
func statement(t *rapid.T) string {
	value := func() string {
		return rapid.SampledFrom([]string{"NULL", "0", "1", "-7", "9223372036854775807", "1.5", "2.0", "''", "'x'", "'äöü 😀'",
			"x''", "x'00ff'", "zeroblob(3)",
			"replace(hex(zeroblob(700)), '0', 'long ')"}).
			Draw(t, "value")
	}
	key := func() string { return fmt.Sprint(rapid.IntRange(1, 6).Draw(t, "key")) }
	table := rapid.IntRange(0, 3).Draw(t, "table")
	name := []string{"numbered", "named", `"two ""keys"`, "alone"}[table]
	keys := [][]string{{"id"}, {"name"}, {"k1", "k2"}, {"k1", "k2"}}[table]
	columns, given, where := "", "", ""
	for i, k := range keys {
		one := key()
		if table == 1 && rapid.IntRange(0, 9).Draw(t, "no key") == 0 {
			one = "NULL"
		}
		columns, given = columns+k+", ", given+one+", "
		if i == 0 {
			where = " WHERE " + k + " BETWEEN " + key() + " AND " + key()
		}
	}
	or := rapid.SampledFrom([]string{"", "OR REPLACE ", "OR IGNORE ", "OR FAIL "}).Draw(t, "or")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return "INSERT " + or + "INTO " + name + " (" + columns + "a, b) VALUES (" + given + value() + ", " + value() + ")"
	case 1:
		// The second row may fail, which takes back the first.
		return "INSERT " + or + "INTO " + name + " (" + columns + "a, b) VALUES (" + given + value() + ", NULL), (" + given +
			value() + ", " + value() + ")"
	case 2:
		return "UPDATE " + or + name + " SET a = " + value() + ", b = " + value() + where
	case 3:
		return "UPDATE " + or + name + " SET " + keys[0] + " = " + key() + where
	case 4:
		return "UPDATE " + or + name + " SET " + keys[0] + " = " + keys[0] + " + 1" + where
	}
	return "DELETE FROM " + name + where
}

// described are changes as text, in an order of their own.
func described(changes []storage.TableChange) []string {
	var out []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %d", c.Table, c.Op)
		for i := range max(len(c.Old), len(c.New)) {
			if c.Old != nil && c.Old[i] != (storage.Undefined{}) {
				line += fmt.Sprintf(" -%d:%#v", i, c.Old[i])
			}
			if c.New != nil && c.New[i] != (storage.Undefined{}) {
				line += fmt.Sprintf(" +%d:%#v", i, c.New[i])
			}
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// foundBy are the changes of a session, as SQLite's own iterator reads them.
func foundBy(session *sqlite.Session) ([]storage.TableChange, error) {
	var changeset bytes.Buffer
	if err := session.WriteChangeset(&changeset); err != nil {
		return nil, err
	}
	iter, err := sqlite.NewChangesetIterator(&changeset)
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	var out []storage.TableChange
	for {
		more, err := iter.Next()
		if err != nil || !more {
			return out, err
		}
		op, err := iter.Operation()
		if err != nil {
			return nil, err
		}
		c := storage.TableChange{Table: op.TableName, Op: storage.Op(op.Type)}
		values := func(read func(int) (sqlite.Value, error)) ([]any, error) {
			row := make([]any, op.NumColumns)
			for i := range row {
				v, err := read(i)
				if err != nil {
					return nil, err
				}
				row[i] = plain(v)
			}
			return row, nil
		}
		if op.Type != sqlite.OpInsert {
			if c.Old, err = values(iter.Old); err != nil {
				return nil, err
			}
		}
		if op.Type != sqlite.OpDelete {
			if c.New, err = values(iter.New); err != nil {
				return nil, err
			}
		}
		out = append(out, c)
	}
}

func plain(v sqlite.Value) any {
	switch {
	// The iterator does not say otherwise that there is no value.
	case reflect.ValueOf(v).FieldByName("ptrOrType").Uint() == 0:
		return storage.Undefined{}
	case v.Type() == sqlite.TypeInteger:
		return v.Int64()
	case v.Type() == sqlite.TypeFloat:
		return v.Float()
	case v.Type() == sqlite.TypeText:
		return v.Text()
	case v.Type() == sqlite.TypeBlob:
		return append([]byte{}, v.Blob()...)
	}
	return nil
}

// TestRecordsWhatSessionsDo compares the changes that the log has of random transactions with those that SQLite's
// session extension finds in a second file, for which the same is done.
func TestRecordsWhatSessionsDo(t *testing.T) {
	folder, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		n++
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		db, err := storage.Create(ctx, filesIn(folder, fmt.Sprint("db", n)), storage.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		defer db.Drop()
		conn, err := sqlite.OpenConn(filepath.Join(folder, fmt.Sprint("other", n)))
		g.Expect(err).NotTo(HaveOccurred())
		defer conn.Close()
		_, err = write(db, recordedTables...)
		g.Expect(err).NotTo(HaveOccurred())
		for _, definition := range recordedTables {
			g.Expect(sqlitex.ExecuteTransient(conn, definition, nil)).To(Succeed())
		}
		for range rapid.IntRange(1, 3).Draw(t, "transactions") {
			from, _ := db.Applied()
			tx, err := db.Begin(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			defer tx.Rollback()
			session, err := conn.CreateSession("main")
			g.Expect(err).NotTo(HaveOccurred())
			ended := sync.OnceFunc(session.Delete)
			defer ended()
			g.Expect(session.Attach("")).To(Succeed())
			both := func(sql string) {
				leave, err := tx.Use(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				defer leave()
				one, other := sqlitex.ExecuteTransient(tx.Conn(), sql, nil), sqlitex.ExecuteTransient(conn, sql, nil)
				g.Expect(sqlite.ErrCode(one)).To(Equal(sqlite.ErrCode(other)), sql)
			}
			g.Expect(sqlitex.ExecuteTransient(conn, "BEGIN", nil)).To(Succeed())
			saved := 0
			for range rapid.IntRange(1, 15).Draw(t, "statements") {
				switch rapid.IntRange(0, 9).Draw(t, "savepoint") {
				case 0:
					both(fmt.Sprintf("SAVEPOINT s%d", saved))
					saved++
				case 1:
					if saved > 0 {
						both(fmt.Sprintf("ROLLBACK TO s%d", rapid.IntRange(0, saved-1).Draw(t, "to")))
					}
				default:
					both(statement(t))
				}
			}
			expected, err := foundBy(session)
			g.Expect(err).NotTo(HaveOccurred())
			ended()
			g.Expect(sqlitex.ExecuteTransient(conn, "COMMIT", nil)).To(Succeed())
			_, err = tx.Commit(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			var changes []storage.TableChange
			for one, err := range db.Log().ReadCommitted(ctx, from, db.AppliedEnd()) {
				g.Expect(err).NotTo(HaveOccurred())
				changes = append(changes, one.Changes...)
			}
			g.Expect(described(changes)).To(Equal(described(expected)))
		}
	})
}

// TestRecordsTheLastAndTheFirstNumber inserts rows with the greatest number and the least one, which do not follow one
// another.
func TestRecordsTheLastAndTheFirstNumber(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	_, err := write(db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	g.Expect(err).NotTo(HaveOccurred())
	from, _ := db.Applied()
	_, err = write(
		db,
		"INSERT INTO t VALUES (9223372036854775806), (9223372036854775807)",
		"INSERT INTO t VALUES (-9223372036854775808), (-9223372036854775807)",
	)
	g.Expect(err).NotTo(HaveOccurred())
	var changes []storage.TableChange
	for one, err := range db.Log().ReadCommitted(t.Context(), from, db.AppliedEnd()) {
		g.Expect(err).NotTo(HaveOccurred())
		changes = append(changes, one.Changes...)
	}
	g.Expect(described(changes)).To(Equal([]string{
		"t 18 +0:-9223372036854775807", "t 18 +0:-9223372036854775808", "t 18 +0:9223372036854775806",
		"t 18 +0:9223372036854775807",
	}))
}

// TestRecordsWithTheSchemaAsItIs changes a table's columns, takes that back, and changes them in another way: SQLite
// counts both as the same version of the schema.
func TestRecordsWithTheSchemaAsItIs(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	_, err := write(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, a)", "INSERT INTO t VALUES (1, 'one')")
	g.Expect(err).NotTo(HaveOccurred())
	from, _ := db.Applied()
	tx, err := db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run(tx, "ALTER TABLE t ADD COLUMN b")).To(Succeed())
	g.Expect(run(tx, "INSERT INTO t VALUES (2, 'two', 'b')")).To(Succeed())
	tx.Rollback()

	tx, err = db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	g.Expect(run(tx, "INSERT INTO t VALUES (3, 'three')")).To(Succeed())
	g.Expect(tx.Savepoint("s")).To(Succeed())
	g.Expect(run(tx, "ALTER TABLE t ADD COLUMN c")).To(Succeed())
	g.Expect(run(tx, "INSERT INTO t VALUES (4, 'four', 'c')")).To(Succeed())
	g.Expect(tx.RollbackTo("s")).To(Succeed())
	g.Expect(run(tx, "UPDATE t SET a = 'ONE' WHERE id = 1")).To(Succeed())
	g.Expect(run(tx, "ALTER TABLE t RENAME COLUMN a TO d")).To(Succeed())
	g.Expect(run(tx, "INSERT INTO t (id, d) VALUES (5, 'five')")).To(Succeed())
	_, err = tx.Commit(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	var changes []storage.TableChange
	for one, err := range db.Log().ReadCommitted(t.Context(), from, db.AppliedEnd()) {
		g.Expect(err).NotTo(HaveOccurred())
		changes = append(changes, one.Changes...)
	}
	g.Expect(described(changes)).To(Equal([]string{
		`t 18 +0:3 +1:"three"`,
		`t 18 +0:5 +1:"five"`,
		`t 23 -0:1 -1:"one" +1:"ONE"`,
	}))
}
