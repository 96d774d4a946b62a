// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/standin/storage"
)

// seed copies a database as automatic seeding does.
func seed(g *WithT, db *storage.Database, dir string) *storage.Database {
	var buf bytes.Buffer
	_, err := db.Backup(context.Background(), &buf, storage.BackupOptions{CopyOnly: true})
	g.Expect(err).NotTo(HaveOccurred())
	in, err := storage.OpenBackup(&buf)
	g.Expect(err).NotTo(HaveOccurred())
	out, err := storage.Seed(context.Background(), in, filesIn(dir, "db"), storage.Options{SegmentBytes: 64 << 10})
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// ship sends all log that the secondary lacks, and waits until it is redone.
func ship(g *WithT, from, to *storage.Database) {
	f, err := from.Log().Follow(to.Log().End())
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	for {
		b, err := f.TryNext()
		g.Expect(err).NotTo(HaveOccurred())
		if b == nil {
			break
		}
		_, err = to.Log().Append(b.Raw)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(to.Log().Harden(context.Background(), to.Log().End())).To(Succeed())
	want, _ := from.Applied()
	g.Eventually(func() (storage.LSN, error) {
		lsn, _ := to.Applied()
		return lsn, to.RedoError()
	}, "60s", "2ms").Should(Equal(want))
}

func TestASecondaryFollowsAndTakesOver(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{SegmentBytes: 64 << 10})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES (1,'one')")
	other := seed(g, db, t.TempDir())
	defer other.Close()
	mustWrite(t, db, "INSERT INTO t VALUES (2, hex(randomblob(100000)))")
	mustWrite(t, db, "CREATE TABLE u (id INTEGER PRIMARY KEY)", "INSERT INTO u VALUES (7)")
	_, err := write(other, "INSERT INTO t VALUES (3,'three')")
	g.Expect(errors.Is(err, storage.ErrReadOnly)).To(BeTrue())
	ship(g, db, other)
	want, err := dump(db)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dump(other)).To(Equal(want))
	g.Expect(other.Log().End()).To(Equal(db.Log().End()))

	g.Expect(other.SetMode(t.Context(), storage.Primary, nil)).To(Succeed())
	fork, err := other.BeginFork(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fork.Start).To(Equal(db.Log().End()))
	lsn := mustWrite(t, other, "INSERT INTO t VALUES (4,'four')")
	g.Expect(fork.Start.Less(lsn)).To(BeTrue())
	g.Expect(other.Identity().Forks).To(HaveLen(2))
}

// After a forced failover the old primary takes back what only it had, and follows the new one.
func TestRejoiningTakesBackWhatOnlyThisCopyHad(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		ctx := context.Background()
		dir, err := os.MkdirTemp(t.TempDir(), "")
		g.Expect(err).NotTo(HaveOccurred())
		defer os.RemoveAll(dir)
		g.Expect(os.Mkdir(dir+"/b", 0o755)).To(Succeed())
		a, err := storage.Create(ctx, filesIn(dir, "db"), storage.Options{SegmentBytes: 64 << 10})
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { a.Close() }()
		_, err = write(
			a,
			"CREATE TABLE a (id INTEGER PRIMARY KEY, u INT UNIQUE, v TEXT)",
			"CREATE TABLE b (id INTEGER PRIMARY KEY, u INT UNIQUE, v TEXT)",
		)
		g.Expect(err).NotTo(HaveOccurred())
		b := seed(g, a, dir+"/b")
		defer func() { b.Close() }()
		g.Expect(a.HoldLog(storage.HoldReplica+" b", a.Log().End())).To(Succeed())
		writes := func(db *storage.Database, n int) {
			for range n {
				randomRows(rt, g, db)
			}
		}
		writes(a, rapid.IntRange(0, 3).Draw(rt, "shared"))
		ship(g, a, b)
		shared, err := dump(a)
		g.Expect(err).NotTo(HaveOccurred())
		writes(a, rapid.IntRange(0, 4).Draw(rt, "lost"))
		g.Expect(a.SetMode(ctx, storage.Redo, nil)).To(Succeed())
		g.Expect(b.SetMode(ctx, storage.Primary, nil)).To(Succeed())
		_, err = b.BeginFork(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		writes(b, rapid.IntRange(0, 4).Draw(rt, "new"))

		at, ok := b.Identity().SharedPosition(b.Log().End(), a.Identity().Forks, a.Log().End())
		g.Expect(ok).To(BeTrue())
		if at.Less(a.Log().End()) {
			g.Expect(a.UndoTo(ctx, at)).To(Succeed())
			g.Expect(dump(a)).To(Equal(shared))
			a.ResumeRedo()
		}
		ship(g, b, a)
		want, err := dump(b)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(dump(a)).To(Equal(want))
		g.Expect(a.Identity()).To(Equal(b.Identity()))

		files := a.Files()
		g.Expect(a.Close()).To(Succeed())
		a, err = storage.Open(ctx, files, storage.Options{SegmentBytes: 64 << 10})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(dump(a)).To(Equal(want))
		g.Expect(a.Mode()).To(Equal(storage.Redo))
	})
}

func randomRows(rt *rapid.T, g *WithT, db *storage.Database) {
	tx, err := db.Begin(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	for range rapid.IntRange(1, 4).Draw(rt, "statements") {
		table := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "table")
		id := rapid.IntRange(1, 6).Draw(rt, "id")
		switch rapid.IntRange(0, 7).Draw(rt, "what") {
		case 0, 1:
			_ = run(
				tx,
				fmt.Sprintf(
					"INSERT INTO %s (id, u, v) VALUES (%d, %d, hex(randomblob(%d)))",
					table,
					id,
					id,
					rapid.SampledFrom([]int{3, 30000}).Draw(rt, "size"),
				),
			)
		case 2:
			_ = run(tx, fmt.Sprintf("UPDATE %s SET u = -u", table))
			_ = run(tx, fmt.Sprintf("UPDATE %s SET u = 7 + u", table))
		case 3:
			_ = run(tx, fmt.Sprintf("DELETE FROM %s WHERE id = %d", table, id))
		case 4:
			_ = run(tx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS n%d (id INTEGER PRIMARY KEY)", id))
		case 5:
			_ = run(tx, fmt.Sprintf("ALTER TABLE %s ADD COLUMN c%d TEXT DEFAULT 'new'", table, id))
			_ = run(tx, fmt.Sprintf("CREATE INDEX %s_c%d ON %s (c%[2]d)", table, id, table))
		case 6:
			_ = run(tx, fmt.Sprintf("DROP INDEX %s_c%d", table, id))
			_ = run(tx, fmt.Sprintf("ALTER TABLE %s DROP COLUMN c%d", table, id))
		case 7:
			_ = run(tx, fmt.Sprintf("DROP TABLE %s", table))
			_ = run(tx, fmt.Sprintf("CREATE TABLE %s (id INTEGER PRIMARY KEY, u INT UNIQUE, v TEXT)", table))
		}
	}
	_, err = tx.Commit(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
}

func TestASecondaryKeepsAnUnfinishedTransactionsLog(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{SegmentBytes: 64 << 10})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	other := seed(g, db, t.TempDir())
	defer func() { other.Close() }()
	mustWrite(t, db, "INSERT INTO t VALUES (1, randomblob(200000))")
	f, err := db.Log().Follow(other.Log().End())
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	b, err := f.TryNext()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = other.Log().Append(b.Raw)
	g.Expect(err).NotTo(HaveOccurred())
	end := other.Log().End()
	g.Expect(other.Close()).To(Succeed())
	other, err = storage.Open(t.Context(), other.Files(), storage.Options{SegmentBytes: 64 << 10})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.Log().End()).To(Equal(end))

	// Log that does not continue it is refused; a block a second time is ignored.
	_, err = other.Log().Append(b.Raw)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.TryNext()
	g.Expect(err).NotTo(HaveOccurred())
	skipped, err := f.TryNext()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = other.Log().Append(skipped.Raw)
	g.Expect(errors.Is(err, storage.ErrLogGap)).To(BeTrue())
	ship(g, db, other)
	want, _ := dump(db)
	g.Expect(dump(other)).To(Equal(want))
}

func TestBackupAndRestore(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	db := create(t, storage.Options{Name: "db"})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES (1,'one')")
	_, err := db.BackupLog(ctx, io.Discard, storage.BackupOptions{})
	g.Expect(errors.Is(err, storage.ErrNoBackupBase)).To(BeTrue())
	var file bytes.Buffer
	full, err := db.Backup(ctx, &file, storage.BackupOptions{Compress: true, Server: "srv"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.NoteBackup(full)).To(Succeed())
	var logs [3]bytes.Buffer
	for i := range logs {
		mustWrite(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d,'x')", i+2))
		h, err := db.BackupLog(ctx, &logs[i], storage.BackupOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(db.NoteLogBackup(h)).To(Succeed())
	}
	want, err := dump(db)
	g.Expect(err).NotTo(HaveOccurred())

	open := func(b *bytes.Buffer) *storage.BackupReader {
		r, err := storage.OpenBackup(bytes.NewReader(b.Bytes()))
		g.Expect(err).NotTo(HaveOccurred())
		return r
	}
	g.Expect(open(&file).Verify()).To(Succeed())
	g.Expect(open(&file).Header.Server).To(Equal("srv"))
	broken := append([]byte{}, file.Bytes()...)
	broken[len(broken)/2] ^= 1
	g.Expect(errors.Is(open(bytes.NewBuffer(broken)).Verify(), storage.ErrBackupCorrupt)).To(BeTrue())

	files := filesIn(t.TempDir(), "copy")
	_, err = storage.Restore(ctx, open(bytes.NewBuffer(broken)), files, storage.Options{})
	g.Expect(errors.Is(err, storage.ErrBackupCorrupt)).To(BeTrue())
	restored, err := storage.Restore(ctx, open(&file), files, storage.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { restored.Close() }()
	g.Expect(errors.Is(restored.RestoreLog(ctx, open(&logs[1])), storage.ErrBackupTooRecent)).To(BeTrue())
	g.Expect(restored.RestoreLog(ctx, open(&logs[0]))).To(Succeed())
	g.Expect(restored.RestoreLog(ctx, open(&logs[1]))).To(Succeed())
	g.Expect(errors.Is(restored.RestoreLog(ctx, open(&logs[0])), storage.ErrBackupTooEarly)).To(BeTrue())
	_, err = restored.Reader(ctx)
	g.Expect(err).To(HaveOccurred(), "a restoring database takes no readers")
	g.Expect(restored.Close()).To(Succeed())
	restored, err = storage.Open(ctx, files, storage.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(restored.RestoreLog(ctx, open(&logs[2]))).To(Succeed())
	g.Expect(restored.Recover(ctx)).To(Succeed())
	g.Expect(dump(restored)).To(Equal(want))
	mustWrite(t, restored, "INSERT INTO t VALUES (9,'nine')")
	g.Expect(restored.Identity().Forks).To(HaveLen(2))
	g.Expect(restored.Identity().Family).To(Equal(db.Identity().Family))
}

func TestLogBackupsAndHoldsKeepTheLog(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	db := create(t, storage.Options{SegmentBytes: 64 << 10})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	fill := func(from int) {
		for i := range 20 {
			mustWrite(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d, randomblob(20000))", from+i))
		}
		g.Expect(db.Checkpoint(ctx)).To(Succeed())
	}
	fill(0)
	g.Expect(db.Log().Segments()).To(Equal(1), "before the first full backup nothing keeps the log")
	h, err := db.Backup(ctx, io.Discard, storage.BackupOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.NoteBackup(h)).To(Succeed())
	fill(100)
	g.Expect(db.Log().Segments()).To(BeNumerically(">", 3))
	_, why := db.ReuseWait()
	g.Expect(why).To(Equal("LOG_BACKUP"))
	g.Expect(db.HoldLog(storage.HoldReplica+" x", h.Last)).To(Succeed())
	l, err := db.BackupLog(ctx, io.Discard, storage.BackupOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.NoteLogBackup(l)).To(Succeed())
	g.Expect(db.Log().Segments()).To(BeNumerically(">", 3))
	_, why = db.ReuseWait()
	g.Expect(why).To(Equal("AVAILABILITY_REPLICA"))
	g.Expect(db.HoldLog(storage.HoldReplica+" x", storage.LSN{})).To(Succeed())
	g.Expect(db.Checkpoint(ctx)).To(Succeed())
	g.Expect(db.Log().Segments()).To(Equal(1))
}

func TestReadCommittedGivesRowsByName(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	db := create(t, storage.Options{})
	mustWrite(
		t,
		db,
		"CREATE TABLE t (__rowid INTEGER PRIMARY KEY, k TEXT, v TEXT)",
		"CREATE TABLE u (id INTEGER PRIMARY KEY, v TEXT)",
	)
	tx, err := db.Begin(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tx.SetFullImages([]string{"t"})).To(Succeed())
	from, err := tx.Commit(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	mustWrite(t, db, "INSERT INTO t VALUES (1,'key','a'),(2,'other','b')")
	mustWrite(
		t,
		db,
		"UPDATE t SET v='c' WHERE k='key'",
		"DELETE FROM t WHERE k='other'",
		"INSERT INTO u VALUES (5, 'five')",
	)
	mustWrite(t, db, "UPDATE u SET v='six'")
	tx, err = db.Begin(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	tx.Mark("token", []byte("payload"))
	last, err := tx.Commit(ctx)
	g.Expect(err).NotTo(HaveOccurred())

	var all []*storage.Transaction
	for tr, err := range db.Log().ReadCommitted(ctx, from, db.Log().End()) {
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, tr)
	}
	g.Expect(all).To(HaveLen(4))
	var update, del storage.TableChange
	for _, c := range all[1].Changes {
		switch {
		case c.Table == "t" && c.Op == storage.OpUpdate:
			update = c
		case c.Table == "t" && c.Op == storage.OpDelete:
			del = c
		}
	}
	g.Expect(update.Columns).To(Equal([]string{"__rowid", "k", "v"}))
	g.Expect(update.Old).To(Equal([]any{int64(1), "key", "a"}))
	g.Expect(update.New).To(Equal([]any{int64(1), "key", "c"}))
	g.Expect(del.Old).To(Equal([]any{int64(2), "other", "b"}))
	g.Expect(all[2].Changes[0].New).To(Equal([]any{storage.Undefined{}, "six"}))
	g.Expect(all[3].Marks).To(HaveExactElements(And(HaveField("Kind", "token"), HaveField("Payload", []byte("payload")))))
	g.Expect(all[3].Commit).To(Equal(last))
	n := 0
	for range db.Log().ReadCommitted(ctx, from, all[1].Commit) {
		n++
	}
	g.Expect(n).To(Equal(1), "the limit is exclusive")
}

// Changes carry what they are a part of, wherever a rollback to a savepoint leads.
func TestChangesAreAPartOfSomething(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	db := create(t, storage.Options{})
	tx, err := db.Begin(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tx.ExecDDL("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")).To(Succeed())
	from, err := tx.Commit(ctx)
	g.Expect(err).NotTo(HaveOccurred())

	tx, err = db.Begin(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	write := func(sql string) { g.Expect(run(tx, sql)).To(Succeed()) }
	write("INSERT INTO t VALUES (1, 'nothing')")
	g.Expect(tx.PartOf([]byte("a"))).To(Succeed())
	write("INSERT INTO t VALUES (2, 'a')")
	g.Expect(tx.Savepoint("within")).To(Succeed())
	write("INSERT INTO t VALUES (3, 'taken back')")
	g.Expect(tx.PartOf(nil)).To(Succeed())
	write("INSERT INTO t VALUES (4, 'taken back')")
	g.Expect(tx.RollbackTo("within")).To(Succeed())
	write("INSERT INTO t VALUES (5, 'nothing')")
	g.Expect(tx.Savepoint("before")).To(Succeed())
	g.Expect(tx.PartOf([]byte("b"))).To(Succeed())
	write("INSERT INTO t VALUES (6, 'taken back')")
	g.Expect(tx.RollbackTo("before")).To(Succeed())
	write("INSERT INTO t VALUES (7, 'b')")
	g.Expect(tx.ExecDDL("CREATE TABLE u (k INTEGER PRIMARY KEY)")).To(Succeed())
	write("INSERT INTO t VALUES (8, 'b')")
	_, err = tx.Commit(ctx)
	g.Expect(err).NotTo(HaveOccurred())

	parts := map[int64]string{}
	for tr, err := range db.Log().ReadCommitted(ctx, from, db.Log().End()) {
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(tr.Marks).To(BeEmpty())
		for _, c := range tr.Changes {
			key, _ := c.New[0].(int64)
			parts[key] = string(c.PartOf)
		}
	}
	g.Expect(parts).To(Equal(map[int64]string{1: "", 2: "a", 5: "", 7: "b", 8: "b"}))
}

// A mark has its place among a transaction's changes, and a rollback to a savepoint takes it back. Rows that a change
// of the schema changes are repeated by other copies, but carry no names.
func TestMarksAndQuietChanges(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	db := create(t, storage.Options{})
	tx, err := db.Begin(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tx.ExecDDL("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")).To(Succeed())
	g.Expect(tx.SetFullImages([]string{"t"})).To(Succeed())
	from, err := tx.Commit(ctx)
	g.Expect(err).NotTo(HaveOccurred())

	tx, err = db.Begin(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	write := func(sql string) { g.Expect(run(tx, sql)).To(Succeed()) }
	write("INSERT INTO t VALUES (1, 'before')")
	g.Expect(tx.Savepoint("s")).To(Succeed())
	g.Expect(tx.MarkHere("lost", nil)).To(Succeed())
	write("INSERT INTO t VALUES (2, 'lost')")
	g.Expect(tx.RollbackTo("s")).To(Succeed())
	g.Expect(tx.Quietly(func() error {
		g.Expect(tx.ExecDDL("ALTER TABLE t ADD COLUMN w TEXT")).To(Succeed())
		write("UPDATE t SET w = 'filled'")
		return nil
	})).To(Succeed())
	g.Expect(tx.MarkHere("kept", nil)).To(Succeed())
	write("INSERT INTO t VALUES (3, 'after', 'w')")
	_, err = tx.Commit(ctx)
	g.Expect(err).NotTo(HaveOccurred())

	for tr, err := range db.Log().ReadCommitted(ctx, from, db.Log().End()) {
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(tr.Changes).To(HaveLen(3))
		g.Expect(tr.Changes[0].Columns).To(Equal([]string{"k", "v"}))
		g.Expect(tr.Changes[1].Columns).To(BeNil())
		g.Expect(tr.Changes[2].Columns).To(Equal([]string{"k", "v", "w"}))
		g.Expect(tr.Marks).To(HaveLen(1))
		g.Expect(tr.Changes[1].LSN.Less(tr.Marks[0].LSN)).To(BeTrue())
		g.Expect(tr.Marks[0].LSN.Less(tr.Changes[2].LSN)).To(BeTrue())
	}
}
