// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// A statement that lacks a word, or has one that is not known, is refused where the reading of it ends.
func TestHalvesOfStatements(t *testing.T) {
	for _, c := range []struct {
		text   string
		number int32
		state  uint8
		line   int32
		near   string
	}{
		{"DECLARE rows CURSOR\nSELECT 1", 156, 1, 2, "'SELECT'"},
		{"DECLARE rows CURSOR", 102, 1, 1, "'CURSOR'"},
		{"DECLARE rows int", 155, 2, 1, "'int' is not a recognized CURSOR option."},
		{"DECLARE rows SLOW CURSOR FOR SELECT 1", 155, 2, 1, "'SLOW'"},
		{"SELECT 1\nSET NOTHING ON", 195, 5, 2, "'NOTHING' is not a recognized SET option."},
		{"SELECT TOP a FROM t", 102, 1, 1, "'a'"},
		{"SELECT 1\nEXEC p @a =", 102, 1, 2, "'='"},
		{"EXEC p @a = , @b = 1", 102, 1, 1, "','"},
		{"EXEC p @a = ;", 102, 1, 1, "';'"},
		{"DROP MASTER", 102, 1, 1, "'MASTER'"},
		{"OPEN", 102, 1, 1, "'OPEN'"},
		{"SELECT 1; DEALLOCATE;", 102, 1, 1, "';'"},
		{"CREATE TYPE", 102, 1, 1, "'TYPE'"},
		{"CREATE TRIGGER g ON dbo.t\nINSERT AS SELECT 1", 156, 1, 2, "'INSERT'"},
		{"CREATE TRIGGER g ON t AS SELECT 1", 156, 1, 1, "'AS'"},
		{"CREATE FUNCTION f (a int) RETURNS int AS BEGIN RETURN 1 END", 102, 1, 1, "'a'"},
		{"CREATE OR ALTER FUNCTION f (@a int) RETURN int AS BEGIN RETURN 1 END", 156, 1, 1, "'RETURN'"},
		{"SELECT 1 AS a FOR XML FOO", 102, 1, 1, "'FOO'"},
		{"SELECT 1 AS a FOR JSON FOO", 102, 1, 1, "'FOO'"},
		{"CREATE SCHEMA", 102, 1, 1, "'SCHEMA'"},
		{"CREATE SEQUENCE s START 1", 102, 1, 1, "'1'"},
		{"CREATE SEQUENCE s AS bigint START WITH 5 INCREMENT 2", 102, 1, 1, "'2'"},
		{"CREATE PROCEDURE p @a int\nSELECT @a", 156, 1, 2, "'SELECT'"},
		{"CREATE OR ALTER PROC p @a AS int BEGIN SELECT 1 END", 156, 1, 1, "'BEGIN'"},
		{"UPDATE SET a = 1", 156, 1, 1, "'SET'"},
		{"UPDATE t SET WHERE a = 1", 156, 1, 1, "'WHERE'"},
		{"INSERT INTO VALUES (1)", 156, 1, 1, "'VALUES'"},
		{"CREATE TABLE (a int)", 102, 1, 1, "'('"},
		{"CREATE INDEX i t (a)", 102, 1, 1, "'t'"},
		{"drop table", 102, 1, 1, "'table'"},
		{"DROP VIEW IF EXISTS\n", 102, 1, 1, "'EXISTS'"},
		{"ALTER TABLE t ADD\nColumn x int", 156, 1, 2, "keyword 'Column'."},
		{"SELECT * INTO FROM t", 156, 1, 1, "'FROM'"},
		{"SELECT * FROM a INNER b ON 1 = 1", 102, 1, 1, "'b'"},
		{"ALTER TABLE t ALTER a int", 102, 1, 1, "'a'"},
		{"CREATE PROCEDURE AS SELECT 1", 156, 1, 1, "'AS'"},
		{"CREATE PARTITION FUNCTION f (int) RANGE LEFT FOR VALUES (1)", 102, 1, 1, "'RANGE'"},
		{"CREATE PARTITION FUNCTION f (int) AS\nRANGE MIDDLE FOR VALUES (1)", 102, 1, 2, "'MIDDLE'"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1 2)", 102, 1, 1, "'2'"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1,)", 102, 1, 1, "')'"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1) nonsense", 102, 1, 1, "'nonsense'"},
		{"CREATE PARTITION SCHEME s PARTITION f ALL TO (a)", 102, 1, 1, "'PARTITION'"},
		{"CREATE PARTITION SCHEME s AS PARTITION f TO (a b)", 102, 1, 1, "'b'"},
		{"CREATE PARTITION SCHEME s AS PARTITION f TO ()", 102, 1, 1, "')'"},
		{"ALTER PARTITION FUNCTION f SPLIT RANGE (1)", 102, 1, 1, "'SPLIT'"},
		{"ALTER PARTITION FUNCTION f() SPLIT RANGE (1, 2)", 102, 1, 1, "','"},
		{"ALTER PARTITION FUNCTION f()\nHALVE RANGE (1)", 102, 1, 2, "'HALVE'"},
		{"ALTER PARTITION SCHEME s NEXT a", 102, 1, 1, "'a'"},
		{"DROP PARTITION FUNCTION IF EXISTS f", 156, 1, 1, "'IF'"},
		{"TRUNCATE TABLE t WITH (PARTITIONS ())", 102, 1, 1, "')'"},
		{"TRUNCATE TABLE t WITH (PARTITIONS (1\n2))", 102, 1, 2, "'2'"},
		{"CREATE INDEX i ON t (a)\nWITH (ONLINE = MAYBE)", 102, 1, 2, "'MAYBE'"},
		{"CREATE INDEX i ON t (a) WITH (PAD_INDEX = ON, PAD_INDEX = ON)", 1039, 1, 1, "'PAD_INDEX'"},
		{"ALTER INDEX i ON t SET\n(NOSUCH = ON)", 155, 1, 2, "'NOSUCH'"},
		{"ALTER INDEX i ON t SET (ALLOW_ROW_LOCKS = ON,\n= OFF)", 102, 1, 2, "'='"},
		{"ALTER INDEX ALL ON t REORGANIZE WITH (= LOB_COMPACTION ON)", 102, 1, 1, "'='"},
		{"ALTER TABLE t REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (a))", 102, 1, 1, "'a'"},
		{"ALTER TABLE t REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1,\n'2'))", 102, 1, 2, "'2'"},
		{"ALTER TABLE t REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1 TO))", 102, 1, 1, "')'"},
		{"ALTER TABLE t REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1 2))", 102, 1, 1, "'2'"},
		{"ALTER INDEX i ON t WITH XMLNAMESPACES (u AS x) FOR (ADD p = '/a')", 102, 1, 1, "'u'"},
		{"WITH XMLNAMESPACES ('u'\nx) SELECT 1", 102, 1, 2, "'x'"},
		{"WITH XMLNAMESPACES (DEFAULT u) SELECT 1", 102, 1, 1, "'u'"},
		{"WITH XMLNAMESPACES ('u' AS x 'v' AS y) SELECT 1", 102, 1, 1, "'v'"},
		{"SELECT @@ROWCOUNT\n@@ROWCOUNT", 102, 1, 2, "'@@ROWCOUNT'"},
		{"DECLARE @v TABLE (a int); SELECT a FROM @v @w", 102, 1, 1, "'@w'"},
		{"CREATE TABLE t (a int NOT NOT NULL)", 156, 1, 1, "'NOT'"},
		{"CREATE TABLE t (a varchar( ) NOT NULL)", 102, 1, 1, "')'"},
		{"CREATE PROCEDURE p @c sysname VARYING OUTPUT AS SELECT 1", 156, 1, 1, "'VARYING'"},
		{"INSERT t u VALUES (1)", 102, 1, 1, "'u'"},
		{"INSERT INTO dbo.t u (a) SELECT 1", 102, 1, 1, "'u'"},
		{"INSERT INTO d..t [u] SELECT 1", 102, 1, 1, "'u'"},
		{"CREATE TYPE s. FROM varchar(10)", 156, 1, 1, "'FROM'"},
		{"CREATE TABLE t (a int, b int INDEX\nNULL)", 156, 1, 2, "'NULL'"},
		{"CREATE VIEW v (a,\nELSE) AS SELECT 1", 156, 1, 2, "'ELSE'"},
		{"CREATE VIEW dbo.v ('a' AS text) AS SELECT 1", 102, 1, 1, "'a'"},
		{"CREATE OR ALTER VIEW v (a b) AS SELECT 1", 102, 1, 1, "'b'"},
		{"ALTER VIEW v (a, ) AS SELECT 1", 102, 1, 1, "')'"},
		{"CREATE VIEW v (a", 102, 1, 1, "'a'"},
		{"CREATE STATISTICS s ON t (a # WITH SAMPLE 5 PERCENT", 102, 1, 1, "'#'"},
		{"CREATE STATISTICS s ON t (a > ", 102, 1, 1, "'>'"},
		{"CREATE STATISTICS s ON t (a, CREATE)", 156, 1, 1, "'CREATE'"},
		{"DECLARE UNIQUE CURSOR; SELECT 1", 156, 1, 1, "'UNIQUE'"},
		{"SELECT a FROM t OPTION (OPTIMIZE FOR (TABLE = 20))", 156, 1, 1, "'TABLE'"},
		{"CREATE SPATIAL INDEX i ON t (a) WITH (BOUNDING_BOX = (XMIN XMIN = 1))", 40517, 1, 1, "SPATIAL"},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := syntax.Parse(c.text)
			g.Expect(err).NotTo(BeNil())
			g.Expect(err.Number).To(Equal(c.number), err.Message)
			g.Expect(err.State).To(Equal(c.state), err.Message)
			g.Expect(err.Line).To(Equal(c.line), err.Message)
			g.Expect(err.Message).To(ContainSubstring(c.near))
		})
	}
}

// What looks like half of a statement but is a whole one.
func TestWholeStatements(t *testing.T) {
	for _, text := range []string{
		"DECLARE rows INSENSITIVE SCROLL CURSOR FOR SELECT 1", "DECLARE [rows] CURSOR LOCAL FAST_FORWARD FOR SELECT 1",
		"DECLARE @c CURSOR",
		"DECLARE @c CURSOR; SET @c = CURSOR FORWARD_ONLY STATIC FOR SELECT 1; OPEN @c; FETCH @c; CLOSE @c; DEALLOCATE @c",
		"CREATE TABLE t (a int REFERENCES u (a) ON DELETE SET NULL ON UPDATE SET DEFAULT, b int REFERENCES u (a) ON " +
			"UPDATE SET DEFAULT ON DELETE SET NULL)",
		"CREATE PROCEDURE p @a AS int = 1, @b AS varchar(9) OUTPUT WITH RECOMPILE, EXECUTE AS OWNER AS SELECT @a",
		"CREATE SEQUENCE s AS int START WITH 1 INCREMENT BY 1 NO CYCLE SELECT 1 AS START",
		"SET IDENTITY_INSERT t ON", "SET ANSI_NULLS, QUOTED_IDENTIFIER ON", "SELECT TOP (@n) a FROM t",
		"SELECT TOP 5 PERCENT a FROM t",
		"SELECT a FROM t ORDER BY a OFFSET @first - 1 ROWS FETCH NEXT @last - @first + 1 ROWS ONLY OPTION (OPTIMIZE FOR " +
			"(@first = 1, @last = 20))",
		"SELECT offset, COALESCE(a, b) FROM t ORDER BY offset OFFSET (SELECT 1) ROWS FETCH FIRST 1 ROW ONLY; DECLARE @t " +
			"TABLE (a int PRIMARY KEY, UNIQUE (a))",
		"SELECT IDENTITY(int, 1, 1) AS a INTO b FROM t; SET IDENTITY_INSERT d.s.t OFF; SET IDENTITY_INSERT d..t ON; SAVE " +
			"TRAN a; DELETE TOP (1) t; IF 1 = 1 CREATE TABLE x (a int)",
		"CREATE TABLE t (a int)\nMERGE t WITH (HOLDLOCK) USING u ON t.a = u.a WHEN MATCHED THEN DELETE;\nCREATE TABLE v " +
			"(a int)\nTRUNCATE TABLE t WITH (PARTITIONS (1))",
		"DECLARE @p sysname = N'p', @a int, @r int; EXEC @p @a; EXEC @r = @p @a, 2; EXECUTE @r = dbo.q @a OUTPUT; SET @a " +
			"= @r SELECT @a", "IF NOT EXISTS (SELECT 1) SELECT 1 WHERE NOT 1 = 2",
		"INSERT t OUTPUT inserted.a VALUES (1); INSERT INTO d..t SELECT 1; INSERT d.s.t DEFAULT VALUES; INSERT t WITH " +
			"(TABLOCK) EXEC p; INSERT TOP (1) t (a) VALUES (1); INSERT @t SELECT 1; INSERT INTO #t (a) SELECT 1",
		"CREATE PROCEDURE p @c CURSOR VARYING OUTPUT, @d char varying(9) OUTPUT AS SELECT 1",
		"CREATE TRIGGER r ON t AFTER INSERT AS INSERT u SELECT a FROM inserted", "GRANT INSERT ON t TO u",
		"CREATE VIEW v ([a], b) WITH SCHEMABINDING AS SELECT 1 AS c, 2 AS d", "CREATE VIEW dbo.v AS SELECT 1 AS a",
		"CREATE INDEX i ON t (a) SELECT * FROM t WITH (INDEX (i)) SELECT * FROM t WITH (INDEX = i)",
		"ALTER INDEX ALL ON t REBUILD", "DROP INDEX IF EXISTS i ON t", "CREATE TABLE t (a int INDEX i, INDEX k (a))",
		"SELECT a FROM t OPTION (OPTIMIZE FOR UNKNOWN)",
		"SELECT a FROM t OPTION (OPTIMIZE FOR (@a UNKNOWN, @b = -1, @c = N'x'))",
		"CREATE STATISTICS s ON t ([a], b) WHERE a > 1 WITH FULLSCAN",
		"/* one /* two */ still one */ SELECT 1 /**/",
		"SELECT 1 -- no /* comment\n/* a\n/* b\n*/\n*/ SELECT '/*', 2 /* '/* */ */",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := syntax.Parse(text)
			g.Expect(err).To(BeNil())
		})
	}
}

// TestNamesWithoutAs: docs/t-sql/functions/openrowset-transact-sql.md and docs/t-sql/queries/from-transact-sql.md,
// table_alias.
func TestNamesWithoutAs(t *testing.T) {
	for _, text := range []string{
		"SELECT CAST(x AS xml) FROM OPENROWSET (BULK 'file.xml', SINGLE_BLOB) R(x)",
		"SELECT x FROM OPENROWSET (BULK 'file.xml', SINGLE_BLOB) AS R(x) WHERE x IS NULL",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}
