// SPDX-License-Identifier: Apache-2.0

// Package speed_test measures the stand-in as a process, over TDS, each figure beside a baseline of the same run: the
// machine's other work slows down both. docs/engine.md says how to run it and has a table of what it gave.
package speed_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/test/process"
)

// binary is the stand-in, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &binary)) }

const (
	batchRows   = 100
	connections = 4
	// turn is how many rows stand-in and baseline insert in turns.
	turn = 20_000
)

var kilobyte = strings.Repeat("0123456789", 100)

// newTable makes the table and returns its database with exactly the connections asked for.
func newTable(b *testing.B, s *process.Server, connections int, definition string) *sql.DB {
	g := NewWithT(b)
	admin := s.Open(b, "master")
	defer admin.Close()
	_, err := admin.Exec("CREATE DATABASE speed")
	g.Expect(err).NotTo(HaveOccurred())
	db := s.Open(b, "speed")
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	_, err = db.Exec(definition)
	g.Expect(err).NotTo(HaveOccurred())
	return db
}

// insertText is the text of a batch's INSERT with its parameters.
func insertText(columns int) string {
	var text strings.Builder
	text.WriteString("INSERT INTO t VALUES ")
	for i := range batchRows {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteByte('(')
		for c := range columns {
			if c > 0 {
				text.WriteByte(',')
			}
			text.WriteString("@p" + strconv.Itoa(i*columns+c+1))
		}
		text.WriteByte(')')
	}
	return text.String()
}

// row is the values of row n: the key, and for the table with two keys a second one in another order.
func row(n int64, columns int) []any {
	if columns == 2 {
		return []any{n, kilobyte}
	}
	return []any{fmt.Sprintf("k%012d", n*7919%1_000_003_337), n, kilobyte}
}

// asVarChar are the values of a row as a client sends them that knows the columns' types: the driver sends a string as
// nvarchar, which makes 2 KB of a row of 1 KB.
func asVarChar(values []any) []any {
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = mssql.VarChar(text)
		}
	}
	return values
}

// insert sends the rows of one batch, from row first on, as one durable transaction.
type insert func(db *sql.DB, first int64, columns int) error

// withParameters is an INSERT of all rows, whose values are parameters as prepared by send.
func withParameters(send func([]any) []any) insert {
	return func(db *sql.DB, first int64, columns int) error {
		var args []any
		for i := range int64(batchRows) {
			args = append(args, send(row(first+i, columns))...)
		}
		_, err := db.Exec(insertText(columns), args...)
		return err
	}
}

// inBulk is a bulk load of the batch, as bcp does it.
func inBulk(db *sql.DB, first int64, columns int) error {
	names := []string{"id", "v"}
	if columns == 3 {
		names = []string{"code", "id", "v"}
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	stmt, err := conn.PrepareContext(context.Background(), mssql.CopyIn("t", mssql.BulkOptions{}, names...))
	if err != nil {
		return err
	}
	defer stmt.Close()
	for i := range int64(batchRows) {
		if _, err := stmt.Exec(row(first+i, columns)...); err != nil {
			return err
		}
	}
	_, err = stmt.Exec()
	return err
}

// overTDS inserts rows from all connections, a durable transaction for each batch.
func overTDS(db *sql.DB, first int64, columns int, send insert) error {
	var next atomic.Int64
	var work errgroup.Group
	for range connections {
		work.Go(func() error {
			for {
				begin := next.Add(batchRows) - batchRows
				if begin >= turn {
					return nil
				}
				if err := send(db, first+begin, columns); err != nil {
					return err
				}
			}
		})
	}
	return work.Wait()
}

// inProcess is the baseline: the same rows in the same transactions, in this process, with nothing synced or captured.
func inProcess(conn *sqlite.Conn, first int64, columns int) error {
	text := "INSERT INTO t VALUES (?, ?)"
	if columns == 3 {
		text = "INSERT INTO t (code, id, v) VALUES (?, ?, ?)"
	}
	for begin := int64(0); begin < turn; begin += batchRows {
		if err := sqlitex.ExecuteTransient(conn, "BEGIN", nil); err != nil {
			return err
		}
		stmt := conn.Prep(text)
		for i := range int64(batchRows) {
			for c, v := range row(first+begin+i, columns) {
				switch v := v.(type) {
				case int64:
					stmt.BindInt64(c+1, v)
				case string:
					stmt.BindText(c+1, v)
				}
			}
			if _, err := stmt.Step(); err != nil {
				return err
			}
			if err := stmt.Reset(); err != nil {
				return err
			}
		}
		if err := sqlitex.ExecuteTransient(conn, "COMMIT", nil); err != nil {
			return err
		}
	}
	return nil
}

// cpu is the CPU time of a process so far (utime and stime of /proc/PID/stat, in ticks of 10 ms).
func cpu(b testing.TB, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	user, e1 := strconv.Atoi(fields[11])
	system, e2 := strconv.Atoi(fields[12])
	NewWithT(b).Expect(errors.Join(e1, e2)).To(Succeed())
	return time.Duration(user+system) * 10 * time.Millisecond
}

func benchmarkInserts(b *testing.B, columns int, send insert, definition, baseline string) {
	g := NewWithT(b)
	s := process.New(b, binary)
	db := newTable(b, s, connections, definition)
	conn, err := sqlite.OpenConn(filepath.Join(b.TempDir(), "baseline.db"))
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	g.Expect(sqlitex.ExecuteTransient(conn, "PRAGMA synchronous=OFF", nil)).To(Succeed())
	g.Expect(sqlitex.ExecuteScript(conn, baseline, nil)).To(Succeed())
	// CPU times are the server's alone, and this process's in its own turns: work of others does not come into them.
	var served, direct, servedCPU, clientCPU, directCPU time.Duration
	b.ResetTimer()
	for i := range b.N {
		started, used, asked := time.Now(), cpu(b, s.PID()), cpu(b, os.Getpid())
		g.Expect(overTDS(db, int64(i)*turn, columns, send)).To(Succeed())
		served += time.Since(started)
		servedCPU += cpu(b, s.PID()) - used
		clientCPU += cpu(b, os.Getpid()) - asked
		started, used = time.Now(), cpu(b, os.Getpid())
		g.Expect(inProcess(conn, int64(i)*turn, columns)).To(Succeed())
		direct += time.Since(started)
		directCPU += cpu(b, os.Getpid()) - used
	}
	rows := float64(b.N * turn)
	b.ReportMetric(rows/served.Seconds(), "TDS-rows/s")
	b.ReportMetric(rows/direct.Seconds(), "SQLite-rows/s")
	b.ReportMetric(direct.Seconds()/served.Seconds(), "ratio")
	b.ReportMetric(servedCPU.Seconds()*1e6/rows, "server-CPU-us/row")
	b.ReportMetric(clientCPU.Seconds()*1e6/rows, "client-CPU-us/row")
	b.ReportMetric(directCPU.Seconds()*1e6/rows, "SQLite-CPU-us/row")
	b.ReportMetric(directCPU.Seconds()/servedCPU.Seconds(), "CPU-ratio")
}

// Tables and what SQLite has in their place.
const (
	integerKey       = "CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, v varchar(1000) NOT NULL)"
	integerKeySQLite = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT NOT NULL)"
	twoKeys          = "CREATE TABLE t (code varchar(20) NOT NULL PRIMARY KEY, id bigint NOT NULL UNIQUE, v " +
		"varchar(1000) NOT NULL)"
	twoKeysSQLite = "CREATE TABLE t (rowid INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, id INT NOT NULL UNIQUE, " +
		"v TEXT NOT NULL)"
)

// BenchmarkInsertIntegerKey inserts rows of 1 KB in batches of 100, durable, from four connections: as parameters of
// the columns' types, as the driver sends strings, and in bulk.
func BenchmarkInsertIntegerKey(b *testing.B) {
	b.Run(
		"varchar",
		func(b *testing.B) { benchmarkInserts(b, 2, withParameters(asVarChar), integerKey, integerKeySQLite) },
	)
	b.Run("nvarchar", func(b *testing.B) {
		benchmarkInserts(b, 2, withParameters(func(values []any) []any { return values }), integerKey, integerKeySQLite)
	})
	b.Run("bulk", func(b *testing.B) { benchmarkInserts(b, 2, inBulk, integerKey, integerKeySQLite) })
}

// BenchmarkInsertTwoKeys is the same with a primary key of text and a unique index.
func BenchmarkInsertTwoKeys(b *testing.B) {
	b.Run("varchar", func(b *testing.B) { benchmarkInserts(b, 3, withParameters(asVarChar), twoKeys, twoKeysSQLite) })
	b.Run("nvarchar", func(b *testing.B) {
		benchmarkInserts(b, 3, withParameters(func(values []any) []any { return values }), twoKeys, twoKeysSQLite)
	})
	b.Run("bulk", func(b *testing.B) { benchmarkInserts(b, 3, inBulk, twoKeys, twoKeysSQLite) })
}

// syncsPerSecond is how often the disk does a small write with fsync in a second.
func syncsPerSecond(b *testing.B) float64 {
	g := NewWithT(b)
	f, err := os.Create(filepath.Join(b.TempDir(), "sync"))
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	n, started := 0, time.Now()
	for ; time.Since(started) < time.Second; n++ {
		_, err := f.WriteAt(make([]byte, 512), int64(n)*512)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Sync()).To(Succeed())
	}
	return float64(n) / time.Since(started).Seconds()
}

// flushes is how often the database's log was synced.
func flushes(b *testing.B, db *sql.DB) int64 {
	var n int64
	NewWithT(
		b,
	).Expect(db.QueryRow("SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Flushes/sec' " +
		"AND instance_name = 'speed'").Scan(&n)).
		To(Succeed())
	return n
}

// BenchmarkSmallTransactions64 commits small durable transactions over 64 connections; an iteration is one of them.
func BenchmarkSmallTransactions64(b *testing.B) {
	const sessions = 64
	syncs := syncsPerSecond(b)
	s := process.New(b, binary)
	db := newTable(b, s, sessions, "CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, v varchar(20) NOT NULL)")
	var next atomic.Int64
	var work sync.WaitGroup
	// The clients' CPU time is reported beside the server's, which clients on other machines would leave all processors.
	before := flushes(b, db)
	used, asked := cpu(b, s.PID()), cpu(b, os.Getpid())
	b.ResetTimer()
	for range sessions {
		work.Go(func() {
			stmt, err := db.PrepareContext(context.Background(), "INSERT INTO t VALUES (@p1, @p2)")
			if err != nil {
				b.Error(err)
				return
			}
			defer stmt.Close()
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if _, err := stmt.Exec(n, "small"); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	rate := float64(b.N) / b.Elapsed().Seconds()
	used, asked = cpu(b, s.PID())-used, cpu(b, os.Getpid())-asked
	b.ReportMetric(rate, "commits/s")
	b.ReportMetric(used.Seconds()*1e6/float64(b.N), "server-CPU-us/commit")
	b.ReportMetric(asked.Seconds()*1e6/float64(b.N), "client-CPU-us/commit")
	b.ReportMetric(float64(b.N)/used.Seconds(), "commits/server-CPU-s")
	b.ReportMetric(syncs, "disk-fsyncs/s")
	b.ReportMetric(rate/syncs, "commits/disk-fsync")
	b.ReportMetric(float64(b.N)/float64(flushes(b, db)-before), "commits/log-flush")
}

// resident is a process's memory in MB that it shares with nobody (Pss of /proc/PID/smaps_rollup).
func resident(b testing.TB, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, "Pss:"); found {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			NewWithT(b).Expect(err).NotTo(HaveOccurred())
			return float64(kb) / 1024
		}
	}
	b.Fatal("no Pss")
	return 0
}

// startup is what a server needed from its start to the first login's answer, and its memory when idle: with the first
// connection, and with 200 more.
type startup struct {
	took, used time.Duration
	idle, many float64
}

// restart starts a server again on its files.
func restart(b testing.TB, s *process.Server) (m startup) {
	g := NewWithT(b)
	s.Kill()
	begin := time.Now()
	s.Start(b)
	db := s.Open(b, "master")
	defer db.Close()
	g.Expect(db.Ping()).To(Succeed())
	m.took, m.used = time.Since(begin), cpu(b, s.PID())
	m.idle = resident(b, s.PID())
	db.SetMaxOpenConns(0)
	db.SetMaxIdleConns(201)
	for range 200 {
		c, err := db.Conn(b.Context())
		g.Expect(err).NotTo(HaveOccurred())
		defer c.Close()
	}
	m.many = resident(b, s.PID())
	return m
}

// TestStartsSoonAndStaysSmall holds what is promised of an instance that has nothing to do. The start is measured in
// its own CPU time, which other work does not make longer as it does the time on the clock.
func TestStartsSoonAndStaysSmall(t *testing.T) {
	g := NewWithT(t)
	m := restart(t, process.New(t, binary))
	g.Expect(m.used).To(BeNumerically("<", time.Second), "CPU time to the first login")
	g.Expect(m.idle).To(BeNumerically("<", 60), "MB of an idle instance")
	g.Expect(m.many-m.idle).To(BeNumerically("<", 20), "MB of 200 idle connections")
}

// BenchmarkStartAndIdle measures from the start of a process to the first login's answer, and its memory when idle.
func BenchmarkStartAndIdle(b *testing.B) {
	s := process.New(b, binary)
	var first, used time.Duration
	var m startup
	b.ResetTimer()
	for range b.N {
		m = restart(b, s)
		first += m.took
		used += m.used
	}
	b.ReportMetric(first.Seconds()*1000/float64(b.N), "ms-to-first-login")
	b.ReportMetric(used.Seconds()*1000/float64(b.N), "CPU-ms-to-first-login")
	b.ReportMetric(m.idle, "MB-idle")
	b.ReportMetric(m.many-m.idle, "MB-for-200-connections")
}
