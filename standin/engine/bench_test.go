// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"geosql.dev/standin/storage/disk"
)

// BenchmarkInsert inserts 1 KB rows: one by one in transactions of 100, and as a bulk load.
func BenchmarkInsert(b *testing.B) {
	s := newServer(b)
	s.conn("master").exec("CREATE DATABASE d")
	db := s.open("d")
	db.SetMaxOpenConns(1)
	row := strings.Repeat("x", 1000)
	for _, name := range []string{"parameters", "bulk"} {
		if _, err := db.Exec("CREATE TABLE t_" + name + " (id int PRIMARY KEY, v varchar(1024) NOT NULL)"); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("parameters", func(b *testing.B) {
		if _, err := db.Exec("TRUNCATE TABLE t_parameters"); err != nil {
			b.Fatal(err)
		}
		tx, _ := db.Begin()
		for i := range b.N {
			if _, err := tx.Exec("INSERT INTO t_parameters VALUES (@p1, @p2)", i, row); err != nil {
				b.Fatal(err)
			}
			if i%100 == 99 {
				if err := tx.Commit(); err != nil {
					b.Fatal(err)
				}
				tx, _ = db.Begin()
			}
		}
		tx.Commit()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("bulk", func(b *testing.B) {
		if _, err := db.Exec("TRUNCATE TABLE t_bulk"); err != nil {
			b.Fatal(err)
		}
		tx, _ := db.Begin()
		stmt, err := tx.Prepare(mssql.CopyIn("t_bulk", mssql.BulkOptions{}, "id", "v"))
		if err != nil {
			b.Fatal(err)
		}
		for i := range b.N {
			if _, err := stmt.Exec(i, row); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := stmt.Exec(); err != nil {
			b.Fatal(err)
		}
		stmt.Close()
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// steadyDisk is a disk whose every sync takes as long, whatever else the machine's own disk has to do.
type steadyDisk struct {
	takes time.Duration
	syncs atomic.Int64
}

func (d *steadyDisk) Created(string)              {}
func (d *steadyDisk) Wrote(string, int64, []byte) {}
func (d *steadyDisk) Truncated(string, int64)     {}
func (d *steadyDisk) Removed(string)              {}
func (d *steadyDisk) Renamed(string, string)      {}

func (d *steadyDisk) Sync(_ string, sync func() error) error {
	d.syncs.Add(1)
	time.Sleep(d.takes)
	return sync()
}

// BenchmarkSmallTransactionsSteadyDisk commits small durable transactions over 64 connections, on a disk that does
// 5,000 syncs in a second at most; set TMPDIR to a file system in memory. Clients and server are one process.
func BenchmarkSmallTransactionsSteadyDisk(b *testing.B) {
	d := &steadyDisk{takes: time.Second / 5000}
	defer disk.Watch(os.TempDir(), d)()
	s := newServer(b)
	s.conn("master").exec("CREATE DATABASE d")
	db := s.open("d")
	db.SetMaxOpenConns(64)
	db.SetMaxIdleConns(64)
	if _, err := db.Exec("CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, v varchar(20) NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var work sync.WaitGroup
	before := d.syncs.Load()
	b.ResetTimer()
	for range 64 {
		work.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if _, err := db.ExecContext(context.Background(), "INSERT INTO t VALUES (@p1, @p2)", n, "small"); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	syncs := float64(d.syncs.Load() - before)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(syncs/b.Elapsed().Seconds(), "syncs/s")
	b.ReportMetric(float64(b.N)/syncs, "commits/sync")
}

// BenchmarkApply applies a query to each of 2,000 rows, which finds five of 10,000 by an index: as a join, the first
// one of them, one aggregate, and queries that are no join.
func BenchmarkApply(b *testing.B) {
	s := newServer(b)
	s.conn("master").exec("CREATE DATABASE d")
	db := s.open("d")
	for _, text := range []string{
		"CREATE TABLE t (id int NOT NULL UNIQUE); CREATE TABLE u (id int PRIMARY KEY, t int NOT NULL, x int NOT NULL)",
		"CREATE INDEX ix ON u (t, x)",
		"INSERT t SELECT value FROM GENERATE_SERIES(1, 2000)",
		"INSERT u SELECT value, value % 2000 + 1, value % 977 FROM GENERATE_SERIES(1, 10000)",
	} {
		if _, err := db.Exec(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, q := range []struct{ name, text string }{
		{"join", "SELECT x + 1 AS y FROM u WHERE u.t = t.id"},
		{"first", "SELECT TOP (1) x AS y FROM u WHERE u.t = t.id ORDER BY x DESC"},
		{"aggregate", "SELECT MAX(x) AS y FROM u WHERE u.t = t.id"},
		{"grouped", "SELECT x % 2 AS z, MAX(x) AS y FROM u WHERE u.t = t.id GROUP BY x % 2"},
		{"union", "SELECT x AS y FROM u WHERE u.t = t.id UNION SELECT t.id"},
	} {
		b.Run(q.name, func(b *testing.B) {
			before := processTime(b)
			for b.Loop() {
				sum := 0
				if err := db.QueryRow("SELECT SUM(a.y) FROM t CROSS APPLY (" + q.text + ") AS a").Scan(&sum); err != nil ||
					sum == 0 {
					b.Fatal(sum, err)
				}
			}
			b.ReportMetric(float64((processTime(b)-before).Microseconds())/2000/float64(b.N), "CPU-µs/row")
		})
	}
}

// processTime is what this process, clients and server, has used of the processors.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
