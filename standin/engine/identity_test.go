// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// Sessions ask how far a table's identity has gone while others take values, of tables whose counters were not asked
// for before; what was asked gives no value out twice. The race detector sees more of this than the test does (make
// test-race).
func TestAnIdentityIsAskedForWhileValuesAreTaken(t *testing.T) {
	const tables, rows = 20, 3
	g := NewWithT(t)
	s := newServer(t)
	admin := s.conn("master")
	admin.exec("CREATE DATABASE app")
	writer, reader := s.conn("app"), s.conn("app")
	for i := range tables {
		writer.exec(fmt.Sprintf("CREATE TABLE t%d (id int IDENTITY NOT NULL, v int NOT NULL)", i))
	}
	asked, stop := make(chan error, 1), make(chan struct{})
	go func() {
		for {
			for i := range tables {
				var last int
				err := reader.QueryRowContext(context.Background(), fmt.Sprintf("SELECT CAST(IDENT_CURRENT('t%d') AS int)", i)).
					Scan(&last)
				if err != nil {
					asked <- err
					return
				}
			}
			select {
			case <-stop:
				asked <- nil
				return
			default:
			}
		}
	}()
	for i := range tables {
		for range rows {
			writer.exec(fmt.Sprintf("INSERT INTO t%d (v) VALUES (1)", i))
		}
		writer.exec(fmt.Sprintf("BEGIN TRANSACTION; INSERT INTO t%d (v) VALUES (2); ROLLBACK TRANSACTION", i))
	}
	close(stop)
	g.Expect(<-asked).NotTo(HaveOccurred())
	for i := range tables {
		g.Expect(writer.one(fmt.Sprintf("SELECT COUNT(DISTINCT id) FROM t%d", i))).To(Equal(int64(rows)), "t%d", i)
		g.Expect(reader.one(fmt.Sprintf("SELECT CAST(IDENT_CURRENT('t%d') AS int)", i))).To(Equal(int64(rows+1)), "t%d", i)
	}
}
