// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestFaultsOfTables goes by docs/t-sql/statements/create-table-transact-sql.md and
// docs/relational-databases/tables/use-sparse-columns.md.
func TestFaultsOfTables(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"CREATE TABLE dbo.x (a char(8000), b char(100))", []int32{1701}},
		{"CREATE TABLE dbo.x (a nchar(4000), b binary(54))", []int32{1701}},
		{"ALTER TABLE dbo.t ADD a char(8000), b char(100)", []int32{1701}},
		{"CREATE TABLE dbo.x (a uniqueidentifier ROWGUIDCOL, b uniqueidentifier ROWGUIDCOL)", []int32{8196}},
		{"CREATE TABLE dbo.x (a int ROWGUIDCOL)", []int32{2761}},
		{"CREATE TABLE dbo.x (a int SPARSE NOT NULL)", []int32{1731}},
		{"CREATE TABLE dbo.x (a text SPARSE)", []int32{1731}},
		{"CREATE TABLE dbo.x (a int SPARSE IDENTITY)", []int32{1731}},
		{"CREATE TABLE dbo.x (a nvarchar(4001))", []int32{2717}},
		{"CREATE TABLE dbo.x (a varchar(8001))", []int32{131}},
		{"DECLARE @a nvarchar(4001)", []int32{2717}},
		{"CREATE PROCEDURE dbo.x @a nvarchar(4001) AS SELECT 1", []int32{2717}},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "CREATE TABLE dbo.x (a char(8000), b char(100))")[0]).
		To(ContainSubstring("8107, including 7 bytes"))
	g.Expect(query(t, db, "SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('dbo.t')")).
		To(Equal([][]any{{int64(3)}}))
	converse(t, connection(t, db), []say{
		{"CREATE TABLE dbo.long (a char(8000), b binary(53), c varchar(8000), d nvarchar(4000), e varchar(max))", "ok"},
		{
			"CREATE TABLE dbo.thin (a int SPARSE NULL, b uniqueidentifier ROWGUIDCOL, c uniqueidentifier)\nSELECT name FROM " +
				"sys.columns WHERE object_id = OBJECT_ID('dbo.thin') AND (is_sparse = 1 OR is_rowguidcol = 1) ORDER BY name",
			"a; b",
		},
		{"CREATE TABLE #own (a int REFERENCES dbo.t (id)); INSERT #own VALUES (77); SELECT a FROM #own", "77"},
	})
}

// TestFaultsOfModuleOptions goes by docs/t-sql/statements/create-view-transact-sql.md and its kin for procedures,
// functions and triggers.
func TestFaultsOfModuleOptions(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"CREATE VIEW dbo.x WITH NONSENSE AS SELECT 1 AS a", []int32{195}},
		{"CREATE VIEW dbo.x WITH RECOMPILE AS SELECT 1 AS a", []int32{487}},
		{"CREATE VIEW dbo.x WITH ENCRYPTION, ENCRYPTION AS SELECT 1 AS a", []int32{1039}},
		{"CREATE PROCEDURE dbo.x @a int = 1 WITH NONSENSE AS SELECT 1", []int32{195}},
		{"CREATE PROC dbo.x WITH VIEW_METADATA AS SELECT 1", []int32{487}},
		{"CREATE OR ALTER PROCEDURE dbo.x WITH SCHEMABINDING AS SELECT 1", []int32{10796}},
		{"CREATE FUNCTION dbo.x () RETURNS int WITH NONSENSE AS BEGIN RETURN 1 END", []int32{195}},
		{"CREATE FUNCTION dbo.x () RETURNS int WITH RECOMPILE AS BEGIN RETURN 1 END", []int32{487}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE WITH NONSENSE AS RETURN SELECT 1 AS a", []int32{195}},
		{"CREATE TRIGGER dbo.x ON dbo.t WITH NONSENSE AFTER INSERT AS SELECT 1", []int32{195}},
		{"CREATE TRIGGER dbo.x ON dbo.t WITH SCHEMABINDING AFTER INSERT AS SELECT 1", []int32{10796}},
		{"DELETE dbo.t\nSET LOCK_TIMEOUT abc", []int32{102}},
		{"SET DEADLOCK_PRIORITY 11", []int32{2755}},
		{"SET DEADLOCK_PRIORITY MEDIUM", []int32{2755}},
		{"RAISERROR ('a', 16, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)", []int32{2747}},
		{"DECLARE c CURSOR LOCAL READ_ONLY FOR SELECT id FROM dbo.t FOR UPDATE", []int32{16957}},
		{"DECLARE c CURSOR LOCAL STATIC FOR SELECT id FROM dbo.t FOR UPDATE", []int32{16957}},
		{"DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT id FROM dbo.t FOR UPDATE", []int32{1048}},
	})
	converse(t, connection(t, db), []say{
		{"CREATE PROCEDURE dbo.p1 @a AS int = 1, @b int WITH RECOMPILE, EXECUTE AS OWNER AS SELECT @a", "ok"},
		{
			"CREATE FUNCTION dbo.f1 (@a int) RETURNS int WITH SCHEMABINDING, RETURNS NULL ON NULL INPUT, EXECUTE AS CALLER, " +
				"INLINE = OFF AS BEGIN RETURN @a END",
			"ok",
		},
		{"CREATE FUNCTION dbo.f2 () RETURNS @r TABLE (a int) WITH SCHEMABINDING BEGIN RETURN END", "ok"},
		{"CREATE TRIGGER dbo.g1 ON dbo.u WITH EXECUTE AS 'dbo' FOR INSERT, UPDATE AS SELECT 1", "ok"},
		{
			"SET LOCK_TIMEOUT 500; SET LOCK_TIMEOUT -1; SET DEADLOCK_PRIORITY HIGH; SET DEADLOCK_PRIORITY -10; SELECT " +
				"@@LOCK_TIMEOUT",
			"-1",
		},
		{"RAISERROR ('%d', 10, 1, 1)", "ok"},
		{
			"DECLARE c CURSOR LOCAL FOR SELECT id, v, n FROM dbo.t FOR UPDATE OF n\nOPEN c\nDECLARE @a int, @b nvarchar(5), " +
				"@c int\nFETCH c INTO @a, @b, @c\nUPDATE dbo.t SET n = 9 WHERE CURRENT OF c\nSELECT n FROM dbo.t WHERE id = 1",
			"9",
		},
		{
			"DECLARE c CURSOR LOCAL FOR SELECT id, v, n FROM dbo.t FOR UPDATE OF n\nOPEN c\nDECLARE @a int, @b nvarchar(5), " +
				"@c int\nFETCH c INTO @a, @b, @c\nUPDATE dbo.t SET v = 'z' WHERE CURRENT OF c",
			"!16932",
		},
	})
}

// TestSchemaBinding goes by docs/t-sql/statements/create-view-transact-sql.md and create-function-transact-sql.md,
// SCHEMABINDING.
func TestSchemaBinding(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	for _, text := range []string{
		"CREATE TABLE dbo.base (a int, b int, c int)",
		"CREATE VIEW dbo.bound WITH SCHEMABINDING AS SELECT x.a FROM dbo.base AS x WHERE EXISTS (SELECT * FROM dbo.u " +
			"WHERE id = x.a)",
		"CREATE VIEW dbo.upper WITH SCHEMABINDING AS SELECT a FROM dbo.bound",
		"CREATE FUNCTION dbo.counted () RETURNS int WITH SCHEMABINDING AS BEGIN RETURN (SELECT SUM(b) FROM dbo.base) END",
		"CREATE VIEW dbo.loose AS SELECT c FROM dbo.base",
	} {
		mustExec(t, db, text)
	}
	faults(t, db, []fault{
		{"CREATE VIEW dbo.x WITH SCHEMABINDING AS SELECT id FROM t", []int32{4512}},
		{"CREATE VIEW dbo.x WITH SCHEMABINDING AS SELECT * FROM dbo.t", []int32{1054}},
		{"CREATE VIEW dbo.x WITH SCHEMABINDING AS SELECT id FROM dbo.vw", []int32{4513}},
		{
			"CREATE FUNCTION dbo.x () RETURNS int WITH SCHEMABINDING AS BEGIN RETURN (SELECT COUNT(*) FROM t) END",
			[]int32{4512},
		},
		{"CREATE FUNCTION dbo.x () RETURNS int WITH SCHEMABINDING AS BEGIN RETURN dbo.fn(1) END", []int32{4513}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT id FROM t", []int32{4512}},
		{"DROP TABLE dbo.base", []int32{3729}},
		{"DROP VIEW dbo.bound", []int32{3729}},
		{"ALTER VIEW dbo.bound AS SELECT a FROM dbo.base", []int32{3729}},
		{"ALTER TABLE dbo.base DROP COLUMN a", []int32{5074, 4922}},
		{"ALTER TABLE dbo.base ALTER COLUMN b bigint", []int32{5074, 4922}},
		{"ALTER TABLE dbo.base ADD d int, b int", []int32{2705}},
	})
	g := NewWithT(t)
	g.Expect(failure(t, db, "EXEC sp_rename 'dbo.base', 'other'").Number).To(BeEquivalentTo(15336))
	mustExec(t, db, "CREATE SCHEMA elsewhere")
	g.Expect(failure(t, db, "ALTER SCHEMA elsewhere TRANSFER dbo.base").Number).To(BeEquivalentTo(15348))
	g.Expect(messagesOf(t, db, "DROP TABLE dbo.base")).
		To(Equal([]string{"Cannot DROP TABLE 'dbo.base' because it is being referenced by object 'bound'."}))
	converse(t, connection(t, db), []say{
		{"SELECT OBJECT_NAME(object_id) FROM sys.sql_modules WHERE is_schema_bound = 1 ORDER BY 1", "bound; counted; upper"},
		{
			"SELECT is_schema_bound_reference FROM sys.sql_expression_dependencies WHERE referencing_id = " +
				"OBJECT_ID('dbo.upper')",
			"true",
		},
		{
			"ALTER TABLE dbo.base ADD d int; ALTER TABLE dbo.base DROP COLUMN c; TRUNCATE TABLE dbo.base; INSERT dbo.base " +
				"(a) VALUES (1)",
			"ok",
		},
		{"DROP VIEW dbo.upper; DROP VIEW dbo.bound", "ok"},
		{"DROP FUNCTION dbo.counted; ALTER TABLE dbo.base ALTER COLUMN b bigint; DROP TABLE dbo.base", "ok"},
	})
}
