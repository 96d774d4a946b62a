// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestStatementsOfPages: docs/t-sql/statements/create-synonym-transact-sql.md, example C; create-index-transact-sql.md,
// Computed columns; alter-table-transact-sql.md, "Change the SPARSE property"; create-view-transact-sql.md,
// select_statement, and what their statements refuse.
func TestStatementsOfPages(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{`CREATE FUNCTION dbo.OrderDozen (@OrderAmt INT)
RETURNS INT WITH EXECUTE AS CALLER AS
BEGIN
IF @OrderAmt % 12 <> 0 SET @OrderAmt += 12 - (@OrderAmt % 12)
RETURN (@OrderAmt);
END`, "ok"},
		{"CREATE SYNONYM dbo.CorrectOrder FOR dbo.OrderDozen", "ok"},
		{"DECLARE @Amt INT = 15; SELECT @Amt, dbo.OrderDozen(@Amt), dbo.CorrectOrder(@Amt)", "15 24 24"},
		{"CREATE TABLE t1 (a INT, b INT, c AS a/b); INSERT INTO t1 VALUES (1, 0)", "ok"},
		{"CREATE UNIQUE CLUSTERED INDEX Idx1 ON t1(c)", "!8134/16"},
		{"DELETE t1; CREATE UNIQUE CLUSTERED INDEX Idx1 ON t1(c)", "ok"},
		{"INSERT INTO t1 VALUES (1, 0)", "!8134/16"},
		{"CREATE TABLE s (a int NOT NULL, b varchar(50) NULL)", "ok"},
		{"ALTER TABLE s ALTER COLUMN b ADD SPARSE", "ok"},
		{"SELECT is_sparse FROM sys.columns WHERE object_id = OBJECT_ID('s') AND name = 'b'", "true"},
		{"ALTER TABLE s ALTER COLUMN b DROP SPARSE", "ok"},
		{"SELECT is_sparse FROM sys.columns WHERE object_id = OBJECT_ID('s') AND name = 'b'", "false"},
		{"ALTER TABLE s ALTER COLUMN a ADD SPARSE", "!1731/16/1"},
		{"SELECT is_sparse FROM sys.columns WHERE object_id = OBJECT_ID('s') AND name = 'a'", "false"},
		{"CREATE VIEW v AS SELECT a FROM s", "ok"},
		{"ALTER TABLE v ADD x int", "!4909/16/1/1"},
		{"CREATE TABLE i (a int, INDEX x (a), INDEX X (a))", "!1913/16/1"},
		{"CREATE TABLE i (a int CONSTRAINT x PRIMARY KEY, b int INDEX x)", "!1913/16/1"},
		{"CREATE VIEW into_other AS SELECT a INTO other FROM s", "!156/15/1"},
		{"CREATE TABLE #t (a int)", "ok"},
		{"CREATE VIEW of_temporary AS SELECT a FROM #t", "!4508/16/1"},
		{"CREATE FUNCTION dbo.rows_of (@a int) RETURNS TABLE AS RETURN SELECT @a AS a", "ok"},
		{"EXEC dbo.rows_of 1", "!2809/16/1"},
		{"EXEC s", "!2809/16/1"},
		{"EXEC dbo.OrderDozen 1", ""},
		{"BEGIN TRY EXEC dbo.rows_of 1 END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
			"The request for procedure 'rows_of' failed because 'rows_of' is a table valued function object."},
		{"BEGIN TRY EXEC ('SELECT a FROM dbo.s GROUP BY b') END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
			"Column 'dbo.s.a' is invalid in the select list because it is not contained in either an aggregate function or " +
				"the GROUP BY clause."},
		{"BEGIN TRY EXEC ('SELECT x.a FROM dbo.s AS x GROUP BY b') END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
			"Column 'x.a' is invalid in the select list because it is not contained in either an aggregate function or the " +
				"GROUP BY clause."},
	})
}
