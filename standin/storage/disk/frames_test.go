// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// writes counts the writes to files whose names end with a suffix.
type writes struct {
	suffix string
	count  atomic.Int64
}

func (w *writes) Created(string)          {}
func (w *writes) Truncated(string, int64) {}
func (w *writes) Removed(string)          {}
func (w *writes) Renamed(string, string)  {}
func (w *writes) Wrote(path string, _ int64, _ []byte) {
	if strings.HasSuffix(path, w.suffix) {
		w.count.Add(1)
	}
}
func (w *writes) Sync(_ string, sync func() error) error { return sync() }

func openChecked(t *testing.T, path, pragmas string) *sqlite.Conn {
	t.Helper()
	g := NewWithT(t)
	g.Expect(Register()).To(Succeed())
	conn, err := sqlite.OpenConn("file:"+path+"?vfs="+Name, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenURI)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { conn.Close() })
	script(
		t,
		conn,
		fmt.Sprintf(
			"PRAGMA page_size=%d;",
			PageSize,
		)+"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; "+pragmas,
	)
	return conn
}

// afterKill is what a killed process leaves of a data file, opened elsewhere: how many rows table t has, and the sum of
// n.
func afterKill(t *testing.T, path string) (rows, sum int64) {
	t.Helper()
	g := NewWithT(t)
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(copied+suffix, content, 0o600)).To(Succeed())
	}
	conn := openChecked(t, copied, "")
	var verdict string
	g.Expect(sqlitex.ExecuteTransient(conn, "PRAGMA integrity_check",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			verdict += stmt.ColumnText(0)
			return nil
		}})).
		To(Succeed())
	g.Expect(verdict).To(Equal("ok"))
	g.Expect(sqlitex.ExecuteTransient(conn, "SELECT count(*), sum(n) FROM t",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			rows, sum = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
			return nil
		}})).
		To(Succeed())
	return rows, sum
}

// run executes statements one by one, without a transaction of its own around them as sqlitex.ExecuteScript has.
func run(conn *sqlite.Conn, text string) error {
	for statement := range strings.SplitSeq(strings.TrimRight(text, "; "), ";") {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

func script(t *testing.T, conn *sqlite.Conn, text string) {
	t.Helper()
	NewWithT(t).Expect(run(conn, text)).To(Succeed())
}

const table = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, v TEXT);"

// rowsFrom inserts 200 rows of 1 KB from a number on.
func rowsFrom(first int) string {
	return fmt.Sprintf(`INSERT INTO t SELECT value, 1, hex(zeroblob(512)) FROM (
		WITH RECURSIVE s(value) AS (SELECT %d UNION ALL SELECT value + 1 FROM s WHERE value < %d) SELECT value FROM s);`, first, first+199)
}

func TestFramesOfATransactionAreWrittenAtOnce(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "one.db")
	w := &writes{suffix: "-wal"}
	defer Watch(folder, w)()
	conn := openChecked(t, path, "")
	script(t, conn, table+rowsFrom(1))
	for i := 1; i <= 5; i++ {
		before := w.count.Load()
		script(t, conn, rowsFrom(i*200+1))
		// Some thirty pages, of which the first may have been read before.
		g.Expect(w.count.Load()-before).To(BeNumerically("<=", 4), "transaction %d", i)
		rows, _ := afterKill(t, path)
		g.Expect(rows).To(BeEquivalentTo(200 * (i + 1)))
	}
}

// A transaction that is larger than SQLite's memory for pages writes frames before its end, reads them, writes over
// them, and makes the checksums of those that follow again.
func TestTransactionLargerThanItsMemoryIsWritten(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "large.db")
	conn := openChecked(t, path, "PRAGMA cache_size=10;")
	reader := openChecked(t, path, "")
	script(t, conn, table+rowsFrom(1))
	for round := int64(1); round <= 3; round++ {
		script(t, conn, "BEGIN;"+rowsFrom(int(round)*1000)+rowsFrom(int(round)*1000+200)+"UPDATE t SET n = n + 1;"+
			"UPDATE t SET n = n + 1 WHERE id % 2 = 0; SELECT sum(length(v)) FROM t; UPDATE t SET n = n + 1 WHERE id % 2 = 1;")
		// Nobody else sees it before its end.
		err := sqlitex.ExecuteTransient(
			reader,
			"SELECT count(*) FROM t",
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				g.Expect(stmt.ColumnInt64(0)).To(Equal(200 + (round-1)*400))
				return nil
			}},
		)
		g.Expect(err).NotTo(HaveOccurred())
		script(t, conn, "COMMIT;")
		rows, sum := afterKill(t, path)
		g.Expect(rows).To(Equal(200 + round*400))
		// The first 200 rows have 1 and two a round, those of round r two for each round since.
		want := 200 * (1 + 2*round)
		for r := int64(1); r <= round; r++ {
			want += 400 * (1 + 2*(round-r+1))
		}
		g.Expect(sum).To(Equal(want))
	}
	script(t, conn, "PRAGMA wal_checkpoint(TRUNCATE);"+rowsFrom(9000))
	rows, _ := afterKill(t, path)
	g.Expect(rows).To(BeEquivalentTo(200 + 3*400 + 200))
}

// failing is set while no write-ahead log can be written.
var failing atomic.Bool

var realWrite uintptr

func failingWrite(tls *libc.TLS, file, buf uintptr, n int32, offset sqlite3.Tsqlite3_int64) int32 {
	if failing.Load() {
		return sqlite3.SQLITE_FULL
	}
	return function[readFunc](realWrite)(tls, file, buf, n, offset)
}

func TestTransactionWhoseFramesCannotBeWrittenIsRolledBack(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "full.db")
	conn := openChecked(t, path, "PRAGMA cache_size=10;")
	script(t, conn, table+rowsFrom(1)+rowsFrom(201))
	openFiles.Range(func(_, value any) bool {
		if f := value.(*openFile); f.wal && f.path == path+"-wal" {
			methods := *f.under
			//nolint:unconvert // the conversion checks the signature that SQLite calls
			realWrite, methods.FxWrite = methods.FxWrite, address(readFunc(failingWrite))
			f.under = &methods
		}
		return true
	})
	for _, text := range []string{
		rowsFrom(1000),
		"BEGIN;" + rowsFrom(1000) + "UPDATE t SET n = n + 1; SELECT sum(length(v)) FROM t;" + rowsFrom(2000) + "COMMIT;",
	} {
		failing.Store(true)
		err := run(conn, text)
		g.Expect(err).To(HaveOccurred())
		if !conn.AutocommitEnabled() {
			_ = run(conn, "ROLLBACK")
		}
		failing.Store(false)
		rows, sum := afterKill(t, path)
		g.Expect([]int64{rows, sum}).To(Equal([]int64{400, 400}))
	}
	script(t, conn, rowsFrom(401))
	rows, _ := afterKill(t, path)
	g.Expect(rows).To(BeEquivalentTo(600))
}

// What a statement takes for written and is lost when it is read: its transaction cannot commit the rest.
func TestTransactionThatHasLostFramesDoesNotCommit(t *testing.T) {
	g := NewWithT(t)
	f := &openFile{wal: true, frames: frames{gathers: true, lost: 5000}}
	g.Expect(f.frame(nil, 0, make([]byte, frameHeader), 9000)).To(BeEquivalentTo(sqlite3.SQLITE_IOERR_WRITE))
	g.Expect(f.frame(nil, 0, make([]byte, PageSize), 4000)).
		To(BeEquivalentTo(sqlite3.SQLITE_IOERR_WRITE), "a frame of it that is written over")
	g.Expect(f.frame(nil, 0, make([]byte, frameHeader), 5000)).
		To(BeEquivalentTo(sqlite3.SQLITE_OK), "the next transaction")
	g.Expect(f.lost).To(BeZero())
}
