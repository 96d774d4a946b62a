// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestSequencesByRow: docs/t-sql/functions/next-value-for-transact-sql.md, General Remarks: within a row a sequence has
// one value, whatever takes it, and rows have theirs in the order of OVER.
func TestSequencesByRow(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE SEQUENCE dbo.s START WITH 1", "ok"},
		{"CREATE SEQUENCE dbo.other START WITH 100 INCREMENT BY -10", "ok"},
		{
			"CREATE TABLE two (a bigint DEFAULT (NEXT VALUE FOR dbo.s), b bigint DEFAULT (NEXT VALUE FOR dbo.s), o bigint " +
				"DEFAULT (NEXT VALUE FOR dbo.other), c int)",
			"ok",
		},
		{"INSERT two (c) SELECT value FROM GENERATE_SERIES(1, 3)", "ok"},
		{"SELECT a, b, o FROM two ORDER BY a", "1 1 100; 2 2 90; 3 3 80"},
		{"INSERT two (a, c) SELECT NEXT VALUE FOR dbo.s, value FROM GENERATE_SERIES(4, 5)", "ok"},
		{"SELECT a, b FROM two WHERE c > 3 ORDER BY a", "4 4; 5 5"},
		{"UPDATE two SET a = DEFAULT, b = NEXT VALUE FOR dbo.s", "ok"},
		{"SELECT MIN(a), MAX(a), COUNT(DISTINCT a), SUM(a - b) FROM two", "6 10 5 0"},
		{
			"MERGE two USING GENERATE_SERIES(11, 13) AS v ON c = v.value WHEN NOT MATCHED THEN INSERT (a, c) VALUES (NEXT " +
				"VALUE FOR dbo.s, v.value);",
			"!11742/16",
		},
		{
			"MERGE two USING GENERATE_SERIES(11, 13) AS v ON c = v.value WHEN NOT MATCHED THEN INSERT (c) VALUES (v.value);",
			"ok",
		},
		{"SELECT a, b FROM two WHERE c > 10 ORDER BY a", "11 11; 12 12; 13 13"},
		{"ALTER SEQUENCE dbo.other RESTART WITH 20", "ok"},
		{
			"SELECT value, NEXT VALUE FOR dbo.s OVER (ORDER BY value DESC), NEXT VALUE FOR dbo.s OVER (ORDER BY value DESC) " +
				"FROM GENERATE_SERIES(1, 3)",
			"3 14 14; 2 15 15; 1 16 16",
		},
		{
			"SELECT NEXT VALUE FOR dbo.s, NEXT VALUE FOR dbo.s, NEXT VALUE FOR dbo.other FROM GENERATE_SERIES(1, 2)",
			"17 17 20; 18 18 10",
		},
		{"INSERT two (c) VALUES (21), (22)", "ok"},
		{"SELECT a, b FROM two WHERE c > 20 ORDER BY a", "19 19; 20 20"},
		{
			"DECLARE @n int = 0; WHILE @n < 2 BEGIN INSERT two (c) SELECT 31 + @n FROM GENERATE_SERIES(1, 2); SET @n += 1 END",
			"ok",
		},
		{"SELECT a, b FROM two WHERE c > 30 ORDER BY a", "21 21; 22 22; 23 23; 24 24"},
	})
}

// TestSequencesAndTransactions: docs/t-sql/statements/create-sequence-transact-sql.md, General Remarks: a value that
// was taken is used up, whether its transaction is committed or rolled back.
func TestSequencesAndTransactions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE SEQUENCE dbo.s AS int START WITH 10; CREATE TABLE kept (id int DEFAULT (NEXT VALUE FOR dbo.s), n int)",
			"ok",
		},
		{"SELECT CAST(current_value AS int) FROM sys.sequences WHERE name = 's'", "10"},
		{
			"BEGIN TRANSACTION; INSERT kept (n) VALUES (1), (2); DECLARE @v int = NEXT VALUE FOR dbo.s; ROLLBACK; SELECT @v",
			"12",
		},
		{"SELECT CAST(current_value AS int) FROM sys.sequences WHERE name = 's'", "12"},
		{"SELECT NEXT VALUE FOR dbo.s", "13"},
		{"INSERT kept (n) SELECT 1 / 0", "!8134/16"},
		{"INSERT kept (n) VALUES (3)", "ok"},
		{"SELECT IIF(id > 13, 'on', 'back') FROM kept", "on"},
		{"BEGIN TRANSACTION; ALTER SEQUENCE dbo.s RESTART WITH 100; SELECT NEXT VALUE FOR dbo.s; COMMIT", "100"},
		{"SELECT NEXT VALUE FOR dbo.s", "101"},
		{"BEGIN TRANSACTION; ALTER SEQUENCE dbo.s RESTART WITH 500; SELECT NEXT VALUE FOR dbo.s; ROLLBACK", "500"},
		{"SELECT NEXT VALUE FOR dbo.s", "102"},
		{
			"BEGIN TRANSACTION; DECLARE @v int = NEXT VALUE FOR dbo.s; ROLLBACK; ALTER SEQUENCE dbo.s INCREMENT BY 5; SELECT " +
				"NEXT VALUE FOR dbo.s",
			"108",
		},
		{"ALTER SEQUENCE dbo.s RESTART; SELECT NEXT VALUE FOR dbo.s", "10"},
	})
}

// TestRandomNumbersOfStatements: RAND without a seed is one number for all rows of a statement and another for each
// call in its text.
func TestRandomNumbersOfStatements(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT COUNT(DISTINCT r), COUNT(DISTINCT n), COUNT(DISTINCT c) FROM (SELECT RAND() AS r, NEWID() AS n, " +
				"RAND(CHECKSUM(NEWID())) AS c FROM GENERATE_SERIES(1, 5)) AS q",
			"1 5 5",
		},
		{"SELECT IIF(RAND() = RAND(), 'one', 'two')", "two"},
		{"SELECT value FROM GENERATE_SERIES(1, 2) ORDER BY RAND(), value", "1; 2"},
		{"CREATE TABLE drawn (id int, r float DEFAULT (RAND()))", "ok"},
		{"INSERT drawn (id) SELECT value FROM GENERATE_SERIES(1, 3)", "ok"},
		{"SELECT COUNT(DISTINCT r) FROM drawn", "1"},
		{"INSERT drawn (id) VALUES (4), (5)", "ok"},
		{"SELECT COUNT(DISTINCT r) FROM drawn WHERE id > 3", "2"},
		{"DECLARE @a float = RAND(), @b float = RAND(); SELECT IIF(@a = @b OR @a < 0 OR @a >= 1, 'no', 'yes')", "yes"},
		{
			"DECLARE @t TABLE (r float); DECLARE @n int = 0; WHILE @n < 3 BEGIN INSERT @t VALUES (RAND()); SET @n += 1 END; " +
				"SELECT COUNT(DISTINCT r) FROM @t",
			"3",
		},
	})
}

// TestRandomNumbersOfSeeds: docs/t-sql/functions/rand-transact-sql.md, Remarks and the numbers of SQL Server for its
// seeds.
func TestRandomNumbersOfSeeds(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT STR(RAND(100), 17, 15), STR(RAND(), 17, 15), STR(RAND(), 17, 15)",
			"0.715436657367485 0.284633807679820 0.013103908285036",
		},
		{
			"SELECT STR(RAND(1), 17, 15), STR(RAND(0), 17, 15), STR(RAND(2), 17, 15)",
			"0.713591993212924 0.943597390424144 0.713610626184182",
		},
		{"DECLARE @seed int = 100; SELECT STR(RAND(@seed), 17, 15)", "0.715436657367485"},
		{"SELECT STR(RAND(), 17, 15)", "0.284633807679820"},
		{
			"DECLARE @a float = RAND(7), @b float, @c float; SELECT @b = RAND(); SET @c = RAND(7); SELECT IIF(@a = @c AND @b " +
				"= RAND() AND @a <> @b, 'again', 'other')",
			"again",
		},
		{"SELECT COUNT(DISTINCT r) FROM (SELECT RAND(3) AS r FROM GENERATE_SERIES(1, 5)) AS q", "1"},
		{
			"SELECT COUNT(DISTINCT r), SUM(IIF(r >= 0 AND r < 1, 0, 1)) FROM (SELECT RAND(value) AS r FROM " +
				"GENERATE_SERIES(-1000, 1000)) AS q WHERE r IS NOT NULL",
			"1001 0",
		},
	})
}

// TestOperandsOfNumberFunctions: docs/t-sql/functions/round-transact-sql.md and its kin take numbers, and text of one.
func TestOperandsOfNumberFunctions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"SELECT ROUND(GETDATE(), 1)", "!8116/16"},
		{"SELECT ROUND(NEWID(), 1)", "!8116/16"},
		{"SELECT ROUND(0x01, 1)", "!8116/16"},
		{"SELECT ROUND(CAST('<a/>' AS xml), 1)", "!8116/16"},
		{"SELECT ROUND(CAST(1.5 AS sql_variant), 1)", "!8116/16"},
		{"SELECT ROUND(CAST('1' AS text), 1)", "!8116/16"},
		{"SELECT POWER(GETDATE(), 2)", "!8116/16"},
		{"SELECT ABS(GETDATE())", "!8116/16"},
		{"SELECT SIGN(GETDATE())", "!8116/16"},
		{"SELECT FLOOR(CAST('2020-01-01' AS date))", "!8116/16"},
		{"SELECT CEILING(CAST('10:00' AS time))", "!8116/16"},
		{
			"SELECT ROUND(NULL, 1), ABS(NULL), ROUND('1.25', 1), ABS(N'-2'), ROUND(CAST(1 AS bit), 0), FLOOR($1.5)",
			"NULL NULL 1.3 2 1 1.0000",
		},
		{"SELECT 1", "1"},
	})
}
