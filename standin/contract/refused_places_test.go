// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// nestedCase is a CASE within others, so many in all.
func nestedCase(depth int) string {
	return "SELECT " + strings.Repeat(
		"CASE WHEN 1 = 1 THEN ",
		depth,
	) + "id" + strings.Repeat(
		" END",
		depth,
	) + " FROM dbo.t WHERE id = 2"
}

// TestFaultsOfSequences goes by docs/t-sql/functions/next-value-for-transact-sql.md, Limitations and restrictions: what
// it refuses is found when the batch is compiled.
func TestFaultsOfSequences(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE SEQUENCE dbo.s AS int START WITH 1")
	faults(t, db, []fault{
		{"DELETE dbo.t\nSELECT * FROM (SELECT NEXT VALUE FOR dbo.s AS a) q", []int32{11719}},
		{"DELETE dbo.t;\nWITH c AS (SELECT NEXT VALUE FOR dbo.s AS a) SELECT * FROM c", []int32{11719}},
		{"DELETE dbo.t\nSELECT (SELECT NEXT VALUE FOR dbo.s)", []int32{11719}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t WHERE EXISTS (SELECT NEXT VALUE FOR dbo.s)", []int32{11719}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t WHERE id IN (SELECT NEXT VALUE FOR dbo.s)", []int32{11719}},
		{"DELETE dbo.t\nSELECT t.id FROM dbo.t CROSS APPLY (SELECT NEXT VALUE FOR dbo.s AS a) q", []int32{11719}},
		{"CREATE VIEW dbo.x AS SELECT NEXT VALUE FOR dbo.s AS a", []int32{11719}},
		{"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN RETURN NEXT VALUE FOR dbo.s END", []int32{11719}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN SELECT NEXT VALUE FOR dbo.s AS a", []int32{11719}},
		{"CREATE PROCEDURE dbo.x AS\nSELECT * FROM (SELECT NEXT VALUE FOR dbo.s AS a) q", []int32{11719}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int CHECK (a > NEXT VALUE FOR dbo.s))", []int32{11719}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int, b AS NEXT VALUE FOR dbo.s)", []int32{11719}},
		{"DELETE dbo.t\nSELECT TOP (NEXT VALUE FOR dbo.s) id FROM dbo.t", []int32{11720}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t WHERE id = NEXT VALUE FOR dbo.s", []int32{11720}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t ORDER BY NEXT VALUE FOR dbo.s", []int32{11720}},
		{"DELETE dbo.t\nSELECT a.id FROM dbo.t a JOIN dbo.u b ON a.id = NEXT VALUE FOR dbo.s", []int32{11720}},
		{"DELETE dbo.t\nDELETE dbo.t WHERE id = NEXT VALUE FOR dbo.s", []int32{11720}},
		{"DELETE dbo.t\nUPDATE dbo.t SET n = 1 OUTPUT NEXT VALUE FOR dbo.s", []int32{11720}},
		{"DELETE dbo.t\nSELECT DISTINCT NEXT VALUE FOR dbo.s FROM dbo.t", []int32{11721}},
		{"DELETE dbo.t\nSELECT NEXT VALUE FOR dbo.s UNION ALL SELECT 1", []int32{11721}},
		{"DELETE dbo.t\nSELECT NEXT VALUE FOR dbo.s FROM dbo.t ORDER BY id", []int32{11723}},
		{"DELETE dbo.t\nINSERT dbo.t (id) SELECT NEXT VALUE FOR dbo.s FROM dbo.t ORDER BY id", []int32{11723}},
		{"DELETE dbo.t\nSELECT SUM(NEXT VALUE FOR dbo.s) FROM dbo.t", []int32{11725}},
		{"SELECT NEXT VALUE FOR dbo.t", []int32{11726}},
		{"DELETE dbo.t\nSELECT NEXT VALUE FOR dbo.s OVER (PARTITION BY n ORDER BY id) FROM dbo.t", []int32{11716}},
		{"DELETE dbo.t\nSELECT NEXT VALUE FOR dbo.s OVER () FROM dbo.t", []int32{11718}},
		{"DELETE dbo.t\nSELECT TOP 1 NEXT VALUE FOR dbo.s FROM dbo.t", []int32{11739}},
		{"DELETE dbo.t\nSELECT CASE WHEN 1 = 1 THEN NEXT VALUE FOR dbo.s END", []int32{11741}},
		{"DELETE dbo.t\nSELECT ISNULL(NEXT VALUE FOR dbo.s, 1)", []int32{11741}},
		{"DELETE dbo.t\nSELECT IIF(1 = 1, NEXT VALUE FOR dbo.s, 1)", []int32{11741}},
	})
	converse(t, connection(t, db), []say{
		{"SELECT NEXT VALUE FOR dbo.s", "1"},
		{"SELECT NEXT VALUE FOR dbo.s OVER (ORDER BY id) FROM dbo.t ORDER BY id", "2; 3"},
		{
			"CREATE TABLE dbo.j (a int DEFAULT (NEXT VALUE FOR dbo.s)); CREATE TABLE dbo.k (a int DEFAULT NEXT VALUE FOR " +
				"dbo.s, b int NULL); INSERT dbo.k DEFAULT VALUES; SELECT a FROM dbo.k",
			"4",
		},
		{"UPDATE dbo.t SET n = NEXT VALUE FOR dbo.s WHERE id = 1; SELECT n FROM dbo.t WHERE id = 1", "5"},
		{
			"INSERT dbo.k (a) SELECT NEXT VALUE FOR dbo.s FROM (SELECT DISTINCT TOP 1 id FROM dbo.t ORDER BY id) q; SELECT " +
				"COUNT(*) FROM dbo.k",
			"2",
		},
		{"DECLARE @a int = NEXT VALUE FOR dbo.s; SELECT CASE WHEN @a > 1 THEN 'more' END", "more"},
		{"SELECT CHOOSE(1, NEXT VALUE FOR dbo.s)", "8"},
		{"CREATE PROCEDURE dbo.taken AS SELECT NEXT VALUE FOR dbo.s", "ok"},
		{"EXEC dbo.taken", "9"},
	})
}

// TestFaultsOfPlaces goes by docs/t-sql/queries/hints-transact-sql-table.md,
// docs/t-sql/language-elements/case-transact-sql.md, print-transact-sql.md and the pages of the modules: what is right
// by itself and may not stand where it does.
func TestFaultsOfPlaces(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"DELETE dbo.t\nSELECT id FROM dbo.t WITH (NOLOCK, HOLDLOCK)", []int32{1047}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t WITH (READCOMMITTED, SERIALIZABLE)", []int32{1047}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t WITH (ROWLOCK, PAGLOCK)", []int32{1047}},
		{"DELETE dbo.t\nUPDATE dbo.t WITH (NOLOCK) SET n = 1", []int32{1065}},
		{"DELETE dbo.t\nDELETE dbo.t WITH (READUNCOMMITTED)", []int32{1065}},
		{"DELETE dbo.t\nINSERT dbo.t WITH (NOLOCK) VALUES (5, 'a', 1)", []int32{1065}},
		{
			"DELETE dbo.t\nMERGE dbo.t WITH (NOLOCK) AS m USING dbo.u AS s ON s.id = m.id WHEN MATCHED THEN DELETE;",
			[]int32{1065},
		},
		{"DELETE dbo.t\n" + nestedCase(11), []int32{125}},
		{"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN\nRETURN END", []int32{1075}},
		{"CREATE PROCEDURE dbo.x\n@a datetime = GETDATE() AS SELECT 1", []int32{102}},
		{"CREATE PROCEDURE dbo.x\n@a int = 1 + 1 AS SELECT 1", []int32{102}},
		{"CREATE FUNCTION dbo.x (@a datetime = GETDATE()) RETURNS int AS BEGIN RETURN 1 END", []int32{102}},
		{"CREATE VIEW master.dbo.x AS SELECT 1 AS a", []int32{166}},
		{"CREATE OR ALTER PROCEDURE master.dbo.x AS SELECT 1", []int32{166}},
		{"CREATE FUNCTION master.dbo.x () RETURNS int AS BEGIN RETURN 1 END", []int32{166}},
		{"CREATE TRIGGER master.dbo.x ON dbo.t AFTER INSERT AS SELECT 1", []int32{166}},
		{"DELETE dbo.t\nPRINT nope", []int32{128}},
		{"DELETE dbo.t\nPRINT 'a' + nope", []int32{128}},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, nestedCase(11))).To(Equal([]string{"Case expressions may only be nested to level 10."}))
	g.Expect(messagesOf(t, db, "CREATE PROC master.dbo.x AS SELECT 1")).
		To(Equal([]string{"'CREATE/ALTER PROCEDURE' does not allow specifying the database name as a prefix to the " +
			"object name."}))
	converse(t, connection(t, db), []say{
		{nestedCase(10), "2"},
		{
			"SELECT CASE WHEN 1 = 0 THEN 1 END, CASE 1 WHEN 1 THEN 1 END, IIF(1 = 1, 1, 0), CASE WHEN 1 = 1 THEN (" + nestedCase(
				10,
			) + ") END",
			"NULL 1 1 2",
		},
		{"SELECT COUNT(*) FROM dbo.t WITH (UPDLOCK, READPAST, ROWLOCK)", "2"},
		{"SELECT COUNT(*) FROM dbo.t WITH (TABLOCKX, HOLDLOCK)", "2"},
		{"SELECT COUNT(*) FROM dbo.t WITH (NOLOCK) JOIN dbo.t AS b WITH (HOLDLOCK, ROWLOCK) ON b.id = t.id", "2"},
		{
			"UPDATE x SET n = 1 FROM dbo.t AS x WITH (NOLOCK) WHERE x.id = 1; DELETE x FROM dbo.t AS x WITH (NOLOCK) " +
				"WHERE x.id = 7",
			"ok",
		},
		{"UPDATE dbo.t WITH (ROWLOCK, HOLDLOCK) SET n = 1 FROM dbo.t JOIN dbo.u WITH (NOLOCK) ON u.id = t.id", "ok"},
		{"CREATE FUNCTION dbo.many () RETURNS @r TABLE (a int) AS BEGIN INSERT @r VALUES (3) RETURN END", "ok"},
		{"SELECT a FROM dbo.many()", "3"},
		{
			"CREATE PROCEDURE dbo.defaults @a int = -1, @b varchar(9) = word, @c datetime = '20200101', @d int = NULL AS RETURN",
			"ok",
		},
		{
			"DECLARE @a int = 1; PRINT @a + 1; PRINT 'a' + CAST(@a AS varchar(9)); PRINT (CONCAT('a', DATEPART(year, " +
				"GETDATE())))",
			"ok",
		},
	})
}
