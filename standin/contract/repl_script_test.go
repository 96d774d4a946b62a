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
	mustExec(t, r.source, post, script("first.sql", "CREATE TABLE dbo.seen (id int NOT NULL, n int NOT NULL)\nGO\nINSERT INTO dbo.seen SELECT MAX(id), COUNT(*) FROM dbo.orders\n"))
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (71, N'after')`)
	mustExec(t, r.source, post+`, @skiperror = 1`, script("second.sql", "INSERT INTO dbo.seen VALUES (1/0, 1)\nGO\nINSERT INTO dbo.seen SELECT MAX(id), COUNT(*) FROM dbo.orders"))
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (72, N'last')`)
	r.bothSame(t)
	g.Expect(query(t, r.target, `SELECT id, n FROM dbo.seen ORDER BY id`)).To(Equal([][]any{{int64(70), int64(3)}, {int64(71), int64(4)}}))
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSrepl_errors WHERE error_code = N'8134'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
	g.Expect(failure(t, r.source, `EXEC sp_addscriptexec @publication = N'nothing', @scriptfile = N'x.sql'`).Number).To(BeEquivalentTo(20026))
	_, err := r.source.Exec(`EXEC sp_addscriptexec @publication = N'web', @scriptfile = N'/not/there.sql'`)
	g.Expect(err).To(MatchError(ContainSubstring("/not/there.sql")))
}
