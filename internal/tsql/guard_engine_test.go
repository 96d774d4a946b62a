// SPDX-License-Identifier: Apache-2.0

//go:build integration

package tsql_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// Whoever is at a table keeps a guard from it for as long as it waits, and it waits no longer than others may wait
// behind it. What comes next over the connection waits as long as it did before.
func TestAGuardDoesNotWaitForItsTable(t *testing.T) {
	g, server := NewWithT(t), engine.Start(t, "web", "dubsub")
	db, err := server.Connector(t).Open(t.Context(), server.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	db.Handle().SetMaxOpenConns(2)
	_, err = db.Handle().ExecContext(t.Context(), "CREATE TABLE dbo.Article (Id int)")
	g.Expect(err).NotTo(HaveOccurred())
	guard := tsql.GuardName(tsql.GuardPrefix("web", "dublin"), "dbo", "Article")
	statements := []tsql.Statement{tsql.GuardTable(guard, "dbo", "Article"), tsql.EnableGuard(guard, "dbo", "Article"),
		tsql.DropGuard(guard, "dbo")}
	for _, s := range statements {
		_, err = db.Handle().ExecContext(t.Context(), "DISABLE TRIGGER ALL ON dbo.Article")
		g.Expect(err).NotTo(HaveOccurred())
		busy, err := db.Handle().BeginTx(t.Context(), nil)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = busy.ExecContext(t.Context(), "INSERT dbo.Article VALUES (1)")
		g.Expect(err).NotTo(HaveOccurred())
		err = db.Exec(t.Context(), s)
		g.Expect(mssql.HasNumber(err, 1222)).To(BeTrue(), "%s: %v", s, err)
		g.Expect(mssql.Is(err, mssql.Retryable)).To(BeTrue())
		g.Expect(busy.Rollback()).To(Succeed())
		var timeout int
		g.Expect(db.Handle().QueryRowContext(t.Context(), "SELECT @@LOCK_TIMEOUT").Scan(&timeout)).To(Succeed())
		g.Expect(timeout).To(Equal(-1))
		g.Expect(db.Exec(t.Context(), s)).To(Succeed())
	}
}
