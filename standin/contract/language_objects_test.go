// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestTemporaryProcedures: docs/t-sql/statements/create-procedure-transact-sql.md, "procedure_name".
func TestTemporaryProcedures(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t)
	db := connection(t, pool)
	converse(t, db, []say{
		{"CREATE PROCEDURE #p @a int = 2, @b int OUTPUT AS SET @b = @a * 2; RETURN 7", "ok"},
		{"DECLARE @r int, @b int; EXEC @r = #p 4, @b OUTPUT; SELECT @r, @b", "7 8"},
		{"CREATE PROCEDURE #p AS SELECT 1", "!2714/16"},
		{"ALTER PROCEDURE #p @a int AS SELECT @a + 1", "ok"},
		{"EXEC #p 1", "2"},
		{"SELECT IIF(OBJECT_ID('tempdb..#p') IS NULL, 'none', 'some')", "some"},
		{
			"BEGIN TRANSACTION; EXEC ('CREATE PROCEDURE #gone AS SELECT 1'); EXEC ('ALTER PROCEDURE #p AS SELECT 3'); ROLLBACK",
			"ok",
		},
		{"EXEC #gone", "!2812/16"},
		{"EXEC #p 5", "6"},
		{"CREATE PROCEDURE ##shared AS SELECT 'global'", "ok"},
		{"EXEC ##shared", "global"},
		{"CREATE VIEW #v AS SELECT 1 AS a", "!4103/15"},
		{"CREATE FUNCTION #f () RETURNS int AS BEGIN RETURN 1 END", "!1074/15"},
	})
	converse(t, connection(t, pool), []say{{"EXEC #p 1", "!2812/16"}})
	converse(t, db, []say{
		{"DROP PROCEDURE #p", "ok"},
		{"EXEC #p 1", "!2812/16"},
		{"DROP PROCEDURE #p", "!3701"},
		{"DROP PROCEDURE IF EXISTS #p, ##shared", "ok"},
	})
}

// TestCursorParameters: docs/t-sql/statements/create-procedure-transact-sql.md, "VARYING", and
// docs/t-sql/functions/cursor-status-transact-sql.md.
func TestCursorParameters(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE PROCEDURE give @upto int, @c CURSOR VARYING OUTPUT AS SET @c = CURSOR FORWARD_ONLY STATIC FOR SELECT n " +
				"FROM (VALUES (1), (2), (3)) v (n) WHERE n <= @upto ORDER BY n; OPEN @c",
			"ok",
		},
		{
			"DECLARE @k CURSOR, @n int, @s varchar(20) = ''; EXEC give 2, @c = @k OUTPUT; FETCH NEXT FROM @k INTO @n; WHILE " +
				"@@FETCH_STATUS = 0 BEGIN SET @s += CAST(@n AS varchar(5)) + ';'; FETCH NEXT FROM @k INTO @n END; CLOSE @k; " +
				"DEALLOCATE @k; SELECT @s",
			"1;2;",
		},
		{"DECLARE @k CURSOR; SELECT CURSOR_STATUS('variable', '@k'), CURSOR_STATUS('variable', '@none')", "-2 -3"},
		{"DECLARE @k CURSOR; EXEC give 1, @k OUTPUT; SELECT CURSOR_STATUS('variable', '@k')", "1"},
		{"DECLARE @k CURSOR; EXEC give 0, @k OUTPUT; SELECT CURSOR_STATUS('variable', '@k')", "0"},
		{"DECLARE @k CURSOR; EXEC give 1, @k OUTPUT; EXEC give 1, @k OUTPUT", "!16951/16"},
		{"EXEC give 1", "!201/16"},
	})
}

// TestStatistics: docs/t-sql/statements/create-statistics-transact-sql.md, update-statistics-transact-sql.md,
// drop-statistics-transact-sql.md, docs/relational-databases/system-catalog-views/sys-stats-transact-sql.md and
// docs/t-sql/functions/stats-date-transact-sql.md.
func TestStatistics(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE s (id int NOT NULL CONSTRAINT pk_s PRIMARY KEY, a int NULL, b varchar(10) NULL); INSERT s VALUES " +
				"(1, 2, 'x'), (2, 3, 'y')",
			"ok",
		},
		{"CREATE STATISTICS st ON s (a, b) WHERE a > 1 WITH FULLSCAN, NORECOMPUTE", "ok"},
		{
			"SELECT name, CAST(user_created AS int), CAST(no_recompute AS int), CAST(has_filter AS int) FROM sys.stats WHERE " +
				"object_id = OBJECT_ID('s') AND name IN ('st', 'pk_s') ORDER BY name",
			"pk_s 0 0 0; st 1 1 1",
		},
		{
			"SELECT COL_NAME(c.object_id, c.column_id), c.stats_column_id FROM sys.stats_columns c JOIN sys.stats s ON " +
				"s.object_id = c.object_id AND s.stats_id = c.stats_id WHERE s.object_id = OBJECT_ID('s') AND s.name = 'st' " +
				"ORDER BY c.stats_column_id",
			"a 1; b 2",
		},
		{"CREATE STATISTICS st ON s (a)", "!1927/16"},
		{"CREATE STATISTICS other ON s (nothing)", "!1911/16"},
		{"CREATE STATISTICS other ON nowhere (a)", "!1088"},
		{"CREATE STATISTICS other ON s (a) WITH NONSENSE", "!155/15"},
		{"CREATE STATISTICS other s (a)", "!102/15"},
		{"CREATE STATISTICS other ON s", "!102/15"},
		{"UPDATE STATISTICS s", "ok"},
		{"UPDATE STATISTICS s st WITH FULLSCAN, NORECOMPUTE; SELECT 1", "1"},
		{"UPDATE STATISTICS dbo.s (st, pk_s) WITH SAMPLE 50 PERCENT", "ok"},
		{
			"SELECT name, IIF(STATS_DATE(object_id, stats_id) BETWEEN DATEADD(minute, -5, GETDATE()) AND DATEADD(minute, 5, " +
				"GETDATE()), 'fresh', 'old') FROM sys.stats WHERE object_id = OBJECT_ID('s') AND name IN ('st', 'pk_s') " +
				"ORDER BY name",
			"pk_s fresh; st fresh",
		},
		{"UPDATE STATISTICS nowhere", "!2706"},
		{"UPDATE STATISTICS s nothing", "!2767"},
		{"UPDATE STATISTICS s WITH NONSENSE", "!155/15"},
		{"ALTER TABLE s DROP COLUMN b", "!5074/16"},
		{"DROP STATISTICS s.pk_s", "!3739"},
		{"DROP STATISTICS s.st", "ok"},
		{"DROP STATISTICS dbo.s.st", "!3701"},
		{"ALTER TABLE s DROP COLUMN b", "ok"},
		{"CREATE TABLE #t (a int); CREATE STATISTICS st ON #t (a); UPDATE STATISTICS #t; DROP STATISTICS #t.st", "ok"},
	})
}

// TestIdentityIsChecked: docs/t-sql/database-console-commands/dbcc-checkident-transact-sql.md.
func TestIdentityIsChecked(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE i (id int IDENTITY PRIMARY KEY, a int NULL); INSERT i (a) VALUES (1), (2), (3)", "ok"},
		{"DBCC CHECKIDENT ('i', RESEED, 1) WITH NO_INFOMSGS", "ok"},
		{"DBCC CHECKIDENT ('i', NORESEED); SELECT IDENT_CURRENT('i')", "1"},
		{"DBCC CHECKIDENT ('i', RESEED); INSERT i (a) VALUES (4); SELECT MAX(id) FROM i", "4"},
		{"DBCC CHECKIDENT ('i', RESEED, 2); DBCC CHECKIDENT (i); INSERT i (a) VALUES (5); SELECT MAX(id) FROM i", "5"},
		{"DBCC CHECKIDENT ('nowhere')", "!2501"},
	})
}

// TestBadDefinitions: docs/t-sql/statements/create-index-transact-sql.md (FILLFACTOR) and
// create-trigger-transact-sql.md.
func TestBadDefinitions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (a int NULL, b varchar(10) NULL)", "ok"},
		{"CREATE INDEX ix ON t (a) WITH (FILLFACTOR = 101)", "!129/15"},
		{"CREATE INDEX ix ON t (a) WITH (FILLFACTOR = 80)", "ok"},
		{"SELECT fill_factor FROM sys.indexes WHERE name = 'ix'", "80"},
		{"CREATE TRIGGER tr ON t FOR NONSENSE AS SELECT 1", "!1084/15"},
	})
}
