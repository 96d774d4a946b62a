// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestSpellings: what may be written in more than one way (docs/t-sql/language-elements/comparison-operators-transact-sql.md,
// docs/t-sql/data-types/constants-transact-sql.md, money-and-smallmoney-transact-sql.md).
func TestSpellings(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT 1 WHERE 1 < > 2 AND 1 ! = 2 AND 2 > = 1 AND 1 < = 2 AND 1 ! > 2 AND 2 ! < 1", "1"},
		{"SELECT 1 WHERE 1 <\n> 1 OR 1 >\t= 2", ""},
		{"SELECT 1 WHERE 1 <\n> 2\nSELECT FROM t", "!156/15/1/3"},
		{"SELECT 2e+, 3.5e, -.25e-, 5.e-, 5.e1", "2 3.5 -0.25 5 50"},
		{"SELECT CAST(€100.25 AS varchar), CAST(¢2 AS int), CAST(₠-5 AS int), CAST(£1 AS int)", "100.25 2 -5 1"},
		{"SET TRAN ISOLATION LEVEL REPEATABLE READ SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID", "3"},
		{"SET TRAN ISOLATION LEVEL x", "!102/15/1/1"},
		{"CREATE TABLE s (a int CHECK (a < > 3)); INSERT s VALUES (4)", "ok"},
		{"INSERT s VALUES (3)", "!547/16/0"},
	})
}
