// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"context"
	"database/sql"
	"net"
	"strings"
	"testing"

	"geosql.dev/standin/tds"
)

// serveBenchmark is serve without a test.
func serveBenchmark(b *testing.B) *sql.DB {
	b.Helper()
	server, err := tds.NewServer(tds.Config{Backend: &echoBackend{}})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go server.Serve(l)
	b.Cleanup(func() { server.Shutdown(context.Background()) })
	db, err := sql.Open("sqlserver", "sqlserver://sa:Passw0rd%21%C3%A9@"+l.Addr().String()+"?encrypt=disable")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { db.Close() })
	return db
}

// BenchmarkCall is one parameterised statement with 1 KB of text, there and back.
func BenchmarkCall(b *testing.B) {
	db := serveBenchmark(b)
	text := strings.Repeat("x", 1000)
	for b.Loop() {
		var got string
		if err := db.QueryRow("echo @p1", text).Scan(&got); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRows reads rows of 200 bytes.
func BenchmarkRows(b *testing.B) {
	db := serveBenchmark(b)
	rows, err := db.Query("rows 100000000")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	b.SetBytes(214)
	for b.Loop() {
		if !rows.Next() {
			b.Fatal(rows.Err())
		}
	}
}
