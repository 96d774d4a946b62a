// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// sizeVariable names an environment variable with the size of the benchmarks' database in MB, shortMB unless given.
const (
	sizeVariable = "GEOSQL_BENCH_MB"
	shortMB      = 100
	rowsInMB     = 1000
)

// figures is an engine with a database of rows of 1 KB, half of which can be compressed.
type figures struct {
	*testing.B
	engine *engine.Engine
	db     *mssql.DB
	mb     int
	// forms is how many sets there are.
	forms int
}

func newFigures(b *testing.B) *figures {
	b.Helper()
	f := &figures{B: b, engine: engine.Start(b, "web", "tukpub"), mb: shortMB}
	if text := os.Getenv(sizeVariable); text != "" {
		var err error
		if f.mb, err = strconv.Atoi(text); err != nil || f.mb < 1 {
			b.Fatalf("%s=%s: a number of MB, 1 at least", sizeVariable, text)
		}
	}
	f.db = f.connect()
	if err := os.MkdirAll(f.engine.OnDisk(conf.BackupDir), 0o750); err != nil {
		b.Fatal(err)
	}
	f.exec("CREATE DATABASE Content")
	f.exec("ALTER DATABASE Content SET RECOVERY SIMPLE")
	f.exec("CREATE TABLE Content.dbo.t (id int IDENTITY PRIMARY KEY, v varbinary(500), filler char(500))")
	f.exec("INSERT Content.dbo.t (v, filler) SELECT CAST(" + noise() + " AS varbinary(500)), 'the same in each row' " +
		"FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS a (n) " +
		"CROSS JOIN (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS c (n)")
	const atOnce = 10_000
	for rows := 100; rows < rowsInMB*f.mb; {
		more := min(9*rows, atOnce, rowsInMB*f.mb-rows)
		f.exec(fmt.Sprintf("INSERT Content.dbo.t (v, filler) SELECT TOP (%d) CAST(%s AS varbinary(500)), filler "+
			"FROM Content.dbo.t CROSS JOIN (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a (n)", more, noise()))
		rows += more
	}
	f.exec("ALTER DATABASE Content SET RECOVERY FULL")
	return f
}

// noise is an expression of 512 bytes that nothing compresses.
func noise() string {
	text := "CAST(NEWID() AS binary(16))"
	for range 5 {
		text += " + " + text
	}
	return text
}

// connect is a pool of connections as sa.
func (f *figures) connect() *mssql.DB {
	f.Helper()
	db, err := f.engine.Connector(f).Open(f.Context(), f.engine.Target(credentials.RoleSA))
	if err != nil {
		f.Fatal(err)
	}
	return db
}

func (f *figures) exec(text string) {
	f.Helper()
	if _, err := f.db.Handle().ExecContext(f.Context(), text); err != nil {
		f.Fatalf("%s: %v", text, err)
	}
}

// timed executes a statement and says how long it took.
func (f *figures) timed(s tsql.Statement) time.Duration {
	f.Helper()
	begun := time.Now()
	if err := f.db.Exec(f.Context(), s); err != nil {
		f.Fatal(err)
	}
	return time.Since(begun)
}

// form is the next set's, with files of its own.
func (f *figures) form(compression bool, stripes int) tsql.BackupForm {
	f.forms++
	form := tsql.BackupForm{Compression: compression, Checksum: true}
	for n := range stripes {
		form.Files = append(form.Files, fmt.Sprintf("%s/%d-%d.bak", conf.BackupDir, f.forms, n))
	}
	return form
}

// onDisk are the bytes of a set's files.
func (f *figures) onDisk(files []string) (bytes int64) {
	f.Helper()
	for _, file := range files {
		info, err := os.Stat(filepath.Join(f.engine.OnDisk(conf.BackupDir), filepath.Base(file)))
		if err != nil {
			f.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// remove removes a set's files, which nothing restores any more.
func (f *figures) remove(files []string) {
	f.Helper()
	for _, file := range files {
		if err := os.Remove(filepath.Join(f.engine.OnDisk(conf.BackupDir), filepath.Base(file))); err != nil {
			f.Fatal(err)
		}
	}
}

// BenchmarkBackups takes and restores backups of a database of GEOSQL_BENCH_MB (100) as the sidecars have them taken:
// full, differential after the first tenth of the table changed, and the log of that change. It ends with a table of
// means. The stand-in's differential has all data. What it shows is the stand-in's time; ratios between rows of one run
// are what to compare.
//
//	go test -tags integration -run '^$' -bench 'Backups$' -benchtime 3x ./internal/agent/backups
func BenchmarkBackups(b *testing.B) {
	f := newFigures(b)
	var rows [][]string
	for _, compression := range []bool{false, true} {
		for _, stripes := range []int{1, 4} {
			c := &chain{figures: f, compression: compression, stripes: stripes}
			b.Run(fmt.Sprintf("compression=%t/stripes=%d", compression, stripes), c.measure)
			rows = append(rows, c.rows()...)
		}
	}
	printTable(fmt.Sprintf("Backups of a database of %d MB, of which a tenth changes", f.mb),
		[]string{"backup", "compression", "stripes", "MiB", "taken in s", "restored in s"}, rows)
}

// chain is a full backup, with a differential one or the log behind it, all in one form. Its figures are sums.
type chain struct {
	*figures
	compression             bool
	stripes                 int
	rounds                  int
	full, differential, log measured
}

// measured is of one kind of backup.
type measured struct {
	bytes           int64
	taken, restored time.Duration
	restores        int
}

// measure takes all kinds and restores them, in each round anew.
func (c *chain) measure(b *testing.B) {
	for b.Loop() {
		c.rounds++
		full := c.take(&c.full, tsql.BackupDatabase)
		before := c.take(new(measured), tsql.BackupLog)
		// A differential has whole extents: rows all over the table would be all of it.
		c.exec(fmt.Sprintf("UPDATE Content.dbo.t SET v = CAST(%s AS varbinary(500)) WHERE id <= %d", noise(),
			c.mb*rowsInMB/10))
		log := c.take(&c.log, tsql.BackupLog)
		differential := c.take(&c.differential, func(name string, form tsql.BackupForm) tsql.Statement {
			form.Differential = true
			return tsql.BackupDatabase(name, form)
		})

		c.restoreFull(full)
		c.restore(&c.differential, tsql.RestoreDatabase("Copy", tsql.RestoreForm{Files: differential}))
		c.drop()
		c.restoreFull(full)
		c.restore(new(measured), tsql.RestoreLog("Copy", tsql.RestoreForm{Files: before}))
		c.restore(&c.log, tsql.RestoreLog("Copy", tsql.RestoreForm{Files: log}))
		c.drop()
		for _, files := range [][]string{full, before, log, differential} {
			c.remove(files)
		}
	}
	b.ReportMetric(float64(c.full.bytes)/float64(c.rounds)/(1<<20), "MiB-full")
}

// take takes a backup, and says which files have it.
func (c *chain) take(into *measured, statement func(string, tsql.BackupForm) tsql.Statement) []string {
	form := c.form(c.compression, c.stripes)
	into.taken += c.timed(statement("Content", form))
	into.bytes += c.onDisk(form.Files)
	return form.Files
}

func (c *chain) restore(into *measured, s tsql.Statement) {
	into.restored += c.timed(s)
	into.restores++
}

func (c *chain) restoreFull(files []string) {
	c.restore(&c.full, tsql.RestoreDatabase("Copy", tsql.RestoreForm{Files: files, Moves: []tsql.FileMove{
		{Name: "Content", To: conf.DataDir + "/copy.mdf"}, {Name: "Content_log", To: conf.DataDir + "/copy.ldf"}}}))
}

// drop recovers the copy, which has to be whole, and drops it.
func (c *chain) drop() {
	c.timed(tsql.RecoverDatabase("Copy"))
	var rows int
	if err := c.db.Handle().QueryRowContext(c.Context(), "SELECT COUNT(*) FROM Copy.dbo.t").Scan(&rows); err != nil {
		c.Fatal(err)
	}
	if rows != c.mb*rowsInMB {
		c.Fatalf("%d rows were restored of %d", rows, c.mb*rowsInMB)
	}
	c.exec("DROP DATABASE Copy")
}

// rows of the table; none where nothing was measured.
func (c *chain) rows() (all [][]string) {
	for _, kind := range []struct {
		name string
		measured
	}{{"full", c.full}, {"differential", c.differential}, {"log", c.log}} {
		if c.rounds == 0 {
			continue
		}
		all = append(all, []string{kind.name, map[bool]string{false: "off", true: "on"}[c.compression],
			strconv.Itoa(c.stripes), fmt.Sprintf("%.1f", float64(kind.bytes)/float64(c.rounds)/(1<<20)),
			fmt.Sprintf("%.2f", kind.taken.Seconds()/float64(c.rounds)),
			fmt.Sprintf("%.2f", kind.restored.Seconds()/float64(kind.restores))})
	}
	return all
}

// printTable prints a table as documents have them.
func printTable(title string, head []string, rows [][]string) {
	fmt.Printf("\n%s:\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Printf("| %s |\n", strings.Join(row, " | "))
	}
	fmt.Println()
}
