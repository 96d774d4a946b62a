// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// BenchmarkBackups takes and restores backups of a database of 100 MB as the sidecars have them taken, rows of 1 KB of
// which half can be compressed: full, differential after a tenth of the rows changed, and the log of that change. What
// it shows is the stand-in's time; ratios between rows of one run are what to compare.
//
//	go test -tags integration -run '^$' -bench Backups -benchtime 3x ./internal/agent/backups
func BenchmarkBackups(b *testing.B) {
	e := engine.Start(b, "web", "tukpub")
	db, err := e.Connector(b).Open(b.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
	if err != nil {
		b.Fatal(err)
	}
	exec := func(text string) {
		b.Helper()
		if _, err := db.Handle().ExecContext(b.Context(), text); err != nil {
			b.Fatalf("%s: %v", text, err)
		}
	}
	run := func(s tsql.Statement) {
		b.Helper()
		if err := db.Exec(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.MkdirAll(e.OnDisk(conf.BackupDir), 0o750); err != nil {
		b.Fatal(err)
	}
	exec("CREATE DATABASE Content")
	exec("ALTER DATABASE Content SET RECOVERY FULL")
	exec("CREATE TABLE Content.dbo.t (id int IDENTITY PRIMARY KEY, v varbinary(500), filler char(500))")
	random := "CAST(NEWID() AS binary(16))"
	for range 5 {
		random += " + " + random
	}
	exec("INSERT Content.dbo.t (v, filler) SELECT CAST(" + random + " AS varbinary(500)), 'the same in each row' " +
		"FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS a (n) " +
		"CROSS JOIN (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS c (n)")
	for rows := 100; rows < 100_000; rows *= 10 {
		exec("INSERT Content.dbo.t (v, filler) SELECT CAST(" + random + " AS varbinary(500)), filler FROM Content.dbo.t " +
			"CROSS JOIN (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a (n)")
	}
	seen := 0
	for _, compression := range []bool{false, true} {
		for _, stripes := range []int{1, 4} {
			form := func() tsql.BackupForm {
				seen++
				f := tsql.BackupForm{Compression: compression, Checksum: true}
				for n := range stripes {
					f.Files = append(f.Files, fmt.Sprintf("%s/%d-%d.bak", conf.BackupDir, seen, n))
				}
				return f
			}
			take := func(kind string, ahead func(), statement func(tsql.BackupForm) tsql.Statement) (last []string) {
				b.Run(fmt.Sprintf("%s/compression=%t/stripes=%d", kind, compression, stripes), func(b *testing.B) {
					var bytes int64
					for b.Loop() {
						b.StopTimer()
						ahead()
						f := form()
						last = f.Files
						b.StartTimer()
						run(statement(f))
						b.StopTimer()
						bytes = onDisk(b, e, f.Files)
						b.StartTimer()
					}
					b.ReportMetric(float64(bytes)/(1<<20), "MiB")
				})
				return last
			}
			change := func() { exec("UPDATE Content.dbo.t SET v = CAST(" + random + " AS varbinary(500)) WHERE id % 10 = 0") }
			whole := func(f tsql.BackupForm) tsql.Statement { return tsql.BackupDatabase("Content", f) }
			log := func(f tsql.BackupForm) tsql.Statement { return tsql.BackupLog("Content", f) }
			full := take("full", func() {}, whole)
			take("differential", change, func(f tsql.BackupForm) tsql.Statement {
				f.Differential = true
				return tsql.BackupDatabase("Content", f)
			})
			take("log", func() { run(log(form())); change() }, log)
			b.Run(fmt.Sprintf("restore/compression=%t/stripes=%d", compression, stripes), func(b *testing.B) {
				for b.Loop() {
					run(tsql.RestoreDatabase("Copy", tsql.RestoreForm{Files: full, Moves: []tsql.FileMove{
						{Name: "Content", To: conf.DataDir + "/copy.mdf"}, {Name: "Content_log", To: conf.DataDir + "/copy.ldf"}}}))
					run(tsql.RecoverDatabase("Copy"))
					b.StopTimer()
					exec("DROP DATABASE Copy")
					b.StartTimer()
				}
			})
		}
	}
}

func onDisk(b *testing.B, e *engine.Engine, files []string) (bytes int64) {
	for _, file := range files {
		info, err := os.Stat(filepath.Join(e.OnDisk(conf.BackupDir), filepath.Base(file)))
		if err != nil {
			b.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}
