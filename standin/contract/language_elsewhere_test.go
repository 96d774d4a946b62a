// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

// TestTablesOfAnotherDatabase changes tables by names of three parts: functions and sequences are looked up in the
// database that has the table (docs/t-sql/statements/alter-table-transact-sql.md, database_name;
// create-table-transact-sql.md).
func TestTablesOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	there := newDatabase(t)
	name := value(t, there, "SELECT DB_NAME()").(string)
	converse(t, connection(t, there), []say{
		{"CREATE TABLE dbo.t (a int, ab int, CONSTRAINT ck_ab CHECK (ab > 0)); INSERT dbo.t VALUES (1, 2)", "ok"},
		{"CREATE SEQUENCE dbo.s AS int START WITH 5", "ok"},
		{"CREATE FUNCTION dbo.twice(@a int) RETURNS int AS BEGIN RETURN 2 * @a END", "ok"},
	})
	here := connection(t, newDatabase(t))
	lines := []say{
		{"CREATE TABLE dbo.t (a int)", "ok"},
		{"ALTER TABLE there.dbo.t ADD c int NOT NULL DEFAULT NEXT VALUE FOR dbo.s", "ok"},
		{"ALTER TABLE there.dbo.t ADD d AS dbo.twice(a)", "ok"},
		{"ALTER TABLE there.dbo.t ADD CONSTRAINT ck_a CHECK (dbo.twice(a) < 1)", "!547"},
		{"ALTER TABLE there.dbo.t WITH NOCHECK ADD CONSTRAINT ck_a CHECK (dbo.twice(a) < 1)", "ok"},
		{"ALTER TABLE there.dbo.t ADD e int NULL DEFAULT dbo.twice(3) WITH VALUES", "ok"}, // whatever ck_a says of the rows
		{"SELECT a, ab, c, d, e FROM there.dbo.t", "1 2 5 2 6"},
		{"INSERT there.dbo.t (a) VALUES (0); SELECT a, c, d, e FROM there.dbo.t WHERE a = 0", "0 6 0 6"},
		{
			"UPDATE there.dbo.t SET e = 1 WHERE a = 0; UPDATE there.dbo.t SET e = DEFAULT WHERE a = 0; SELECT e FROM " +
				"there.dbo.t WHERE a = 0",
			"6",
		},
		{"ALTER TABLE there.dbo.t ADD f int NOT NULL DEFAULT NULL", "!515"},
		{"ALTER TABLE there.dbo.t DROP COLUMN ab", "!5074"},
		{"ALTER TABLE there.dbo.t ALTER COLUMN a bigint NULL", "!5074"}, // the column d reads it
		{
			"CREATE TABLE there.dbo.t2 (a int DEFAULT dbo.twice(4), b AS dbo.twice(a), CHECK (dbo.twice(a) > 0)); INSERT " +
				"there.dbo.t2 DEFAULT VALUES; SELECT a, b FROM there.dbo.t2",
			"8 16",
		},
		{"SELECT IIF(DB_NAME() = 'there', 1, 0), COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('dbo.t')", "0 1"},
	}
	for i := range lines {
		lines[i].text = strings.ReplaceAll(lines[i].text, "there.", name+".")
	}
	converse(t, here, lines)
}

// TestDroppedColumnOfChecks: a check holds the columns that it reads, and not those whose names are part of others
// (docs/t-sql/statements/alter-table-transact-sql.md, DROP COLUMN).
func TestDroppedColumnOfChecks(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int, ab int, txt varchar(10), CONSTRAINT ck CHECK (ab > 0 AND txt <> 'a'))", "ok"},
		{"ALTER TABLE t DROP COLUMN ab", "!5074"},
		{"ALTER TABLE t DROP COLUMN a", "ok"},
		{"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t') ORDER BY column_id", "ab; txt"},
	})
}

// TestKill: docs/t-sql/language-elements/kill-transact-sql.md, kill-query-notification-subscription-transact-sql.md.
// There are no distributed transactions and no subscriptions.
func TestKill(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	other := connection(t, db)
	spid := rowsText(query(t, other, "SELECT @@SPID"))
	converse(t, connection(t, db), []say{
		{"KILL 'D5499C66-E398-45CA-BF7E-DC9C194B48CF'", "!6110/16"},
		{"KILL 'D5499C66-E398-45CA-BF7E-DC9C194B48CF' WITH ROLLBACK", "!6110/16"},
		{"KILL 'D5499C66-E398-45CA-BF7E-DC9C194B48CF' WITH STATUSONLY", "!6121/16"},
		{"KILL " + spid + " WITH COMMIT", "!156/15"},
		{"KILL " + spid + " WITH STATUSONLY", "!6120/16"},
		{"SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = " + spid, "1"},
		{"BEGIN TRANSACTION; KILL " + spid, "!6115/16"},
		{"IF @@TRANCOUNT > 0 ROLLBACK", "ok"},
		{"KILL @@SPID", "!102/15"},
		{"KILL QUERY NOTIFICATION SUBSCRIPTION ALL", "ok"},
		{"KILL QUERY NOTIFICATION SUBSCRIPTION 73", "!9206/16"},
		{"KILL STATS JOB 53", "!40517"},
	})
}

// TestRowVersions: docs/t-sql/functions/dbts-transact-sql.md and min-active-rowversion-transact-sql.md.
func TestRowVersions(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT IIF(MIN_ACTIVE_ROWVERSION() = @@DBTS + 1, 1, 0)", "1"},
		{"CREATE TABLE t (a int, v rowversion); INSERT t (a) VALUES (1), (2)", "ok"},
		{"SELECT IIF(MAX(v) = @@DBTS, 1, 0), IIF(MIN_ACTIVE_ROWVERSION() = @@DBTS + 1, 1, 0) FROM t", "1 1"},
		{
			"BEGIN TRANSACTION; INSERT t (a) VALUES (3); SELECT IIF(MAX(v) = @@DBTS, 1, 0), IIF(MIN_ACTIVE_ROWVERSION() = " +
				"@@DBTS, 1, 0) FROM t",
			"1 1",
		},
		{"ROLLBACK; SELECT IIF(MAX(v) <= @@DBTS, 1, 0) FROM t", "1"},
	})
}

// TestRowsOfSourcesStay: what is no table and no view is not changed, and the refusal names it.
func TestRowsOfSourcesStay(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	for _, text := range []string{"DELETE OPENROWSET('SQLNCLI', 'a', 'select 1')",
		"UPDATE STRING_SPLIT('a,b', ',') SET value = 'c'",
		"DELETE OPENJSON('[1]')", "UPDATE OPENQUERY(x, 'select 1') SET a = 1"} {
		if e := failure(t, db, text); strings.Contains(e.Message, "ast.") || strings.Contains(e.Message, "TableReference") {
			t.Errorf("%s: %s", text, e.Message)
		}
	}
}

// TestSubqueriesOfGroupingSets: a subquery sees NULL for a column outside of the grouping set
// (docs/t-sql/queries/select-group-by-transact-sql.md).
func TestSubqueriesOfGroupingSets(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE TABLE v (a int, b int, c int); INSERT v VALUES (1, 2, 3), (1, 3, 4), (2, 2, 5); CREATE TABLE n (a int, " +
				"name varchar(5)); INSERT n VALUES (1, 'one'), (2, 'two'), (NULL, 'none')",
			"ok",
		},
		{
			"SELECT a, SUM(c), (SELECT name FROM n WHERE n.a = v.a) FROM v GROUP BY ROLLUP(a) ORDER BY GROUPING(a), a",
			"1 7 one; 2 5 two; NULL 12 NULL",
		},
		{
			"SELECT a, b, SUM(c), (SELECT MAX(name) FROM n WHERE n.a = v.a) FROM v GROUP BY GROUPING SETS ((a), (b)) ORDER " +
				"BY GROUPING(a), a, b",
			"1 NULL 7 one; 2 NULL 5 two; NULL 2 8 NULL; NULL 3 4 NULL",
		},
		{"SELECT a, (SELECT MAX(name) FROM n WHERE n.a = v.c) FROM v GROUP BY ROLLUP(a)", "!8120"},
	})
}
