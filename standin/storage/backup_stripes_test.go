// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// A set that is spread over three media families, and whose backup ends anywhere in any of them, leaves the sets before
// it, and the next one takes its place (docs/relational-databases/backup-restore/
// media-sets-media-families-and-backup-sets-sql-server.md, Appending to existing backup sets).
func TestAppendedStripesAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newStripes(t)
	m.append(m.full)
	m.append(m.log)
	before := m.contents()
	left, err := joined(t, m.files)
	g.Expect(err).NotTo(HaveOccurred())
	m.append(m.log)
	whole := m.contents()

	// How much of its part each family has, and whether its first bytes are there: those of the first family come last.
	const nothing, half, all = 0, 1, 2
	for _, crash := range []struct{ written, begun [3]int }{
		{written: [3]int{half, nothing, nothing}},
		{written: [3]int{half, half, half}},
		{written: [3]int{all, all, all}},
		{written: [3]int{all, all, all}, begun: [3]int{0, 0, 1}},
		{written: [3]int{all, all, all}, begun: [3]int{0, 1, 1}},
	} {
		for i, path := range m.paths {
			part := append([]byte{}, whole[i][len(before[i]):]...)
			if crash.begun[i] == 0 {
				clear(part[:8])
			}
			part = part[:len(part)*crash.written[i]/all]
			g.Expect(os.WriteFile(path, append(bytes.Clone(before[i]), part...), 0o640)).To(Succeed())
		}
		got, err := joined(t, m.files)
		g.Expect(err).NotTo(HaveOccurred(), "%v", crash)
		g.Expect(got.Sets).To(HaveLen(2), "%v", crash)
		g.Expect(got.Unfinished).To(BeTrue(), "%v", crash)
		g.Expect(got.Ends).To(Equal(left.Ends), "%v", crash)
		m.append(m.log)
		got, err = joined(t, m.files)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.Sets).To(HaveLen(3))
		for _, set := range got.Sets {
			g.Expect(m.verify(set)).To(Succeed())
		}
	}

	// A write that fails takes itself back in all files.
	broken := errors.New("the volume is gone")
	_, err = storage.AppendSet(m.files, left.Ends, func(w []io.Writer) error {
		for i := range w {
			_, _ = w[i].Write(whole[i][len(before[i]):])
		}
		return broken
	})
	g.Expect(err).To(MatchError(broken))
	g.Expect(m.contents()).To(Equal(before))
}

// Whenever the process or the power ends while a set is appended, and whatever of the unsynced writes of a file is on
// disk, the sets before it are there, and it is there wholly or not at all.
func TestEachStepOfAnAppendedStripe(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newStripes(t)
	m.append(m.full)
	m.append(m.log)
	steps := &steps{paths: m.paths, durable: m.contents(), overtaken: m.contents()}
	whole, absent := 0, 0
	steps.check = func(files [][]byte) {
		families, readers := make([]storage.Media, len(files)), make([]io.ReaderAt, len(files))
		for i, content := range files {
			readers[i] = bytes.NewReader(content)
			families[i], _ = storage.ReadMedia(readers[i], int64(len(content))) // JoinMedia says it
		}
		got, err := storage.JoinMedia(families)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(got.Sets)).To(BeNumerically(">=", 2))
		for _, set := range got.Sets {
			r, err := set.Open(readers...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Verify()).To(Succeed())
		}
		if len(got.Sets) == 3 {
			whole++
		} else {
			absent++
		}
	}
	defer disk.Watch(filepath.Dir(m.paths[0]), steps)()
	m.reopen()
	m.append(m.log)
	g.Expect(whole).To(BeNumerically(">", 0))
	g.Expect(absent).To(BeNumerically(">", 10))
}

// steps has what each write and each sync leaves judged.
type steps struct {
	paths []string
	// durable is what was synced of each file, and overtaken that with the newest write alone, which is on disk before
	// those that came before it.
	durable, overtaken [][]byte
	check              func(files [][]byte)
}

func (s *steps) Created(string)          {}
func (s *steps) Removed(string)          {}
func (s *steps) Renamed(string, string)  {}
func (s *steps) Truncated(string, int64) { s.left() }

func (s *steps) Wrote(path string, offset int64, data []byte) {
	i := slices.Index(s.paths, path)
	torn := bytes.Clone(s.durable[i])
	if missing := int(offset) + len(data) - len(torn); missing > 0 {
		torn = append(torn, make([]byte, missing)...)
	}
	copy(torn[offset:], data)
	s.overtaken[i] = torn
	s.left()
}

func (s *steps) Sync(path string, sync func() error) error {
	s.left()
	err := sync()
	if i := slices.Index(s.paths, path); err == nil && i >= 0 {
		s.durable[i], err = os.ReadFile(path)
		s.overtaken[i] = s.durable[i]
	}
	s.left()
	return err
}

// left goes through what a crash may leave now.
func (s *steps) left() {
	written := make([][]byte, len(s.paths))
	for i, path := range s.paths {
		content, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		written[i] = content
	}
	states := [][][]byte{s.durable, s.overtaken, written}
	for _, first := range states {
		for _, second := range states {
			for _, third := range states {
				s.check([][]byte{first[0], second[1], third[2]})
			}
		}
	}
}

// Every byte of every family counts: what is changed is told, with the family that it is in.
func TestDamageOfEachStripeIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newStripes(t)
	m.append(m.full)
	m.append(m.log)
	whole := m.contents()
	set, err := joined(t, m.files)
	g.Expect(err).NotTo(HaveOccurred())
	for _, one := range set.Sets {
		for i, part := range one.Parts {
			// Behind the header: in the content, and in the checksum.
			header := part.Begin + 16 + int64(binary.BigEndian.Uint32(whole[i][part.Begin+12:]))
			g.Expect(header).To(BeNumerically("<", part.End-60), "the family has some of the content")
			for at := header; at < part.End; at += 1 + (part.End-header)/50 {
				torn := bytes.Clone(whole[i])
				torn[at] ^= 1
				g.Expect(os.WriteFile(m.paths[i], torn, 0o640)).To(Succeed())
				var damaged *storage.FamilyError
				err := m.verify(one)
				g.Expect(errors.As(err, &damaged)).To(BeTrue(), "%v", err)
				g.Expect(damaged.Family).To(Equal(i + 1))
				g.Expect(errors.Is(err, storage.ErrBackupCorrupt)).To(BeTrue())
			}
			g.Expect(os.WriteFile(m.paths[i], whole[i], 0o640)).To(Succeed())
		}
		g.Expect(m.verify(one)).To(Succeed())
		_, err := one.Open(m.files[0], m.files[2], m.files[1])
		g.Expect(errors.Is(err, storage.ErrBackupCorrupt)).To(BeTrue(), "the wrong order")
	}
	// A family that lost a set is damaged, and what the others have of it is not cut.
	for i, path := range m.paths {
		g.Expect(os.Truncate(path, set.Sets[1].Parts[i].Begin)).To(Succeed())
		got, err := joined(t, m.files)
		if i == 0 {
			// It is the first family's that says whether a set is there.
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Unfinished).To(BeTrue())
		} else {
			var damaged *storage.FamilyError
			g.Expect(errors.As(err, &damaged)).To(BeTrue(), "%v", err)
			g.Expect(damaged.Family).To(Equal(i + 1))
		}
		g.Expect(got.Sets).To(HaveLen(1))
		g.Expect(os.WriteFile(path, whole[i], 0o640)).To(Succeed())
	}
}

// stripes is a media set of three files, and the database whose backups go there.
type stripes struct {
	t     *testing.T
	db    *storage.Database
	paths []string
	files []*disk.File
	rows  int
}

func newStripes(t *testing.T) *stripes {
	t.Helper()
	m := &stripes{t: t, db: create(t, storage.Options{Name: "db"})}
	mustWrite(t, m.db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
	folder := t.TempDir()
	for i := range 3 {
		m.paths = append(m.paths, filepath.Join(folder, fmt.Sprint(i+1, ".bak")))
	}
	m.reopen()
	return m
}

// reopen opens the files, for a watcher that is there by now.
func (m *stripes) reopen() {
	m.t.Helper()
	m.files = nil
	for _, path := range m.paths {
		f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
		NewWithT(m.t).Expect(err).NotTo(HaveOccurred())
		m.t.Cleanup(func() { f.Close() })
		m.files = append(m.files, f)
	}
}

func (m *stripes) full(w []io.Writer) error {
	h, err := m.db.Backup(m.t.Context(), w[0], storage.BackupOptions{Compress: true, Further: w[1:]})
	if err == nil {
		err = m.db.NoteBackup(h)
	}
	return err
}

func (m *stripes) log(w []io.Writer) error {
	_, err := m.db.BackupLog(m.t.Context(), w[0], storage.BackupOptions{Further: w[1:]})
	return err
}

// append writes a further set, of a row more.
func (m *stripes) append(write func([]io.Writer) error) {
	m.t.Helper()
	g := NewWithT(m.t)
	m.rows++
	mustWrite(m.t, m.db, fmt.Sprintf("INSERT INTO t VALUES (%d, hex(randomblob(1000)))", m.rows))
	ends := make([]int64, len(m.files))
	if content := m.contents(); len(content[0]) > 0 {
		set, err := joined(m.t, m.files)
		g.Expect(err).NotTo(HaveOccurred())
		ends = set.Ends
	}
	_, err := storage.AppendSet(m.files, ends, write)
	g.Expect(err).NotTo(HaveOccurred())
}

func (m *stripes) contents() (all [][]byte) {
	m.t.Helper()
	for _, path := range m.paths {
		content, err := os.ReadFile(path)
		NewWithT(m.t).Expect(err).NotTo(HaveOccurred())
		all = append(all, content)
	}
	return all
}

func (m *stripes) verify(set storage.SpreadSet) error {
	files := make([]io.ReaderAt, len(m.files))
	for i, f := range m.files {
		files[i] = f
	}
	r, err := set.Open(files...)
	if err != nil {
		return err
	}
	return r.Verify()
}
