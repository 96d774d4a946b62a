// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
)

// copyFiles copies a database's files as a killed process would leave them (the page cache survives it).
func copyFiles(t rapid.TB, from storage.Files, dir string) storage.Files {
	to := filesIn(dir, "copy")
	g := NewWithT(t)
	// The log is written before the data file, so it has to be copied after it to hold what the data file has.
	for _, suffix := range []string{"", "-wal"} {
		copyFile(g, from.Data+suffix, to.Data+suffix)
	}
	g.Expect(os.MkdirAll(to.Log, 0o755)).To(Succeed())
	entries, err := os.ReadDir(from.Log)
	g.Expect(err).NotTo(HaveOccurred())
	for _, e := range entries {
		copyFile(g, filepath.Join(from.Log, e.Name()), filepath.Join(to.Log, e.Name()))
	}
	return to
}

func copyFile(g *WithT, from, to string) {
	in, err := os.Open(from)
	if os.IsNotExist(err) {
		return
	}
	g.Expect(err).NotTo(HaveOccurred())
	defer in.Close()
	out, err := os.Create(to)
	g.Expect(err).NotTo(HaveOccurred())
	defer out.Close()
	_, err = io.Copy(out, in)
	g.Expect(err).NotTo(HaveOccurred())
}

// Whatever transactions run, with savepoints, schema changes and rollbacks: a copy of the files taken after any
// acknowledgement, opened again, holds exactly the acknowledged state; also when the data file is an older one.
func TestRecoveryGivesTheAcknowledgedState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		dir, err := os.MkdirTemp(t.TempDir(), "")
		g.Expect(err).NotTo(HaveOccurred())
		defer os.RemoveAll(dir)
		db, err := storage.Create(context.Background(), filesIn(dir, "db"), storage.Options{SegmentBytes: 64 << 10})
		g.Expect(err).NotTo(HaveOccurred())
		defer db.Close()
		var old storage.Files
		steps := rapid.IntRange(1, 12).Draw(rt, "transactions")
		for i := range steps {
			randomTransaction(rt, g, db)
			if old.Data == "" && rapid.Bool().Draw(rt, "keep this data file") {
				g.Expect(os.Mkdir(filepath.Join(dir, "old"), 0o755)).To(Succeed())
				old = copyFiles(rt, db.Files(), filepath.Join(dir, "old"))
			}
			if rapid.IntRange(0, 5).Draw(rt, "checkpoint") == 0 && old.Data == "" {
				g.Expect(db.Checkpoint(context.Background())).To(Succeed())
			}
			_ = i
		}
		want, err := dump(db)
		g.Expect(err).NotTo(HaveOccurred())

		g.Expect(os.Mkdir(filepath.Join(dir, "crash"), 0o755)).To(Succeed())
		check := func(files storage.Files) {
			again, err := storage.Open(context.Background(), files, storage.Options{SegmentBytes: 64 << 10})
			g.Expect(err).NotTo(HaveOccurred())
			defer again.Close()
			g.Expect(dump(again)).To(Equal(want))
		}
		crash := copyFiles(rt, db.Files(), filepath.Join(dir, "crash"))
		// A torn block at the end is cut.
		segments, _ := filepath.Glob(filepath.Join(crash.Log, "*.vlf"))
		f, err := os.OpenFile(segments[len(segments)-1], os.O_APPEND|os.O_WRONLY, 0)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = f.Write(rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(rt, "torn end"))
		g.Expect(err).NotTo(HaveOccurred())
		f.Close()
		if old.Data != "" {
			// The old data file with today's log: everything since is redone.
			both := storage.Files{Data: old.Data, Log: crash.Log}
			check(both)
			return
		}
		check(crash)
	})
}

func randomTransaction(rt *rapid.T, g *WithT, db *storage.Database) {
	tx, err := db.Begin(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	saved := 0
	for range rapid.IntRange(1, 8).Draw(rt, "statements") {
		table := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "table")
		id := rapid.IntRange(1, 6).Draw(rt, "id")
		switch rapid.IntRange(0, 9).Draw(rt, "what") {
		case 0, 1, 2:
			_ = run(
				tx,
				fmt.Sprintf(
					"INSERT INTO %s (id, u, v) VALUES (%d, %d, hex(randomblob(%d)))",
					table,
					id,
					id,
					rapid.SampledFrom([]int{3, 40000}).Draw(rt, "size"),
				),
			)
		case 3:
			_ = run(tx, fmt.Sprintf("UPDATE %s SET v = 'x%d' WHERE id >= %d", table, id, id))
		case 4:
			// Swaps unique values; redo meets collisions on the way.
			_ = run(tx, fmt.Sprintf("UPDATE %s SET u = -u", table))
			_ = run(tx, fmt.Sprintf("UPDATE %s SET u = %d + u", table, 7))
		case 5:
			_ = run(tx, fmt.Sprintf("DELETE FROM %s WHERE id = %d", table, id))
		case 6:
			_ = run(tx, fmt.Sprintf("CREATE TABLE %s (id INTEGER PRIMARY KEY, u INT UNIQUE, v TEXT)", table))
		case 7:
			_ = run(
				tx,
				fmt.Sprintf("ALTER TABLE %s ADD COLUMN c%d INT DEFAULT %d", table, rapid.IntRange(0, 99).Draw(rt, "column"), id),
			)
		case 8:
			saved++
			g.Expect(tx.Savepoint("s")).To(Succeed())
		case 9:
			if saved > 0 {
				g.Expect(tx.RollbackTo("s")).To(Succeed())
			} else if id == 1 {
				_ = run(tx, "DROP TABLE "+table)
			}
		}
	}
	if rapid.IntRange(0, 3).Draw(rt, "roll back") > 0 {
		_, err := tx.Commit(context.Background())
		g.Expect(err).NotTo(HaveOccurred())
	}
}

const childVariable = "GEOSQL_STORAGE_TEST_CHILD"

// TestMain runs the writer that TestKilledWriter kills when the variable says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		writeUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

// writeUntilKilled has four sessions insert pairs of rows, and prints a number once its pair is acknowledged.
func writeUntilKilled(dir string) {
	ctx := context.Background()
	db, err := storage.Open(ctx, filesIn(dir, "db"), storage.Options{SegmentBytes: 64 << 10})
	if err != nil {
		panic(err)
	}
	start, _ := strconv.Atoi(os.Getenv(childVariable + "_START"))
	var mu sync.Mutex
	next := start
	for range 4 {
		go func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if _, err := write(db, fmt.Sprintf("INSERT INTO t VALUES (%d, 'left')", 2*n),
					fmt.Sprintf("INSERT INTO t VALUES (%d, 'right')", 2*n+1)); err != nil {
					panic(err)
				}
				mu.Lock()
				fmt.Println(n)
				mu.Unlock()
			}
		}()
	}
	for {
		if err := db.Checkpoint(ctx); err != nil {
			panic(err)
		}
	}
}

func TestKilledWriterLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	db, err := storage.Create(t.Context(), filesIn(dir, "db"), storage.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, side TEXT)")
	g.Expect(db.Close()).To(Succeed())
	acknowledged := map[int]bool{}
	for round := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+dir, fmt.Sprintf("%s_START=%d", childVariable, round*1_000_000))
		out, err := cmd.StdoutPipe()
		g.Expect(err).NotTo(HaveOccurred())
		cmd.Stderr = os.Stderr
		g.Expect(cmd.Start()).To(Succeed())
		lines := bufio.NewScanner(out)
		for seen := 0; lines.Scan(); seen++ {
			if seen == 20+37*round {
				// It goes on writing until the signal arrives.
				g.Expect(cmd.Process.Kill()).To(Succeed())
			}
			n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
			g.Expect(err).NotTo(HaveOccurred())
			acknowledged[n] = true
		}
		_ = cmd.Wait()

		db, err := storage.Open(t.Context(), filesIn(dir, "db"), storage.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		r, err := db.Reader(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		halves, err := sqlitex.ResultInt64(
			r.Conn().Prep("SELECT count(*) FROM (SELECT id/2 FROM t GROUP BY id/2 HAVING count(*) <> 2)"),
		)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(halves).To(BeZero(), "a half-applied transaction is visible")
		for n := range acknowledged {
			stmt := r.Conn().Prep("SELECT count(*) FROM t WHERE id/2 = ?")
			stmt.BindInt64(1, int64(n))
			rows, err := sqlitex.ResultInt64(stmt)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(rows).To(Equal(int64(2)), "acknowledged pair %d is lost", n)
			if len(acknowledged) > 2000 && n%17 != 0 {
				delete(acknowledged, n)
			}
		}
		r.Release()
		g.Expect(db.Close()).To(Succeed())
	}
	g.Expect(len(acknowledged)).To(BeNumerically(">", 20))
}

// A checkpoint leaves SQLite's write-ahead log its room on the disk, and the next commits are written over what is in
// it. A killed process leaves what was committed, before them and after. A database that is closed gives the room back.
func TestWriteAheadLogIsWrittenOver(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	db, err := storage.Create(t.Context(), filesIn(dir, "db"), storage.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer db.Close()
	size := func() int64 {
		info, err := os.Stat(db.Files().Data + "-wal")
		g.Expect(err).NotTo(HaveOccurred())
		return info.Size()
	}
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	for id := range 20 {
		mustWrite(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d, randomblob(50000))", id))
	}
	full := size()
	g.Expect(full).To(BeNumerically(">", 1_000_000))
	for round := range 3 {
		g.Expect(db.Checkpoint(t.Context())).To(Succeed())
		for step := range 3 {
			if step > 0 {
				mustWrite(t, db, fmt.Sprintf("UPDATE t SET v = randomblob(20000) WHERE id = %d", round+step))
			}
			g.Expect(size()).To(Equal(full))
			want, err := dump(db)
			g.Expect(err).NotTo(HaveOccurred())
			killed := filepath.Join(dir, fmt.Sprint(round, step))
			g.Expect(os.Mkdir(killed, 0o755)).To(Succeed())
			again, err := storage.Open(t.Context(), copyFiles(t, db.Files(), killed), storage.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(dump(again)).To(Equal(want))
			g.Expect(again.Close()).To(Succeed())
		}
	}
	g.Expect(db.Close()).To(Succeed())
	if info, err := os.Stat(db.Files().Data + "-wal"); err == nil {
		g.Expect(info.Size()).To(BeZero())
	}
}

// A power cut leaves of the commits that were written over an older write-ahead log any beginning, and behind it what
// the older one had there: nothing of that is taken for new, and the log has the rest.
func TestWriteAheadLogTornOverAnOlderOne(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	db, err := storage.Create(t.Context(), filesIn(dir, "db"), storage.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer db.Close()
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	for id := range 20 {
		mustWrite(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d, randomblob(20000))", id))
	}
	g.Expect(db.Checkpoint(t.Context())).To(Succeed())
	old, err := os.ReadFile(db.Files().Data + "-wal")
	g.Expect(err).NotTo(HaveOccurred())
	for id := range 4 {
		mustWrite(t, db, fmt.Sprintf("UPDATE t SET v = randomblob(9000) WHERE id = %d", id))
	}
	written, err := os.ReadFile(db.Files().Data + "-wal")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(written).To(HaveLen(len(old)))
	end := len(written)
	for end > 0 && written[end-1] == old[end-1] {
		end--
	}
	want, err := dump(db)
	g.Expect(err).NotTo(HaveOccurred())
	cuts := []int{0, 8, 16, 24, 32, 44, 56, end}
	for cut := 57; cut < end; cut += end / 40 {
		cuts = append(cuts, cut)
	}
	for _, cut := range cuts {
		torn := filepath.Join(dir, fmt.Sprint(cut))
		g.Expect(os.Mkdir(torn, 0o755)).To(Succeed())
		files := copyFiles(t, db.Files(), torn)
		g.Expect(os.WriteFile(files.Data+"-wal", append(append([]byte{}, written[:cut]...), old[cut:]...), 0o644)).
			To(Succeed())
		again, err := storage.Open(t.Context(), files, storage.Options{})
		g.Expect(err).NotTo(HaveOccurred(), "%d of %d bytes", cut, end)
		g.Expect(dump(again)).To(Equal(want), "%d of %d bytes", cut, end)
		g.Expect(again.Close()).To(Succeed())
	}
}
