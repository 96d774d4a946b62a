// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// Copies are equal when every row is: a value that two rows or two columns have exchanged, one that is NULL instead of
// empty, the end of a long text, a column of a type that has no checksum are differences.
func TestCopiesAreComparedRowByRow(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	connector := e.Connector(t)
	sa, err := connector.Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	run := func(text string) {
		t.Helper()
		g.Expect(sa.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed())
	}
	g.Expect(sa.Exec(t.Context(), tsql.CreateLogin(tsql.Login{Name: credentials.RoleOperator.Login(),
		SID:      credentials.SID("web", credentials.RoleOperator.Login()),
		Password: e.Access.Passwords.Of(credentials.RoleOperator)}))).
		To(Succeed())
	g.Expect(sa.Exec(t.Context(), tsql.AddServerRoleMember("sysadmin", credentials.RoleOperator.Login()))).To(Succeed())
	engines := replication.Engines{Connector: connector, Namespace: "web"}
	const columns = "Id int NOT NULL PRIMARY KEY, A nvarchar(20) NULL, B nvarchar(20) NULL, N decimal(12, 3) NULL, F " +
		"float NULL, X xml NULL, L nvarchar(max) NULL, " +
		"Old ntext NULL, Bin varbinary(max) NULL, D datetime2(7) NULL, Z datetimeoffset(3) NULL, G uniqueidentifier NULL, " +
		"Y money NULL, Bit bit NULL"
	const rows = "(1, N'one', N'two', 1.5, 0.1, N'<a/>', REPLICATE(CAST(N'x' AS nvarchar(max)), 50000) + N'y', N'old', " +
		"0x0102, '2026-11-20T10:00:00.1234567', " +
		"'2026-11-20T10:00:00+02:00', '6F9619FF-8B86-D011-B42D-00C04FC964FF', 3.5, 1), (2, N'three', NULL, NULL, NULL, " +
		"NULL, N'', NULL, NULL, NULL, NULL, NULL, NULL, 0), (3, N'', N'', -1.5, NULL, NULL, NULL, NULL, 0x, NULL, NULL, " +
		"NULL, NULL, NULL)"
	databases := []string{"Content", "Copy"}
	for _, database := range databases {
		run("CREATE DATABASE " + database)
	}
	articles := map[string]mssql.PublishedArticle{"dbo.article": {Name: "dbo.Article", Schema: "dbo", Table: "Article"}}
	compared := func() replication.Comparison {
		t.Helper()
		c, err := engines.Compare(
			t.Context(),
			articles,
			replication.Copy{Server: "solo", Database: "Content"},
			replication.Copy{Server: "solo", Database: "Copy"},
		)
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	for _, change := range []string{
		"", "UPDATE $T SET A = CASE Id WHEN 1 THEN N'three' WHEN 2 THEN N'one' ELSE A END",
		"UPDATE $T SET A = B, B = A WHERE Id = 1", "UPDATE $T SET B = NULL WHERE Id = 3",
		"UPDATE $T SET L = REPLICATE(CAST(N'x' AS nvarchar(max)), 50000) + N'z' WHERE Id = 1",
		"UPDATE $T SET X = N'<b/>' WHERE Id = 1", "UPDATE $T SET Old = N'new' WHERE Id = 1",
		"UPDATE $T SET N = 1.501 WHERE Id = 1", "UPDATE $T SET F = 0.1000000000000001 WHERE Id = 1",
		"UPDATE $T SET D = '2026-11-20T10:00:00.1234568' WHERE Id = 1",
		"UPDATE $T SET Z = '2026-11-20T09:00:00+01:00' WHERE Id = 1", "UPDATE $T SET Bin = NULL WHERE Id = 3",
		"DELETE $T WHERE Id = 3", "UPDATE $T SET Bit = NULL WHERE Id = 2",
		"UPDATE $T SET A = N'a' + CHAR(1), B = N'' WHERE Id = 3", "ALTER TABLE $T DROP COLUMN Y", "DROP TABLE $T",
	} {
		for _, database := range databases {
			run("DROP TABLE IF EXISTS " + database + ".dbo.Article")
			run("CREATE TABLE " + database + ".dbo.Article (" + columns + ")")
			run("INSERT " + database + ".dbo.Article VALUES " + rows)
		}
		if change != "" {
			run(strings.ReplaceAll(change, "$T", "Copy.dbo.Article"))
		}
		c := compared()
		g.Expect(c.Equal).To(Equal(change == ""), "%s: %+v", change, c)
		g.Expect(c.Steady).To(BeTrue())
		g.Expect(c.Difference == "").To(Equal(change == ""), "%s: %+v", change, c)
		g.Expect(c.Digest == "").To(Equal(change == ""), "%s: %+v", change, c)
	}
	for _, database := range databases {
		run("DROP TABLE IF EXISTS " + database + ".dbo.Article")
		run("CREATE TABLE " + database + ".dbo.Article (Id int NOT NULL PRIMARY KEY, V rowversion)")
		run("INSERT " + database + ".dbo.Article (Id) VALUES (1), (2)")
	}
	run("UPDATE Copy.dbo.Article SET Id = Id")
	c := compared()
	g.Expect(c.Equal).To(BeTrue(), "%+v", c)
	g.Expect(c.Left).To(ConsistOf("dbo.article.V"))
	g.Expect(c.Words()).To(ContainSubstring("dbo.article.V"))
	run("ALTER TABLE Content.dbo.Article ADD W sql_variant NULL")
	run("ALTER TABLE Copy.dbo.Article ADD W sql_variant NULL")
	c = compared()
	g.Expect(c.Equal).To(BeFalse())
	g.Expect(c.Impossible).To(BeTrue())
	g.Expect(c.Difference).To(ContainSubstring("sql_variant"))
}
