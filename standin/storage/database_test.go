// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
)

// A busy machine is slow; what is waited for comes nevertheless.
func init() { SetDefaultEventuallyTimeout(time.Minute) }

func filesIn(dir, name string) storage.Files {
	return storage.Files{Data: filepath.Join(dir, name+".mdf"), Log: filepath.Join(dir, name+"_log.ldf")}
}

func create(t *testing.T, opts storage.Options) *storage.Database {
	t.Helper()
	db, err := storage.Create(t.Context(), filesIn(t.TempDir(), "db"), opts)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { db.Close() })
	return db
}

// write runs statements in one transaction; those that begin with CREATE, ALTER or DROP as DDL.
func write(db *storage.Database, statements ...string) (storage.LSN, error) {
	ctx := context.Background()
	tx, err := db.Begin(ctx)
	if err != nil {
		return storage.LSN{}, err
	}
	defer tx.Rollback()
	for _, s := range statements {
		if err := run(tx, s); err != nil {
			return storage.LSN{}, err
		}
	}
	return tx.Commit(ctx)
}

func run(tx *storage.Tx, s string) error {
	switch s[:4] {
	case "CREA", "ALTE", "DROP":
		return tx.ExecDDL(s)
	}
	leave, err := tx.Use(context.Background())
	if err != nil {
		return err
	}
	defer leave()
	return sqlitex.ExecuteTransient(tx.Conn(), s, nil)
}

func mustWrite(t *testing.T, db *storage.Database, statements ...string) storage.LSN {
	t.Helper()
	lsn, err := write(db, statements...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return lsn
}

// dump is all user rows and the user schema, as text.
func dump(db *storage.Database) ([]string, error) {
	r, err := db.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return dumpConn(r.Conn())
}

func dumpConn(conn *sqlite.Conn) ([]string, error) {
	out := []string{}
	var tables []string
	err := sqlitex.Execute(
		conn,
		"SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE '\\_\\_storage%' ESCAPE '\\' AND name NOT LIKE 'sqlite%' "+
			"ORDER BY name",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			out = append(out, s.ColumnText(1))
			if s.ColumnText(1)[:12] == "CREATE TABLE" {
				tables = append(tables, s.ColumnText(0))
			}
			return nil
		}},
	)
	for _, name := range tables {
		if err != nil {
			break
		}
		err = sqlitex.ExecuteTransient(
			conn,
			"SELECT * FROM \""+name+"\" ORDER BY 1",
			&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
				row := name
				for i := range s.ColumnCount() {
					row += fmt.Sprintf("|%s", s.ColumnText(i))
				}
				out = append(out, row)
				return nil
			}},
		)
	}
	return out, err
}

func TestCommitSurvivesReopening(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{Name: "db"})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES (1,'one'),(2,NULL)")
	mustWrite(t, db, "UPDATE t SET v='two' WHERE id=2")
	want, err := dump(db)
	g.Expect(err).NotTo(HaveOccurred())
	id := db.Identity()
	g.Expect(db.Close()).To(Succeed())

	again, err := storage.Open(t.Context(), db.Files(), storage.Options{Name: "db"})
	g.Expect(err).NotTo(HaveOccurred())
	defer again.Close()
	g.Expect(dump(again)).To(Equal(want))
	g.Expect(want).To(ContainElements("t|1|one", "t|2|two"))
	g.Expect(again.Identity()).To(Equal(id))
}

func TestRollbackLeavesNoTrace(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
	want, _ := dump(db)
	end := db.Log().End()
	tx, err := db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run(tx, "INSERT INTO t VALUES (1,'x')")).To(Succeed())
	g.Expect(run(tx, "CREATE TABLE u (id INTEGER PRIMARY KEY)")).To(Succeed())
	tx.Rollback()
	tx.Rollback()
	g.Expect(dump(db)).To(Equal(want))
	g.Expect(db.Log().End()).To(Equal(end))
	_, err = tx.Commit(t.Context())
	g.Expect(err).To(HaveOccurred())
}

func TestReadersSeeTheirSnapshotAndNeverWait(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	r, err := db.Reader(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer r.Release()
	mustWrite(t, db, "INSERT INTO t VALUES (1)")
	count := func() int64 {
		n, err := sqlitex.ResultInt64(r.Conn().Prep("SELECT count(*) FROM t"))
		g.Expect(err).NotTo(HaveOccurred())
		return n
	}
	g.Expect(count()).To(BeZero())
	g.Expect(r.Refresh(t.Context())).To(Succeed())
	g.Expect(count()).To(Equal(int64(1)))
	g.Expect(sqlitex.ExecuteTransient(r.Conn(), "INSERT INTO t VALUES (9)", nil)).
		NotTo(Succeed(), "a reader must not write")
}

func TestOneWriterWithABoundedWait(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	tx, err := db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = db.Begin(ctx)
	g.Expect(errors.Is(err, context.DeadlineExceeded)).To(BeTrue())
	tx.Rollback()
	tx, err = db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	tx.Rollback()
}

func TestChangingTheSchemaPastExecDDLIsRefused(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	tx, err := db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	g.Expect(sqlitex.ExecuteTransient(tx.Conn(), "CREATE TABLE t (id INTEGER PRIMARY KEY)", nil)).To(Succeed())
	_, err = tx.Commit(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("ExecDDL")))
	g.Expect(dump(db)).To(BeEmpty())
}

func TestATableWithoutAKeyIsRefused(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	_, err := write(db, "CREATE TABLE t (a TEXT)")
	g.Expect(err).To(MatchError(ContainSubstring("primary key")))
	mustWrite(t, db, "CREATE TABLE t (a INTEGER PRIMARY KEY)")
}

func TestOtherDatabasesAreReadableByName(t *testing.T) {
	g := NewWithT(t)
	a, b := create(t, storage.Options{Name: "a"}), create(t, storage.Options{Name: "b"})
	mustWrite(t, a, "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1),(2)")
	mustWrite(t, b, "CREATE TABLE u (id INTEGER PRIMARY KEY)")
	r, err := b.Reader(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Attach(t.Context(), "a", a)).To(Succeed())
	n, err := sqlitex.ResultInt64(r.Conn().Prep("SELECT count(*) FROM a.t"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(Equal(int64(2)))
	r.Release()
	tx, err := b.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	g.Expect(tx.Attach(t.Context(), "a", a)).To(Succeed())
	g.Expect(run(tx, "INSERT INTO u SELECT id FROM a.t")).To(Succeed())
	g.Expect(run(tx, "INSERT INTO a.t VALUES (3)")).NotTo(Succeed(), "an attached database must not be written")
	_, err = tx.Commit(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dump(b)).To(ContainElements("u|1", "u|2"))
}

func TestTheLogHasASizeLimit(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{MaxLogBytes: 200 << 10})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	g.Expect(db.HoldLog(storage.HoldReplication, db.Log().End())).To(Succeed())
	var err error
	n := 0
	for ; n < 50 && err == nil; n++ {
		_, err = write(db, fmt.Sprintf("INSERT INTO t VALUES (%d, randomblob(10000))", n))
		g.Expect(db.Checkpoint(t.Context())).To(Succeed())
	}
	g.Expect(errors.Is(err, storage.ErrLogFull)).To(BeTrue(), "%v", err)
	g.Expect(n).To(BeNumerically(">", 10))
	rows, err := dump(db)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rows).To(HaveLen(n), "the transaction that found the log full must be rolled back")
	code, name := db.ReuseWait()
	g.Expect(code).To(Equal(6))
	g.Expect(name).To(Equal("REPLICATION"))

	g.Expect(db.HoldLog(storage.HoldReplication, storage.LSN{})).To(Succeed())
	g.Expect(db.Checkpoint(t.Context())).To(Succeed())
	mustWrite(t, db, "INSERT INTO t VALUES (1000, 'x')")
}

// Connections are expensive to open: a database that is written to for days must not open one for each checkpoint.
func TestCheckpointsShareAConnection(t *testing.T) {
	g := NewWithT(t)
	var opened atomic.Int32
	db := create(t, storage.Options{Prepare: func(*sqlite.Conn) error { opened.Add(1); return nil }})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	g.Expect(db.Checkpoint(t.Context())).To(Succeed())
	before := opened.Load()
	for n := range 5 {
		mustWrite(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d, randomblob(10000))", n))
		g.Expect(db.Checkpoint(t.Context())).To(Succeed())
	}
	g.Expect(opened.Load()).To(Equal(before))
	g.Expect(db.Close()).To(Succeed())
	g.Expect(errors.Is(db.Checkpoint(t.Context()), storage.ErrClosed)).To(BeTrue())
}

// A server that runs for months forgets the connections that it has closed: those of many readers at once, of a backup,
// and of a database that is closed.
func TestClosedConnectionsAreForgotten(t *testing.T) {
	g := NewWithT(t)
	var known sync.Map
	count := func() (n int) {
		known.Range(func(any, any) bool { n++; return true })
		return n
	}
	db := create(t, storage.Options{
		Prepare: func(conn *sqlite.Conn) error { known.Store(conn, true); return nil },
		Forget: func(conn *sqlite.Conn) {
			_, there := known.LoadAndDelete(conn)
			g.Expect(there).To(BeTrue())
		}})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	g.Expect(db.Checkpoint(t.Context())).To(Succeed())
	readAtOnce := func() {
		var readers []*storage.Reader
		for range 20 {
			r, err := db.Reader(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			readers = append(readers, r)
		}
		for _, r := range readers {
			r.Release()
		}
	}
	readAtOnce()
	before := count()
	g.Expect(before).To(BeNumerically("<", 20))
	readAtOnce()
	_, err := db.Backup(t.Context(), io.Discard, storage.BackupOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(count()).To(Equal(before))
	g.Expect(db.Close()).To(Succeed())
	g.Expect(count()).To(BeZero())
}
