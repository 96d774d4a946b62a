// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestTemporaryTablesEndWithDynamicText: a temporary table that the text of EXECUTE or sp_executesql makes is gone when
// the text has run, as one of a procedure is, and hides one of the same name around it
// (docs/t-sql/statements/create-table-transact-sql.md, Temporary tables).
func TestTemporaryTablesEndWithDynamicText(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"EXEC ('CREATE TABLE #t (a int)'); SELECT * FROM #t",
			"!208/16",
		}, {"SELECT * FROM #t", "!208/16"}, {"SELECT OBJECT_ID('tempdb..#t')", "NULL"},
		{"EXEC sp_executesql N'SELECT 1 AS a INTO #t; SELECT a FROM #t'", "1"}, {"SELECT * FROM #t", "!208/16"},
		{"CREATE TABLE #t (a int); EXEC ('INSERT #t VALUES (1); CREATE INDEX i ON #t (a)'); SELECT a FROM #t", "1"},
		{"EXEC ('CREATE TABLE #t (b int); INSERT #t VALUES (2)'); SELECT a FROM #t", "1"},
		{"EXEC sp_executesql N'DROP TABLE #t'; SELECT OBJECT_ID('tempdb..#t')", "NULL"},
		{
			"CREATE PROCEDURE made AS BEGIN EXEC ('CREATE TABLE #z (a int)'); SELECT * FROM #z END",
			"",
		}, {"EXEC made", "!208/16"},
		{
			"CREATE PROCEDURE nested AS BEGIN CREATE TABLE #z (a int); INSERT #z VALUES (3); EXEC ('EXEC (''INSERT #z VALUES " +
				"(4)'')'); SELECT COUNT(*) FROM #z END",
			"",
		}, {"EXEC nested", "2"},
		{
			"BEGIN TRANSACTION; EXEC ('CREATE TABLE #y (a int); INSERT #y VALUES (1)'); ROLLBACK; SELECT " +
				"OBJECT_ID('tempdb..#y')",
			"NULL",
		},
		{
			"EXEC ('CREATE TABLE ##shared (a int); INSERT ##shared VALUES (5)'); SELECT a FROM ##shared; DROP TABLE ##shared",
			"5",
		},
		{
			"CREATE PROCEDURE sharing AS CREATE TABLE ##shared (a int)",
			"",
		}, {"EXEC sharing; EXEC sharing", "!2714/16"}, {"SELECT COUNT(*) FROM ##shared; DROP TABLE ##shared", "0"},
	})
}
