// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestApply follows docs/t-sql/queries/from-transact-sql.md (APPLY).
func TestApply(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE team (id int PRIMARY KEY, name varchar(10), low int, high int); CREATE TABLE score (id int " +
				"IDENTITY PRIMARY KEY, team int, points int)",
			"ok",
		},
		{
			"INSERT team VALUES (1, 'red', 1, 5), (2, 'blue', 2, 6), (3, 'none', 0, 0); INSERT score (team, points) VALUES " +
				"(1, 10), (1, 30), (1, 20), (2, 7)",
			"ok",
		},
		{
			"SELECT t.name, x.doubled FROM team t CROSS APPLY (SELECT t.high * 2 AS doubled) x ORDER BY t.id",
			"red 10; blue 12; none 0",
		},
		{
			"SELECT t.name, s.points FROM team t CROSS APPLY (SELECT points FROM score WHERE score.team = t.id AND points > " +
				"7) s ORDER BY t.id, s.points",
			"red 10; red 20; red 30",
		},
		{
			"SELECT t.name, s.points, s.what FROM team t OUTER APPLY (SELECT points, 'some' AS what FROM score WHERE " +
				"score.team = t.id AND points < 20) s ORDER BY t.id",
			"red 10 some; blue 7 some; none NULL NULL",
		},
		{
			"SELECT t.name, s.points FROM team t OUTER APPLY (SELECT TOP (2) points FROM score WHERE score.team = t.id ORDER " +
				"BY points DESC) s ORDER BY t.id, s.points",
			"red 20; red 30; blue 7; none NULL",
		},
		{
			"SELECT t.name, a.n, a.best FROM team t CROSS APPLY (SELECT COUNT(*) AS n, MAX(points) AS best FROM score WHERE " +
				"score.team = t.id) a ORDER BY t.id",
			"red 3 30; blue 1 7; none 0 NULL",
		},
		{
			"SELECT t.id, v.what, v.n FROM team t CROSS APPLY (VALUES ('low', t.low), ('high', t.high)) AS v (what, n) WHERE " +
				"t.id < 3 ORDER BY t.id, v.n",
			"1 low 1; 1 high 5; 2 low 2; 2 high 6",
		},
		{"SELECT t.id, p.value FROM team t CROSS APPLY STRING_SPLIT(t.name, 'e') p WHERE t.id = 1", "1 r; 1 d"},
		{"SELECT value, ordinal FROM STRING_SPLIT('a-b-c', '-', 1) ORDER BY ordinal DESC", "c 3; b 2; a 1"},
		{
			"CREATE FUNCTION dbo.scores (@team int, @least int) RETURNS TABLE AS RETURN (SELECT points FROM score WHERE team " +
				"= @team AND points >= @least)",
			"ok",
		},
		{
			"SELECT t.name, f.points FROM team t CROSS APPLY dbo.scores(t.id, t.high * 2) f ORDER BY f.points",
			"red 10; red 20; red 30",
		},
		{"SELECT points FROM dbo.scores(2, 0)", "7"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT nothing FROM score) s", "!207/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT 1) s", "!8155/15"},
		{"SELECT t.id FROM team t CROSS APPLY dbo.scores(t.id) s", "!313/16"},
		{"SELECT t.id FROM team t CROSS APPLY dbo.nothing(t.id) s", "!208/16"},
	})
}

// TestChangesThroughViews: docs/t-sql/statements/create-view-transact-sql.md (Updatable views).
func TestChangesThroughViews(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE item (id int IDENTITY PRIMARY KEY, name varchar(10) NOT NULL, price decimal(8,2) NULL, kind int " +
				"NULL); CREATE TABLE kind (id int PRIMARY KEY, word varchar(10))",
			"ok",
		},
		{
			"INSERT item (name, price, kind) VALUES ('a', 1, 1), ('b', 2, 1), ('a', 3, 2), ('c', NULL, NULL); INSERT kind " +
				"VALUES (1, 'one'), (2, 'two')",
			"ok",
		},
		{"CREATE VIEW cheap (number, label, cost) AS SELECT id, name, price FROM item WHERE price < 3", "ok"},
		{
			"CREATE VIEW named AS SELECT i.id, i.name, k.word, i.price * 2 AS twice FROM item i JOIN kind k ON k.id = i.kind",
			"ok",
		},
		{"UPDATE cheap SET cost = cost + 1 WHERE label = 'a'", "ok"},
		{"UPDATE named SET name = 'z' WHERE word = 'two'", "ok"},
		{"DELETE cheap WHERE number = 2", "ok"},
		{"INSERT cheap (label, cost) VALUES ('n', 2.5)", "ok"},
		{"SELECT id, name, price FROM item ORDER BY id", "1 a 2.00; 3 z 3.00; 4 c NULL; 5 n 2.50"},
		{"UPDATE named SET twice = 1", "!4406/16/1/1"},
		{"UPDATE named SET name = 'x', word = 'y'", "!4405/16/1/1"},
		{"DELETE named", "!4405/16/1/1"},
		{"UPDATE cheap SET nothing = 1", "!207/16/1/1"},
		{"CREATE VIEW counted AS SELECT kind, COUNT(*) AS n FROM item GROUP BY kind", "ok"},
		{"DELETE counted", "!4403/16/1/1"},
		{
			"WITH numbered AS (SELECT name, ROW_NUMBER() OVER (ORDER BY id DESC) AS n FROM item) DELETE numbered OUTPUT " +
				"deleted.name WHERE n = 1",
			"n",
		},
		{
			"WITH first AS (SELECT TOP (1) * FROM item ORDER BY price DESC) UPDATE first SET price = 9 OUTPUT deleted.price, " +
				"inserted.price",
			"3.00 9.00",
		},
		{"WITH unpriced AS (SELECT id, price FROM item WHERE price IS NULL) UPDATE unpriced SET price = 1", "ok"},
		{"SELECT name, price FROM item ORDER BY id", "a 2.00; z 9.00; c 1.00"},
		{"INSERT TOP (1) INTO item (name) SELECT 'top' FROM kind", "ok"},
		{
			"DECLARE @n varchar(10), @c int; UPDATE item SET @n = name, @c = 5, price = 0 WHERE name = 'top'; SELECT @n, " +
				"@c, @@ROWCOUNT",
			"top 5 1",
		},
		{"CREATE VIEW ordered AS SELECT id FROM item ORDER BY id", "!1033"},
		{"CREATE VIEW twice AS SELECT id, id FROM item", "!4506/16/1/1"},
		{"CREATE VIEW numbers AS WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i FROM n", "ok"},
		{"SELECT SUM(i) FROM numbers", "10"},
	})
}

// TestSequences: docs/t-sql/statements/create-sequence-transact-sql.md, alter-sequence-transact-sql.md.
func TestSequences(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE SEQUENCE s AS int START WITH 5 INCREMENT BY 2 MAXVALUE 9", "ok"},
		{"SELECT NEXT VALUE FOR s, NEXT VALUE FOR s", "5 5"},
		{"SELECT NEXT VALUE FOR s", "7"},
		{"ALTER SEQUENCE s RESTART WITH 9", "ok"},
		{"SELECT NEXT VALUE FOR s", "9"},
		{"SELECT NEXT VALUE FOR s", "!11728"},
		{"ALTER SEQUENCE s MAXVALUE 20 INCREMENT BY 1", "ok"},
		{"SELECT NEXT VALUE FOR s", "10"},
		{"ALTER SEQUENCE s RESTART", "ok"},
		{"SELECT NEXT VALUE FOR s", "5"},
		{"ALTER SEQUENCE s RESTART WITH 21", "!11703"},
		{"ALTER SEQUENCE nothing RESTART", "!15151"},
		{"SELECT CAST(increment AS int), CAST(maximum_value AS int) FROM sys.sequences", "1 20"},
	})
}

// TestCollate: docs/t-sql/statements/collations.md; COLLATE stands wherever an expression does.
func TestCollate(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE word (id int PRIMARY KEY, w varchar(10) COLLATE Latin1_General_CI_AS NOT NULL, b nvarchar(10) " +
				"COLLATE Latin1_General_BIN2 NOT NULL)",
			"ok",
		},
		{"INSERT word VALUES (1, 'b', 'b'), (2, 'A', 'A'), (3, 'B', 'B'), (4, 'a', 'a')", "ok"},
		{"SELECT w FROM word WHERE w = 'B' COLLATE Latin1_General_CS_AS", "B"},
		{"SELECT id FROM word WHERE w COLLATE Latin1_General_CS_AS = 'a' ORDER BY id", "4"},
		{"SELECT w FROM word ORDER BY w COLLATE Latin1_General_BIN", "A; B; a; b"},
		{"SELECT id FROM word WHERE b = N'a'", "4"},
		{"SELECT id FROM word WHERE b = w", "!468/16/9/1"},
		{"SELECT id FROM word WHERE b = w COLLATE Latin1_General_BIN2 ORDER BY id", "1; 2; 3; 4"},
		{
			"SELECT COUNT(DISTINCT w), COUNT(DISTINCT UPPER(w) COLLATE Latin1_General_CS_AS), COUNT(DISTINCT w COLLATE " +
				"Latin1_General_CS_AS) FROM word",
			"2 2 4",
		},
		{
			"DECLARE @v varchar(5) = 'A'; SELECT IIF(@v COLLATE Latin1_General_CS_AS = 'a', 1, 0), IIF(@v = 'a  ', 1, 0), " +
				"IIF((@v + 'x') COLLATE Latin1_General_CS_AS LIKE 'ax', 1, 0)",
			"0 1 0",
		},
		{"SELECT 'a' COLLATE Nothing_CI", "!448/16"},
		{"SELECT 1 WHERE 'a' = N'ä' COLLATE Latin1_General_CI_AI", "1"},
		{
			"SELECT w COLLATE Latin1_General_CS_AS AS k, COUNT(*) FROM word GROUP BY w COLLATE Latin1_General_CS_AS ORDER BY " +
				"w COLLATE Latin1_General_CS_AS DESC",
			"B 1; b 1; A 1; a 1",
		},
	})
}

// TestVariablesBeforeOperators: a select list that begins with a variable is no assignment
// (docs/t-sql/language-elements/modulo-transact-sql.md, bitwise-and-transact-sql.md).
func TestVariablesBeforeOperators(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"DECLARE @i int = 7; SELECT @i % 4, @i & 3, @i | 8, @i ^ 2", "3 3 15 5"},
		{"DECLARE @i int = 7; SELECT DISTINCT @i % 4 FROM sys.databases", "3"},
		{"DECLARE @i int = 7; SELECT TOP (1) @i % 4 FROM sys.databases", "3"},
		{"DECLARE @i int = 7; SELECT TOP 1 @i % 4 FROM sys.databases", "3"},
		{"SELECT @@OPTIONS / 128 % 2, @@TRANCOUNT & 1", "0 0"},
		{"DECLARE @i int = 7; SELECT @i %= 4; SELECT @i", "3"},
		{"DECLARE @i int = 7, @j int; SELECT @j = @i % 4; SET @j ^= 1; IF @j % 2 = 0 SELECT @j", "2"},
		{"DECLARE @i int = 7; IF (@i) % 4 = 3 AND (@i & 3) = 3 SELECT 1", "1"},
		{"DECLARE @i int = 7; SET @i %= 4; SET @i &= 2; SET @i |= 5; SELECT @i", "7"},
		{
			"SELECT name FROM sys.databases WHERE (database_id + 1) * 2 = 4 AND ((database_id) % 2 = 1 OR NOT (database_id - " +
				"1) + 1 > 0)",
			"master",
		},
		{
			"SELECT CASE WHEN (1 + 2) % 2 = 1 THEN 'odd' END, IIF((1 + 2) / 2 = 1, 'y', 'n'), CASE WHEN (1 + 2) IN (3, 4) " +
				"AND (1 + 2) BETWEEN 1 AND 5 AND ('a' + 'b') LIKE 'a%' AND (NULL) IS NULL THEN 'all' END",
			"odd y all",
		},
		{"SELECT 'y' WHERE ((1 = 1)) AND (((2)) = 2) AND ((1 + 2) * 2) > 5 AND ((SELECT 3)) <> 4", "y"},
		{"CREATE TABLE even (n int CHECK ((n + 2) % 2 = 0), CONSTRAINT c CHECK (((n) + 1) * 2 > 0))", "ok"},
		{"INSERT even VALUES (3)", "!547/16"},
		{
			"INSERT even VALUES (4); SELECT a.n FROM even AS a JOIN even AS b ON (a.n + 1) - 1 = b.n WHERE (a.n = 4) AND " +
				"(a.n) IS NOT NULL",
			"4",
		},
	})
}
