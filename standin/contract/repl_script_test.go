// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// A script that is posted to a publication's subscribers runs there once, in its place among the transactions.
// By docs/relational-databases/system-stored-procedures/sp-addscriptexec-transact-sql.md.
func TestPostedScripts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	script := func(name, text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
		return path
	}
	const post = `EXEC sp_addscriptexec @publication = N'web', @scriptfile = @p1`
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (70, N'before')`)
	mustExec(
		t,
		r.source,
		post,
		script(
			"first.sql",
			"CREATE TABLE dbo.seen (id int NOT NULL, n int NOT NULL)\nGO\nINSERT INTO dbo.seen SELECT MAX(id), COUNT(*) FROM "+
				"dbo.orders\n",
		),
	)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (71, N'after')`)
	mustExec(
		t,
		r.source,
		post+`, @skiperror = 1`,
		script(
			"second.sql",
			"INSERT INTO dbo.seen VALUES (1/0, 1)\nGO\nINSERT INTO dbo.seen SELECT MAX(id), COUNT(*) FROM dbo.orders",
		),
	)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (72, N'last')`)
	r.bothSame(t)
	g.Expect(query(t, r.target, `SELECT id, n FROM dbo.seen ORDER BY id`)).
		To(Equal([][]any{{int64(70), int64(3)}, {int64(71), int64(4)}}))
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSrepl_errors WHERE error_code = N'8134'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
	g.Expect(failure(t, r.source, `EXEC sp_addscriptexec @publication = N'nothing', @scriptfile = N'x.sql'`).Number).
		To(BeEquivalentTo(20026))
	_, err := r.source.Exec(`EXEC sp_addscriptexec @publication = N'web', @scriptfile = N'/not/there.sql'`)
	g.Expect(err).To(MatchError(ContainSubstring("/not/there.sql")))
}

// A posted script is sqlcmd's, with a session of its own: one that ends a transaction, leaves one open or goes to
// another database takes nothing from the changes around it, and an error that is passed over loses nothing but the
// script's own work. A script in the middle of a transaction must not end that.
func TestPostedScriptsLoseNothingElse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	folder := t.TempDir()
	id := 80
	for name, text := range map[string]string{
		"aborts": "SELECT CAST(N'x' AS int)", "rolls back": "DELETE FROM dbo.orders\nGO\nROLLBACK TRANSACTION",
		"commits": "COMMIT TRANSACTION", "leaves": "BEGIN TRANSACTION\nDELETE FROM dbo.orders",
		"goes": "USE master",
		"unicode": "\xff\xfeU\x00P\x00D\x00A\x00T\x00E\x00 \x00o\x00r\x00d\x00e\x00r\x00s\x00 \x00S\x00E\x00T\x00 " +
			"\x00i\x00d\x00=\x00i\x00d\x00",
	} {
		path := filepath.Join(folder, name+".sql")
		g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
		mustExec(
			t,
			r.source,
			`INSERT INTO dbo.orders (id, customer) VALUES (@p1, N'before'); EXEC sp_addscriptexec @publication = N'web', @scriptfile = @p2, @skiperror = @p3;
			INSERT INTO dbo.orders (id, customer) VALUES (@p1 + 1, N'after'); UPDATE dbo.orders SET amount = @p1 WHERE id = 1`,
			id,
			path,
			name == "aborts",
		)
		id += 2
		r.bothSame(t)
	}
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; INSERT INTO dbo.orders (id, customer) VALUES (70, N'within'); EXEC sp_addscriptexec @publication = N'web', @scriptfile = @p1; COMMIT TRANSACTION`,
		filepath.Join(folder, "rolls back.sql"),
	)
	g.Eventually(func() any {
		return scalar(
			r.distDB,
			`SELECT COUNT(*) FROM distribution.dbo.MSdistribution_history WHERE runstatus IN (5, 6) AND comments LIKE N'%a posted script ended the transaction%'`,
		)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 0))
	g.Expect(value(t, r.target, `SELECT COUNT(*) FROM dbo.orders`)).To(BeEquivalentTo(id - 80 + 2))
	_, err := r.source.Exec(`EXEC sp_addscriptexec @publication = N'web', @scriptfile = N'/dev/zero'`)
	g.Expect(err).To(MatchError(ContainSubstring("/dev/zero")))
}
