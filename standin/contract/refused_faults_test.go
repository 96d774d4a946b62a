// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// fault is a statement with a fault, and the numbers of the errors that it has.
type fault struct {
	text    string
	numbers []int32
}

// faults runs statements in a database with tables t (two rows) and u and checks their errors, that they are of the
// last line of the text, and that the table has its rows afterwards. A fault that is found when the batch is compiled
// keeps its first statement from running: those texts begin with DELETE.
func faults(t *testing.T, db *sql.DB, list []fault) {
	t.Helper()
	for _, c := range list {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			numbers := []int32{}
			for _, e := range failures(t, db, c.text) {
				numbers = append(numbers, e.Number)
				g.Expect(e.LineNo).To(BeEquivalentTo(1+strings.Count(c.text, "\n")), e.Message)
				g.Expect(e.Message).NotTo(ContainSubstring("%!"))
			}
			g.Expect(numbers).To(Equal(c.numbers))
			g.Expect(query(t, db, "SELECT COUNT(*) FROM dbo.t")).To(Equal([][]any{{int64(2)}}))
		})
	}
}

func faultyDatabase(t *testing.T) *sql.DB {
	t.Helper()
	db := newDatabase(t)
	for _, text := range []string{
		"CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, v nvarchar(5) NULL, n int NULL)",
		"CREATE INDEX ix_n ON dbo.t (n)",
		"INSERT dbo.t VALUES (1, 'a', 1), (2, 'b', 2)",
		"CREATE TABLE dbo.u (id int NOT NULL PRIMARY KEY, x xml NULL, d datetime2 NULL)",
		"CREATE VIEW dbo.vw AS SELECT id, v FROM dbo.t",
		"CREATE PROCEDURE dbo.pr @a int AS SELECT @a",
		"CREATE FUNCTION dbo.fn (@a int) RETURNS int AS BEGIN RETURN @a END",
		"CREATE FUNCTION dbo.tf (@a int) RETURNS TABLE AS RETURN SELECT @a AS a",
	} {
		mustExec(t, db, text)
	}
	return db
}

// TestFaultsOfIndexOptions goes by docs/t-sql/statements/create-index-transact-sql.md and alter-index-transact-sql.md.
func TestFaultsOfIndexOptions(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"DELETE dbo.t\nCREATE INDEX x ON dbo.t (v) WITH (ONLINE = MAYBE)", []int32{102}},
		{"DELETE dbo.t\nCREATE INDEX x ON dbo.t (v) WITH (PAD_INDEX = 1)", []int32{102}},
		{"DELETE dbo.t\nCREATE INDEX x ON dbo.t (v) WITH (FILLFACTOR = ON)", []int32{156}},
		{"DELETE dbo.t\nCREATE INDEX x ON dbo.t (v) WITH (PAD_INDEX = ON, PAD_INDEX = OFF)", []int32{1039}},
		{"DELETE dbo.t\nALTER INDEX ix_n ON dbo.t SET (NOSUCH = ON)", []int32{155}},
		{"DELETE dbo.t\nALTER INDEX ix_n ON dbo.t SET (ONLINE = ON)", []int32{155}},
		{"DELETE dbo.t\nALTER INDEX ix_n ON dbo.t REBUILD WITH (DROP_EXISTING = ON)", []int32{155}},
		{"DELETE dbo.t\nALTER INDEX ix_n ON dbo.t REORGANIZE WITH (FILLFACTOR = 10)", []int32{155}},
		{"DELETE dbo.t\nALTER INDEX ix_n ON dbo.t REORGANIZE WITH (LOB_COMPACTION = YES)", []int32{102}},
		{"DELETE dbo.t\nALTER TABLE dbo.t SET (LOCK_ESCALATION = MOST)", []int32{102}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int, INDEX i (a) WITH (PAD_INDEX = MAYBE))", []int32{102}},
	})
	mustExec(
		t,
		db,
		"CREATE INDEX y ON dbo.t (v) WITH (PAD_INDEX = ON, FILLFACTOR = 80, ONLINE = OFF, MAXDOP = 1, "+
			"DATA_COMPRESSION = ROW)",
	)
	mustExec(t, db, "ALTER INDEX y ON dbo.t SET (STATISTICS_NORECOMPUTE = ON, ALLOW_PAGE_LOCKS = OFF)")
	mustExec(
		t,
		db,
		"ALTER INDEX y ON dbo.t REBUILD PARTITION = ALL WITH (ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 5 "+
			"MINUTES, ABORT_AFTER_WAIT = NONE)), FILLFACTOR = 90)",
	)
	mustExec(t, db, "ALTER INDEX ALL ON dbo.t REORGANIZE WITH (LOB_COMPACTION = ON)")
}

// TestFaultsOfFunctions goes by docs/t-sql/statements/create-function-transact-sql.md, Limitations.
func TestFaultsOfFunctions(t *testing.T) {
	t.Parallel()
	faults(t, faultyDatabase(t), []fault{
		{"CREATE FUNCTION dbo.x () RETURNS uniqueidentifier AS BEGIN\nRETURN NEWID() END", []int32{443}},
		{"CREATE FUNCTION dbo.x () RETURNS float AS BEGIN\nDECLARE @a float = RAND(); RETURN @a END", []int32{443}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN SELECT NEWID() AS a", []int32{443}},
		{"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN\nPRINT 'a' RETURN 1 END", []int32{443}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN SELECT 1", []int32{4514}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN SELECT 1 AS a, 2 AS a", []int32{4506}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN SELECT id FROM dbo.nothing", []int32{208}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN SELECT id FROM dbo.t ORDER BY id", []int32{1033}},
		{"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN EXEC ('SELECT 1') RETURN 1 END", []int32{443}},
		{"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN DECLARE @a int; SELECT @a = id FROM #t RETURN 1 END", []int32{2772}},
		{"CREATE FUNCTION dbo.x () RETURNS @r TABLE (a int) AS BEGIN\nRETURN 1 END", []int32{178}},
	})
}

// TestFaultsOfDefinitions: the kind and the place of what is defined, and what constraints may not have.
func TestFaultsOfDefinitions(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"ALTER VIEW dbo.t AS SELECT 1 AS a", []int32{2010}},
		{"ALTER PROCEDURE dbo.vw AS SELECT 1", []int32{2010}},
		{"CREATE OR ALTER PROCEDURE dbo.vw AS SELECT 1", []int32{2010}},
		{"ALTER TRIGGER dbo.pr ON dbo.t AFTER INSERT AS SELECT 1", []int32{2010}},
		{"DELETE dbo.t\nIF 1 = 1 CREATE VIEW dbo.x AS SELECT 1 AS a", []int32{156}},
		{"CREATE PROCEDURE dbo.x AS\nCREATE VIEW dbo.y AS SELECT 1 AS a", []int32{156}},
		{"CREATE PROCEDURE dbo.x AS\nUSE master", []int32{154}},
		{"DELETE dbo.t\nDECLARE @a datetime2(8)", []int32{1002}},
		{"DELETE dbo.t\nDECLARE @a decimal(39, 1)", []int32{2750}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int(4))", []int32{2716}},
		{"DELETE dbo.t\nDECLARE @v TABLE (a int); TRUNCATE TABLE @v", []int32{102}},
		{"DELETE dbo.t\nDECLARE @v TABLE (a int); SELECT 1 AS a INTO @v", []int32{102}},
		{"DELETE dbo.t\nDECLARE @v TABLE (a int REFERENCES dbo.t (id))", []int32{156}},
		{"DELETE dbo.t\nDECLARE @v TABLE (a int CONSTRAINT k PRIMARY KEY)", []int32{156}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int IDENTITY(1))", []int32{102}},
		{"CREATE TABLE dbo.x (a int IDENTITY(1, 0))", []int32{2753}},
		{"CREATE TABLE dbo.x (a int CHECK (a > (SELECT 1)))", []int32{1046}},
		{"CREATE TABLE dbo.x (a int DEFAULT (SELECT 1))", []int32{1046}},
		{"CREATE TABLE dbo.x (a int, b AS (SELECT 1))", []int32{1046}},
		{"CREATE TABLE dbo.x (a int CHECK (b > 1), b int)", []int32{8141, 1750}},
		{"DELETE dbo.t\nSET IDENTITY_INSERT dbo.t", []int32{102}},
		{"DELETE dbo.t\nSAVE TRAN", []int32{156}},
		{"DELETE dbo.t\nDECLARE c CURSOR LOCAL FAST_FORWARD SCROLL FOR SELECT 1", []int32{1048}},
		{"DELETE dbo.t\nDECLARE c CURSOR GLOBAL LOCAL FOR SELECT 1", []int32{1048}},
		{"CREATE TABLE dbo.x (a int REFERENCES dbo.t (nothing))", []int32{1770, 1750}},
		{"CREATE TABLE dbo.x (a int NOT NULL REFERENCES dbo.t (id) ON DELETE SET NULL)", []int32{1761, 1750}},
		{"CREATE TABLE dbo.x (a int NOT NULL REFERENCES dbo.t (id) ON DELETE SET DEFAULT)", []int32{1762, 1750}},
		{"CREATE TABLE dbo.x (a int PRIMARY KEY, b int REFERENCES dbo.x (a) ON DELETE CASCADE)", []int32{1785, 1750}},
		{
			"CREATE TABLE dbo.x (a int REFERENCES dbo.t (id) ON DELETE CASCADE, b int REFERENCES dbo.t (id) ON UPDATE CASCADE)",
			[]int32{1785, 1750},
		},
		{"CREATE TABLE dbo.x (a int PRIMARY KEY CLUSTERED, b int UNIQUE CLUSTERED)", []int32{8112, 1750}},
		{"ALTER INDEX ix_n ON dbo.t REBUILD PARTITION = 2", []int32{7729}},
		{"DELETE dbo.t\nALTER INDEX ix_n ON dbo.t", []int32{102}},
	})
	mustExec(
		t,
		db,
		"CREATE TABLE dbo.one (a int PRIMARY KEY); CREATE TABLE dbo.two (a int PRIMARY KEY REFERENCES dbo.one (a) ON "+
			"DELETE CASCADE, b int NULL REFERENCES dbo.t (id) ON DELETE SET NULL)",
	)
	mustExec(t, db, "CREATE TABLE dbo.three (a int REFERENCES dbo.two (a) ON DELETE CASCADE)")
	NewWithT(
		t,
	).Expect(failures(t, db, "DROP SEQUENCE dbo.t")[0].Message).
		To(HavePrefix("Cannot use DROP SEQUENCE with 'dbo.t' because 'dbo.t' is a table."))
}

// TestFaultsOfQueries goes by docs/t-sql/queries and
// docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func TestFaultsOfQueries(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"DELETE dbo.t\nSELECT * FROM (SELECT id, n FROM dbo.t) s PIVOT (SUM(n) FOR id IN ([1], [2]))", []int32{102}},
		{"DELETE dbo.t\nSELECT * FROM dbo.t UNPIVOT (val FOR col IN (id, n))", []int32{102}},
		{"WITH c AS (SELECT 1 AS n UNION ALL SELECT 'a' FROM c WHERE 1 = 0) SELECT * FROM c", []int32{240}},
		{"WITH c AS (SELECT 1 AS n UNION ALL SELECT n + 1.5 FROM c WHERE n < 2) SELECT * FROM c", []int32{240}},
		{
			"WITH c AS (SELECT CAST('a' AS varchar(10)) AS n UNION ALL SELECT n + 'a' FROM c WHERE LEN(n) < 3) SELECT * FROM c",
			[]int32{240},
		},
		{"SELECT SUM(ROW_NUMBER() OVER (ORDER BY id)) FROM dbo.t", []int32{4109}},
		{"SELECT ROW_NUMBER() OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM dbo.t", []int32{10752}},
		{"SELECT SUM(n) OVER (ROWS UNBOUNDED PRECEDING) FROM dbo.t", []int32{10756}},
		{"SELECT SUM(n) OVER (ORDER BY id RANGE 1 PRECEDING) FROM dbo.t", []int32{4194}},
		{"SELECT SUM(n) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM dbo.t", []int32{4193}},
		{"SELECT SUM(DISTINCT n) OVER (ORDER BY id) FROM dbo.t", []int32{10759}},
		{"SELECT NTILE(0) OVER (ORDER BY id) FROM dbo.t", []int32{4116}},
		{"SELECT LAG(n, -1) OVER (ORDER BY id) FROM dbo.t", []int32{8730}},
		{"DELETE dbo.t\nSELECT COALESCE(1)", []int32{102}},
		{"SELECT COALESCE(NULL, NULL)", []int32{4127}},
		{"SELECT NULLIF(NULL, 1)", []int32{4151}},
		{"SELECT SUM((SELECT 1)) FROM dbo.t", []int32{130}},
		{"SELECT COUNT(*) FROM dbo.t GROUP BY COUNT(*)", []int32{144}},
		{"SELECT DISTINCT x FROM dbo.u", []int32{421}},
		{"SELECT x FROM dbo.u UNION SELECT x FROM dbo.u", []int32{5335}},
		{"SELECT 1 FROM dbo.u ORDER BY x", []int32{305}},
		{"SELECT 1 FROM dbo.u GROUP BY CAST(CAST(d AS varchar(9)) AS ntext)", []int32{306}},
		{"SELECT id FROM dbo.t ORDER BY id, id DESC", []int32{169}},
		{"SELECT TOP (101) PERCENT id FROM dbo.t", []int32{1031}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t ORDER BY id OFFSET 1", []int32{102}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS", []int32{102}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t ORDER BY id FETCH NEXT 1 ROWS ONLY", []int32{153}},
		{"DELETE TOP 1 FROM dbo.t", []int32{102}},
		{"SELECT -v FROM dbo.t", []int32{8117}},
		{"INSERT dbo.t () VALUES (5)", []int32{102}},
		{"DELETE dbo.t OUTPUT deleted.id INTO dbo.vw (id)", []int32{330}},
		{"DELETE dbo.t OUTPUT COUNT(*)", []int32{158}},
		{"DELETE dbo.t OUTPUT (SELECT 1)", []int32{10705}},
	})
	g := NewWithT(t)
	g.Expect(failures(t, db, "SELECT 1\n\nSELECT CAST(1 AS varchar(0))")[0].Message).To(ContainSubstring("Line 3: Length"))
	g.Expect(query(t, db,
		"BEGIN TRY BACKUP DATABASE nowhere TO DISK = N'x.bak' END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH")).
		To(Equal([][]any{{int64(3013)}}))
}

// TestNotFaults: what looks like the faults above and is documented as right.
func TestNotFaults(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, faultyDatabase(t)), []say{
		{
			"CREATE TABLE dbo.parts (d date CHECK (DATEPART(year, d) > 2000 AND DATETRUNC(day, d) = d), year int, day int)",
			"ok",
		},
		{"INSERT dbo.parts (d) VALUES ('20000101')", "!547"},
		{"SELECT id FROM dbo.t ORDER BY v COLLATE Latin1_General_BIN2 DESC, v", "2; 1"},
		{
			"SELECT o.v FROM dbo.t o ORDER BY o.v COLLATE Latin1_General_CS_AS DESC, o.v COLLATE Latin1_General_BIN2, o.v",
			"b; a",
		},
		{"SELECT v FROM dbo.t ORDER BY v COLLATE Latin1_General_BIN2, v", "a; b"},
		{"SELECT v FROM dbo.t ORDER BY v, v", "!169"},
		{"WITH c (n) AS (SELECT 1 UNION ALL SELECT 1 + n FROM c WHERE n < 3) SELECT SUM(n) FROM c", "6"},
		{"WITH c (n) AS (SELECT 1 UNION ALL SELECT -n - 1 FROM c WHERE n > 0) SELECT SUM(n) FROM c", "-1"},
		{"WITH c (n) AS (SELECT CAST(1 AS smallint) UNION ALL SELECT -n FROM c WHERE n > 0) SELECT SUM(n) FROM c", "0"},
		{"WITH c (n) AS (SELECT 2 UNION ALL SELECT 3 * n FROM c WHERE n < 9) SELECT SUM(n) FROM c", "26"},
		{"SELECT -CAST(2 AS tinyint), -CAST(-128 AS smallint), - -2147483647", "-2 128 2147483647"},
		{
			"SELECT SQL_VARIANT_PROPERTY(-CAST(n AS tinyint), 'BaseType'), SQL_VARIANT_PROPERTY(-CAST(n AS smallint), " +
				"'BaseType'), -CAST(n AS tinyint) FROM dbo.t WHERE id = 1",
			"smallint smallint -1",
		},
		{"SELECT -(-2147483647 - 1)", "!8115"},
		{"DECLARE @i int = -2147483648; SELECT -@i", "!8115"},
		{
			"CREATE TABLE #m (a int PRIMARY KEY, b int)\nMERGE #m WITH (HOLDLOCK) AS m USING dbo.t AS s ON s.id = m.a WHEN " +
				"NOT MATCHED THEN INSERT (a, b) VALUES (s.id, s.n); SELECT COUNT(*) FROM #m",
			"2",
		},
		{
			"CREATE TABLE #i (a int IDENTITY)\nSET IDENTITY_INSERT tempdb..#i ON\nINSERT #i (a) VALUES (7); SELECT a FROM #i",
			"7",
		},
		{"CREATE INDEX ix_v ON dbo.t (v); DROP INDEX dbo.t.ix_v; SELECT COUNT(*) FROM sys.indexes WHERE name = 'ix_v'", "0"},
	})
}
