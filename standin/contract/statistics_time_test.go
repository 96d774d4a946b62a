// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestStatisticsTime: docs/t-sql/statements/set-statistics-time-transact-sql.md and its example: times of the batch's
// parsing and of each statement.
func TestStatisticsTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	mustExec(
		t,
		db,
		"CREATE FUNCTION dbo.twice (@a int) RETURNS int AS BEGIN DECLARE @b int = @a; SET @b += @a; RETURN @b END",
	)
	compiled, executed := HavePrefix(
		"SQL Server parse and compile time: \n   CPU time = ",
	), MatchRegexp(
		`^\n SQL Server Execution Times:\n   CPU time = \d+ ms,  elapsed time = \d+ ms\.$`,
	)
	g.Expect(notices(t, db, "SELECT dbo.twice(1)")).To(BeEmpty())
	g.Expect(notices(t, db, "SET STATISTICS TIME ON")).To(BeEmpty())
	g.Expect(notices(t, db, "SELECT dbo.twice(v) FROM (VALUES (1), (2)) AS t (v)")).
		To(HaveExactElements(compiled, executed))
	g.Expect(notices(t, db, "DECLARE @a int = 1; IF @a = 1 BEGIN SET @a = 2; SELECT @a END")).
		To(HaveExactElements(compiled, executed, executed, executed))
	g.Expect(notices(t, db, "SET STATISTICS IO, TIME OFF")).To(HaveExactElements(compiled))
	g.Expect(notices(t, db, "SELECT 1")).To(BeEmpty())
	converse(
		t,
		db,
		[]say{
			{"SET STATISTICS TIME ON", "ok"},
			{"SELECT dbo.twice(4) SELECT 5", "8"},
			{"SELECT 1/0", "!8134/16"},
			{"SELECT 2", "2"},
		},
	)
}
