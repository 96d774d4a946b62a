// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestUndeclaredVariables: docs/t-sql/language-elements/variables-transact-sql.md and
// declare-local-variable-transact-sql.md, Remarks: a variable lives in the batch or module that declares it; a batch
// that names another one is refused before any statement of it is executed.
func TestUndeclaredVariables(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (a int)", "ok"},
		{"INSERT t VALUES (1)\nINSERT t VALUES (@a)", "!137/15/2/2"},
		{"INSERT t VALUES (1); SET @a = 1", "!137/15/1/1"},
		{"INSERT t VALUES (1); SELECT @a = a FROM t", "!137/15/1/1"},
		{"INSERT t VALUES (1); SELECT * FROM @a", "!1087/15/1/1"},
		{"INSERT t VALUES (1); INSERT @a VALUES (1)", "!1087/15/1/1"},
		{"SELECT COUNT(*) FROM t", "0"},
		{"CREATE PROCEDURE p AS\nSELECT @a", "!137/15/2/2"},
		{"CREATE PROCEDURE p @b int AS DECLARE @c int; SET @c = @b\nIF @c > @d SELECT 1", "!137/15/2/2"},
		{"CREATE TRIGGER g ON t AFTER INSERT AS INSERT t VALUES (@a)", "!137/15/2/1"},
		{"CREATE FUNCTION f (@a int) RETURNS int AS BEGIN RETURN @b END", "!137/15/2/1"},
		{"SELECT OBJECT_ID('p'), OBJECT_ID('g'), OBJECT_ID('f')", "NULL NULL NULL"},
		{"CREATE PROCEDURE p @a int, @b int OUTPUT AS SET @b = @a", "ok"},
		{"DECLARE @x int; EXEC p @a = 1, @b = @x OUTPUT; SELECT @x", "1"},
		{"EXEC sp_executesql N'SELECT @a + @b', N'@a int, @b int', @a = 1, @b = 2", "3"},
		{"CREATE FUNCTION f (@a int) RETURNS @r TABLE (a int) AS BEGIN INSERT @r VALUES (@a); RETURN END", "ok"},
		{"SELECT a FROM f(2)", "2"},
		{"DECLARE @t TABLE (a int); INSERT @t VALUES (1); SELECT x.a FROM @t AS x", "1"},
		{"DECLARE @c CURSOR; SET @c = CURSOR FOR SELECT 5; OPEN @c; DECLARE @v int; FETCH @c INTO @v; SELECT @v", "5"},
		{"DECLARE @t TABLE (a int); SET @t = 1", "!137/15"},
		{"DECLARE @t TABLE (a int); SELECT @t.a FROM @t", "!137/15"},
		{"SELECT @a.b", "!137/15/2/1"},
		{"BEGIN TRY EXEC ('SELECT @a') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "137"},
	})
}

// TestDeclarationsInBranches: the same pages: the scope of a variable is from its declaration to the end of the batch,
// whether the branch with the declaration is taken or not.
func TestDeclarationsInBranches(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"IF 1 = 0 DECLARE @x int = 5; SELECT @x", "NULL"},
		{
			"IF 1 = 1 PRINT 'x' ELSE BEGIN DECLARE @y int; DECLARE @t TABLE (a int) END; SET @y = 2; INSERT @t VALUES (@y); " +
				"SELECT a FROM @t",
			"2",
		},
		{"IF 1 = 0 BEGIN DECLARE @s nvarchar(20) = N'one' END ELSE SET @s = N'two'; SELECT @s", "two"},
		{"WHILE 1 = 0 BEGIN DECLARE @z int = 1 END; SELECT @z", "NULL"},
		{"BEGIN TRY DECLARE @a int = 1 END TRY BEGIN CATCH DECLARE @m nvarchar(9) = N'm' END CATCH; SELECT @a, @m", "1 NULL"},
		{
			"DECLARE @i int = 0; WHILE @i < 3 BEGIN SET @i += 1; IF @i = 2 BEGIN DECLARE @n int = 7 END ELSE SET @n += 1 " +
				"END; SELECT @n",
			"8",
		},
		{
			"BEGIN TRY DECLARE @d int = 1/0; DECLARE @e int = 5; DECLARE @t TABLE (a int) END TRY BEGIN CATCH SET @e = 3; " +
				"INSERT @t VALUES (@e) END CATCH; SELECT @d, @e, a FROM @t",
			"NULL 3 3",
		},
		{"WHILE 1 = 1 BEGIN BREAK; DECLARE @b int = 5 END; SELECT @b", "NULL"},
		{"CREATE PROCEDURE p @which int AS IF @which = 1 DECLARE @a int = 1; SELECT @a", "ok"},
		{"EXEC p 0", "NULL"},
		{"EXEC p 1", "1"},
		{
			"CREATE FUNCTION f (@which int) RETURNS int AS BEGIN IF @which = 1 BEGIN DECLARE @a int = 1 END; RETURN @a END",
			"ok",
		},
		{"SELECT dbo.f(0), dbo.f(1)", "NULL 1"},
	})
}

// TestNamesAndNumbersInErrors: docs/t-sql/language-elements/begin-transaction-transact-sql.md, Arguments;
// raiserror-transact-sql.md, SETERROR; docs/t-sql/queries/select-order-by-clause-transact-sql.md, Remarks.
func TestNamesAndNumbersInErrors(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"BEGIN TRANSACTION abcdefghijklmnopqrstuvwxyz1234567", "!103/15/4/1"},
		{"BEGIN TRANSACTION abcdefghijklmnopqrstuvwxyz123456; SELECT @@TRANCOUNT; ROLLBACK", "1"},
		{"DECLARE @n int = 1; BEGIN TRANSACTION @n", "!3914/16/1/1"},
		{"DECLARE @n varchar(20) = 'n'; BEGIN TRANSACTION @n; ROLLBACK TRANSACTION @n; SELECT @@TRANCOUNT", "0"},
		{"RAISERROR ('a', 9, 1) WITH SETERROR; SELECT @@ERROR", "50000"},
		{"RAISERROR ('a', 9, 1); SELECT @@ERROR", "0"},
		{"SELECT 1 AS x UNION SELECT 2 ORDER BY x + 1", "!104/15/1/1"},
		{"SELECT 1 AS x UNION SELECT 2 ORDER BY x", "1; 2"},
		{
			"BEGIN TRY EXEC ('CREATE TABLE x (a int, b nosuch)') END TRY BEGIN CATCH SELECT ERROR_MESSAGE(), " +
				"ERROR_STATE() END CATCH",
			"Column, parameter, or variable #2: Cannot find data type nosuch. 6",
		},
		{"CREATE TABLE k (a int CHECK (a > 0))", "ok"},
		{"INSERT k VALUES (0)", "!547/16/0/1"},
	})
}
