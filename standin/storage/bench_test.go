// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/storage"
)

func benchmarkCommits(b *testing.B, sessions int) {
	g := NewWithT(b)
	db, err := storage.Create(context.Background(), filesIn(b.TempDir(), "db"), storage.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer db.Close()
	_, err = write(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
	g.Expect(err).NotTo(HaveOccurred())
	var next atomic.Int64
	var wait sync.WaitGroup
	b.ResetTimer()
	for range sessions {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := insertRows(db, n, 1); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// insertRows inserts 1 KB rows with prepared text.
func insertRows(db *storage.Database, first, n int64) error {
	ctx := context.Background()
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	leave, err := tx.Use(ctx)
	if err != nil {
		return err
	}
	stmt := tx.Conn().Prep("INSERT INTO t VALUES (?, ?)")
	for i := range n {
		stmt.BindInt64(1, first+i)
		stmt.BindText(2, kilobyte)
		if _, err := stmt.Step(); err != nil {
			leave()
			return err
		}
		if err := stmt.Reset(); err != nil {
			leave()
			return err
		}
	}
	leave()
	_, err = tx.Commit(ctx)
	return err
}

var kilobyte = fmt.Sprintf("%01000d", 7)

func BenchmarkCommits1(b *testing.B)  { benchmarkCommits(b, 1) }
func BenchmarkCommits64(b *testing.B) { benchmarkCommits(b, 64) }

// BenchmarkRedo compares the rate at which rows are captured (1,000 a transaction) with that of redoing them. The two
// take turns, so that a machine that is busy with other things slows down both.
func BenchmarkRedo(b *testing.B) {
	g := NewWithT(b)
	db, err := storage.Create(context.Background(), filesIn(b.TempDir(), "db"), storage.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer db.Close()
	_, err = write(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
	g.Expect(err).NotTo(HaveOccurred())
	other := seed(g, db, b.TempDir())
	defer other.Close()
	g.Expect(db.HoldLog(storage.HoldReplica+" other", db.Log().End())).To(Succeed())
	const transactions = 20
	var captured, redone time.Duration
	for i := range b.N {
		started := time.Now()
		for n := range transactions {
			g.Expect(insertRows(db, int64(i*transactions+n)*1000, 1000)).To(Succeed())
		}
		captured += time.Since(started)
		started = time.Now()
		ship(g, db, other)
		redone += time.Since(started)
		g.Expect(db.HoldLog(storage.HoldReplica+" other", db.Log().End())).To(Succeed())
	}
	rows := float64(b.N * transactions * 1000)
	b.ReportMetric(rows/captured.Seconds(), "captured-rows/s")
	b.ReportMetric(rows/redone.Seconds(), "redone-rows/s")
	b.ReportMetric(captured.Seconds()/redone.Seconds(), "redo/capture")
}
