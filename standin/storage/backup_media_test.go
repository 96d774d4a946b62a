// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// An append that ends anywhere leaves the sets before it, and the next one takes its place
// (docs/t-sql/statements/backup-transact-sql.md, NOINIT).
func TestAppendedSetsAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	db := create(t, storage.Options{Name: "db"})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
	path := filepath.Join(t.TempDir(), "sets.bak")
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	files := []*disk.File{f}
	read := func() (storage.MediaSet, error) { return joined(t, files) }
	full := func(w []io.Writer) error {
		h, err := db.Backup(ctx, w[0], storage.BackupOptions{Compress: true})
		if err == nil {
			err = db.NoteBackup(h)
		}
		return err
	}
	log := func(w []io.Writer) error {
		_, err := db.BackupLog(ctx, w[0], storage.BackupOptions{})
		return err
	}
	_, err = storage.AppendSet(files, []int64{0}, full)
	g.Expect(err).NotTo(HaveOccurred())
	for i := range 2 {
		mustWrite(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d, hex(randomblob(1000)))", i))
		m, err := read()
		g.Expect(err).NotTo(HaveOccurred())
		_, err = storage.AppendSet(files, m.Ends, log)
		g.Expect(err).NotTo(HaveOccurred())
	}
	m, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Sets).To(HaveLen(3))
	for i, set := range m.Sets {
		g.Expect(set.Position).To(Equal(i + 1))
		r, err := set.Open(f)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Verify()).To(Succeed())
	}
	g.Expect(m.Sets[0].Header.Kind).To(Equal(storage.DatabaseBackup))
	g.Expect(m.Sets[2].Header.Kind).To(Equal(storage.LogBackup))

	whole, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	last := m.Sets[2]
	broken := errors.New("the volume is gone")
	for cut := last.Begin; cut < last.End; cut += 1 + (cut-last.Begin)*3 {
		// A write that fails takes itself back.
		_, err := storage.AppendSet(files, []int64{last.Begin}, func(w []io.Writer) error {
			_, _ = w[0].Write(whole[last.Begin:cut])
			return broken
		})
		g.Expect(err).To(MatchError(broken))
		left, err := read()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(left.Sets).To(HaveLen(2))
		g.Expect(left.Unfinished).To(BeFalse())
		// A crash leaves what was written so far, its first bytes missing or, after a power cut, in part.
		torn := append([]byte{}, whole[:cut]...)
		for at := last.Begin; at < min(last.Begin+8-cut%3, cut); at++ {
			torn[at] = 0
		}
		if cut == last.Begin {
			continue
		}
		g.Expect(os.WriteFile(path, torn, 0o640)).To(Succeed())
		left, err = read()
		g.Expect(err).NotTo(HaveOccurred(), "%d bytes of the set", cut-last.Begin)
		g.Expect(left.Sets).To(HaveLen(2))
		g.Expect(left.Unfinished).To(BeTrue())
		g.Expect(left.Ends).To(Equal([]int64{last.Begin}))
	}
	left, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = storage.AppendSet(files, left.Ends, log)
	g.Expect(err).NotTo(HaveOccurred())
	again, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Sets).To(HaveLen(3))
	g.Expect(again.Unfinished).To(BeFalse())

	// A finished set that lost its end, or what is no set, is damage, and not taken for the end.
	g.Expect(os.Truncate(path, again.Ends[0]-1)).To(Succeed())
	left, err = read()
	g.Expect(errors.Is(err, storage.ErrBackupCorrupt)).To(BeTrue())
	g.Expect(left.Sets).To(HaveLen(2))
	_, err = f.WriteAt([]byte("text"), left.Ends[0])
	g.Expect(err).NotTo(HaveOccurred())
	_, err = read()
	g.Expect(errors.Is(err, storage.ErrBackupCorrupt)).To(BeTrue())
}

// joined are the sets that the files of a media set hold together.
func joined(t *testing.T, files []*disk.File) (storage.MediaSet, error) {
	t.Helper()
	families := make([]storage.Media, len(files))
	for i, f := range files {
		info, err := f.Stat()
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		families[i], _ = storage.ReadMedia(f, info.Size()) // JoinMedia says it
	}
	return storage.JoinMedia(families)
}
