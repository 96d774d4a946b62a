// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestNamesWithTooManyParts: no statement that defines or changes an object takes the name of a server before it, a
// type no database, a sequence and a synonym none either, and nothing is done (117, 166;
// docs/t-sql/language-elements/transact-sql-syntax-conventions-transact-sql.md, Multipart names, and the syntax of the
// statements' pages).
func TestNamesWithTooManyParts(t *testing.T) {
	t.Parallel()
	name := uniqueName("parts")
	db := connection(t, shared.open(t, ""))
	mustExec(t, db, "CREATE DATABASE "+name)
	t.Cleanup(func() { mustExec(t, shared.open(t, ""), "DROP DATABASE "+name) })
	far := "srv." + name + ".dbo."
	converse(t, db, []say{
		{"USE " + name, "ok"},
		{
			"CREATE TABLE t (a int IDENTITY, b int, INDEX i (b)); CREATE TABLE u (b int); CREATE TYPE own FROM int; CREATE " +
				"TYPE own_table AS TABLE (a int); INSERT t VALUES (1)",
			"ok",
		},
		{"CREATE TABLE " + far + "x (a int)", "!117/15/1/1"},
		{"SELECT 1 AS a INTO\n" + far + "x", "!117/15/1/1"},
		{"SELECT COUNT(*) FROM sys.objects WHERE name = 'x'", "0"},
		{"DROP TABLE IF EXISTS " + far + "t", "!117/15/1/1"},
		{"SELECT 1\nTRUNCATE TABLE " + far + "t", "!117/15/1/2"},
		{"ALTER TABLE " + far + "t ADD c int", "!117/15/1/1"},
		{"ALTER TABLE " + far + "t DROP COLUMN b", "!117/15/1/1"},
		{"ALTER TABLE " + far + "t ALTER COLUMN b bigint", "!117/15/1/1"},
		{"ALTER TABLE " + far + "t REBUILD", "!117/15/1/1"},
		{"ALTER TABLE " + far + "t NOCHECK CONSTRAINT ALL", "!117/15/1/1"},
		{"ALTER TABLE " + far + "t DISABLE TRIGGER ALL", "!117/15/1/1"},
		{"ALTER TABLE t SWITCH TO " + far + "u", "!117/15/1/1"},
		{"CREATE INDEX j ON " + far + "t (b)", "!117/15/1/1"},
		{"CREATE INDEX j ON a." + far + "t (b)", "!117/15/1/1"},
		{"ALTER INDEX i ON " + far + "t REBUILD", "!117/15/1/1"},
		{"DROP INDEX i ON " + far + "t", "!117/15/1/1"},
		{"CREATE STATISTICS s ON " + far + "t (b)", "!117/15/1/1"},
		{"UPDATE STATISTICS " + far + "t", "!117/15/1/1"},
		{"DISABLE TRIGGER ALL ON " + far + "t", "!117/15/1/1"},
		{"SET IDENTITY_INSERT " + far + "t ON", "!117/15/1/1"},
		{"INSERT a." + far + "t VALUES (2)", "!117/15/1/1"},
		{"DELETE a." + far + "t", "!117/15/1/1"},
		{"SELECT SUM(b), (SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('t')) FROM t", "1 2"},
		{"CREATE SYNONYM y FOR a." + far + "t", "!117/15/1/1"},
		{"CREATE SYNONYM " + name + ".dbo.y FOR t", "!166/15/1/1"},
		{"CREATE SEQUENCE " + name + ".dbo.q", "!166/15/1/1"},
		{"CREATE SEQUENCE q", "ok"},
		{"ALTER SEQUENCE " + name + ".dbo.q RESTART WITH 7", "!166/15/1/1"},
		{"SELECT NEXT VALUE FOR " + name + ".dbo.q", "-9223372036854775808"},
		{"CREATE TYPE " + name + ".dbo.other FROM int", "!117/15/1/1"},
		{"CREATE TYPE " + name + ".dbo.other AS TABLE (a int)", "!117/15/1/1"},
		{"DROP TYPE " + name + ".dbo.own", "!117/15/1/1"},
		{"DECLARE @a " + name + ".dbo.own", "!117/15/1/1"},
		{"DECLARE @a " + name + ".dbo.own_table", "!117/15/1/1"},
		{"CREATE TABLE x (a " + name + ".dbo.own)", "!117/15/1/1"},
		{"SELECT\nCAST(1 AS " + name + ".dbo.own)", "!117/15/1/2"},
		{"CREATE PROCEDURE p @a " + name + ".dbo.own_table READONLY AS SELECT 1", "!117/15/1/1"},
		{"DROP SCHEMA a.b", "!102/15/1/1"},
		{"CREATE TABLE " + name + ".dbo.x (a dbo.own); DROP TABLE " + name + "..x", "ok"},
		{"USE master", "ok"},
	})
}
