// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestFaultsOfClausesThatLackAPart goes by the syntax of the pages of the statements, hints-transact-sql-query.md and
// hints-transact-sql-table.md: nothing of such a batch is done.
func TestFaultsOfClausesThatLackAPart(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"DELETE dbo.t\nALTER TABLE dbo.t DISABLE TRIGGER", []int32{102}},
		{"DELETE dbo.t\nALTER TABLE dbo.t NOCHECK CONSTRAINT", []int32{102}},
		{"DELETE dbo.t\nALTER INDEX ALL ON dbo.t", []int32{102}},
		{"DELETE dbo.t\nALTER TABLE dbo.t ALTER INDEX i REBUILD WITH (STATISTICS_INCREMENTAL = OFF)", []int32{40517}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t OPTION (1)", []int32{102}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t OPTION (MAXDOP FOR)", []int32{156}},
		{"DELETE dbo.t\nSELECT id FROM dbo.t OPTION (MAXDOP 1 FAST 2)", []int32{102}},
		{"DELETE dbo.t;\nWITH c (a b) AS (SELECT id FROM dbo.t) SELECT * FROM c", []int32{102}},
		{"CREATE VIEW dbo.x AS GROUP id", []int32{156}},
		{"CREATE FUNCTION dbo.x () RETURNS TABLE = AS RETURN SELECT 1 AS a", []int32{102}},
		{"CREATE FUNCTION dbo.x () RETURNS int WITH AS BEGIN RETURN 1 END", []int32{156}},
		{"INSERT dbo.t WITH (HURRY) DEFAULT VALUES", []int32{321}},
		{"UPDATE dbo.t WITH (TABLOCK, HURRY) SET id = 1", []int32{321}},
		{"CREATE TABLE dbo.x (a int PRIMARY KEY WITH (MAXDOP = 1))", []int32{155}},
		{"CREATE TABLE dbo.x (a int PRIMARY KEY WITH PAD_INDEX)", []int32{102}},
		{"DELETE dbo.t\nALTER INDEX ALL ON dbo.t WITH (FILLFACTOR = 10)", []int32{102}},
		{"DELETE dbo.t\nALTER TABLE dbo.t WITH NOCHECK ADD CONSTRAINT", []int32{102}},
		{"DELETE dbo.t\nALTER TABLE dbo.t ADD CONSTRAINT ;", []int32{102}},
		{"CREATE SCHEMA x AUTHORIZATION", []int32{102}},
		{"CREATE SCHEMA AUTHORIZATION", []int32{102}},
		{"DELETE dbo.t\nRAISERROR (NULL, 16, 1)", []int32{156}},
		{"DELETE dbo.t\nRAISERROR (1., 16, 1)", []int32{102}},
		{"DELETE dbo.t\nRAISERROR ([a], 16, 1)", []int32{102}},
		{"DELETE dbo.t\nRAISERROR (-'a', 16, 1)", []int32{102}},
		{"DELETE dbo.t\nRAISERROR ('a', 16., 1)", []int32{102}},
		{"DELETE dbo.t\nRAISERROR ('a', 16, 'b')", []int32{102}},
		{"DELETE dbo.t\nRAISERROR ('a', 16, 1, 'b' + 'c')", []int32{102}},
		{"DELETE dbo.t WHERE 1 = 2; DECLARE @c CURSOR\nOPEN @c", []int32{16950}},
		{"DELETE dbo.t WHERE 1 = 2; DECLARE @c CURSOR\nFETCH NEXT FROM @c", []int32{16950}},
		{"DELETE dbo.t WHERE 1 = 2; DECLARE @c CURSOR\nCLOSE @c", []int32{16950}},
		{"DELETE dbo.t WHERE 1 = 2; DECLARE @c CURSOR\nDEALLOCATE @c", []int32{16950}},
	})
	mustExec(t, db, "CREATE USER reader WITHOUT LOGIN; GRANT SELECT, DELETE ON dbo.t TO reader")
	for text, number := range map[string]int32{"TRUNCATE TABLE dbo.t": 1088, "TRUNCATE TABLE dbo.nowhere": 4701} {
		NewWithT(t).Expect(failure(t, db, "EXECUTE ('"+text+"') AS USER = 'reader'").Number).To(Equal(number), text)
	}
}

// TestClausesThatAreWhole has what looks like those and is not.
func TestClausesThatAreWhole(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk PRIMARY KEY WITH FILLFACTOR = 80, n int CONSTRAINT c "+
			"CHECK (n > 0))",
	)
	mustExec(t, db, "INSERT INTO dbo.t WITH (TABLOCK, KEEPDEFAULTS) VALUES (1, 2)")
	mustExec(t, db, "UPDATE dbo.t WITH (ROWLOCK) SET n = 3 OPTION (MAXDOP 1, FAST 10)")
	mustExec(t, db, "DELETE FROM dbo.t WITH (PAGLOCK, HOLDLOCK) WHERE id = 7")
	mustExec(
		t,
		db,
		"ALTER TABLE dbo.t NOCHECK CONSTRAINT ALL; ALTER TABLE dbo.t WITH CHECK CHECK CONSTRAINT c; ALTER TABLE dbo.t "+
			"DISABLE TRIGGER ALL",
	)
	mustExec(
		t,
		db,
		"WITH a (x, y) AS (SELECT id, n FROM dbo.t), b (z) AS (SELECT x FROM a) SELECT z FROM b OPTION (MAXRECURSION 10, "+
			"USE HINT ('DISABLE_OPTIMIZED_NESTED_LOOP'))",
	)
	mustExec(t, db, "ALTER INDEX ALL ON dbo.t REBUILD WITH (MAXDOP = 1)")
	mustExec(t, db, "CREATE SCHEMA AUTHORIZATION dbo")
	mustExec(t, db, "DECLARE @s int = 1; RAISERROR ('%s %d %s', @s, -1, 'a', 2, NULL)")
	mustExec(t, db, "SET QUOTED_IDENTIFIER OFF; RAISERROR (\"quoted\", 1, 1)")
}
