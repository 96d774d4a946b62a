// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestFaultsOfSequenceOptions goes by docs/t-sql/statements/create-sequence-transact-sql.md and
// alter-sequence-transact-sql.md.
func TestFaultsOfSequenceOptions(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE SEQUENCE dbo.s AS int START WITH 1")
	faults(t, db, []fault{
		{"CREATE SEQUENCE dbo.z AS tinyint MINVALUE 1 MAXVALUE 10 INCREMENT BY 20", []int32{11701}},
		{"CREATE SEQUENCE dbo.z INCREMENT BY 0", []int32{11700}},
		{"CREATE SEQUENCE dbo.z CACHE 0", []int32{11706}},
		{"CREATE SEQUENCE dbo.z AS tinyint INCREMENT BY 300", []int32{11708}},
		{"CREATE SEQUENCE dbo.z AS tinyint MAXVALUE 300", []int32{11708}},
		{"CREATE SEQUENCE dbo.z AS tinyint START WITH 300", []int32{11708}},
		{"CREATE SEQUENCE dbo.z START WITH 1.5", []int32{11708}},
		{"DELETE dbo.t\nCREATE SEQUENCE dbo.z RESTART WITH 1", []int32{11709}},
		{"DELETE dbo.t\nALTER SEQUENCE dbo.s START WITH 5", []int32{11710}},
		{"DELETE dbo.t\nALTER SEQUENCE dbo.s AS bigint", []int32{11711}},
		{"DELETE dbo.t\nCREATE SEQUENCE dbo.z START WITH 1 START WITH 2", []int32{11712}},
		{"DELETE dbo.t\nCREATE SEQUENCE dbo.z CYCLE NO CYCLE", []int32{11712}},
		{"DELETE dbo.t\nALTER SEQUENCE dbo.s RESTART RESTART", []int32{11712}},
		{"SELECT NEXT VALUE FOR dbo.s OVER (ORDER BY id), NEXT VALUE FOR dbo.s FROM dbo.t", []int32{11727}},
		{"SELECT NEXT VALUE FOR dbo.s OVER (ORDER BY id), NEXT VALUE FOR dbo.s OVER (ORDER BY n) FROM dbo.t", []int32{11727}},
		{"DECLARE @a int, @b int\nSELECT @a = NEXT VALUE FOR dbo.s, @b = NEXT VALUE FOR dbo.s", []int32{11736}},
		{"DECLARE @a int\nSET @a = NEXT VALUE FOR dbo.s + NEXT VALUE FOR dbo.s", []int32{11736}},
		{"CREATE SEQUENCE dbo.#z", []int32{11714}},
		{"DELETE dbo.t\nALTER SEQUENCE dbo.s", []int32{11715}},
		{"ALTER SEQUENCE dbo.s CACHE 0", []int32{11706}},
		{"ALTER SEQUENCE dbo.s MAXVALUE 99999999999", []int32{11708}},
		{
			"DELETE dbo.t\nMERGE dbo.t AS m USING dbo.u AS s ON s.id = m.id WHEN MATCHED AND s.id = NEXT VALUE FOR dbo.s " +
				"THEN DELETE;",
			[]int32{11722},
		},
		{
			"DELETE dbo.t\nMERGE dbo.t AS m USING dbo.u AS s ON s.id = m.id WHEN MATCHED THEN UPDATE SET n = NEXT " +
				"VALUE FOR dbo.s;",
			[]int32{11742},
		},
		{
			"DELETE dbo.t\nMERGE dbo.t AS m USING dbo.u AS s ON s.id = m.id WHEN NOT MATCHED THEN INSERT (id) VALUES (NEXT " +
				"VALUE FOR dbo.s);",
			[]int32{11742},
		},
		{"DELETE dbo.t\nSELECT a FROM dbo.tf(NEXT VALUE FOR dbo.s)", []int32{11724}},
		{"DELETE dbo.t\nCREATE TABLE dbo.x (a int DEFAULT (NEXT VALUE FOR master.dbo.s))", []int32{11730}},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "CREATE SEQUENCE dbo.z INCREMENT BY 1 INCREMENT BY 2")).
		To(Equal([]string{"Argument 'INCREMENT BY' can not be specified more than once."}))
	g.Expect(messagesOf(t, db, "CREATE SEQUENCE dbo.z AS tinyint MINVALUE -1")).
		To(Equal([]string{"An invalid value was specified for argument 'MINVALUE' for the given data type."}))
	converse(t, connection(t, db), []say{
		{"CREATE SEQUENCE dbo.q AS tinyint START WITH 5 INCREMENT BY 5 MINVALUE 5 MAXVALUE 10 NO CYCLE CACHE 3", "ok"},
		{"SELECT NEXT VALUE FOR dbo.q", "5"},
		{
			"CREATE SEQUENCE dbo.down AS decimal(4, 0) START WITH -1 INCREMENT BY -1 NO MINVALUE MAXVALUE -1 CYCLE NO CACHE",
			"ok",
		},
		{"SELECT NEXT VALUE FOR dbo.down", "-1"},
		{"ALTER SEQUENCE dbo.s RESTART WITH 7 INCREMENT BY 2 NO MINVALUE MAXVALUE 100 CYCLE CACHE", "ok"},
		{"SELECT NEXT VALUE FOR dbo.s", "7"},
		{"DECLARE @a int; SELECT @a = NEXT VALUE FOR dbo.s; SET @a = NEXT VALUE FOR dbo.s; SELECT @a", "11"},
		{
			"DECLARE @v TABLE (a int, b int); INSERT @v SELECT NEXT VALUE FOR dbo.s OVER (ORDER BY id), NEXT VALUE FOR dbo.s " +
				"OVER (ORDER  BY id) FROM dbo.t; SELECT COUNT(*) FROM @v",
			"2",
		},
		{
			"CREATE TABLE dbo.d (id int, n int DEFAULT (NEXT VALUE FOR dbo.s)); MERGE dbo.d USING dbo.t ON t.id = d.id WHEN " +
				"NOT MATCHED THEN INSERT (id) VALUES (t.id); SELECT COUNT(n) FROM dbo.d",
			"2",
		},
	})
}

// TestFaultsOfGivenColumns goes by docs/t-sql/statements/insert-transact-sql.md, set-identity-insert-transact-sql.md
// and docs/t-sql/queries/update-transact-sql.md.
func TestFaultsOfGivenColumns(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE TABLE dbo.i (a int IDENTITY, b int)")
	on := "SET IDENTITY_INSERT dbo.i ON; "
	faults(t, db, []fault{
		{"INSERT dbo.i VALUES (1, 2)", []int32{8101}},
		{"INSERT dbo.i SELECT 1, 2", []int32{8101}},
		{"INSERT dbo.i VALUES (1, 2, 3)", []int32{8101}},
		{on + "INSERT dbo.i VALUES (1, 2)", []int32{8101}},
		{on + "INSERT dbo.i VALUES (2)", []int32{545}},
		{"INSERT dbo.i (a, b) VALUES (DEFAULT, 3)", []int32{339}},
		{"INSERT dbo.i (a, b) VALUES (4, 3)", []int32{544}},
		{"UPDATE dbo.t SET u.n = 1 FROM dbo.t JOIN dbo.u ON u.id = t.id", []int32{1032}},
		{"UPDATE dbo.t SET nosuch.n = 1", []int32{4104}},
		{"CREATE TABLE dbo.x (a int, b int, UNIQUE (a, a))", []int32{8136}},
		{"CREATE TABLE dbo.x (a int NOT NULL, PRIMARY KEY (a, a))", []int32{8136}},
		{"ALTER TABLE dbo.t DISABLE TRIGGER nosuch", []int32{4920}},
		{"DISABLE TRIGGER nosuch ON dbo.t", []int32{1088}},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "INSERT dbo.i VALUES (1, 2)")).
		To(Equal([]string{"An explicit value for the identity column in table 'dbo.i' can only be specified when a column " +
			"list is used and IDENTITY_INSERT is ON."}))
	converse(t, connection(t, db), []say{
		{
			"INSERT dbo.i VALUES (1); INSERT dbo.i SELECT 2; SET IDENTITY_INSERT dbo.i ON; INSERT dbo.i (a, b) VALUES (9, " +
				"3); SET IDENTITY_INSERT dbo.i OFF; SELECT a FROM dbo.i ORDER BY a",
			"1; 2; 9",
		},
		{
			"UPDATE dbo.t SET dbo.t.n = 5, t.v = 'x' WHERE id = 1; UPDATE x SET x.n = 6 FROM dbo.t AS x WHERE id = 2; SELECT " +
				"n FROM dbo.t ORDER BY id",
			"5; 6",
		},
		{"UPDATE dbo.t SET x.n = 7 FROM dbo.t AS x; SELECT MIN(n) FROM dbo.t", "7"},
	})
}

// TestFaultsOfDroppedNames goes by docs/t-sql/statements/drop-procedure-transact-sql.md and its kin,
// create-function-transact-sql.md and
// docs/relational-databases/json/format-query-results-as-json-with-for-json-sql-server.md.
func TestFaultsOfDroppedNames(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	for _, text := range []string{
		"CREATE TABLE dbo.short (a int, b int); CREATE TABLE dbo.gone (a int)",
		"CREATE VIEW dbo.broken AS SELECT a, b FROM dbo.short",
		"CREATE VIEW dbo.orphan AS SELECT a FROM dbo.gone",
		"ALTER TABLE dbo.short DROP COLUMN b; DROP TABLE dbo.gone",
	} {
		mustExec(t, db, text)
	}
	faults(t, db, []fault{
		{"DELETE dbo.t\nDROP PROCEDURE master.dbo.pr", []int32{166}},
		{"DELETE dbo.t\nDROP VIEW IF EXISTS master.dbo.vw", []int32{166}},
		{"DELETE dbo.t\nDROP FUNCTION master.dbo.fn", []int32{166}},
		{"DELETE dbo.t\nDROP TRIGGER master.dbo.tr", []int32{166}},
		{"SELECT * FROM dbo.broken", []int32{207, 4413}},
		{"SELECT a FROM dbo.orphan", []int32{208, 4413}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS BEGIN\nRETURN SELECT 1 AS a END", []int32{178}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS BEGIN\nRETURN (SELECT 1 AS a) END", []int32{178}},
		{"SELECT 1 FOR JSON PATH", []int32{13605}},
		{"SELECT 1 AS a, 2 FOR JSON PATH", []int32{13605}},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "DROP VIEW a.b.c")).
		To(Equal([]string{"'DROP VIEW' does not allow specifying the database name as a prefix to the object name."}))
	converse(t, connection(t, db), []say{
		{"CREATE TABLE #d (a int); DROP TABLE tempdb..#d", "ok"},
		{"DROP PROCEDURE dbo.pr; DROP VIEW vw; DROP FUNCTION dbo.fn, dbo.tf", "ok"},
		{"SELECT 1 AS a FOR JSON PATH", `[{"a":1}]`},
		{"SELECT (SELECT 2 AS b FOR JSON PATH) AS a", `[{"b":2}]`},
		{"SELECT 1 FOR XML PATH('')", "1"},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE AS RETURN (SELECT 1 AS a)", "ok"},
	})
}

// TestFaultsOfTypesOfModules goes by docs/t-sql/statements/create-procedure-transact-sql.md and
// docs/t-sql/statements/create-function-transact-sql.md.
func TestFaultsOfTypesOfModules(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE TYPE dbo.phone FROM varchar(20)")
	mustExec(t, db, "CREATE TYPE dbo.list AS TABLE (a int)")
	faults(t, db, []fault{
		{"CREATE PROCEDURE dbo.x AS\nDECLARE @a int, @b nosuch", []int32{2715}},
		{"CREATE PROCEDURE dbo.x @a dbo.nosuch AS SELECT 1", []int32{2715}},
		{"CREATE PROCEDURE dbo.x AS\nSELECT CAST(1 AS nosuch)", []int32{243}},
		{"CREATE FUNCTION dbo.x (@a nosuch) RETURNS int AS BEGIN RETURN 1 END", []int32{2715}},
		{"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN\nDECLARE @a nosuch RETURN 1 END", []int32{2715}},
		{"CREATE FUNCTION dbo.x () RETURNS int AS BEGIN\nRETURN CONVERT(nosuch, 1) END", []int32{243}},
	})
	converse(t, connection(t, db), []say{
		{
			"CREATE PROCEDURE dbo.known @a dbo.phone, @b dbo.list READONLY, @c sysname = NULL AS DECLARE @d phone = @a, @e " +
				"dbo.list; SELECT CAST(@d AS varchar(5))",
			"ok",
		},
		{"CREATE PROCEDURE dbo.later AS CREATE TABLE #x (a nosuch)", "ok"},
	})
}
