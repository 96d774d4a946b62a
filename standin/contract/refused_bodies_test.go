// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestFaultsOfBodiesConditionsAndHints goes by the syntax of the pages of the statements and of
// hints-transact-sql-table.md.
func TestFaultsOfBodiesConditionsAndHints(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"DELETE dbo.t\nBEGIN ; END", []int32{102}},
		{"DELETE dbo.t\nBEGIN TRY END TRY BEGIN CATCH SELECT 1 END CATCH", []int32{102}},
		{"DELETE dbo.t\nBEGIN TRY ; END TRY BEGIN CATCH SELECT 1 END CATCH", []int32{102}},
		{"CREATE PROCEDURE dbo.x @a int = (1) AS SELECT 1", []int32{102}},
		{"CREATE PROCEDURE dbo.x @a int = @b AS SELECT 1", []int32{137}},
		{"CREATE FUNCTION dbo.x (@a int = @@no_such) RETURNS int AS BEGIN RETURN 1 END", []int32{137}},
		{"DELETE dbo.t\nCREATE INDEX x ON dbo.t (n) WHERE 1", []int32{102}},
		{"DELETE dbo.t\nCREATE INDEX x ON dbo.t (n) WHERE n", []int32{102}},
		{"DELETE dbo.t\nCREATE INDEX x ON dbo.t (n) INCLUDE (v) WHERE (n)", []int32{102}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int, INDEX i (a) WHERE 1)", []int32{102}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int CHECK (1))", []int32{4145}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int, CHECK (a + 1))", []int32{4145}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int, CHECK (a = 1 AND (a)))", []int32{4145}},
		{"DELETE dbo.t\nALTER TABLE dbo.t ADD CONSTRAINT c CHECK (n)", []int32{4145}},
		{"DELETE dbo.t\nSELECT 1 FROM dbo.t JOIN dbo.u ON 1", []int32{4145}},
		{"DELETE dbo.t\nSELECT 1 FROM dbo.t LEFT JOIN dbo.u ON t.id WHERE n = 1", []int32{4145}},
		{"DELETE dbo.t\nSELECT 1 FROM dbo.t JOIN dbo.u ON t.id JOIN dbo.u AS w ON w.id = t.id", []int32{4145}},
		{"CREATE VIEW dbo.x AS SELECT id FROM dbo.t WHERE 1", []int32{4145}},
		{"DELETE dbo.t\nINSERT dbo.t WITH ($nowait) DEFAULT VALUES", []int32{102}},
		{"DELETE dbo.t\nINSERT dbo.t WITH (TABLOCK, 1) DEFAULT VALUES", []int32{102}},
		{"DELETE dbo.t\nUPDATE dbo.t WITH ('TABLOCK') SET n = 1", []int32{102}},
		{"DELETE dbo.t\nSELECT * FROM dbo.t (NOLOCK NOWAIT)", []int32{102}},
		{"DELETE dbo.t\nSELECT * FROM dbo.t (NOLOCK HOLDLOCK)", []int32{156}},
		{"DELETE dbo.t\nSELECT * FROM dbo.t AS a (ROWLOCK PAGLOCK)", []int32{102}},
		{"DELETE dbo.t\nSELECT * FROM dbo.t (NOLOCK, INDEX (ix_n))", []int32{1018}},
		{"DELETE dbo.t\nSELECT * FROM dbo.t WITH (INDEX)", []int32{102}},
		{"DELETE dbo.t\nSELECT * FROM dbo.t WITH (NOLOCK, INDEX)", []int32{102}},
	})
}

// TestBodiesConditionsAndNamesThatAreWhole has what looks like those and is not: a procedure's body may be empty, and
// the parts of a name before its last one may be left out with their dots in place
// (docs/t-sql/language-elements/transact-sql-syntax-conventions-transact-sql.md, "Multipart names").
func TestBodiesConditionsAndNamesThatAreWhole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, n int, snapshot bit, CHECK ((n) > 1 AND (n + 1) < 9 OR n IS NULL))",
	)
	mustExec(t, db, "CREATE INDEX f ON dbo.t (n) INCLUDE (snapshot) WHERE n > 1 AND snapshot IS NOT NULL")
	mustExec(t, db, "CREATE TABLE dbo.u (snapshot int, rowlock int, INDEX i (rowlock) WHERE (rowlock > 1))")
	mustExec(
		t,
		db,
		"SELECT * FROM dbo.t AS a (NOLOCK) JOIN dbo.u (NOLOCK, NOWAIT) ON a.id IN (1) LEFT JOIN dbo.u AS w ON EXISTS "+
			"(SELECT 1) WHERE w.rowlock = 1",
	)
	for name, text := range map[string]string{
		"dbo.e1": "CREATE PROCEDURE dbo.e1 AS", "dbo.e2": "CREATE PROCEDURE dbo.e2 @a int = 1 WITH EXECUTE AS OWNER AS;",
		"dbo.e3": "CREATE PROC dbo.e3 AS ;; SELECT 1 AS a",
	} {
		mustExec(t, db, text)
		mustExec(t, db, "EXEC "+name)
		g.Expect(value(t, db, "SELECT OBJECT_DEFINITION(OBJECT_ID(N'"+name+"'))")).To(Equal(text))
	}
	g.Expect(value(t, db, ".e3")).To(BeEquivalentTo(1))
	g.Expect(value(t, db, "..e3")).To(BeEquivalentTo(1))
	mustExec(t, db, "CREATE FUNCTION .f (@a int) RETURNS int AS BEGIN RETURN @a + 1 END")
	g.Expect(value(t, db, "SELECT dbo.f(1)")).To(BeEquivalentTo(2))
	mustExec(t, db, "ALTER FUNCTION ..f (@a int) RETURNS int AS BEGIN RETURN @a + 2 END")
	g.Expect(value(t, db, "SELECT dbo.f(1)")).To(BeEquivalentTo(3))
	mustExec(t, db, "GRANT SELECT ON ..t TO public; DENY INSERT ON .t TO public; REVOKE SELECT ON OBJECT::..t FROM public")
	g.Expect(query(t, db,
		"SELECT permission_name, state_desc FROM sys.database_permissions WHERE major_id = OBJECT_ID(N'dbo.t')")).
		To(Equal([][]any{{"INSERT", "DENY"}}))
	mustExec(t, db, "CREATE VIEW dbo.v WITH SCHEMABINDING AS SELECT id, n FROM dbo.t WHERE n > 1 WITH CHECK OPTION;")
	mustExec(
		t,
		db,
		"CREATE FUNCTION dbo.m () RETURNS @t TABLE (a int NOT NULL CHECK (a > 0) CHECK ((a) < 9)) AS BEGIN RETURN END",
	)
	mustExec(t, db, "ALTER TABLE dbo.u ADD CONSTRAINT c CHECK NOT FOR REPLICATION (snapshot IN (1, 2))")
	mustExec(t, db, "BEGIN TRY SELECT 1 END TRY BEGIN CATCH END CATCH")
}
