// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/storage"
)

// TestRestoredFilesTakeTheirPlaceAfterAnyCrash makes what a crash leaves between any two steps of TakePlace.
func TestRestoredFilesTakeTheirPlaceAfterAnyCrash(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, opts := t.Context(), storage.Options{SegmentBytes: 64 << 10}
	db := create(t, opts)
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES (1,'one')")
	want, err := dump(db)
	g.Expect(err).NotTo(HaveOccurred())
	var set bytes.Buffer
	_, err = db.Backup(ctx, &set, storage.BackupOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	open := func() *storage.BackupReader {
		in, err := storage.OpenBackup(bytes.NewReader(set.Bytes()))
		g.Expect(err).NotTo(HaveOccurred())
		return in
	}
	steps := []func(from, to storage.Files) error{
		func(_, to storage.Files) error { return os.RemoveAll(to.Data + "-wal") },
		func(_, to storage.Files) error { return os.RemoveAll(to.Data) },
		func(from, to storage.Files) error { return os.Rename(from.Data, to.Data) },
		func(_, to storage.Files) error {
			// Half of the old log's folder is gone.
			names, err := os.ReadDir(to.Log)
			if err == nil {
				err = os.Remove(to.Log + "/" + names[0].Name())
			}
			return err
		},
		func(_, to storage.Files) error { return os.RemoveAll(to.Log) },
		func(from, to storage.Files) error { return os.Rename(from.Log, to.Log) },
	}
	for done := range len(steps) + 1 {
		// The old database as a kill leaves it, with a write-ahead log.
		other := create(t, opts)
		mustWrite(
			t,
			other,
			"CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)",
			"INSERT INTO t VALUES (1,'another')",
			"INSERT INTO t VALUES (2,'another')",
		)
		old := copyFiles(t, other.Files(), t.TempDir())
		g.Expect(storage.RestoreBeside(ctx, open(), old, opts)).To(Succeed())
		for _, step := range steps[:done] {
			g.Expect(step(old.Beside(), old)).To(Succeed())
		}
		g.Expect(storage.TakePlace(old)).To(Succeed(), "after %d steps", done)
		g.Expect(storage.TakePlace(old)).To(Succeed(), "once more")
		again, err := storage.OpenRestored(ctx, old, opts)
		g.Expect(err).NotTo(HaveOccurred(), "after %d steps", done)
		g.Expect(again.Recover(ctx)).To(Succeed())
		g.Expect(dump(again)).To(Equal(want))
		g.Expect(again.Close()).To(Succeed())
	}

	// Nothing to put in the place is an error, and takes nothing away.
	gone := filesIn(t.TempDir(), "gone")
	g.Expect(storage.TakePlace(gone)).To(MatchError(os.ErrNotExist))
	damaged := append([]byte{}, set.Bytes()...)
	damaged[len(damaged)-100] ^= 1
	in, err := storage.OpenBackup(bytes.NewReader(damaged))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(storage.RestoreBeside(ctx, in, gone, opts)).To(MatchError(storage.ErrBackupCorrupt))
	g.Expect(os.ReadDir(filepath.Dir(gone.Data))).To(BeEmpty())
	g.Expect(storage.TakePlace(gone)).To(MatchError(os.ErrNotExist))
}
