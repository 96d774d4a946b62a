// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// Each of these lacks a name, a list or a word, or has something else in its place, and was accepted.
func TestWantedWords(t *testing.T) {
	refusedWith(t, []fault{
		{"EXEC ('a'\n'b')", 102, 2, "'b'"},
		{"EXEC ('a' +\n+ 'b')", 102, 2, "'+'"},
		{"EXEC ('a' +\n1)", 102, 2, "'1'"},
		{"EXEC p 1,\nFOR", 156, 2, "'FOR'"},
		{"EXEC p @a =\n's' OUTPUT", 179, 2, "OUTPUT option"},
		{"EXEC p WITH RESULT\n((a int))", 102, 2, "'('"},
		{"EXEC p WITH RESULT SETS\n;", 102, 2, "';'"},
		{"EXEC p WITH RESULT\nNONE", 102, 2, "'NONE'"},
		{"EXEC p WITH RESULT SETS ((\n's' int))", 102, 2, "'s'"},
		{"EXEC p WITH\nWITH RECOMPILE", 156, 2, "'WITH'"},
		{"SET TRANSACTION ISOLATION LEVEL READ\n;", 102, 2, "';'"},
		{"SET XACT_ABORT,\nON", 156, 2, "'ON'"},
		{"SET ROWCOUNT\n; SELECT 1", 102, 2, "';'"},
		{"DECLARE @c CURSOR; SET @c = CURSOR\n* KEYSET FOR SELECT 1", 102, 2, "'*'"},
		{"DECLARE @c CURSOR; SET @c = CURSOR FOR", 102, 1, "'FOR'"},
		{"DECLARE c INSENSITIVE CURSOR FOR SELECT a FROM t FOR READ\n;", 102, 2, "';'"},
		{"FETCH ABSOLUTE -1\n. GLOBAL c", 102, 2, "'.'"},
		{"FETCH ABSOLUTE\n- - 1 FROM c", 102, 2, "'-'"},
		{"FETCH NEXT FROM\n1 INTO @a", 102, 2, "'1'"},
		{"FETCH NEXT FROM c INTO\nx, @b", 102, 2, "'x'"},
		{"FETCH NEXT FROM c INTO @a\n* @b", 102, 2, "'*'"},
		{"CLOSE\n*", 102, 2, "'*'"},
		{"SELECT SUM(a) OVER (PARTITION BY b,\nORDER BY c) FROM t", 156, 2, "'ORDER'"},
		{"SELECT a FROM (SELECT 1 AS a) AS\n, t", 102, 2, "','"},
		{"SELECT a FROM t FOR JSON PATH,\nFOO", 102, 2, "'FOO'"},
		{"SELECT a FROM t OPTION (LOOP\nTO)", 156, 2, "'TO'"},
		{"SELECT a FROM t WITH (INDEX (\n))", 102, 2, "')'"},
		{"MERGE t USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (\n1, b) VALUES (1, 2);", 102, 2, "'1'"},
		{"INSERT t (a) OUTPUT inserted.a INTO @o (a,\n1) VALUES (1)", 102, 2, "'1'"},
		{"INSERT TOP (5) INTO t\nu (a) VALUES (1)", 102, 2, "'u'"},
		{"INSERT INTO t\nAS u (a) VALUES (1)", 156, 2, "'AS'"},
		{"BEGIN TRAN a WITH\nSELECT 1", 156, 2, "'SELECT'"},
		{"ROLLBACK\n@v", 102, 2, "'@v'"},
		{"SAVE", 102, 1, "'SAVE'"},
		{"IF 1 = 1 GOTO\n= 1", 102, 2, "'='"},
		{"WHILE 1 = 1 BEGIN IF 1 = 2 BREAK\nFOR SELECT 1 END", 156, 2, "'FOR'"},
		{"SELECT a,\nSELECT b FROM t", 156, 2, "'SELECT'"},
		{"SELECT CASE\nELSE 1 END", 156, 2, "'ELSE'"},
		{"BEGIN\n@v\nSELECT 1 END", 102, 2, "'@v'"},
		{"SELECT 1\nIF 1 = 1 BEGIN\nx\nSELECT 1\nEND", 102, 3, "'x'"},
		{"SELECT (1 + 2\nPRINT 'a'\nSELECT 2", 156, 2, "'PRINT'"},
		{"DECLARE @m nvarchar(10) = UPPER('a'\nRAISERROR (@m, 16, 1)", 156, 2, "'RAISERROR'"},
		{"DECLARE @m nvarchar(\n)", 102, 2, "')'"},
		{"DECLARE @m\n= 1", 102, 2, "'='"},
	})
}

func TestWantedWordsOfDefinitions(t *testing.T) {
	refusedWith(t, []fault{
		{"CREATE UNIQUE CLUSTERED INDEX\n's' ON t (a)", 102, 2, "'s'"},
		{"CREATE INDEX i ON\n's' (a)", 102, 2, "'s'"},
		{"CREATE INDEX i ON t (\n* DESC)", 102, 2, "'*'"},
		{"CREATE INDEX i ON t (a) INCLUDE", 102, 1, "'INCLUDE'"},
		{"CREATE INDEX i ON t (a) INCLUDE (b,\n's')", 102, 2, "'s'"},
		{"ALTER INDEX ALL ON\nREBUILD PARTITION = 2", 102, 2, "'PARTITION'"},
		{"ALTER INDEX i ON\n@v REBUILD", 102, 2, "'@v'"},
		{"DROP INDEX i ON t,\n* ON u", 102, 2, "'*'"},
		{"CREATE TABLE t (d int, INDEX i (\n))", 102, 2, "')'"},
		{"CREATE TABLE t (d int, INDEX\n(d))", 102, 2, "'('"},
		{"CREATE TABLE t (d int, INDEX i (d) WHERE\n> d 5)", 102, 2, "'>'"},
		{"CREATE TABLE t (d int, INDEX i (d) WHERE d\n5)", 102, 2, "'5'"},
		{"CREATE TABLE t (d int CHECK\nCHECK (d > 0))", 156, 2, "'CHECK'"},
		{"CREATE TABLE t (a int IDENTITY (\nx, 1))", 102, 2, "'x'"},
		{"CREATE TABLE t (a int IDENTITY (1,\n's'))", 102, 2, "'s'"},
		{"CREATE TABLE t (a int REFERENCES u (a) ON\nFOR CASCADE)", 156, 2, "'FOR'"},
		{"CREATE TABLE t (a int REFERENCES u (a) ON DELETE CASCADE ON UPDATE SET\nSET NULL)", 156, 2, "'SET'"},
		{"CREATE TABLE t (a int, FOREIGN KEY (\n*) REFERENCES u (a))", 102, 2, "'*'"},
		{"CREATE TABLE t (a int, UNIQUE (a DESC,\n's'))", 102, 2, "'s'"},
		{"CREATE TABLE t (a int, CONSTRAINT\nCHECK (a > 1))", 156, 2, "'CHECK'"},
		{"ALTER TABLE t ADD\n@v int", 102, 2, "'@v'"},
		{"ALTER TABLE t ALTER COLUMN x varchar(9) COLLATE\n* NOT NULL", 102, 2, "'*'"},
		{"ALTER TABLE t NOCHECK CONSTRAINT\n@v", 102, 2, "'@v'"},
		{"CREATE TYPE y FROM\n(10)", 102, 2, "'('"},
		{"CREATE TYPE\nFROM varchar(10)", 156, 2, "'FROM'"},
		{"CREATE TYPE y AS TABLE (\n@v int)", 102, 2, "'@v'"},
		{"ALTER SCHEMA\n's' TRANSFER dbo.t", 102, 2, "'s'"},
		{"ALTER AUTHORIZATION", 102, 1, "'AUTHORIZATION'"},
		{"UPDATE STATISTICS t (\n1)", 102, 2, "'1'"},
		{"ENABLE TRIGGER g ON\n@v", 102, 2, "'@v'"},
		{"DROP TRIGGER g ON\n;", 102, 2, "';'"},
		{"CREATE TRIGGER g ON t AFTER INSERT NOT FOR REPLICATION", 102, 1, "'REPLICATION'"},
		{"CREATE TRIGGER g ON t AFTER INSERT NOT FOR\nAS SELECT 1", 156, 2, "'AS'"},
		{"CREATE PROCEDURE dbo", 102, 1, "'dbo'"},
		{"CREATE\ndbo.p @a int AS SELECT 1", 102, 2, "'dbo'"},
		{"CREATE PROCEDURE p @a dbo.x\nx READONLY AS SELECT 1", 102, 2, "'x'"},
		{"CREATE PROCEDURE p @a int,\n( nvarchar(10) AS SELECT 1", 102, 2, "'('"},
		{"CREATE PROCEDURE p @a nvarchar(10\n's') AS SELECT 1", 102, 2, "'s'"},
		{"CREATE PROCEDURE p @a int WITH RECOMPILE, EXECUTE\nWITH OWNER AS SELECT 1", 156, 2, "'WITH'"},
		{"CREATE PROCEDURE p WITH EXECUTE AS\nAS SELECT 1", 156, 2, "'AS'"},
		{"CREATE FUNCTION f (@a int\nint) RETURNS int AS BEGIN RETURN 1 END", 102, 2, "'int'"},
		{"CREATE FUNCTION f (@a int) RETURNS decimal(10\n2) AS BEGIN RETURN 1 END", 102, 2, "'2'"},
		{"CREATE FUNCTION f () RETURNS @r TABLE (a int,\n* varchar(10)) AS BEGIN RETURN END", 102, 2, "'*'"},
	})
}

// What looks like those and is not.
func TestUnwantedIsNothing(t *testing.T) {
	for _, text := range []string{
		"EXEC ('SELECT ' + @a + N' FROM t') AS USER = 'u'; EXEC ('SELECT ?', 1, 'a') AT srv; EXEC p @a OUTPUT, DEFAULT, " +
			"NULL, -1, word; EXEC p @a = NULL WITH RECOMPILE",
		"EXEC p WITH RESULT SETS ((a int NOT NULL, b dbo.typ), (c xml)); EXEC p WITH RESULT SETS UNDEFINED; WITH result " +
			"(a) AS (SELECT 1) SELECT a FROM result",
		"FETCH c; FETCH NEXT FROM GLOBAL c INTO @a, @b; FETCH PRIOR FROM @c; FETCH RELATIVE -2 FROM c INTO @a; FETCH " +
			"ABSOLUTE @n FROM c; OPEN GLOBAL c; CLOSE @c; DEALLOCATE GLOBAL c",
		"OPEN MASTER KEY DECRYPTION BY PASSWORD = 'p'; CLOSE MASTER KEY; SET @c = CURSOR LOCAL FORWARD_ONLY FOR " +
			"(SELECT 1 AS a)",
		"SELECT a FROM t OPTION (HASH GROUP, ORDER GROUP, MERGE UNION, LOOP JOIN, FORCE ORDER, KEEP PLAN, KEEPFIXED PLAN, " +
			"ROBUST PLAN, EXPAND VIEWS, OPTIMIZE FOR UNKNOWN)",
		"SELECT CASE WHEN a = 1 THEN 2 ELSE @b END, IIF(a = 1, 2, 3) FROM t FOR XML RAW ('r'), ELEMENTS XSINIL, ROOT " +
			"('x'), TYPE",
		"BEGIN TRANSACTION; BEGIN TRAN @t WITH MARK 'm'; COMMIT TRAN @t WITH (DELAYED_DURABILITY = ON); ROLLBACK; COMMIT " +
			"WORK SELECT 1; BEGIN DISTRIBUTED TRAN; SAVE TRAN s",
		"BEGIN ;SELECT 1 END BEGIN (SELECT 1) END BEGIN again: SELECT 1 END BEGIN THROW END WHILE 1 = 1 BEGIN BREAK END " +
			"WHILE 1 = 2 BEGIN CONTINUE; END",
		"CREATE TABLE t (a int IDENTITY (1, -1) REFERENCES u (a) ON DELETE NO ACTION ON UPDATE SET DEFAULT NOT FOR " +
			"REPLICATION, b numeric(9, 2), INDEX i (a DESC, b) WHERE a > 1 AND b IN (1, 2), CONSTRAINT k PRIMARY KEY " +
			"NONCLUSTERED (a ASC))",
		"ALTER TABLE t WITH NOCHECK ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u; ALTER TABLE t CHECK CONSTRAINT ALL; " +
			"ALTER TABLE t DROP CONSTRAINT IF EXISTS f, COLUMN x",
		"CREATE UNIQUE CLUSTERED INDEX i ON .t (a DESC) WITH (ONLINE = ON); CREATE INDEX j ON ..t (a) INCLUDE (b, c); " +
			"ALTER INDEX ALL ON .t REBUILD; DROP INDEX i ON t, j ON s.u; DROP INDEX IF EXISTS i ON t",
		"UPDATE STATISTICS s.t (i, j) WITH FULLSCAN; SET STATISTICS IO ON; ENABLE TRIGGER a, b ON t; DISABLE TRIGGER ALL " +
			"ON DATABASE; DROP TRIGGER IF EXISTS g ON ALL SERVER; DROP TRIGGER s.g",
		"CREATE TYPE y FROM double precision; CREATE TYPE s.y FROM national char varying(9) NOT NULL; CREATE TYPE z AS " +
			"TABLE (PRIMARY KEY (a), a int)",
		"CREATE PROCEDURE p (@a AS int = -1, @b national character varying(9) NULL = N'x' OUT, @c s.typ READONLY, @d xml " +
			"(CONTENT dbo.col), @e sysname = word, @f CURSOR VARYING OUTPUT, @g double precision = NULL) FOR REPLICATION " +
			"AS SELECT 1",
		"CREATE PROCEDURE p @a char varying(9) = NULL AS SELECT 1",
		"CREATE FUNCTION f (@a int, @b decimal(9, 2) = 1.5) RETURNS binary varying(10) AS BEGIN RETURN 0x END",
		"CREATE TRIGGER g ON t FOR INSERT, UPDATE NOT FOR REPLICATION AS IF UPDATE (a) OR UPDATE([b]) SELECT 1",
		"INSERT TOP (5) PERCENT INTO t (a) OUTPUT inserted.a INTO @o (a) VALUES (1); INSERT INTO @t (a) SELECT 1; MERGE t " +
			"USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1, 2);",
		"DECLARE @a int, @b AS varchar(max), @c numeric(9,2) = 1.5, @e CURSOR DECLARE @d TABLE (a int) DECLARE @f s.typ, " +
			"@g xml(dbo.col)",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}
