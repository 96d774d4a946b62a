// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestSpellings: what may be written in more than one way
// (docs/t-sql/language-elements/comparison-operators-transact-sql.md, docs/t-sql/data-types/constants-transact-sql.md,
// money-and-smallmoney-transact-sql.md).
func TestSpellings(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT 1 WHERE 1 < > 2 AND 1 ! = 2 AND 2 > = 1 AND 1 < = 2 AND 1 ! > 2 AND 2 ! < 1", "1"},
		{"SELECT 1 WHERE 1 <\n> 1 OR 1 >\t= 2", ""},
		{"SELECT 1 WHERE 1 <\n> 2\nSELECT FROM t", "!156/15/1/3"},
		{"SELECT 2e+, 3.5e, -.25e-, 5.e-, 5.e1", "2 3.5 -0.25 5 50"},
		{"SELECT CAST(€100.25 AS varchar), CAST(¢2 AS int), CAST(₠-5 AS int), CAST(£1 AS int)", "100.25 2 -5 1"},
		{
			"SET TRAN ISOLATION LEVEL REPEATABLE READ SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE " +
				"session_id = @@SPID",
			"3",
		},
		{"SET TRAN ISOLATION LEVEL x", "!102/15/1/1"},
		{
			"CREATE TABLE [dbo].[q] ([a] [int] IDENTITY(1,1) NOT NULL, [text] [nvarchar](max) COLLATE Latin1_General_CS_AS " +
				"NULL, [b] [varchar](9) COLLATE Latin1_General_CI_AI NOT NULL, c [char](2) COLLATE Latin1_General_BIN2, [d] " +
				"[sysname] COLLATE Latin1_General_BIN NULL)",
			"ok",
		},
		{
			"SELECT name, collation_name FROM sys.columns WHERE object_id = OBJECT_ID('q') AND collation_name IS NOT NULL",
			"text Latin1_General_CS_AS; b Latin1_General_CI_AI; c Latin1_General_BIN2; d Latin1_General_BIN",
		},
		{
			"SELECT IIF(CASE WHEN 1 = 1 THEN 'a' ELSE 'b' END COLLATE Latin1_General_BIN = 'A', 1, 0), IIF(x = 'A', 1, 0) " +
				"FROM (SELECT CASE 1 WHEN 1 THEN CASE 2 WHEN 2 THEN 'a' END END COLLATE Latin1_General_BIN AS x) AS d",
			"0 0",
		},
		{
			"CREATE TABLE u (a nvarchar(9) COLLATE Latin1_General_BIN, b nvarchar(9) COLLATE Latin1_General_CI_AS, c " +
				"varchar(9) COLLATE Latin1_General_BIN, d varchar(9) COLLATE Latin1_General_CI_AS); INSERT u VALUES (N'x', " +
				"N'y', 'x', 'y')",
			"ok",
		},
		{
			"SELECT CASE WHEN 1 = 1 THEN a ELSE b END COLLATE Latin1_General_CS_AS, (a + b) COLLATE Latin1_General_CS_AS FROM u",
			"x xy",
		},
		{"SELECT CASE WHEN 1 = 1 THEN a ELSE b END FROM u", "!451/16"},
		{"SELECT CASE WHEN 1 = 1 THEN c ELSE d END COLLATE Latin1_General_CS_AS FROM u", "!457/16"},
		{"SELECT 1 FROM q WHERE [text] COLLATE Latin1_General_CI_AS = 'A'", ""},
		{"SELECT 1 WHERE 3 > 2.;", "1"},
		{"SELECT 3*(1.*2), 1.+2, 1.-2, -1.%2, CASE WHEN 2.=2 THEN 1.\nEND", "6 3 -1 -1 1"},
		{"SELECT SQL_VARIANT_PROPERTY(20.,'Precision'), SQL_VARIANT_PROPERTY(20.,'Scale')", "2 0"},
		{"SELECT 1 AS a FOR XML PATH(N'')", "<a>1</a>"},
		{"SELECT 1 AS a FOR XML RAW(N'Zeile'), ROOT(n'größte'), ELEMENTS", "<größte><Zeile><a>1</a></Zeile></größte>"},
		{
			"SELECT STUFF((SELECT N',' + v FROM (VALUES (N'a'), (N'b')) AS t (v) FOR XML PATH(N''), TYPE).value(N'.[1]', " +
				"N'nvarchar(max)'), 1, 1, N'')",
			"a,b",
		},
		{"SELECT 1 AS a FOR JSON PATH, ROOT(N'r')", `{"r":[{"a":1}]}`},
		{"CREATE TABLE s (a int CHECK (a < > 3)); INSERT s VALUES (4)", "ok"},
		{"INSERT s VALUES (3)", "!547/16/0"},
	})
}

// TestPlacesOfExpressions: expressions, names and hints in the places where they may stand
// (docs/t-sql/queries/select-group-by-transact-sql.md, update-transact-sql.md, from-using-pivot-and-unpivot.md,
// select-clause-transact-sql.md, hints-transact-sql-table.md).
func TestPlacesOfExpressions(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE n (a int, b int, c int); INSERT n VALUES (1, 3, 5), (2, 3, 7)", "ok"},
		{"SELECT (b + 1) / 2, SUM(a) FROM n GROUP BY (b + 1) / 2", "2 3"},
		{"SELECT (a) * 2 FROM n GROUP BY CASE WHEN a = 1 THEN 2 ELSE 3 END, ((c)), b, (a) * 2 ORDER BY (a) * 2", "2; 4"},
		{"SELECT (b + 1) / 2, SUM(a) FROM n GROUP BY ROLLUP ((b + 1) / 2)", "2 3; NULL 3"},
		{"SELECT 1 FROM n GROUP BY (b + 1) /", "!102/15/1/1"},
		{
			"DECLARE @s int, @t varchar(9); UPDATE n SET @s = n.c + 100, @t = LEFT('abc', 2), c = 9 WHERE a = 1; SELECT @s, " +
				"@t, c FROM n WHERE a = 1",
			"105 ab 9",
		},
		{"DECLARE @s int; UPDATE n SET @s = c = b + 2 WHERE a = 1; SELECT @s, c FROM n WHERE a = 1", "5 5"},
		{
			"DECLARE @p table (x int, y int); INSERT @p VALUES (1, 7); SELECT [1], [2] FROM @p PIVOT (SUM(y) FOR x IN " +
				"([1], [2])) AS q",
			"7 NULL",
		},
		{
			"DECLARE @p table (x int, y int); INSERT @p VALUES (1, 7); SELECT v FROM @p UNPIVOT (v FOR w IN (x, y)) AS q",
			"1; 7",
		},
		{"DECLARE @v int = 1; SELECT d.one, d.two FROM (SELECT @v 'one', @v'two') AS d", "1 1"},
		{"SELECT a FROM n WITH (ROWLOCK HOLDLOCK NOWAIT) WHERE a = 1", "1"},
		{"SELECT a FROM n WITH (NOWAIT SERIALIZABLE) WHERE a = 1", "1"},
		{"SELECT a FROM n WITH (INDEX(0) NOWAIT SERIALIZABLE) WHERE a = 1", "1"},
	})
}

// TestMoneyIsRoundedToIntegers: docs/t-sql/functions/cast-and-convert-transact-sql.md, Truncating and rounding results.
func TestMoneyIsRoundedToIntegers(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"SELECT CAST($100.5 AS int), CAST($100.49 AS int), CAST(-$100.5 AS int), CAST(CAST(2.5 AS smallmoney) AS " +
				"tinyint), CAST(100.5 AS int)",
			"101 100 -101 3 100",
		},
		{"DECLARE @m money = 1.5, @i bigint; SET @i = @m; SELECT @i", "2"},
		{"SELECT CAST($255.5 AS tinyint)", "!8115/16/2"},
	})
}
