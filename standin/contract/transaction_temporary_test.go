// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestTableVariablesStayAfterRollback: docs/t-sql/data-types/table-transact-sql.md: "Transactions involving table
// variables last only for the duration of an update on the table variable", and ROLLBACK does not take their rows back.
func TestTableVariablesStayAfterRollback(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"DECLARE @v TABLE (a int PRIMARY KEY, b AS a * 2, c varchar(10) DEFAULT 'x'); INSERT @v (a) VALUES (1); BEGIN " +
				"TRANSACTION; INSERT @v VALUES (2, 'y'); UPDATE @v SET c = 'z' WHERE a = 1; ROLLBACK; SELECT * FROM @v",
			"1 2 z; 2 4 y",
		},
		{
			"BEGIN TRANSACTION; DECLARE @v TABLE (a int IDENTITY, b int UNIQUE); INSERT @v VALUES (7); ROLLBACK; INSERT @v " +
				"VALUES (8); SELECT * FROM @v",
			"1 7; 2 8",
		},
		{
			"BEGIN TRANSACTION; DECLARE @v TABLE (a int UNIQUE); INSERT @v VALUES (7); ROLLBACK; INSERT @v VALUES (7)",
			"!2627/14",
		},
		{
			"DECLARE @v TABLE (a int); BEGIN TRANSACTION; SAVE TRANSACTION s; INSERT @v VALUES (1); ROLLBACK TRANSACTION s; " +
				"INSERT @v VALUES (2); COMMIT; SELECT * FROM @v",
			"1; 2",
		},
		{"CREATE TABLE kept (a int PRIMARY KEY)", "ok"},
		{
			"DECLARE @log TABLE (n int); BEGIN TRY; BEGIN TRANSACTION; INSERT kept VALUES (1); INSERT @log VALUES (1); " +
				"INSERT kept VALUES (1); COMMIT; END TRY BEGIN CATCH; INSERT @log VALUES (ERROR_NUMBER()); ROLLBACK; END CATCH; " +
				"SELECT n, (SELECT COUNT(*) FROM kept) FROM @log",
			"1 0; 2627 0",
		},
		{
			"CREATE PROCEDURE within AS DECLARE @inner TABLE (a int); INSERT @inner VALUES (1); SELECT COUNT(*) FROM @inner",
			"ok",
		},
		{
			"DECLARE @v TABLE (a int); BEGIN TRANSACTION; INSERT @v EXEC within; INSERT @v EXEC within; ROLLBACK; " +
				"SELECT * FROM @v",
			"1; 1",
		},
	})
}

// TestTemporaryTablesGoBack: a temporary table is part of the transaction, its definition as well.
func TestTemporaryTablesGoBack(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE #t (a int); INSERT #t VALUES (1); BEGIN TRANSACTION; INSERT #t VALUES (2); SAVE TRANSACTION s; " +
				"INSERT #t VALUES (3); CREATE TABLE #later (a int); ROLLBACK TRANSACTION s; COMMIT; SELECT * FROM #t",
			"1; 2",
		},
		{"SELECT * FROM #later", "!208/16"},
		{"BEGIN TRANSACTION; DROP TABLE #t; ROLLBACK; SELECT * FROM #t", "1; 2"},
		{"BEGIN TRANSACTION; ALTER TABLE #t ADD b int NOT NULL DEFAULT 5; ROLLBACK; SELECT * FROM #t", "1; 2"},
		{
			"BEGIN TRANSACTION; CREATE TABLE #t2 (a int); ROLLBACK; CREATE TABLE #t2 (b varchar(5)); INSERT #t2 VALUES " +
				"('x'); SELECT b FROM #t2",
			"x",
		},
		{
			"BEGIN TRANSACTION; SAVE TRANSACTION s; SAVE TRANSACTION s; INSERT #t VALUES (4); ROLLBACK TRANSACTION s; INSERT " +
				"#t VALUES (5); COMMIT; SELECT * FROM #t",
			"1; 2; 5",
		},
		{"CREATE TABLE #i (a int IDENTITY PRIMARY KEY, b int); INSERT #i VALUES (1), (2)", "ok"},
		{
			"BEGIN TRANSACTION; TRUNCATE TABLE #i; INSERT #i VALUES (3); ROLLBACK; INSERT #i VALUES (4); SELECT * FROM #i",
			"1 1; 2 2; 3 4",
		},
		{"CREATE PROCEDURE own AS CREATE TABLE #own (a int); BEGIN TRANSACTION; INSERT #own VALUES (1)", "ok"},
		{"EXEC own", "!266/16"},
		{"ROLLBACK; SELECT * FROM #own", "!208/16"},
	})
}
