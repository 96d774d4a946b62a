// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestFaultsOfNamesByVariables goes by docs/t-sql/queries/select-clause-transact-sql.md and
// docs/t-sql/queries/from-transact-sql.md: an alias is an identifier; and by
// docs/t-sql/statements/create-index-transact-sql.md: options have commas between them.
func TestFaultsOfNamesByVariables(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"DELETE dbo.t\nSELECT SUM(n) @t FROM dbo.t", []int32{102}},
		{"DELETE dbo.t\nSELECT n @t FROM dbo.t", []int32{102}},
		{"DELETE dbo.t\nSELECT n AS @t FROM dbo.t", []int32{102}},
		{"DELETE dbo.t\nSELECT 1 @t", []int32{102}},
		{"DELETE dbo.t\nSELECT n FROM dbo.t @x", []int32{102}},
		{"DELETE dbo.t\nSELECT n FROM (SELECT n FROM dbo.t) AS @x", []int32{102}},
		{"DELETE dbo.t\nCREATE INDEX i ON dbo.t (n) WITH (PAD_INDEX = ON FILLFACTOR = 80)", []int32{156}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int PRIMARY KEY WITH (FILLFACTOR = 80 PAD_INDEX = ON))", []int32{102}},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "SELECT SUM(n) @t FROM dbo.t")).To(Equal([]string{"Incorrect syntax near '@t'."}))
	g.Expect(messagesOf(t, db, "CREATE INDEX i ON dbo.t (n) WITH (PAD_INDEX = ON FILLFACTOR = 80)")).
		To(Equal([]string{"Incorrect syntax near the keyword 'FILLFACTOR'."}))
	converse(t, connection(t, db), []say{
		{"SELECT 1 AS [@t], 2 AS \"@u\", '@' AS v", "1 2 @"},
		{"DECLARE @a int; SELECT TOP (1) @a = n FROM dbo.t; EXEC sp_executesql N'SELECT @a', N'@a int', @a", "1"},
		{"SELECT [@x].id FROM dbo.t AS [@x] WHERE id = 1", "1"},
		{
			"CREATE INDEX i ON dbo.t (n) WITH (PAD_INDEX = ON, FILLFACTOR = 80, ONLINE = ON (WAIT_AT_LOW_PRIORITY " +
				"(MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = NONE)))",
			"ok",
		},
	})
}

// TestFaultsOfValues goes by docs/t-sql/functions/datetrunc-transact-sql.md (Arguments: date),
// docs/t-sql/functions/sqrt-transact-sql.md with docs/t-sql/data-types/data-type-conversion-database-engine.md,
// docs/relational-databases/json/format-nested-json-output-with-path-mode-sql-server.md and
// docs/relational-databases/json/remove-square-brackets-from-json-without_array_wrapper-option.md.
func TestFaultsOfValues(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"SELECT DATETRUNC(day, 5)", []int32{8116}},
		{"SELECT DATETRUNC(day, n) FROM dbo.t", []int32{8116}},
		{"SELECT DATETRUNC(day, 0x01)", []int32{8116}},
		{"SELECT DATETRUNC(day, NEWID())", []int32{8116}},
		{"SELECT SQRT(GETDATE())", []int32{257}},
		{"SELECT EXP(CAST('2020-01-01' AS smalldatetime))", []int32{257}},
		{"SELECT SIN(CAST('2020-01-01' AS date))", []int32{206}},
		{"SELECT id FROM dbo.t FOR JSON PATH, ROOT('r'), WITHOUT_ARRAY_WRAPPER", []int32{13620}},
		{"SELECT id FROM dbo.t FOR JSON AUTO, WITHOUT_ARRAY_WRAPPER, ROOT", []int32{13620}},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "SELECT DATETRUNC(day, 5)")).
		To(Equal([]string{"Argument data type int is invalid for argument 2 of datetrunc function."}))
	converse(t, connection(t, db), []say{
		{
			"SELECT DATETRUNC(month, '1998-03-04'), DATETRUNC(day, CAST('1998-03-04 10:10:05' AS smalldatetime)), " +
				"DATETRUNC(day, NULL)",
			"1998-03-01T00:00:00 1998-03-04T00:00:00 NULL",
		},
		{"SELECT id FROM dbo.t WHERE id = 1 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER", `{"id":1}`},
		{"SELECT SQRT(4), SQRT('9')", "2 3"},
	})
}

// TestFaultsOfHintedTargets goes by docs/t-sql/queries/hints-transact-sql-table.md (Table_Hint_Limited) and
// docs/t-sql/statements/merge-transact-sql.md: what is changed takes no INDEX, but of MERGE; columns that MERGE sets
// are its target's.
func TestFaultsOfHintedTargets(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE INDEX byN ON dbo.t (n)")
	merge := "DELETE dbo.t\nMERGE dbo.t AS m USING dbo.u AS s ON s.id = m.id WHEN MATCHED THEN UPDATE SET "
	faults(t, db, []fault{
		{"DELETE dbo.t\nUPDATE dbo.t WITH (INDEX(byN)) SET n = 1", []int32{1069}},
		{"DELETE dbo.t\nDELETE dbo.t WITH (INDEX = byN)", []int32{1069}},
		{"DELETE dbo.t\nINSERT dbo.t WITH (INDEX(1)) (id) VALUES (5)", []int32{1069}},
		{"DELETE dbo.t\nUPDATE dbo.t WITH (FORCESEEK) SET n = 1", []int32{10724}},
		{merge[len("DELETE dbo.t\n"):] + "s.n = 1;", []int32{1032}},
		{merge[len("DELETE dbo.t\n"):] + "nosuch.n = 1;", []int32{4104}},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, merge[len("DELETE dbo.t\n"):]+"s.n = 1;")).
		To(Equal([]string{"Cannot use the column prefix 's'. This must match the object in the UPDATE clause 'dbo.t'."}))
	converse(t, connection(t, db), []say{
		{"UPDATE x SET n = 3 FROM dbo.t AS x WITH (INDEX(byN)) WHERE id = 1; SELECT n FROM dbo.t WHERE id = 1", "3"},
		{
			"MERGE dbo.t WITH (INDEX(byN)) AS m USING dbo.u AS s ON s.id = m.id WHEN MATCHED THEN UPDATE SET m.n = 4, " +
				"dbo.t.v = 'w';",
			"ok",
		},
	})
}

// TestFaultsOfRecursionWithin goes by docs/t-sql/queries/with-common-table-expression-transact-sql.md: the recursive
// member refers to itself in its FROM clause.
func TestFaultsOfRecursionWithin(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"WITH c AS (SELECT 1 AS n UNION ALL SELECT 2 WHERE EXISTS (SELECT 1 FROM c)) SELECT n FROM c", []int32{465}},
		{
			"WITH c AS (SELECT 1 AS n UNION ALL SELECT id FROM dbo.t WHERE id IN (SELECT n FROM c)) SELECT n FROM c",
			[]int32{465},
		},
		{"WITH c AS (SELECT 1 AS n UNION ALL SELECT (SELECT MAX(n) FROM c) FROM dbo.t) SELECT n FROM c", []int32{465}},
	})
}

// TestFaultsOfKeysAndTypes goes by docs/t-sql/statements/create-table-transact-sql.md (FOREIGN KEY),
// create-trigger-transact-sql.md and create-function-transact-sql.md.
func TestFaultsOfKeysAndTypes(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE TABLE dbo.keyed (a int, b int, UNIQUE (a, b))")
	faults(t, db, []fault{
		{"CREATE TABLE dbo.x (a int, b int, FOREIGN KEY (a, a) REFERENCES dbo.keyed (a, b))", []int32{8136}},
		{"ALTER TABLE dbo.keyed ADD FOREIGN KEY (b, b) REFERENCES dbo.keyed (a, b)", []int32{8136}},
		{"CREATE TRIGGER dbo.x ON dbo.t AFTER INSERT AS\nDECLARE @a nosuch", []int32{2715}},
		{"CREATE TRIGGER x ON DATABASE FOR CREATE_TABLE AS\nDECLARE @a int, @b dbo.nosuch", []int32{2715}},
		{"CREATE TRIGGER dbo.x ON dbo.t AFTER INSERT AS\nSELECT CAST(1 AS nosuch)", []int32{243}},
		{"CREATE FUNCTION dbo.x () RETURNS nosuch AS BEGIN RETURN 1 END", []int32{2715}},
		{"CREATE FUNCTION dbo.x () RETURNS @t TABLE (a int, b nosuch) AS BEGIN RETURN END", []int32{2715}},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "CREATE TABLE dbo.x (a int, b int, FOREIGN KEY (a, a) REFERENCES dbo.keyed (a, b))")).
		To(ContainElement(
			"Duplicate columns specified in FOREIGN KEY constraint key list, table 'x'."))
}

// TestSnapshotWhereItIsNotAllowed goes by docs/t-sql/statements/set-transaction-isolation-level-transact-sql.md,
// SNAPSHOT.
func TestSnapshotWhereItIsNotAllowed(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE kept (a int); CREATE TABLE #own (a int); SET TRANSACTION ISOLATION LEVEL SNAPSHOT", "ok"},
		{"SELECT a FROM kept", "!3952/16"},
		{"INSERT kept VALUES (1)", "!3952/16"},
		{"UPDATE kept SET a = 2", "!3952/16"},
		{"SELECT COUNT(*) FROM kept WITH (READCOMMITTED)", "0"},
		{"DECLARE @v TABLE (a int); INSERT @v VALUES (1); INSERT #own SELECT a FROM @v; SELECT a FROM #own", "1"},
		{"SELECT name FROM sys.tables WHERE name = 'kept'", "kept"},
		{
			"DECLARE @d nvarchar(300) = N'ALTER DATABASE ' + QUOTENAME(DB_NAME()) + N' SET ALLOW_SNAPSHOT_ISOLATION " +
				"ON'; EXEC (@d)",
			"ok",
		},
		{"INSERT kept VALUES (1); SELECT a FROM kept", "1"},
	})
}
