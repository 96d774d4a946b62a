// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestPreparedInBatches: docs/relational-databases/system-stored-procedures/sp-prepare-transact-sql.md,
// sp-execute-transact-sql.md, sp-prepexec-transact-sql.md, sp-unprepare-transact-sql.md.
func TestPreparedInBatches(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t)
	db := connection(t, pool)
	converse(t, db, []say{
		{`DECLARE @P1 INT;
EXEC sp_prepare @P1 OUTPUT,
    N'@P1 NVARCHAR(128), @P2 NVARCHAR(100)',
    N'SELECT name FROM sys.databases WHERE name = @P1 AND state_desc = @P2';
EXEC sp_execute @P1, N'tempdb', N'ONLINE';
EXEC sp_unprepare @P1;`, "tempdb"},
		{
			"CREATE TABLE kept (handle int); DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'@n int, @m int', N'SELECT @n - " +
				"@m'; INSERT kept VALUES (@h)",
			"ok",
		},
		{"DECLARE @h int = (SELECT handle FROM kept); EXEC sp_execute @h, 9, 2", "7"},
		{"DECLARE @h int = (SELECT handle FROM kept); EXEC sp_execute @h, @m = 9, @n = 2", "-7"},
		{"DECLARE @h int = (SELECT handle FROM kept); EXEC sp_execute @h, 9", "!8178"},
		{"DECLARE @h int = (SELECT handle FROM kept); EXEC sp_unprepare @h; EXEC sp_execute @h, 9, 2", "!8179/16"},
		{"EXEC sp_unprepare 12345", "!8179/16"},
		{`Declare @Out int;
EXEC sp_prepexec @Out output,
    N'@P1 nvarchar(128), @P2 nvarchar(100)',
    N'SELECT name
      FROM sys.databases
      WHERE name=@P1 AND state_desc = @P2',
          @P1 = 'tempdb', @P2 = 'ONLINE';
EXEC sp_unprepare @Out;`, "tempdb"},
		{
			"DECLARE @h int, @o int; EXEC sp_prepare @h OUTPUT, N'@o int OUTPUT', N'SET @o = 5'; EXEC sp_execute @h, @o = @o " +
				"OUTPUT; SELECT @o",
			"5",
		},
		{"DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'', N'SELECT 1 FROM'", "!102"},
		{"DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'@n int', N'SELECT @n AS n, N''x'' AS t; SELECT 2', 1; SELECT 5", ""},
		{"DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'', N'SELECT * FROM nowhere', 1", "!208"},
		{"DECLARE @h int; EXEC sp_prepare @h OUTPUT", "!201/16"},
		{
			"DECLARE @h int; BEGIN TRY EXEC sp_prepare @h OUTPUT, N'', N'SELECT 1 FROM' END TRY BEGIN CATCH SELECT " +
				"ERROR_NUMBER() END CATCH",
			"8180",
		},
		{"DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'', 'SELECT 1'", "!214/16"},
		{"DECLARE @h int; EXEC sp_prepexec @h OUTPUT, '', N'SELECT 1'", "!214/16"},
		{
			"DECLARE @h int, @old int; EXEC sp_prepare @h OUTPUT, N'', N'SELECT 1'; SET @old = @h; EXEC sp_prepexec @h " +
				"OUTPUT, N'', N'DECLARE @x int'; EXEC sp_execute @old",
			"!8179/16",
		},
	})
	// A handle is that of one connection.
	mustExec(t, db, "DELETE kept; DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'', N'SELECT 1'; INSERT kept VALUES (@h)")
	NewWithT(
		t,
	).Expect(failure(t, connection(t, pool), "DECLARE @h int = (SELECT handle FROM kept); EXEC sp_execute @h").Number).
		To(Equal(int32(8179)))
}

// TestExecuteTextAs: docs/t-sql/language-elements/execute-transact-sql.md, "AS <context_specification>".
func TestExecuteTextAs(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	login := uniqueName("l")
	mustExec(
		t,
		db,
		"CREATE USER u1 WITHOUT LOGIN; CREATE TABLE dbo.Sales (a int); CREATE LOGIN ["+login+"] WITH PASSWORD = "+
			"'Str0ng!pass'",
	)
	defer mustExec(t, db, "DROP LOGIN ["+login+"]")
	converse(t, db, []say{
		{"EXECUTE ('SELECT USER_NAME()') AS USER = 'u1'", "u1"},
		{"EXECUTE ('SELECT SUSER_NAME()') AS LOGIN = '" + login + "'", login},
		{"EXECUTE ('REVERT; SELECT USER_NAME()') AS USER = 'u1'", "u1"}, // REVERT does not end what began outside of the text
		{"EXECUTE ('CREATE TABLE Production (a int)') AS USER = 'u1'", "!262"},
		{"EXECUTE ('SELECT a FROM dbo.Sales') AS USER = 'u1'", "!229/14"},
		{"EXECUTE ('EXECUTE AS USER = ''u1''; SELECT 1') AS USER = 'dbo'", "1"},
		{"EXECUTE ('SELECT 1') AS USER = 'nobody'", "!15517/16"},
		{"EXECUTE ('SELECT 1') AS LOGIN = 'nobody'", "!15406/16"},
		{"SELECT USER_NAME()", "dbo"},
	})
}

// TestOptionsOfTablesAndIndexes: docs/relational-databases/system-stored-procedures/sp-tableoption-transact-sql.md,
// sp-indexoption-transact-sql.md, docs/t-sql/statements/create-index-transact-sql.md (Arguments).
func TestOptionsOfTablesAndIndexes(t *testing.T) {
	t.Parallel()
	const locks = "SELECT name, allow_row_locks, allow_page_locks FROM sys.indexes WHERE object_id = OBJECT_ID('t') " +
		"ORDER BY index_id"
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int NOT NULL, b text)", "ok"},
		{
			"CREATE UNIQUE INDEX ix ON t (a) WITH (PAD_INDEX = ON, FILLFACTOR = 50, ALLOW_ROW_LOCKS = OFF, IGNORE_DUP_KEY = " +
				"ON, STATISTICS_NORECOMPUTE = ON, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON)",
			"ok",
		},
		{
			"SELECT is_padded, ignore_dup_key, allow_row_locks, allow_page_locks, optimize_for_sequential_key FROM " +
				"sys.indexes WHERE name = 'ix'",
			"true true false true true",
		},
		{"SELECT no_recompute FROM sys.stats WHERE name = 'ix'", "true"},
		{
			"SELECT INDEXPROPERTY(OBJECT_ID('t'), 'ix', 'IsPadIndex'), INDEXPROPERTY(OBJECT_ID('t'), 'ix', " +
				"'IsRowLockDisallowed'), INDEXPROPERTY(OBJECT_ID('t'), 'ix', 'IsPageLockDisallowed')",
			"1 1 0",
		},
		{"ALTER INDEX ix ON t SET (ALLOW_ROW_LOCKS = ON, IGNORE_DUP_KEY = OFF)", "ok"},
		{"SELECT is_padded, ignore_dup_key, allow_row_locks FROM sys.indexes WHERE name = 'ix'", "true false true"},
		{"EXEC sp_indexoption N'dbo.t.ix', N'disallowpagelocks', TRUE", "ok"},
		{locks, "NULL true true; ix true false"},
		{"EXEC sp_indexoption N'dbo.t', N'AllowRowLocks', 'off'", "ok"},
		{locks, "NULL false true; ix false false"},
		{"EXEC sp_indexoption N'dbo.t.nowhere', N'AllowRowLocks', 1", "!15388/11"},
		{"EXEC sp_indexoption N'dbo.t', N'nonsense', 1", "!15600/15"},
		{
			"EXEC sp_tableoption 't', 'large value types out of row', 1; EXEC sp_tableoption 't', 'text in row', 'ON'; EXEC " +
				"sp_tableoption 't', 'table lock on bulk load', 'true'",
			"ok",
		},
		{
			"SELECT large_value_types_out_of_row, text_in_row_limit, lock_on_bulk_load FROM sys.tables WHERE name = 't'",
			"true 256 true",
		},
		{"EXEC sp_tableoption 't', 'text in row', '7001'", "!15600/15"},
		{"CREATE TABLE n (a int); EXEC sp_tableoption 'n', 'text in row', '1000'", "!2599/16"},
		{"EXEC sp_tableoption 'nowhere', 'text in row', 'ON'", "!15388/11"},
		{"EXEC sp_tableoption 't', 'vardecimal storage format', 'ON'", "!40517"},
	})
}

// TestTemporaryTablesOfProcedures: a procedure may make a temporary table with the name of one that its caller has;
// statements resolve to its own until it ends (docs/t-sql/statements/create-table-transact-sql.md, Temporary tables).
func TestTemporaryTablesOfProcedures(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE PROCEDURE inner1 AS CREATE TABLE #t (x int PRIMARY KEY); INSERT #t VALUES (7), (8); IF (SELECT SUM(x) " +
				"FROM #t) <> 15 THROW 50001, 'another table', 1",
			"ok",
		},
		{"CREATE PROCEDURE inner2 AS SELECT 9 AS x INTO #t; UPDATE #t SET x += 1; EXEC inner1; SELECT x FROM #t", "ok"},
		{"CREATE PROCEDURE twice AS SELECT 1 AS x INTO #t; SELECT 2 AS x INTO #t", "ok"},
		{"CREATE PROCEDURE drops AS SELECT 1 AS x INTO #t; DROP TABLE #t; SELECT COUNT(*) FROM #t", "ok"},
		{"SELECT 'mine' AS a INTO #t", "ok"},
		{"SELECT 'again' AS a INTO #t", "!2714/16"},
		{"EXEC inner2", "10"},
		{"EXEC twice", "!2714/16"},
		{"EXEC drops", "1"},
		{"INSERT #t VALUES ('more')", "ok"},
		{"BEGIN TRANSACTION; EXEC inner1; ROLLBACK", "ok"},
		{"SELECT a FROM #t", "mine; more"},
		{"CREATE TABLE #t (a int)", "!2714/16"},
		{"DROP TABLE #t; SELECT 1 AS a INTO #t; SELECT a FROM #t", "1"},
	})
}
