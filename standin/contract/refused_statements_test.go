// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestMalformedStatementsAreRefusedWithNothingLeft goes by
// docs/relational-databases/errors-events/database-engine-events-and-errors.md: numbers, what follows them, the line,
// and that a statement which is refused leaves nothing of what it names.
func TestMalformedStatementsAreRefusedWithNothingLeft(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, v nvarchar(5) NULL, n int NULL CONSTRAINT "+
			"df_n DEFAULT 0)",
	)
	mustExec(t, db, "INSERT dbo.t VALUES (1, 'a', 1)")
	long := strings.Repeat("a", 129)
	for _, c := range []struct {
		text    string
		numbers []int32
		line    int32
	}{
		{"SELECT *\nINTO dbo.t FROM dbo.t", []int32{2714}, 1},
		{"SELECT 1 AS a INTO nowhere.x", []int32{2760}, 1},
		{"CREATE TABLE dbo.x (a int)\nCREATE TABLE dbo.x2 (a int", []int32{102}, 2},
		{"SELECT 1\nSELECT (1", []int32{102}, 2},
		{"CREATE TABLE dbo." + long + " (a int)", []int32{103}, 1},
		{"SELECT 1\nSELECT 1 AS [" + long + "]", []int32{103}, 2},
		{"DECLARE @" + long + " int", []int32{103}, 1},
		{"SELECT 1\nAS []", []int32{1038}, 2},
		{"SELECT *\nFROM a.b.c.d.e", []int32{117}, 2},
		{"EXEC a.b.c.d.e", []int32{117}, 1},
		{"CREATE TABLE dbo.x (a int DEFAULT 1 DEFAULT 2)", []int32{8148}, 1},
		{"CREATE TABLE dbo.x (a int NOT NULL NULL)", []int32{8150}, 1},
		{"CREATE TABLE dbo.x (a int NULL IDENTITY)", []int32{8147}, 1},
		{"CREATE TABLE dbo.x (a text PRIMARY KEY)", []int32{1919, 1750}, 1},
		{"CREATE TABLE dbo.x (a rowversion, b rowversion)", []int32{2738}, 1},
		{"CREATE TABLE dbo.x (a int CONSTRAINT same PRIMARY KEY, b int CONSTRAINT same UNIQUE)", []int32{2714, 1750}, 1},
		{"CREATE TABLE dbo.x (a int PRIMARY KEY, b int PRIMARY KEY)", []int32{8110}, 1},
		{"ALTER TABLE dbo.t ADD x int NULL, CONSTRAINT pk_x PRIMARY KEY (n)", []int32{1779, 1750}, 1},
		{"ALTER TABLE dbo.t ADD x int NULL, CONSTRAINT df_x DEFAULT 1 FOR n", []int32{1781, 1750}, 1},
		{"ALTER TABLE dbo.t ADD x int NULL, CONSTRAINT u_x UNIQUE (nothing)", []int32{1911, 1750}, 1},
		{"ALTER TABLE dbo.t DROP COLUMN id", []int32{5074, 4922}, 1},
		{"ALTER TABLE dbo.t ALTER COLUMN id bigint", []int32{5074, 4922}, 1},
		{"ALTER TABLE dbo.t DROP CONSTRAINT nothing", []int32{3728, 3727}, 1},
		{"ALTER TABLE dbo.t NOCHECK CONSTRAINT nothing", []int32{4917, 4916}, 1},
		{"CREATE INDEX x ON dbo.t (n) INCLUDE (v, n)", []int32{1909}, 1},
		{"CREATE INDEX x ON dbo.t (n) INCLUDE (v, v)", []int32{1909}, 1},
		{"SELECT 1\nDROP INDEX x", []int32{159}, 2},
		{"CREATE SCHEMA x AUTHORIZATION nobody", []int32{15151, 2759}, 1},
		{"CREATE PROCEDURE dbo.x @a int,\n@a int AS SELECT 1", []int32{134}, 2},
		{"CREATE FUNCTION dbo.x (@a int, @A int) RETURNS int AS BEGIN RETURN 1 END", []int32{134}, 1},
		{"again: SELECT 1\nagain: SELECT 2", []int32{132}, 2},
		{"SELECT *\nFROM dbo.t WITH (FASTER)", []int32{321}, 2},
		{"SELECT DATEADD(fortnight, 1, GETDATE())", []int32{155}, 1},
		{"SELECT DATEPART(fortnight, GETDATE())", []int32{155}, 1},
		{"SET TRANSACTION ISOLATION LEVEL\nNONE", []int32{102}, 2},
		{"RAISERROR (N'severe', 19, 1)", []int32{2754}, 1},
		{"RAISERROR (12999, 16, 1)", []int32{2732}, 1},
		{"ALTER DATABASE nowhere SET RECOVERY FULL", []int32{5011, 5069}, 1},
		{"GRANT EXECUTE ON dbo.t TO public", []int32{4606}, 1},
		{"SELECT CAST(1 AS varchar(0))", []int32{1001}, 1},
		{"SELECT value\nFROM STRING_SPLIT('a,b', ',,')", []int32{214}, 1},
		{"BACKUP DATABASE nowhere TO DISK = N'x.bak'", []int32{911, 3013}, 1},
		{"BEGIN TRANSACTION\nBACKUP DATABASE master TO DISK = N'x.bak'", []int32{3021, 3013}, 2},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			all := failures(t, db, c.text)
			numbers := []int32{}
			for _, e := range all {
				numbers = append(numbers, e.Number)
				g.Expect(e.LineNo).To(Equal(c.line), e.Message)
				g.Expect(e.Message).NotTo(ContainSubstring("%!"))
			}
			g.Expect(numbers).To(Equal(c.numbers), all[0].Message)
		})
	}
	g := NewWithT(t)
	g.Expect(query(t, db, "SELECT name FROM sys.objects WHERE is_ms_shipped = 0 ORDER BY name")).
		To(Equal([][]any{{"df_n"}, {"pk_t"}, {"t"}}))
	g.Expect(query(t, db, "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('dbo.t') ORDER BY column_id")).
		To(Equal([][]any{{"id"}, {"v"}, {"n"}}))
	g.Expect(query(t, db, "SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID('dbo.t')")).
		To(Equal([][]any{{"pk_t"}}))
	g.Expect(query(t, db, "SELECT COUNT(*) FROM sys.schemas WHERE name = 'x'")).To(Equal([][]any{{int64(0)}}))
	g.Expect(query(t, db, "SELECT * FROM dbo.t")).To(Equal([][]any{{int64(1), "a", int64(1)}}))
}

// TestErrorsOfAModulesTextNameTheModule: messages about the text of a module say whose it is
// (docs/t-sql/functions/error-procedure-transact-sql.md).
func TestErrorsOfAModulesTextNameTheModule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	for text, number := range map[string]int32{
		"CREATE PROCEDURE dbo.of_text AS\nSELECT * FROM":               102,
		"CREATE OR ALTER PROC [dbo].[of_text] AS\nSELECT 1 FROM a b c": 102,
		"CREATE PROC of_text AS SELECT @nobody":                        137,
		"CREATE VIEW of_text AS SELECT 1":                              4511,
		"ALTER PROCEDURE dbo.of_text AS SELECT 1":                      208,
	} {
		e := failure(t, db, text)
		g.Expect(e.Number).To(Equal(number), text)
		g.Expect(e.ProcName).To(Equal("of_text"), text)
	}
}

// TestUnresolvedNamesPassATryBlockOfTheirLevel goes by docs/t-sql/language-elements/try-catch-transact-sql.md, "Errors
// unaffected by a TRY...CATCH construct", with its examples.
func TestUnresolvedNamesPassATryBlockOfTheirLevel(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	const caught = " END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_LINE() END CATCH"
	e := failure(
		t,
		db,
		"BEGIN TRY\n SELECT * FROM NonexistentTable;\nEND TRY BEGIN CATCH SELECT ERROR_NUMBER() AS ErrorNumber, "+
			"ERROR_MESSAGE() AS ErrorMessage END CATCH",
	)
	g.Expect([]int32{e.Number, e.LineNo}).To(Equal([]int32{208, 2}))
	g.Expect(failure(t, db, "BEGIN TRY BEGIN TRY IF 1 = 1 BEGIN SELECT * FROM NonexistentTable END"+caught+caught).Number).
		To(Equal(int32(208)))
	mustExec(t, db, "CREATE PROCEDURE usp_ExampleProc AS\nSELECT * FROM NonexistentTable;")
	g.Expect(query(t, db, "BEGIN TRY EXECUTE usp_ExampleProc"+caught)).To(Equal([][]any{{int64(208), int64(2)}}))
	g.Expect(query(t, db, "BEGIN TRY EXEC ('SELECT * FROM NonexistentTable')"+caught)).
		To(Equal([][]any{{int64(208), int64(1)}}))
	mustExec(t, db, "CREATE PROCEDURE usp_Tries AS BEGIN TRY\nSELECT * FROM NonexistentTable"+caught)
	g.Expect(query(t, db, "BEGIN TRY EXECUTE usp_Tries"+caught)).
		To(Equal([][]any{{int64(208), int64(2)}}), "the caller catches it, the procedure does not")
	g.Expect(query(t, db, "BEGIN TRY EXEC ('nothing')"+caught)).To(Equal([][]any{{int64(2812), int64(1)}}))
	g.Expect(query(t, db, "BEGIN TRY BEGIN TRY EXECUTE usp_ExampleProc END TRY BEGIN CATCH THROW END CATCH"+caught)).
		To(Equal([][]any{{int64(208), int64(2)}}))
}
