// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestSwitchPartitions: rows go from a table into a partition, from partition to partition and out again, in one
// transaction, and identities stay as they are (docs/t-sql/statements/alter-table-transact-sql.md, SWITCH and Example
// "Switching partitions between tables").
func TestSwitchPartitions(t *testing.T) {
	t.Parallel()
	const parts = "SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('PartitionTable') AND " +
		"index_id < 2 ORDER BY 1"
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES (1, 100, 1000)", "ok"},
		{"CREATE PARTITION SCHEME s AS PARTITION f ALL TO ([PRIMARY])", "ok"},
		{"CREATE TABLE PartitionTable (col1 int, col2 char(10)) ON s (col1)", "ok"},
		{"CREATE TABLE NonPartitionTable (col1 int, col2 char(10)) ON [PRIMARY]", "ok"},
		{"INSERT PartitionTable VALUES (NULL, 'n'), (1, 'a'), (50, 'b'), (51, 'c'), (500, 'd'), (5000, 'e')", "ok"},
		{"ALTER TABLE PartitionTable SWITCH PARTITION 2 TO NonPartitionTable;", "ok"},
		{"SELECT col1 FROM NonPartitionTable ORDER BY 1", "50; 51"},
		{parts, "1 2; 2 0; 3 1; 4 1"},
		{"DECLARE @n smallint = 3; ALTER TABLE dbo.PartitionTable SWITCH PARTITION @n + 1 TO NonPartitionTable", "!4905/16"},
		{"ALTER TABLE NonPartitionTable SWITCH TO PartitionTable PARTITION $PARTITION.f(2)", "!4982/16"},
		{"ALTER TABLE NonPartitionTable ADD CHECK (col1 > 1 AND col1 <= 100)", "ok"},
		{
			"ALTER TABLE NonPartitionTable SWITCH TO PartitionTable PARTITION 2",
			"!4982/16",
		}, // NULL keeps the constraint, and is in partition 1
		{"ALTER TABLE NonPartitionTable ADD CHECK (col1 IS NOT NULL)", "ok"},
		{
			"BEGIN TRANSACTION; ALTER TABLE NonPartitionTable SWITCH TO PartitionTable PARTITION $PARTITION.f(2) WITH " +
				"(WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF)); ROLLBACK",
			"ok",
		},
		{parts, "1 2; 2 0; 3 1; 4 1"},
		{"ALTER TABLE NonPartitionTable SWITCH TO PartitionTable PARTITION 2; SELECT COUNT(*) FROM NonPartitionTable", "0"},
		{parts, "1 2; 2 2; 3 1; 4 1"},
		{"CREATE TABLE Other (col1 int, col2 char(10)) ON s (col1)", "ok"},
		{"INSERT Other VALUES (700, 'x')", "ok"},
		{"ALTER TABLE PartitionTable SWITCH PARTITION 3 TO Other PARTITION 3", "!4904/16"},
		{"ALTER TABLE PartitionTable SWITCH PARTITION 2 TO Other PARTITION 1", "!4973/16"},
		{
			"ALTER TABLE PartitionTable SWITCH PARTITION 1 TO Other PARTITION 1; SELECT ISNULL(col1, -1), col2 FROM " +
				"Other ORDER BY 1",
			"-1 n         ; 1 a         ; 700 x         ",
		},
		{"ALTER TABLE Other SWITCH PARTITION 3 TO PartitionTable", "!4911/16"},
		{"ALTER TABLE Other SWITCH TO PartitionTable PARTITION 3", "!4911/16"},
		{"ALTER TABLE Other SWITCH PARTITION 9 TO PartitionTable PARTITION 3", "!4950/16"},
		{"ALTER TABLE Other SWITCH PARTITION NULL TO PartitionTable PARTITION 3", "!4950/16"},
		{"ALTER TABLE Other SWITCH PARTITION 'a' TO PartitionTable PARTITION 3", "!4957/16"},
		{"ALTER TABLE Other SWITCH PARTITION 3 TO Other PARTITION 3", "!4955/16"},
		{"ALTER TABLE Other SWITCH PARTITION 3 TO nowhere", "!4902/16"},
		{"ALTER TABLE nowhere SWITCH PARTITION 3 TO Other", "!4902/16"},
		{"ALTER TABLE Other SWITCH PARTITION 3 TO tempdb.dbo.x", "!4948/16"},
		{"EXEC('CREATE VIEW v AS SELECT 1 AS a'); ALTER TABLE Other SWITCH PARTITION 3 TO v", "!4949/16"},
		{"ALTER TABLE Other SWITCH PARTITION 3", "!102/15"},
		{"ALTER TABLE Other SWITCH PARTITION TO NonPartitionTable", "!156/15"},
		{"ALTER TABLE Other SWITCH PARTITION 3 TO NonPartitionTable WITH (TRUNCATE_TARGET = ON)", "!102/15"},
		{
			"ALTER TABLE Other SWITCH PARTITION 3 TO NonPartitionTable WITH (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1, " +
				"ABORT_AFTER_WAIT = NOBODY))",
			"!102/15",
		},
		{
			"CREATE TABLE a (i int IDENTITY PRIMARY KEY, b AS i * 2 PERSISTED, x xml); CREATE TABLE b (i int IDENTITY(1, 5) " +
				"PRIMARY KEY, b AS i * 2 PERSISTED, x xml); INSERT a (x) VALUES ('<a/>'), ('<b/>'), (NULL)",
			"ok",
		},
		{"ALTER TABLE a SWITCH PARTITION 1 TO b", "ok"},
		{"SELECT i, b, CAST(x AS nvarchar(9)) FROM b ORDER BY i", "1 2 <a/>; 2 4 <b/>; 3 6 NULL"},
		{"INSERT a (x) VALUES ('<c/>'); SELECT i FROM a; ", "4"},
		{"SELECT IDENT_CURRENT('a')", "4"},
		{"ALTER TABLE #a SWITCH TO b", "!40517/16"},
	})
}

// TestSwitchNeedsTablesThatMatch goes by the preconditions of the page and of "Transferring Data Efficiently by Using
// Partition Switching".
func TestSwitchNeedsTablesThatMatch(t *testing.T) {
	t.Parallel()
	c := connection(t, newDatabase(t))
	for _, one := range []struct{ from, to, want string }{
		{"a int, b int", "a int", "!4943/16"},
		{"a int, b int", "a int, c int", "!4942/16"},
		{"a int, b int", "a int, b bigint", "!4944/16"},
		{"a int, b varchar(5)", "a int, b varchar(6)", "!4944/16"},
		{"a int, b varchar(5) COLLATE Latin1_General_BIN", "a int, b varchar(5)", "!4945/16"},
		{"a int, b int", "a int, b int NOT NULL", "!4961/16"},
		{"a int NOT NULL", "a int", "!4961/16"},
		{"a int, b AS a + 1", "a int, b int", "!4965/16"},
		{"a int, b AS a + 1", "a int, b AS a + 2", "!4966/16"},
		{"a int, b AS a + 1 PERSISTED", "a int, b AS a + 1", "!4946/16"},
		{"a uniqueidentifier ROWGUIDCOL", "a uniqueidentifier", "!4958/16"},
		{"a int NOT NULL PRIMARY KEY", "a int NOT NULL", "!4913/16"},
		{"a int NOT NULL", "a int NOT NULL PRIMARY KEY", "!4913/16"},
		{"a int NOT NULL PRIMARY KEY NONCLUSTERED", "a int NOT NULL UNIQUE NONCLUSTERED", "!4947/16"},
		{"a int, b int, INDEX i (a)", "a int, b int, INDEX i (b)", "!4947/16"},
		{"a int, b int, INDEX i (a)", "a int, b int, INDEX i (a DESC)", "!4947/16"},
		{"a int, b int, INDEX i (a)", "a int, b int, INDEX i (a) WHERE b > 1", "!4947/16"},
		{"a int, b int, INDEX i (a), INDEX j (b)", "a int, b int, INDEX k (b)", "ok"},
		{"a int REFERENCES k(k)", "a int", "ok"},
		{"a int", "a int REFERENCES k(k)", "!4968/16"},
		{"a int REFERENCES k(k)", "a int REFERENCES k(k)", "ok"},
		{"a int", "a int CHECK (a > 0)", "!4972/16"},
		{"a int CHECK (a > 0)", "a int CHECK (a > 0)", "ok"},
		{"a int CHECK (a BETWEEN 3 AND 7)", "a int CHECK (a > 0 OR a = -5)", "ok"},
		{"a int CHECK (a IN (3, 7))", "a int CHECK (a >= 3 AND NOT a > 7 AND a <> 5)", "ok"},
		{"a int CHECK (a >= 0)", "a int CHECK (a > 0)", "!4972/16"},
		{"a int CHECK (a > 0)", "a int CHECK (a IS NOT NULL)", "!4972/16"},
		{"a int NOT NULL CHECK (a > 0)", "a int NOT NULL CHECK (a IS NOT NULL)", "ok"},
		{"a int CHECK (a > 1)", "a int CHECK (a > 0.5)", "!4971/16"},
		{"a int, b int", "a int, b int, CHECK (a > b)", "!4970/16"},
		{"a int, b int, CHECK (a > b)", "a int, b int, CHECK (a > b)", "ok"},
		{"a datetime CHECK (a >= '20230101' AND a < '2023-02-01T00:00:00')", "a datetime CHECK (a >= '2022-12-31T00:00:00')",
			"ok"},
		{"a varchar(5) CHECK (a >= 'b')", "a varchar(5) CHECK (a >= 'B')", "ok"},
		{"a varchar(5) CHECK (a LIKE 'b%')", "a varchar(5) CHECK (a >= 'a')", "!4972/16"},
	} {
		converse(t, c, []say{
			{"DROP TABLE IF EXISTS a, b; DROP TABLE IF EXISTS k; CREATE TABLE k (k int PRIMARY KEY)", "ok"},
			{"CREATE TABLE a (" + one.from + "); CREATE TABLE b (" + one.to + ")", "ok"},
			{"/* " + one.from + " / " + one.to + " */ ALTER TABLE a SWITCH TO b", one.want},
		})
	}
	converse(t, c, []say{
		{
			"DROP TABLE IF EXISTS a, b; CREATE TABLE a (a int PRIMARY KEY); CREATE TABLE b (a int PRIMARY KEY); CREATE TABLE " +
				"r (a int REFERENCES a(a))",
			"ok",
		},
		{"ALTER TABLE a SWITCH TO b", "!4967/16"},
		{"DROP TABLE r; ALTER TABLE a REBUILD WITH (DATA_COMPRESSION = PAGE)", "ok"},
		{"ALTER TABLE a SWITCH TO b", "!11406/16"},
		{
			"ALTER TABLE b REBUILD WITH (DATA_COMPRESSION = PAGE); ALTER TABLE a WITH NOCHECK ADD CONSTRAINT c CHECK (a > " +
				"0); ALTER TABLE b ADD CONSTRAINT d CHECK (a > 0)",
			"ok",
		},
		{"ALTER TABLE a SWITCH TO b", "!4960/16"},
		{"ALTER TABLE a WITH CHECK CHECK CONSTRAINT c", "ok"},
		{"ALTER TABLE a SWITCH TO b", "ok"},
		{
			"CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (10); CREATE PARTITION SCHEME s AS PARTITION f ALL " +
				"TO ([PRIMARY])",
			"ok",
		},
		{
			"CREATE TABLE p (x int NOT NULL, y int NOT NULL) ON s(x); CREATE TABLE q (x int NOT NULL, y int NOT NULL) ON s(y)",
			"ok",
		},
		{"ALTER TABLE p SWITCH PARTITION 1 TO q PARTITION 1", "!4953/16"},
		{"CREATE TABLE n (x int NOT NULL, y int NOT NULL, CHECK (x < 10)); CREATE INDEX i ON p (y) ON [PRIMARY]", "ok"},
		{"ALTER TABLE n SWITCH TO p PARTITION 1", "!4906/16"},
		{
			"DROP INDEX i ON p; INSERT n VALUES (1, 2), (3, 4); ALTER TABLE n SWITCH TO p PARTITION 1; SELECT SUM(x) FROM p",
			"4",
		},
		{"ALTER TABLE p SWITCH PARTITION 1 TO n; ALTER TABLE n ADD CHECK (y > 0)", "ok"},
		{"ALTER TABLE p SWITCH PARTITION 2 TO n", "!4972/16"},
		{"GRANT ALTER ON a TO public; CREATE USER u WITHOUT LOGIN; TRUNCATE TABLE b", "ok"},
		{"EXECUTE AS USER = 'u'; ALTER TABLE a SWITCH TO b", "!229/14"},
		{"REVERT", "ok"},
	})
}

// TestSwitchWithinFileGroups: source and target have to be in the same file group, which can be written.
func TestSwitchWithinFileGroups(t *testing.T) {
	t.Parallel()
	admin, name := shared.open(t, ""), uniqueName("sw")
	mustExec(
		t,
		admin,
		fileText(
			t,
			admin,
			name,
			`CREATE DATABASE [<name>] ON (NAME = a, FILENAME = '<path>.mdf'), FILEGROUP g1 (NAME = f1, FILENAME = '<path>_1.ndf'), FILEGROUP g2 (NAME = f2, FILENAME = '<path>_2.ndf')`,
		),
	)
	dropLater(t, admin, name)
	db := shared.open(t, name)
	defer db.Close()
	converse(t, connection(t, db), []say{
		{
			"CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (10); CREATE PARTITION SCHEME s AS PARTITION f TO " +
				"(g1, g2); CREATE PARTITION SCHEME r AS PARTITION f TO (g2, g1)",
			"ok",
		},
		{
			"CREATE TABLE p (x int NOT NULL) ON s(x); CREATE TABLE q (x int NOT NULL) ON r(x); CREATE TABLE n1 (x int NOT " +
				"NULL) ON g1; CREATE TABLE n2 (x int NOT NULL) ON g2; INSERT p VALUES (1), (10)",
			"ok",
		},
		{"ALTER TABLE p SWITCH PARTITION 1 TO q PARTITION 1", "!4938/16"},
		{"ALTER TABLE p SWITCH PARTITION 1 TO n2", "!4939/16"},
		{"ALTER TABLE n1 SWITCH TO n2", "!4940/16"},
		{"ALTER TABLE p SWITCH PARTITION 2 TO n2; SELECT x FROM n2", "10"},
		{"ALTER DATABASE CURRENT MODIFY FILEGROUP g1 READ_ONLY", "ok"},
		{"ALTER TABLE p SWITCH PARTITION 1 TO n1", "!4978/16"},
	})
}

// TestSwitchSurvives: what was switched is in the log.
func TestSwitchSurvives(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "switched")
	mustExec(
		t,
		db,
		"CREATE TABLE a (i int PRIMARY KEY); CREATE TABLE b (i int PRIMARY KEY); INSERT a VALUES (1), (2); ALTER TABLE a "+
			"SWITCH TO b; INSERT a VALUES (3)",
	)
	db.Close()
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	g.Expect(query(t, i.open(t, "switched"), "SELECT 'a', i FROM a UNION ALL SELECT 'b', i FROM b ORDER BY 1, 2")).
		To(Equal([][]any{{"a", int64(3)}, {"b", int64(1)}, {"b", int64(2)}}))
}
