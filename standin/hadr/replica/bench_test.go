// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/storage"
)

// benchmarkedCluster is a cluster of three synchronous replicas for as long as the benchmark runs. What makes one wants
// a *testing.T: it is that of a test which lasts until then.
func benchmarkedCluster(b *testing.B) *cluster {
	var c *cluster
	done, ready, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		testing.RunTests(
			func(string, string) (bool, error) { return true, nil },
			[]testing.InternalTest{{Name: "cluster", F: func(t *testing.T) {
				c = newCluster(t, group.Synchronous, nil)
				c.synchronized(0, 1, 2)
				close(ready)
				<-done
			}}},
		)
	}()
	select {
	case <-ready:
	case <-gone:
		b.Fatal("there is no cluster")
	}
	b.Cleanup(func() {
		close(done)
		<-gone
	})
	return c
}

func benchmarkSynchronousCommit(b *testing.B, sessions int) {
	c := benchmarkedCluster(b)
	app := c.servers[0].Database("app")
	var next atomic.Int64
	var wait sync.WaitGroup
	b.ResetTimer()
	for range sessions {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := insert(b.Context(), app, int(1000+n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// Synchronous commits over loopback to two secondaries, all three servers on this machine.
func BenchmarkSynchronousCommit1(b *testing.B)  { benchmarkSynchronousCommit(b, 1) }
func BenchmarkSynchronousCommit64(b *testing.B) { benchmarkSynchronousCommit(b, 64) }

// BenchmarkRedoKeepsUp writes 1 KB rows, 100 a transaction, from four sessions to a primary with two synchronous
// secondaries on this machine, and reports how far redo was behind at most, and how long it took to finish at the end.
// An iteration is one transaction: -benchtime 30s. After a million rows they are written again, and the log is backed
// up (to nowhere) as it grows, so that minutes of load have room on a disk.
func BenchmarkRedoKeepsUp(b *testing.B) {
	c := benchmarkedCluster(b)
	app := c.servers[0].Database("app")
	var next atomic.Int64
	var wait sync.WaitGroup
	var worst int64
	watch := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { backUpLog(b, app, watch) })
	watcher.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-watch:
				return
			case <-tick.C:
			}
			for _, n := range []int{1, 2} {
				worst = max(worst, c.copyAt(n, n).RedoQueue)
			}
		}
	})
	if err := c.group(0).SetLease(replica.BootTime(), time.Hour); err != nil {
		b.Fatal(err)
	}
	begun := app.Log().Bytes(app.Log().End())
	b.ResetTimer()
	for range 4 {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := writeKilobytes(b.Context(), app, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	written := b.Elapsed()
	close(watch)
	watcher.Wait()
	end, _ := app.Applied()
	for _, n := range []int{1, 2} {
		db := c.servers[n].Database("app")
		NewWithT(
			b,
		).Eventually(func() bool { lsn, _ := db.Applied(); return !lsn.Less(end) }, "5m", "1ms").
			Should(BeTrue(), "server %d", n)
	}
	mb := float64(app.Log().Bytes(app.Log().End())-begun) / (1 << 20)
	b.ReportMetric(mb/written.Seconds(), "log-MB/s")
	b.ReportMetric(mb/b.Elapsed().Seconds(), "redone-MB/s")
	b.ReportMetric(float64(worst)/1024, "queue-MB-at-most")
	b.ReportMetric((b.Elapsed()-written).Seconds()*1000, "ms-to-finish")
}

// backUpLog backs the log up whenever there are 256 MB more of it, until it is to stop.
func backUpLog(b *testing.B, db *storage.Database, stop <-chan struct{}) {
	const often = 256 << 20
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for last := db.Log().Bytes(db.Log().End()); ; {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if db.Log().Bytes(db.Log().End())-last < often {
			continue
		}
		h, err := db.BackupLog(b.Context(), io.Discard, storage.BackupOptions{})
		if err == nil {
			err = db.NoteLogBackup(h)
		}
		if err != nil {
			b.Error(err)
			return
		}
		last = db.Log().Bytes(h.Last)
	}
}

var kilobyte = strings.Repeat("0123456789", 100)

// writeKilobytes inserts a hundred rows of 1 KB in one transaction, the n-th, or changes those that another has
// inserted.
func writeKilobytes(ctx context.Context, db *storage.Database, n int64) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	leave, err := tx.Use(ctx)
	if err != nil {
		return err
	}
	value := fmt.Sprintf("%010d%s", n, kilobyte[10:])
	stmt := tx.Conn().Prep("INSERT INTO t VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET v = excluded.v")
	for i := range int64(100) {
		stmt.BindInt64(1, n%10_000*100+i)
		stmt.BindText(2, value)
		if _, err = stmt.Step(); err == nil {
			err = stmt.Reset()
		}
		if err != nil {
			leave()
			return err
		}
	}
	leave()
	_, err = tx.Commit(ctx)
	return err
}
