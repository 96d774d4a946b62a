// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"
)

func messagesOf(t *testing.T, db *sql.DB, text string) []string {
	t.Helper()
	out := []string{}
	for _, e := range failures(t, db, text) {
		out = append(out, e.Message)
	}
	return out
}

// TestFaultsOfNames goes by docs/relational-databases/errors-events/database-engine-events-and-errors.md: what is named
// and is not there, or is there twice, or is something else.
func TestFaultsOfNames(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"SELECT nope1, nope2 FROM dbo.t", []int32{207, 207}},
		{"SELECT nope1 FROM dbo.t WHERE nope2 = 1", []int32{207, 207}},
		{"UPDATE dbo.t SET nope1 = 1 WHERE nope2 = 1", []int32{207, 207}},
		{"INSERT dbo.t (nope1, nope2) VALUES (5, 6)", []int32{207, 207}},
		{"SELECT q.id, w.id FROM dbo.t", []int32{4104, 4104}},
		{"CREATE VIEW dbo.x AS SELECT nope1, nope2 FROM dbo.t", []int32{207, 207}},
		{"SELECT 1 FROM dbo.t q, dbo.u q", []int32{1011}},
		{"SELECT 1 FROM dbo.t q JOIN (SELECT 1 AS a) q ON 1 = 1", []int32{1011}},
		{"WITH c AS (SELECT 1 AS a) SELECT 1 FROM c, c", []int32{1011}},
		{"SELECT 1 FROM t, dbo.u t", []int32{1012}},
		{"SELECT 1 FROM dbo.u t, t", []int32{1012}},
		{"SELECT 1 FROM dbo.t, dbo.t", []int32{1013}},
		{"SELECT 1 FROM dbo.t JOIN t ON 1 = 1", []int32{1013}},
		{"SELECT 1 FROM dbo.t a JOIN dbo.t b ON SUM(a.n) = 1", []int32{1015}},
		{"UPDATE dbo.t SET n = SUM(n)", []int32{157}},
		{"SELECT * FROM dbo.t(1)", []int32{215}},
		{"SELECT * FROM dbo.vw(1)", []int32{215}},
		{"SELECT * FROM dbo.tf", []int32{216}},
		{"TRUNCATE TABLE dbo.vw", []int32{4708}},
		{"TRUNCATE TABLE dbo.nothing", []int32{4701}},
		{"UPDATE dbo.t SET n = 1 FROM dbo.t q, dbo.t w", []int32{8154}},
		{"DELETE dbo.t FROM dbo.t q, dbo.t w", []int32{8154}},
		{"INSERT dbo.t (id, n) VALUES (5, 5), (6)", []int32{10709}},
		{"INSERT dbo.t VALUES (5, 'e', 5), (6, 'f')", []int32{10709}},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "SELECT nope1, nope2 FROM dbo.t")).
		To(Equal([]string{"Invalid column name 'nope1'.", "Invalid column name 'nope2'."}))
	g.Expect(messagesOf(t, db, "SELECT 1 FROM dbo.t, dbo.t")[0]).To(ContainSubstring(`"dbo.t" and "dbo.t"`))
	g.Expect(query(t, db,
		"BEGIN TRY EXEC ('SELECT nope1, nope2 FROM dbo.t') END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH")).
		To(Equal([][]any{{"Invalid column name 'nope2'."}}))
	converse(t, connection(t, faultyDatabase(t)), []say{
		{"SELECT COUNT(*) FROM dbo.t t, dbo.t w, dbo.u", "0"},
		{"SELECT COUNT(*) FROM dbo.t, dbo.t w, (SELECT 1 AS a) q, (SELECT 1 AS a) e", "4"},
		{"SELECT COUNT(*) FROM dbo.t WHERE EXISTS (SELECT 1 FROM dbo.t WHERE n = 2)", "2"},
		{"UPDATE dbo.t SET n = 7 FROM dbo.t, dbo.t w WHERE dbo.t.id = 1; SELECT n FROM dbo.t ORDER BY id", "7; 2"},
		{"UPDATE dbo.t SET n = (SELECT SUM(n) FROM dbo.t) WHERE id = 2; SELECT n FROM dbo.t WHERE id = 2", "9"},
		{
			"UPDATE dbo.t SET n = 2 WHERE id = 2; SELECT a.id FROM dbo.t a JOIN dbo.t b ON a.n = (SELECT MAX(n) FROM dbo.t) " +
				"AND b.id = 1",
			"1",
		},
		{"UPDATE q SET n = 8 FROM dbo.t q, dbo.t w WHERE q.id = 1; SELECT n FROM dbo.t ORDER BY id", "8; 2"},
		{"DELETE dbo.t FROM dbo.t w WHERE w.id = 1; SELECT COUNT(*) FROM dbo.t", "1"},
		{"TRUNCATE TABLE dbo.t", "ok"},
	})
}

// TestFaultsOfCollations goes by docs/t-sql/statements/collation-precedence-transact-sql.md.
func TestFaultsOfCollations(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE dbo.c (a varchar(9) COLLATE Greek_CI_AS, b varchar(9) COLLATE Latin1_General_CI_AS, m nvarchar(9) "+
			"COLLATE Greek_CI_AS, n nvarchar(9) COLLATE Latin1_General_CI_AS)",
	)
	mustExec(t, db, "INSERT dbo.c VALUES ('x', 'x', 'y', 'y')")
	faults(t, db, []fault{
		{"SELECT 1 FROM dbo.c WHERE a = b", []int32{468}},
		{"SELECT 1 FROM dbo.c WHERE a LIKE b", []int32{468}},
		{"SELECT 1 FROM dbo.c WHERE a IN (SELECT b FROM dbo.c)", []int32{468}},
		{"SELECT 1 FROM dbo.c WHERE a BETWEEN b AND 'z'", []int32{468}},
		{"SELECT 1 FROM dbo.c x JOIN dbo.c y ON x.a = y.b", []int32{468}},
		{"SELECT 1 WHERE 'a' COLLATE Greek_CI_AS = 'b' COLLATE Latin1_General_CI_AS", []int32{468}},
		{"SELECT a FROM dbo.c UNION SELECT b FROM dbo.c", []int32{468}},
		{"SELECT a + b FROM dbo.c", []int32{457}},
		{"SELECT m + n FROM dbo.c", []int32{451}},
		{"SELECT m FROM dbo.c UNION ALL SELECT n FROM dbo.c", []int32{451}},
		{"SELECT 1 COLLATE Greek_CI_AS", []int32{447}},
		{"SELECT id COLLATE Greek_CI_AS FROM dbo.t", []int32{447}},
		{"SELECT 'a' COLLATE Nonsense", []int32{448}},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "SELECT 1 FROM dbo.c WHERE a = b")).
		To(Equal([]string{`Cannot resolve the collation conflict between "Latin1_General_CI_AS" and "Greek_CI_AS" in the equal to operation.`}))
	converse(t, connection(t, db), []say{
		{
			"SELECT COUNT(*) FROM dbo.c WHERE a = b COLLATE Greek_CI_AS AND a = 'x' AND m = N'y' AND a IN ('x', 'y') AND " +
				"b LIKE 'x%'",
			"1",
		},
		{
			"DECLARE @v varchar(9) = 'x'; SELECT a + 'y' + @v, m + N'z' COLLATE Latin1_General_BIN2 FROM dbo.c WHERE @v = a",
			"xyx yz",
		},
		{"SELECT a COLLATE DATABASE_DEFAULT FROM dbo.c UNION SELECT b COLLATE DATABASE_DEFAULT FROM dbo.c", "x"},
		{"SELECT CASE a WHEN 'x' THEN b ELSE 'z' END FROM dbo.c", "x"},
	})
}
