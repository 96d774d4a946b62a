// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// applied has a few rows that the tests of APPLY read.
var applied = []say{
	{
		"CREATE TABLE team (id int PRIMARY KEY, name varchar(10) NOT NULL, high int NOT NULL); INSERT team VALUES (1, " +
			"'red', 15), (2, 'blue', 6), (3, 'none', 0)",
		"ok",
	},
	{
		"CREATE TABLE score (id int PRIMARY KEY, team int NOT NULL, points int NOT NULL, who varchar(10) COLLATE " +
			"Latin1_General_BIN)",
		"ok",
	},
	{
		"INSERT score VALUES (1, 1, 10, 'ann'), (2, 1, 30, 'bob'), (3, 1, 20, 'ann'), (4, 2, 7, 'Ann'), (5, 1, 10, 'cid')",
		"ok",
	},
}

// TestApplyOfAnyQuery: what APPLY evaluates for each row of the left may be any query
// (docs/t-sql/queries/from-transact-sql.md, derived_table and APPLY; docs/t-sql/queries/select-transact-sql.md).
func TestApplyOfAnyQuery(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, applied)
	converse(t, db, []say{
		{
			"SELECT t.name, s.who, s.n, s.best FROM team t CROSS APPLY (SELECT who, COUNT(*) AS n, MAX(points) AS best FROM " +
				"score WHERE team = t.id GROUP BY who) s ORDER BY t.id, s.best",
			"red cid 1 10; red ann 2 20; red bob 1 30; blue Ann 1 7",
		},
		{
			"SELECT t.name, s.who FROM team t OUTER APPLY (SELECT who FROM score WHERE team = t.id GROUP BY who HAVING " +
				"SUM(points) > t.high + 10) s ORDER BY t.id, s.who",
			"red ann; red bob; blue NULL; none NULL",
		},
		{
			"SELECT t.name, s.points FROM team t CROSS APPLY (SELECT DISTINCT points FROM score WHERE team = t.id) s ORDER " +
				"BY t.id, s.points",
			"red 10; red 20; red 30; blue 7",
		},
		{
			"SELECT t.name, s.points FROM team t CROSS APPLY (SELECT DISTINCT TOP (2) points FROM score WHERE team = t.id " +
				"ORDER BY points) s ORDER BY t.id, s.points",
			"red 10; red 20; blue 7",
		},
		{
			"SELECT t.name, s.points FROM team t OUTER APPLY (SELECT points FROM score WHERE team = t.id ORDER BY points " +
				"DESC OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY) s ORDER BY t.id, s.points",
			"red 10; red 20; blue NULL; none NULL",
		},
		{
			"SELECT t.name, s.id FROM team t CROSS APPLY (SELECT TOP (1) WITH TIES id FROM score WHERE team = t.id ORDER BY " +
				"points) s ORDER BY t.id, s.id",
			"red 1; red 5; blue 4",
		},
		{
			"SELECT t.name, s.points FROM team t CROSS APPLY (SELECT TOP (50) PERCENT points FROM score WHERE team = t.id " +
				"ORDER BY points DESC) s ORDER BY t.id, s.points",
			"red 20; red 30; blue 7",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT points AS x FROM score WHERE team = t.id UNION SELECT " +
				"t.high) s ORDER BY t.id, s.x",
			"red 10; red 15; red 20; red 30; blue 6; blue 7; none 0",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT points FROM score WHERE team = t.id UNION ALL SELECT points " +
				"FROM score WHERE team = t.id AND points > 20) s (x) ORDER BY t.id, s.x",
			"red 10; red 10; red 20; red 30; red 30; blue 7",
		},
		{
			"SELECT t.name, s.x FROM team t OUTER APPLY (SELECT points AS x FROM score WHERE team = t.id EXCEPT SELECT " +
				"points FROM score WHERE points < t.high) s ORDER BY t.id, s.x",
			"red 20; red 30; blue 7; none NULL",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT points AS x FROM score WHERE team = t.id INTERSECT (SELECT " +
				"10 UNION SELECT t.high + 1)) s ORDER BY t.id",
			"red 10; blue 7",
		},
		{
			"SELECT t.name, s.n, s.best FROM team t OUTER APPLY (SELECT COUNT(*) AS n, MAX(points) AS best FROM score WHERE " +
				"team = t.id) s ORDER BY t.id",
			"red 4 30; blue 1 7; none 0 NULL",
		},
		{
			"SELECT t.name, s.n FROM team t CROSS APPLY (SELECT COUNT(*) AS n, t.high AS h FROM score WHERE team = t.id) s " +
				"ORDER BY t.id",
			"red 4; blue 1; none 0",
		},
		{
			"SELECT t.name, s.n FROM team t OUTER APPLY (SELECT COUNT(*) AS n FROM score WHERE team = t.id HAVING COUNT(*) > " +
				"1) s ORDER BY t.id",
			"red 4; blue NULL; none NULL",
		},
		{
			"SELECT t.name, s.id, s.n FROM team t CROSS APPLY (SELECT id, ROW_NUMBER() OVER (ORDER BY points DESC, id) AS n " +
				"FROM score WHERE team = t.id) s WHERE s.n <= 2 ORDER BY t.id, s.n",
			"red 2 1; red 3 2; blue 4 1",
		},
		{
			"SELECT t.name, s.id, s.total FROM team t CROSS APPLY (SELECT id, SUM(points) OVER (PARTITION BY who ORDER BY " +
				"id) AS total FROM score WHERE team = t.id) s ORDER BY t.id, s.id",
			"red 1 10; red 2 30; red 3 30; red 5 10; blue 4 7",
		},
		{
			"SELECT t.name, s.who, s.total FROM team t CROSS APPLY (SELECT who, SUM(points) AS total FROM score WHERE team = " +
				"t.id GROUP BY ROLLUP (who)) s WHERE t.id = 1 ORDER BY s.total, s.who",
			"red cid 10; red ann 30; red bob 30; red NULL 70",
		},
		{
			"SELECT t.name, s.who, d.x FROM team t CROSS APPLY (SELECT who, MIN(id) AS first FROM score WHERE team = t.id " +
				"GROUP BY who) s OUTER APPLY (SELECT id AS x FROM score WHERE id > s.first AND who = s.who UNION ALL SELECT " +
				"t.high WHERE s.who = 'bob') d ORDER BY t.id, s.who",
			"red ann 3; red bob 15; red cid NULL; blue Ann NULL",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT a.x FROM (SELECT DISTINCT points FROM score WHERE team = " +
				"t.id) q CROSS APPLY (SELECT q.points + t.high AS x UNION SELECT t.id) a) s WHERE t.id < 3 ORDER BY t.id, s.x",
			"red 1; red 1; red 1; red 25; red 35; red 45; blue 2; blue 13",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT d.points AS x FROM (SELECT points FROM score WHERE team = " +
				"t.id) d) s ORDER BY t.id, s.x",
			"red 10; red 10; red 20; red 30; blue 7",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT TOP (1) d.points AS x FROM (SELECT points FROM score WHERE " +
				"team = t.id) d ORDER BY d.points DESC) s ORDER BY t.id",
			"red 30; blue 7",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT a.id AS x FROM score a JOIN score b ON b.who = a.who AND " +
				"b.id <> a.id AND b.team = t.id) s ORDER BY t.id, s.x",
			"red 1; red 3",
		},
		{
			"SELECT t.name, s.x FROM team t OUTER APPLY (SELECT b.id + 1 AS x FROM team a RIGHT JOIN score b ON a.id = " +
				"b.team AND a.id = 2 WHERE b.team = t.id) s ORDER BY t.id, s.x",
			"red 2; red 3; red 4; red 6; blue 5; none NULL",
		},
		{
			"SELECT t.name, s.x, s.y FROM team t OUTER APPLY (SELECT 'is' AS x, d.n AS y FROM (SELECT COUNT(*) AS n, team " +
				"FROM score GROUP BY team) d WHERE d.team = t.id) s ORDER BY t.id",
			"red is 4; blue is 1; none NULL NULL",
		},
		{
			"WITH c AS (SELECT team, points FROM score), r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) " +
				"SELECT t.name, s.points, s.n FROM team t CROSS APPLY (SELECT c.points, MAX(r.n) AS n FROM c JOIN r ON r.n <= " +
				"c.team WHERE c.team = t.id GROUP BY c.points) s ORDER BY t.id, s.points",
			"red 10 1; red 20 1; red 30 1; blue 7 2",
		},
		{
			"SELECT t.name, s.x FROM team t CROSS APPLY (SELECT n FROM (VALUES (t.id), (t.high), (t.id)) AS v (n) GROUP BY " +
				"n) s (x) ORDER BY t.id, s.x",
			"red 1; red 15; blue 2; blue 6; none 0; none 3",
		},
		{
			"SELECT t.name, s.part FROM team t CROSS APPLY (SELECT DISTINCT value AS part FROM STRING_SPLIT(t.name, 'e')) s " +
				"ORDER BY t.id, s.part",
			"red d; red r; blue ; blue blu; none ; none non",
		},
		{
			"SELECT t.name, s.v FROM team t CROSS APPLY (SELECT SUM(CAST(value AS int)) AS v FROM OPENJSON('[' + CAST(t.high " +
				"AS varchar(9)) + ',1]')) s ORDER BY t.id",
			"red 16; blue 7; none 1",
		},
		{
			"SELECT t.name, s.v FROM (SELECT *, CAST('<a>' + name + '</a><a>x</a>' AS xml) AS x FROM team) t CROSS APPLY " +
				"(SELECT MAX(n.c.value('.', 'varchar(9)')) AS v FROM t.x.nodes('/a') n(c)) s ORDER BY t.id",
			"red x; blue x; none x",
		},
		{
			"SELECT t.name, s.list FROM team t OUTER APPLY (SELECT STUFF((SELECT ',' + who FROM score WHERE team = t.id " +
				"ORDER BY id FOR XML PATH('')), 1, 1, '') AS list UNION SELECT (SELECT id FROM score WHERE team = t.id FOR JSON " +
				"PATH)) s WHERE t.id = 2 ORDER BY 2",
			`blue [{"id":4}]; blue Ann`,
		},
		{
			"SELECT t.name, s.list FROM team t CROSS APPLY (SELECT STRING_AGG(who, ',') WITHIN GROUP (ORDER BY id DESC) AS " +
				"list FROM score WHERE team = t.id) s ORDER BY t.id",
			"red cid,ann,bob,ann; blue Ann; none NULL",
		},
		{
			"SELECT t.name, s.a, s.b FROM team t CROSS APPLY (SELECT [10] AS a, [30] AS b FROM (SELECT points, id FROM score " +
				"WHERE team = t.id) p PIVOT (COUNT(id) FOR points IN ([10], [30])) q) s WHERE t.id < 3 ORDER BY t.id",
			"red 2 1; blue 0 0",
		},
		{
			"SELECT name, (SELECT SUM(a.x) FROM team i CROSS APPLY (SELECT DISTINCT points + t.high AS x FROM score WHERE " +
				"team = i.id) a WHERE i.id = t.id) FROM team t ORDER BY id",
			"red 105; blue 13; none NULL",
		},
		{
			"SELECT name FROM team t WHERE EXISTS (SELECT * FROM team i CROSS APPLY (SELECT who FROM score WHERE team = i.id " +
				"GROUP BY who HAVING COUNT(*) > 1) a WHERE i.id = t.id)",
			"red",
		},
		{
			"SELECT l.name, s.x FROM team k LEFT JOIN (team l CROSS APPLY (SELECT 'x' AS x) s) ON l.id = k.id + 1 ORDER BY k.id",
			"blue x; none x; NULL NULL",
		},
		{
			"SELECT k.id, s.n FROM (team k CROSS APPLY (SELECT COUNT(*) AS n FROM score WHERE team = k.id GROUP BY team) s) " +
				"RIGHT JOIN team l ON l.id = k.id ORDER BY l.id",
			"1 4; 2 1; NULL NULL",
		},
		{
			"SELECT COUNT(*), MAX(s.n) FROM team t CROSS APPLY (SELECT COUNT(*) AS n FROM sys.columns c WHERE c.object_id = " +
				"OBJECT_ID('team') AND c.column_id >= t.id GROUP BY c.object_id) s",
			"3 3",
		},
		{
			"SELECT t.id, s.a FROM (SELECT 1 AS id, CAST(NULL AS float) AS f, 0x0102 AS b, CAST(1.5 AS decimal(9,2)) AS d, " +
				"CAST('2024-05-06' AS date) AS w, CAST('' AS varchar(3)) AS e, 0x AS z) t CROSS APPLY (SELECT CONCAT(t.f, '|', " +
				"CONVERT(varchar(9), t.b, 1), '|', t.d, '|', t.w, '|', t.e, '|', DATALENGTH(t.z)) AS a UNION SELECT NULL) " +
				"s ORDER BY 2",
			"1 NULL; 1 |0x0102|1.50|2024-05-06||0",
		},
		{
			"SELECT s.f, s.b, s.d, s.w, s.e, s.z FROM (SELECT CAST(2.5 AS float) AS f, 0x0102 AS b, CAST(1.5 AS " +
				"decimal(9,2)) AS d, CAST('2024-05-06' AS date) AS w, CAST('' AS varchar(3)) AS e, 0x AS z) t CROSS APPLY " +
				"(SELECT t.* UNION SELECT t.*) s",
			"2.5 0x0102 1.50 2024-05-06T00:00:00  0x",
		},
	})
}

// TestApplyTakesCountsFromTheLeft: TOP, OFFSET and FETCH may name columns from around their query
// (docs/t-sql/queries/top-transact-sql.md;
// docs/relational-databases/errors-events/database-engine-events-and-errors-4000-to-4999.md, 4115), and so may a
// qualified asterisk.
func TestApplyTakesCountsFromTheLeft(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, applied)
	converse(t, db, []say{
		{
			"SELECT t.id, s.id FROM team t CROSS APPLY (SELECT TOP (t.id) id FROM score ORDER BY id DESC) s ORDER BY t.id, s.id",
			"1 5; 2 4; 2 5; 3 3; 3 4; 3 5",
		},
		{
			"SELECT t.id, s.points FROM team t CROSS APPLY (SELECT DISTINCT TOP (t.id + 1) points FROM score ORDER BY " +
				"points) s ORDER BY t.id, s.points",
			"1 7; 1 10; 2 7; 2 10; 2 20; 3 7; 3 10; 3 20; 3 30",
		},
		{
			"SELECT t.id, s.id FROM team t OUTER APPLY (SELECT id FROM score ORDER BY id OFFSET t.id + 1 ROWS FETCH NEXT " +
				"t.id ROWS ONLY) s ORDER BY t.id, s.id",
			"1 3; 2 4; 2 5; 3 5",
		},
		{
			"SELECT t.id, s.id FROM team t OUTER APPLY (SELECT id FROM score UNION SELECT 9 ORDER BY id OFFSET t.id * 2 " +
				"ROWS) s ORDER BY t.id, s.id",
			"1 3; 1 4; 1 5; 1 9; 2 5; 2 9; 3 NULL",
		},
		{
			"SELECT t.id, s.id FROM team t CROSS APPLY (SELECT TOP (t.id * 20) PERCENT id FROM score ORDER BY id) s ORDER " +
				"BY t.id, s.id",
			"1 1; 2 1; 2 2; 3 1; 3 2; 3 3",
		},
		{
			"SELECT t.id, (SELECT SUM(id) FROM (SELECT TOP (t.id) id FROM score ORDER BY id) q) FROM team t ORDER BY t.id",
			"1 1; 2 3; 3 6",
		},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT TOP (team) id FROM score) s", "!4115/16/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT id FROM score ORDER BY id OFFSET score.team ROWS) s", "!4115/16/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT TOP (t.nothing) id FROM score) s", "!207/16/1"},
		{
			"SELECT s.name, s.n FROM team t CROSS APPLY (SELECT t.*, COUNT(*) AS n FROM score WHERE team = t.id) s " +
				"ORDER BY s.id",
			"red 4; blue 1; none 0",
		},
		{
			"SELECT (SELECT t.* FOR JSON PATH, WITHOUT_ARRAY_WRAPPER) FROM team t WHERE id = 1",
			`{"id":1,"name":"red","high":15}`,
		},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT x.* FROM score) s", "!107/15"},
	})
}

// TestApplyErrors: docs/relational-databases/errors-events/database-engine-events-and-errors-4000-to-4999.md and
// -8000-to-8999.md.
func TestApplyErrors(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, applied)
	converse(t, db, []say{
		{"SELECT t.id FROM team t CROSS APPLY (SELECT nothing FROM score GROUP BY nothing) s", "!207/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT id FROM score UNION SELECT t.nothing) s", "!207/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT DISTINCT z.id FROM score) s", "!4104/16/1/1"},
		{
			"SELECT t.id FROM team t CROSS APPLY (SELECT DISTINCT id FROM score a JOIN score b ON a.id = b.id) s",
			"!209/16/1/1",
		},
		{"SELECT id FROM team t CROSS APPLY (SELECT DISTINCT id FROM score) s", "!209/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT team, points FROM score GROUP BY team) s", "!8120/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT MAX(points) + points AS n FROM score) s", "!8120/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT COUNT(*) AS n FROM score GROUP BY t.id) s", "!164/15/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT MAX(t.id) AS n FROM score) s", "!4101/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT MAX(t.id) AS n) s", "!4101/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (VALUES (MAX(t.id))) s (n)", "!4101/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT id FROM score GROUP BY id HAVING MAX(t.id) > 1) s", "!4101/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT MAX(t.high + points) AS n FROM score) s", "!8124/16/1/1"},
		{"SELECT t.id, (SELECT SUM(t.high * points) FROM score) FROM team t", "!8124/16/1/1"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT DISTINCT 1 FROM score) s", "!8155/15"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT id, id FROM score UNION SELECT 1, 2) s", "!8156/15"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT id FROM score UNION SELECT 1, 2) s", "!205/16"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT DISTINCT id FROM score) s (a, b)", "!8159"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT DISTINCT id FROM score ORDER BY id) s", "!1033"},
		{"SELECT t.id FROM team t CROSS APPLY (SELECT DISTINCT id FROM score) t", "!1011"},
		{
			"SELECT t.id FROM team t CROSS APPLY (SELECT CAST(who AS int) AS n FROM score WHERE team = t.id GROUP BY who) s",
			"!245/16",
		},
		{"SELECT t.id FROM team t JOIN (SELECT DISTINCT id FROM score WHERE team = t.id) s ON 1 = 1", "!4104/16"},
		{"SELECT s.who FROM team t CROSS APPLY (SELECT DISTINCT who FROM score WHERE team = t.id) s WHERE s.who = 'ANN'", ""},
		{
			"SELECT s.who FROM team t CROSS APPLY (SELECT who FROM score WHERE team = t.id GROUP BY who) s ORDER BY s.who",
			"Ann; ann; bob; cid",
		},
		{
			"SELECT COUNT(DISTINCT s.who) FROM team t CROSS APPLY (SELECT who COLLATE Latin1_General_CI_AS AS who FROM score " +
				"WHERE team = t.id GROUP BY who) s",
			"3",
		},
	})
}

// TestApplyWhereverRowsComeFrom: a FROM clause with APPLY in statements other than SELECT, and in modules.
func TestApplyWhereverRowsComeFrom(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, applied)
	converse(t, db, []say{
		{
			"UPDATE t SET high = s.best FROM team t CROSS APPLY (SELECT MAX(points) AS best FROM score WHERE team = t.id " +
				"GROUP BY team) s",
			"ok",
		},
		{"SELECT id, high FROM team ORDER BY id", "1 30; 2 7; 3 0"},
		{
			"UPDATE t SET high = s.n OUTPUT deleted.high, inserted.high, s.n FROM team t OUTER APPLY (SELECT COUNT(*) AS n " +
				"FROM score WHERE team = t.id HAVING COUNT(*) > 0 UNION SELECT 100 WHERE t.id = 3) s WHERE t.id <> 1",
			"7 1 1; 0 100 100",
		},
		{
			"INSERT score (id, team, points, who) SELECT s.id, t.id, s.n, 'new' FROM team t CROSS APPLY (SELECT MAX(id) + 10 " +
				"* t.id AS id, COUNT(*) AS n FROM score) s",
			"ok",
		},
		{"SELECT id, team, points FROM score WHERE who = 'new' ORDER BY id", "15 1 5; 25 2 5; 35 3 5"},
		{
			"DELETE c OUTPUT deleted.id FROM score c CROSS APPLY (SELECT t.id FROM team t WHERE t.id = c.team GROUP BY t.id " +
				"HAVING c.who = 'new') s WHERE s.id > 1",
			"25; 35",
		},
		{
			"MERGE team AS t USING (SELECT k.id, s.n FROM team k CROSS APPLY (SELECT COUNT(*) AS n FROM score WHERE team = " +
				"k.id GROUP BY team UNION SELECT 77 WHERE k.id = 3) s) AS u ON u.id = t.id WHEN MATCHED THEN UPDATE SET " +
				"high = u.n;",
			"ok",
		},
		{"SELECT id, high FROM team ORDER BY id", "1 5; 2 1; 3 77"},
		{
			"UPDATE t SET high = s.total FROM team t CROSS APPLY (SELECT SUM(high) + t.id AS total FROM team UNION SELECT " +
				"SUM(high) + t.id FROM team) s",
			"ok",
		},
		{"SELECT id, high FROM team ORDER BY id", "1 84; 2 85; 3 86"},
		{"UPDATE team SET high = CASE id WHEN 1 THEN 5 WHEN 2 THEN 1 ELSE 77 END", "ok"},
		{
			"SELECT t.id, s.who INTO made FROM team t OUTER APPLY (SELECT who FROM score WHERE team = t.id GROUP BY who " +
				"HAVING COUNT(*) > 1) s",
			"ok",
		},
		{
			"SELECT m.id, m.who, c.is_nullable FROM made m JOIN sys.columns c ON c.object_id = OBJECT_ID('made') AND c.name " +
				"= 'who' ORDER BY m.id",
			"1 ann true; 2 NULL true; 3 NULL true",
		},
		{
			"CREATE VIEW bests AS SELECT t.id, s.best FROM team t CROSS APPLY (SELECT MAX(points) AS best, team FROM score " +
				"WHERE team = t.id GROUP BY team) s",
			"ok",
		},
		{"SELECT id, best FROM bests WHERE best > 7 ORDER BY id", "1 30"},
		{
			"CREATE FUNCTION dbo.ranked (@team int, @top int) RETURNS TABLE AS RETURN SELECT TOP (@top) who, COUNT(*) AS n " +
				"FROM score WHERE team = @team GROUP BY who ORDER BY COUNT(*) DESC, who",
			"ok",
		},
		{
			"SELECT t.id, r.who, r.n FROM team t CROSS APPLY dbo.ranked(t.id, t.id + 1) r ORDER BY t.id, r.n DESC, r.who",
			"1 ann 2; 1 bob 1; 2 Ann 1",
		},
		{"SELECT t.id FROM team t WHERE EXISTS (SELECT * FROM dbo.ranked(t.id, 5) WHERE n > 1)", "1"},
		{"SELECT t.id, (SELECT SUM(n) FROM dbo.ranked(t.id, 9)) FROM team t ORDER BY t.id", "1 5; 2 1; 3 NULL"},
		{
			"CREATE FUNCTION dbo.both (@team int) RETURNS TABLE AS RETURN SELECT points AS x FROM score WHERE team = @team " +
				"UNION SELECT high FROM team WHERE id = @team",
			"ok",
		},
		{"SELECT t.id, x FROM team t CROSS APPLY dbo.both(t.id) ORDER BY t.id, x", "1 5; 1 10; 1 20; 1 30; 2 1; 2 7; 3 77"},
		{
			"CREATE FUNCTION dbo.counted (@to int) RETURNS TABLE AS RETURN WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 " +
				"FROM r WHERE n < @to), o AS (SELECT n FROM r WHERE n % 2 = 1) SELECT n FROM o",
			"ok",
		},
		{"SELECT t.id, c.n FROM team t CROSS APPLY dbo.counted(t.id) c ORDER BY t.id, c.n", "1 1; 2 1; 3 1; 3 3"},
		{"SELECT t.id, (SELECT COUNT(*) FROM dbo.counted(t.id * 2)) FROM team t ORDER BY t.id", "1 1; 2 2; 3 3"},
		{"SELECT n FROM dbo.counted(4) ORDER BY n", "1; 3"},
		{
			"CREATE FUNCTION dbo.outer_one (@a int) RETURNS TABLE AS RETURN SELECT c.n, b.x FROM dbo.counted(@a) c CROSS " +
				"APPLY dbo.both(c.n) b WHERE b.x > @a",
			"ok",
		},
		{
			"SELECT t.id, o.n, o.x FROM team t OUTER APPLY dbo.outer_one(t.id + 1) o WHERE t.id <> 2 ORDER BY t.id, o.n, o.x",
			"1 1 5; 1 1 10; 1 1 20; 1 1 30; 3 1 5; 3 1 10; 3 1 20; 3 1 30; 3 3 77",
		},
		{
			"CREATE PROCEDURE listed @least int AS SELECT t.id, s.n FROM team t OUTER APPLY (SELECT COUNT(*) AS n FROM score " +
				"WHERE team = t.id AND points >= @least GROUP BY team) s ORDER BY t.id",
			"ok",
		},
		{"EXEC listed 20", "1 2; 2 NULL; 3 NULL"},
		{"EXEC listed 10", "1 4; 2 NULL; 3 NULL"},
		{
			"DECLARE @n int; SELECT @n = SUM(s.n) FROM team t CROSS APPLY (SELECT COUNT(DISTINCT who) AS n FROM score WHERE " +
				"team = t.id UNION ALL SELECT 1) s; SELECT @n",
			"8",
		},
		{
			"DECLARE c CURSOR FOR SELECT s.n FROM team t CROSS APPLY (SELECT COUNT(*) AS n FROM score WHERE team = t.id " +
				"GROUP BY team) s ORDER BY t.id; OPEN c; DECLARE @n int; FETCH NEXT FROM c INTO @n; CLOSE c; DEALLOCATE " +
				"c; SELECT @n",
			"5",
		},
		{
			"DECLARE @t TABLE (id int, n int); INSERT @t SELECT id, 1 FROM team; SELECT x.id, s.n FROM @t x CROSS APPLY " +
				"(SELECT SUM(n) AS n FROM @t y WHERE y.id <= x.id GROUP BY y.n) s ORDER BY x.id",
			"1 1; 2 2; 3 3",
		},
		{
			"SELECT t.id, s.n FROM team t CROSS APPLY (SELECT COUNT(*) AS n FROM tempdb.sys.objects o WHERE o.object_id = " +
				"t.id - 10 GROUP BY o.type) s",
			"",
		},
		{
			"BEGIN TRANSACTION; INSERT score VALUES (99, 3, 1, 'in'); SELECT s.n FROM team t CROSS APPLY (SELECT COUNT(*) AS " +
				"n FROM score WHERE team = t.id GROUP BY team) s WHERE t.id = 3; ROLLBACK",
			"1",
		},
	})
}

// TestCollationOfDerivedColumns: a value whose collation gives way does so as the column of a query, too
// (docs/t-sql/statements/collation-precedence-transact-sql.md).
func TestCollationOfDerivedColumns(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, applied)
	converse(t, db, []say{
		{"SELECT s.who FROM score s JOIN (SELECT 'ann' AS name) d ON d.name = s.who ORDER BY s.id", "ann; ann"},
		{"SELECT s.id FROM score s CROSS APPLY (SELECT 'Ann' AS name UNION ALL SELECT 'x') d WHERE d.name = s.who", "4"},
		{"WITH c AS (SELECT CONVERT(varchar(9), 'ANN') AS name) SELECT COUNT(*) FROM score s JOIN c ON c.name = s.who", "0"},
		{
			"SELECT COALESCE(d.a, s.who) FROM score s CROSS APPLY (SELECT CAST(NULL AS varchar(9)) AS a) d WHERE s.id = 4",
			"Ann",
		},
		{"SELECT t.id FROM team t JOIN score s ON s.who = t.name", "!468/16"},
		{"SELECT d.id FROM (SELECT id, name AS n FROM team) d JOIN score s ON s.who = d.n", "!468/16"},
		{"SELECT s.id FROM score s CROSS APPLY (VALUES ('Ann'), ('bob')) AS v (n) WHERE v.n = s.who ORDER BY s.id", "2; 4"},
		{"SELECT d.n FROM (SELECT name AS n FROM team UNION SELECT 'x') d JOIN score s ON s.who = d.n", "!468/16"},
		{"SELECT d.n FROM (SELECT UPPER(name) AS n FROM team) d JOIN score s ON s.who = d.n", "!468/16"},
		{"SELECT d.n FROM (SELECT name + 'x' AS n FROM team) d JOIN score s ON s.who = d.n", "!468/16"},
		{
			"SELECT d.n FROM (SELECT CASE WHEN id = 1 THEN name ELSE '' END AS n FROM team) d JOIN score s ON s.who = d.n",
			"!468/16",
		},
		{"SELECT d.n FROM (SELECT ISNULL(name, '') AS n FROM team) d JOIN score s ON s.who = d.n", "!468/16"},
		{"SELECT d.n FROM (SELECT MAX(name) AS n FROM team) d JOIN score s ON s.who = d.n", "!468/16"},
		{"SELECT d.n FROM (SELECT CAST(name AS nvarchar(20)) AS n FROM team) d JOIN score s ON s.who = d.n", "!468/16"},
		{
			"SELECT d.n FROM (SELECT v.n FROM team t CROSS APPLY (VALUES (t.name), ('x')) AS v (n)) d JOIN score s ON " +
				"s.who = d.n",
			"!468/16",
		},
		{"SELECT d.n FROM (SELECT LAG(name) OVER (ORDER BY id) AS n FROM team) d JOIN score s ON s.who = d.n", "!468/16"},
		{"SELECT d.n FROM (SELECT (SELECT name FROM team WHERE id = 1) AS n) d JOIN score s ON s.who = d.n", "!468/16"},
		{
			"SELECT COALESCE(d.n, e.n) FROM (SELECT 'a' COLLATE Latin1_General_BIN AS n) d, (SELECT name AS n FROM team) e " +
				"WHERE d.n = e.n",
			"!468/16",
		},
	})
}
