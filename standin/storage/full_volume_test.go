// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// fullVolume is a volume of logs on which no file grows while it is full; data files are elsewhere.
type fullVolume struct{ full atomic.Bool }

func (*fullVolume) Created(string)                         {}
func (*fullVolume) Wrote(string, int64, []byte)            {}
func (*fullVolume) Truncated(string, int64)                {}
func (*fullVolume) Removed(string)                         {}
func (*fullVolume) Renamed(string, string)                 {}
func (*fullVolume) Sync(_ string, sync func() error) error { return sync() }

func (v *fullVolume) Room(path string, offset int64, n int) error {
	info, err := os.Stat(path)
	if err != nil || !v.full.Load() || filepath.Ext(path) != ".vlf" || offset+int64(n) <= info.Size() {
		return nil
	}
	return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
}

// emptying is a volume of logs of so many bytes. Whatever is written takes of them.
type emptying struct {
	fullVolume
	free atomic.Int64
}

func (v *emptying) Free(string) int64 { return v.free.Load() }

func (v *emptying) Room(path string, _ int64, n int) error {
	if v.free.Load() < int64(n) {
		return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
	}
	v.free.Add(-int64(n))
	return nil
}

// A log that is full leaves room for the database's state, which is beside it: a primary whose log's volume is full
// leaves its role.
func TestAFullLogLeavesRoomForTheState(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	volume := &emptying{}
	volume.free.Store(8 << 20)
	files := filesIn(root, "db")
	t.Cleanup(disk.Watch(files.Log, volume))
	db, err := storage.Create(t.Context(), files, storage.Options{SegmentBytes: 64 << 10})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { db.Close() })
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	g.Expect(db.HoldLog(storage.HoldReplication, db.Log().End())).To(Succeed())
	for bytes := 64_000; bytes > 0; bytes /= 2 {
		for err == nil {
			_, err = write(db, fmt.Sprintf("INSERT INTO t (v) VALUES (randomblob(%d))", bytes))
		}
		g.Expect(errors.Is(err, storage.ErrLogFull)).To(BeTrue(), "%v", err)
		err = nil
	}
	g.Expect(db.HoldLog("another", db.Log().End())).To(Succeed(), "the state is written")
}

// A log whose volume has no room is full, as one at its greatest size is: the transaction is rolled back, and says what
// keeps the log. Once there is room the database goes on, and a restart finds what was acknowledged and nothing else.
func TestTheLogsVolumeIsFull(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	volume := &fullVolume{}
	t.Cleanup(disk.Watch(root, volume))
	db, err := storage.Create(t.Context(), filesIn(root, "db"), storage.Options{SegmentBytes: 64 << 10})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { db.Close() })
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
	g.Expect(db.HoldLog(storage.HoldReplication, db.Log().End())).To(Succeed())
	id := 0
	insert := func(bytes int) error {
		id++
		_, err := write(db, fmt.Sprintf("INSERT INTO t VALUES (%d, randomblob(%d))", id, bytes))
		return err
	}
	acknowledged := 0
	// The room ends within a virtual log file, between two of them, and in the midst of a transaction of several.
	for _, bytes := range []int{1000, 60_000, 200_000} {
		g.Expect(insert(bytes)).To(Succeed())
		volume.full.Store(true)
		for range 3 {
			err := insert(bytes)
			var full *storage.LogFull
			g.Expect(errors.As(err, &full)).To(BeTrue(), "%v", err)
			g.Expect(full.Reuse).To(Equal("REPLICATION"))
		}
		volume.full.Store(false)
		g.Expect(insert(bytes)).To(Succeed(), "there is room again")
		acknowledged += 2
		rows, err := dump(db)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(rows)).To(Equal(1+acknowledged), "the table and its rows")
	}
	before, err := dump(db)
	g.Expect(err).NotTo(HaveOccurred())
	volume.full.Store(true)
	g.Expect(insert(1000)).NotTo(Succeed())
	g.Expect(db.Close()).To(Succeed())
	again, err := storage.Open(t.Context(), filesIn(root, "db"), storage.Options{SegmentBytes: 64 << 10})
	g.Expect(err).NotTo(HaveOccurred(), "a database comes up on a full volume")
	t.Cleanup(func() { again.Close() })
	g.Expect(dump(again)).To(Equal(before))
	volume.full.Store(false)
	_, err = write(again, "INSERT INTO t VALUES (1000, 'x')")
	g.Expect(err).NotTo(HaveOccurred())
}
