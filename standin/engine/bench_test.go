// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
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
