// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
)

// keptCopies counts the tables that are kept for undo.
func keptCopies(t *testing.T, db *storage.Database) int64 {
	g := NewWithT(t)
	r, err := db.Reader(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer r.Release()
	n, err := sqlitex.ResultInt64(
		r.Conn().Prep("SELECT count(*) FROM sqlite_schema WHERE name LIKE '\\_\\_storage\\_undo\\_%' ESCAPE '\\'"),
	)
	g.Expect(err).NotTo(HaveOccurred())
	return n
}

// TestAlteredAndDroppedTablesComeBack: a copy that is ahead takes back DDL, too, as a primary and as a secondary that
// got the log of the lost primary; what is kept for it goes with the log.
func TestAlteredAndDroppedTablesComeBack(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	primary := create(t, storage.Options{SegmentBytes: 64 << 10})
	mustWrite(
		t,
		primary,
		"CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT)",
		"CREATE INDEX a_v ON a (v)",
		"INSERT INTO a VALUES (1,'one'),(2,'two')",
		"CREATE TABLE b (id INTEGER PRIMARY KEY)",
		"INSERT INTO b VALUES (5)",
	)
	ahead := seed(g, primary, t.TempDir())
	defer ahead.Close()
	g.Expect(primary.HoldLog(storage.HoldReplica+" x", primary.Log().End())).To(Succeed())
	fork := primary.Log().End()
	want, err := dump(primary)
	g.Expect(err).NotTo(HaveOccurred())
	mustWrite(
		t,
		primary,
		"UPDATE a SET v = 'changed' WHERE id = 1",
		"ALTER TABLE a ADD COLUMN w INT",
		"UPDATE a SET w = 7",
	)
	mustWrite(t, primary, "DROP TABLE a", "ALTER TABLE b RENAME TO c", "INSERT INTO c VALUES (6)")
	g.Expect(keptCopies(t, primary)).To(Equal(int64(3)))
	ship(g, primary, ahead)
	g.Expect(keptCopies(t, ahead)).To(Equal(int64(3)))
	g.Expect(primary.SetMode(ctx, storage.Redo, nil)).To(Succeed())
	for _, db := range []*storage.Database{primary, ahead} {
		g.Expect(db.UndoTo(ctx, fork)).To(Succeed())
		g.Expect(dump(db)).To(Equal(want))
		g.Expect(db.Log().End()).To(Equal(fork))
	}

	g.Expect(primary.SetMode(ctx, storage.Primary, nil)).To(Succeed())
	for range 20 {
		mustWrite(t, primary, "INSERT INTO a VALUES (NULL, hex(randomblob(20000)))")
	}
	g.Expect(primary.HoldLog(storage.HoldReplica+" x", primary.Log().End())).To(Succeed())
	g.Expect(primary.Checkpoint(ctx)).To(Succeed())
	g.Expect(keptCopies(t, primary)).To(BeZero(), "what can no longer be taken back is not kept")
}

// TestWithoutAnotherCopyNothingIsKept: a database by itself pays nothing for undo.
func TestWithoutAnotherCopyNothingIsKept(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{SegmentBytes: 64 << 10})
	mustWrite(t, db, "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO a VALUES (1,'one')")
	at := db.Log().End()
	mustWrite(t, db, "DROP TABLE a")
	g.Expect(keptCopies(t, db)).To(BeZero())
	g.Expect(db.SetMode(t.Context(), storage.Redo, nil)).To(Succeed())
	g.Expect(errors.Is(db.UndoTo(t.Context(), at), storage.ErrNoUndo)).To(BeTrue())
}
