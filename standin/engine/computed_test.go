// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestKeysOfComputedColumns: docs/relational-databases/indexes/indexes-on-computed-columns.md and
// docs/t-sql/statements/create-table-transact-sql.md.
func TestKeysOfComputedColumns(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec(
		"CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(20), low AS LOWER(name) UNIQUE, twice AS id * 2 " +
			"PERSISTED NOT NULL, CONSTRAINT positive CHECK (twice > 0))",
	)
	c.exec("CREATE UNIQUE INDEX by_twice ON t (twice DESC, name)")
	c.exec("INSERT t VALUES (1, 'Ann'), (2, 'Bob'), (3, NULL)")
	c.fails(2627, "INSERT t VALUES (4, 'BOB')")
	c.fails(2627, "INSERT t VALUES (5, NULL)")
	c.fails(547, "INSERT t VALUES (-6, 'x')")
	c.fails(2627, "UPDATE t SET name = 'ANN' WHERE id = 2")
	c.fails(40517, "UPDATE t SET name = CASE id WHEN 1 THEN 'Bob' ELSE 'Ann' END WHERE id < 3")
	c.exec("UPDATE t SET name = CASE id WHEN 1 THEN 'Cid' ELSE 'Ann' END WHERE id < 3")
	g.Expect(c.rows("SELECT id, low, twice FROM t ORDER BY low")).To(Equal([]string{"3|<nil>|6", "2|ann|4", "1|cid|2"}))
	g.Expect(c.rows("SELECT id FROM t WHERE low = 'cid'")).To(Equal([]string{"1"}))
	c.exec("DROP INDEX by_twice ON t")
	c.exec("ALTER TABLE t ADD third AS id + 3 PERSISTED NOT NULL, CONSTRAINT thirds UNIQUE (third)")
	c.fails(515, "ALTER TABLE t ADD fourth AS LEN(name) PERSISTED NOT NULL")
	c.exec(
		"UPDATE t SET name = 'Dan' WHERE id = 3; ALTER TABLE t ADD fourth AS LEN(name) PERSISTED NOT NULL CONSTRAINT long " +
			"CHECK (fourth > 2)",
	)
	c.fails(515, "INSERT t VALUES (7, NULL)")
	c.fails(547, "INSERT t VALUES (7, 'xy')")
	// What a column is computed from stays.
	c.fails(5074, "ALTER TABLE t ALTER COLUMN name varchar(40)")
	c.fails(5074, "ALTER TABLE t DROP COLUMN name")
	c.fails(15336, "EXEC sp_rename 't.name', 'called', 'COLUMN'")
	c.fails(15336, "EXEC sp_rename 't.twice', 'doubled', 'COLUMN'")
	c.exec("EXEC sp_rename 't.low', 'lower', 'COLUMN'; EXEC sp_rename 't.lower', 'low', 'COLUMN'")
	c.exec("CREATE TABLE k (a int NOT NULL, b AS ISNULL(a, 0) PRIMARY KEY, c int, d AS c * 2 PERSISTED NOT NULL)")
	c.exec("INSERT k VALUES (1, 1)")
	c.fails(2627, "INSERT k VALUES (1, 2)")
	c.fails(515, "INSERT k VALUES (2, NULL)")
	c.exec("ALTER TABLE k DROP COLUMN d; INSERT k VALUES (2, NULL)")
	// A computed value is judged when the row is written if it is persisted, and when it is read if not.
	c.exec("CREATE TABLE e (a int, b AS 10 / a PERSISTED, c AS 10 / (a - 1))")
	c.fails(8134, "INSERT e VALUES (0)")
	c.exec("INSERT e VALUES (1)")
	c.fails(8134, "SELECT c FROM e")
	c.exec("CREATE TABLE now_and_then (a int, at AS GETDATE()); INSERT now_and_then VALUES (1)")
	g.Expect(c.one("SELECT COUNT(*) FROM now_and_then WHERE at > '2020-01-01'")).To(Equal(int64(1)))
	c.exec(
		"CREATE TABLE moments (a int, who AS SYSTEM_USER, session AS @@SPID, at AS CURRENT_TIMESTAMP); INSERT " +
			"moments VALUES (1)",
	)
	g.Expect(c.rows("SELECT a, session - @@SPID FROM moments")).To(Equal([]string{"1|0"}))
	g.Expect(c.rows("SELECT a FROM moments WHERE who = SYSTEM_USER")).To(Equal([]string{"1"}))
}

// TestChecksThatKnowTheTime: a condition may name functions that are the same for all rows of a statement
// (docs/t-sql/statements/alter-table-table-constraint-transact-sql.md).
func TestChecksThatKnowTheTime(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec(
		"CREATE TABLE born (at datetime NOT NULL CHECK (at <= GETDATE()), who sysname CHECK (who = SYSTEM_USER), day date " +
			"CHECK (day < CAST(CURRENT_TIMESTAMP AS date)))",
	)
	c.exec("INSERT born VALUES ('2001-01-01', SYSTEM_USER, '2001-01-01')")
	for _, values := range []string{"'9001-01-01', SYSTEM_USER, '2001-01-01'", "'2001-01-01', 'somebody', '2001-01-01'",
		"'2001-01-01', SYSTEM_USER, '9001-01-01'"} {
		c.fails(547, "INSERT born VALUES ("+values+")")
	}
	c.fails(547, "ALTER TABLE born ADD CHECK (at > GETDATE())")
	c.exec("ALTER TABLE born ADD CHECK (at < SYSDATETIME())")
	c.fails(15336, "EXEC sp_rename 'born.at', 'moment', 'COLUMN'")
	c.fails(1046, "ALTER TABLE born ADD CHECK (at < (SELECT MAX(at) FROM born))")
	g.Expect(c.one("SELECT COUNT(*) FROM born")).To(Equal(int64(1)))
}

// TestComputedColumnsThatHaveNoKeys: what is not deterministic, not precise or not persisted.
func TestComputedColumnsThatHaveNoKeys(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec("CREATE FUNCTION plus (@x int) RETURNS int AS BEGIN RETURN @x + 1 END")
	c.exec(
		"CREATE TABLE t (a int, f float, s varchar(30), d datetime, at AS GETDATE(), word AS DATENAME(month, d), parsed " +
			"AS CAST(s AS datetime), styled AS CONVERT(datetime, s, 121), called AS dbo.plus(a), " +
			"half AS f / 2, chosen AS CASE f WHEN 0 THEN 1 ELSE 2 END, kept AS f * 2 PERSISTED, twice AS a * 2, big AS " +
			"CAST(s AS varchar(max)), week AS DATEPART(weekday, d))",
	)
	for _, column := range []string{"at", "word", "parsed", "called", "week"} {
		c.fails(2729, "CREATE INDEX i ON t ("+column+")")
		g.Expect(c.one("SELECT COLUMNPROPERTY(OBJECT_ID('t'), '"+column+"', 'IsDeterministic')")).To(Equal(int64(0)), column)
	}
	for _, column := range []string{"half", "chosen"} {
		c.fails(2799, "CREATE INDEX i ON t ("+column+")")
		g.Expect(c.rows("SELECT COLUMNPROPERTY(OBJECT_ID('t'), '"+column+"', 'IsDeterministic'), "+
			"COLUMNPROPERTY(OBJECT_ID('t'), '"+column+"', 'IsPrecise')")).
			To(Equal([]string{"1|0"}), column)
	}
	c.fails(1919, "CREATE INDEX i ON t (big)")
	for _, column := range []string{"kept", "twice", "styled"} {
		c.exec("CREATE INDEX by_" + column + " ON t (" + column + ") INCLUDE (half)")
	}
	c.fails(10610, "CREATE INDEX filtered ON t (a) WHERE twice > 1")
	for number, column := range map[int32]string{4936: "b AS GETDATE() PERSISTED", 1711: "b AS a * 2 PRIMARY KEY",
		1764: "b AS a * 2, CHECK (b > 0)", 8183: "b AS a * 2 CHECK (b > 0)"} {
		c.fails(number, "CREATE TABLE u (a int, "+column+")")
	}
	c.fails(8183, "CREATE TABLE u (a int, b AS ISNULL(a, 0) NOT NULL)")
	c.fails(1046, "DECLARE @x int; CREATE TABLE u (a int, b AS a + @x)")
	c.exec("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE u (a int, b AS a * 2 PERSISTED NOT NULL UNIQUE)")
	c.fails(1764, "CREATE TABLE v (a int, b AS a * 2, FOREIGN KEY (b) REFERENCES p (id))")
	c.fails(1765, "CREATE TABLE v (a int, b AS a * 2 PERSISTED REFERENCES p (id) ON DELETE SET NULL)")
	c.fails(1715, "CREATE TABLE v (a int, b AS a * 2 PERSISTED REFERENCES p (id) ON UPDATE CASCADE)")
	c.fails(40517, "CREATE TABLE v (a int PRIMARY KEY, b AS a * 2 PERSISTED REFERENCES v (a))")
}

// TestForeignKeysOfComputedColumns: a persisted one may refer to a key and be one that is referred to.
func TestForeignKeysOfComputedColumns(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec("CREATE TABLE p (id int PRIMARY KEY); INSERT p VALUES (2), (4), (6)")
	c.exec(
		"CREATE TABLE u (a int, b AS a * 2 PERSISTED NOT NULL CONSTRAINT uq UNIQUE CONSTRAINT fk REFERENCES p (id) ON " +
			"DELETE CASCADE)",
	)
	c.exec("INSERT u VALUES (1), (2)")
	c.fails(547, "INSERT u VALUES (5)")
	c.fails(547, "UPDATE u SET a = 7 WHERE a = 1")
	c.exec(
		"CREATE TABLE v (code varchar(9), low AS LOWER(code) PERSISTED, r int REFERENCES u (b)); INSERT v VALUES ('X', 2)",
	)
	c.fails(547, "INSERT v VALUES ('Y', 8)")
	c.fails(547, "UPDATE u SET a = 3 WHERE a = 1")
	c.fails(547, "DELETE FROM p WHERE id = 2")
	c.exec("DELETE FROM p WHERE id = 4; UPDATE u SET a = 1")
	g.Expect(c.rows("SELECT a, b FROM u")).To(Equal([]string{"1|2"}))
	c.exec(
		"CREATE TABLE w (r int REFERENCES u (b) ON UPDATE CASCADE); INSERT w VALUES (2); DELETE FROM v; UPDATE u SET a = 3",
	)
	g.Expect(c.rows("SELECT r FROM w")).To(Equal([]string{"6"}))
	c.exec("INSERT v VALUES ('X', 6)")
	c.exec("CREATE TABLE words (w varchar(9) PRIMARY KEY); INSERT words VALUES ('x')")
	c.exec("ALTER TABLE v ADD CONSTRAINT word FOREIGN KEY (low) REFERENCES words (w)")
	c.fails(547, "INSERT v VALUES ('Z', 6)")
	c.exec("ALTER TABLE v DROP CONSTRAINT word; INSERT v VALUES ('Z', 6)")
	c.fails(547, "ALTER TABLE v ADD CONSTRAINT word FOREIGN KEY (low) REFERENCES words (w)")
}

// TestOptionsOfComputedKeys: SET option requirements of the same page.
func TestOptionsOfComputedKeys(t *testing.T) {
	_, c := testDB(t)
	c.exec("CREATE TABLE t (a int, b AS a * 2); CREATE TABLE f (a int); CREATE INDEX i ON f (a) WHERE a > 1")
	c.fails(1934, "SET QUOTED_IDENTIFIER OFF; CREATE INDEX i ON t (b)")
	c.exec("SET QUOTED_IDENTIFIER ON; CREATE INDEX i ON t (b); INSERT t VALUES (1); INSERT f VALUES (1)")
	for _, option := range []string{"QUOTED_IDENTIFIER OFF", "ANSI_WARNINGS OFF", "NUMERIC_ROUNDABORT ON",
		"ANSI_NULLS OFF", "CONCAT_NULL_YIELDS_NULL OFF", "ANSI_PADDING OFF"} {
		c.exec("SET " + option)
		for _, statement := range []string{"INSERT t VALUES (2)", "UPDATE t SET a = 3", "DELETE FROM t",
			"INSERT f VALUES (2)"} {
			c.fails(1934, statement)
		}
		c.exec(
			"SELECT b FROM t; SET NUMERIC_ROUNDABORT OFF; SET QUOTED_IDENTIFIER, ANSI_WARNINGS, ANSI_NULLS, " +
				"CONCAT_NULL_YIELDS_NULL, ANSI_PADDING ON; INSERT t VALUES (9)",
		)
	}
	c.exec("SET ANSI_NULLS OFF; CREATE TABLE n (a int, b AS a * 2); SET ANSI_NULLS ON")
	c.fails(1935, "CREATE INDEX i ON n (b)")
}
