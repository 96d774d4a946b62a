// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"
)

// told is an error as a client is told it: number, line and module.
type told struct {
	Number, Line int32
	Module       string
}

func toldOf(t *testing.T, db *sql.DB, text string) []told {
	t.Helper()
	list := []told{}
	for _, e := range failures(t, db, text) {
		list = append(list, told{e.Number, e.LineNo, e.ProcName})
	}
	return list
}

// TestBatchesAreCompiledFirst goes by "Batches" (learn.microsoft.com, ms175502): a batch of which one statement cannot
// be compiled has none of its statements executed, unless that statement names a table that is not there yet.
func TestBatchesAreCompiledFirst(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	for text, want := range map[string][]told{
		"DELETE dbo.t\nSELECT id,\n nosuch\nFROM dbo.t": {{207, 3, ""}},
		"DELETE dbo.t\nSELECT nosuch,\n id,\n other FROM dbo.t": {{207, 2, ""},
			{207, 4, ""}},
		"DELETE dbo.t\nSELECT 1 FROM dbo.t AS a\nWHERE\n t.id = 1":                                    {{4104, 4, ""}},
		"DELETE dbo.t\nSELECT 1 FROM dbo.t AS a, dbo.t AS b\nWHERE\n id = 1":                          {{209, 4, ""}},
		"DELETE dbo.t\nIF 1 = 0\n SELECT nosuch FROM dbo.t":                                           {{207, 3, ""}},
		"DELETE dbo.t\nIF EXISTS (SELECT nosuch FROM dbo.t)\n SELECT 1":                               {{207, 2, ""}},
		"DELETE dbo.t\nWHILE 1 = 0 BEGIN\n UPDATE dbo.t SET\n nosuch = 1\nEND":                        {{207, 4, ""}},
		"BEGIN TRY\n DELETE dbo.t\n SELECT nosuch FROM dbo.t\nEND TRY BEGIN CATCH SELECT 1 END CATCH": {{207, 3, ""}},
		"DELETE dbo.t\nINSERT dbo.t (id, nosuch) VALUES (9, 9)\nSELECT nosuch FROM dbo.t": {{207, 2, ""},
			{207, 3, ""}},
		"DELETE dbo.t\nINSERT dbo.t (id,\n nosuch) VALUES (9, 9)":                                        {{207, 3, ""}},
		"DELETE dbo.t\nINSERT dbo.t VALUES (9)":                                                          {{213, 2, ""}},
		"DELETE dbo.t\nINSERT dbo.t (id, v) VALUES (9)":                                                  {{109, 2, ""}},
		"DELETE dbo.t\nSELECT v, COUNT(*) FROM dbo.t":                                                    {{8120, 2, ""}},
		"DELETE dbo.t\nSELECT nosuch(1)":                                                                 {{195, 2, ""}},
		"DELETE dbo.t\nDECLARE @n int = (SELECT nosuch FROM dbo.t)":                                      {{207, 2, ""}},
		"DELETE dbo.t\nDECLARE @n int\nSET @n = (SELECT\n nosuch FROM dbo.t)":                            {{207, 4, ""}},
		"DELETE dbo.t\nDECLARE @v TABLE (a int)\nINSERT @v SELECT nosuch FROM dbo.t":                     {{207, 3, ""}},
		"DELETE dbo.t\nDECLARE c CURSOR LOCAL FOR SELECT nosuch FROM dbo.t":                              {{207, 2, ""}},
		"DELETE dbo.t\nALTER TABLE dbo.t ADD more int\nUPDATE dbo.t SET more = 1":                        {{207, 3, ""}},
		"DELETE dbo.t\nMERGE dbo.t AS a USING dbo.u AS b\nON a.id = b.nosuch\nWHEN MATCHED THEN DELETE;": {{207, 3, ""}},
		"DELETE dbo.t\nSELECT nosuch INTO #x FROM dbo.t":                                                 {{207, 2, ""}},
		"DELETE dbo.t\n/* a\n comment */ SELECT 'a\nstring', nosuch FROM dbo.t":                          {{207, 4, ""}},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(toldOf(t, db, text)).To(Equal(want))
			g.Expect(query(t, db, "SELECT COUNT(*) FROM dbo.t")).To(Equal([][]any{{int64(2)}}))
			g.Expect(query(t, db, "SELECT COL_LENGTH(N'dbo.t', N'more')")).To(Equal([][]any{{nil}}))
		})
	}
}

// TestStatementsAreCompiledWhenTheirTablesAreThere has what is left to the execution: statements before those run.
func TestStatementsAreCompiledWhenTheirTablesAreThere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]told{
		"DELETE dbo.t\nSELECT nosuch FROM dbo.missing":                          {{208, 2, ""}},
		"DELETE dbo.t\nSELECT nosuch,\n (SELECT 1 FROM dbo.missing) FROM dbo.t": {{207, 2, ""}, {208, 2, ""}},
		"DELETE dbo.t\nCREATE TABLE #x (a int)\nSELECT nosuch FROM #x":          {{207, 3, ""}},
		"DELETE dbo.t\nEXEC ('SELECT 1\nSELECT nosuch FROM dbo.t')":             {{207, 2, ""}},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			db := faultyDatabase(t)
			g.Expect(toldOf(t, db, text)).To(Equal(want))
			g.Expect(query(t, db, "SELECT COUNT(*) FROM dbo.t")).To(Equal([][]any{{int64(0)}}))
		})
	}
	db := faultyDatabase(t)
	for _, text := range []string{
		"IF 1 = 0 SELECT nosuch FROM dbo.missing",
		"CREATE TABLE dbo.made (a int)\nINSERT dbo.made VALUES (1)",
		"DECLARE @v TABLE (a int)\nINSERT @v SELECT id FROM dbo.t",
		"SELECT id INTO #y FROM dbo.t\nSELECT id FROM #y DROP TABLE #y",
		"DECLARE @n int = 1\nIF @n = 1 BEGIN WITH q AS (SELECT id AS named FROM dbo.t) UPDATE a SET n = @n FROM dbo.t AS " +
			"a JOIN q ON q.named = a.id END",
	} {
		mustExec(t, db, text)
	}
}

// TestModulesAreCompiledWhenTheyAreMade goes by "Deferred Name Resolution and Compilation" (learn.microsoft.com,
// ms190686): tables may be missing, columns of a table that is there may not.
func TestModulesAreCompiledWhenTheyAreMade(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE SYNONYM dbo.s FOR dbo.t")
	mustExec(t, db, "CREATE SYNONYM dbo.nowhere FOR dbo.missing")
	g := NewWithT(t)
	for text, want := range map[string][]told{
		"CREATE PROCEDURE dbo.x AS\nSELECT id,\n nosuch FROM dbo.t": {{207, 3,
			"x"}},
		"-- first\nCREATE OR ALTER PROCEDURE dbo.x @a int AS\nIF @a = 1\n UPDATE dbo.t SET n = @a, nosuch = 1": {{207, 4,
			"x"}},
		"CREATE PROCEDURE dbo.x AS\nDECLARE @v TABLE (a int)\nSELECT nosuch FROM @v": {{207, 3,
			"x"}},
		"CREATE PROCEDURE dbo.x AS\nSELECT nosuch\nFROM dbo.s": {{207, 2,
			"x"}},
		"ALTER PROCEDURE dbo.pr @a int AS\nSELECT nosuch,\n other FROM dbo.t": {{207, 2,
			"pr"}, {207, 3, "pr"}},
		"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN\n RETURN (SELECT nosuch FROM dbo.t)\nEND": {{207, 2,
			"x"}},
		"CREATE FUNCTION dbo.x () RETURNS @r TABLE (a int) AS BEGIN\n INSERT @r SELECT nosuch FROM dbo.t\n " +
			"RETURN\nEND": {{207, 2, "x"}},
		"CREATE FUNCTION dbo.x () RETURNS @r TABLE (a int) AS BEGIN\n INSERT @r (nosuch) SELECT id FROM dbo.t\n " +
			"RETURN\nEND": {{207, 2, "x"}},
		"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN\n SELECT nosuch FROM dbo.t": {{207, 2, "x"}},
		"CREATE VIEW dbo.x AS\n SELECT nosuch FROM dbo.t":                             {{207, 2, "x"}},
		"CREATE TRIGGER dbo.x ON dbo.t AFTER INSERT AS\nSELECT nosuch FROM inserted":  {{207, 2, "x"}},
		"CREATE TRIGGER dbo.x ON dbo.t AFTER UPDATE AS\nIF UPDATE(n)\n INSERT dbo.u (id, nosuch) SELECT id, n " +
			"FROM deleted": {{207, 3, "x"}},
	} {
		g.Expect(toldOf(t, db, text)).To(Equal(want), text)
	}
	g.Expect(query(t, db, "SELECT OBJECT_ID(N'dbo.x'), COUNT(*) FROM sys.objects WHERE name = N'x'")).
		To(Equal([][]any{{nil, int64(0)}}))
	g.Expect(value(t, db, "SELECT OBJECT_DEFINITION(OBJECT_ID(N'dbo.pr'))")).
		To(Equal("CREATE PROCEDURE dbo.pr @a int AS SELECT @a"))
	for _, text := range []string{
		"CREATE PROCEDURE dbo.y1 AS SELECT nosuch FROM dbo.t JOIN dbo.missing ON 1 = 1",
		"CREATE PROCEDURE dbo.y2 AS SELECT nosuch FROM dbo.nowhere",
		"CREATE PROCEDURE dbo.y3 AS CREATE TABLE #a (b int); SELECT nosuch FROM #a",
		"CREATE PROCEDURE dbo.y4 @c CURSOR VARYING OUTPUT, @d sysname AS SELECT name FROM sys.objects AS o WHERE o.name = @d",
		"CREATE PROCEDURE dbo.y5 AS WITH q AS (SELECT id AS named FROM dbo.t) UPDATE a SET n = 1 FROM dbo.t AS a JOIN q " +
			"ON q.named = a.id",
		"CREATE FUNCTION dbo.y6 (@n int) RETURNS int AS BEGIN RETURN CASE WHEN @n < 1 THEN 0 ELSE dbo.y6(@n - 1) END END",
		"CREATE TRIGGER dbo.y7 ON dbo.t AFTER INSERT, UPDATE AS IF EXISTS (SELECT i.v FROM inserted AS i JOIN deleted AS " +
			"d ON d.id = i.id) SELECT 1 WHERE 1 = 0",
	} {
		mustExec(t, db, text)
	}
}

// TestStatementThatIsCompiledLateEndsItsBatch has the example of "Batches" (learn.microsoft.com, ms175502), and no TRY
// block of its level catches it (docs/t-sql/language-elements/try-catch-transact-sql.md, "Errors unaffected by a
// TRY...CATCH construct").
func TestStatementThatIsCompiledLateEndsItsBatch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	const batch = "CREATE TABLE dbo.t3 (a int)\nINSERT INTO dbo.t3 VALUES (1)\nINSERT INTO dbo.t3 VALUES (1, " +
		"1)\nINSERT INTO dbo.t3 VALUES (3)"
	g.Expect(toldOf(t, db, batch)).To(Equal([]told{{213, 3, ""}}))
	g.Expect(query(t, db, "SELECT a FROM dbo.t3")).To(Equal([][]any{{int64(1)}}))
	mustExec(t, db, "DROP TABLE dbo.t3")
	g.Expect(toldOf(t, db, "BEGIN TRY\n"+batch+"\nEND TRY BEGIN CATCH INSERT dbo.t3 VALUES (4) END CATCH")).
		To(Equal([]told{{213, 4, ""}}))
	g.Expect(query(t, db, "SELECT a FROM dbo.t3")).To(Equal([][]any{{int64(1)}}))
	mustExec(
		t,
		db,
		"BEGIN TRY EXEC ('INSERT dbo.t3 VALUES (1, 1)') END TRY BEGIN CATCH INSERT dbo.t3 VALUES (ERROR_NUMBER()) END CATCH",
	)
	g.Expect(query(t, db, "SELECT a FROM dbo.t3 WHERE a > 1")).To(Equal([][]any{{int64(213)}}))
}
