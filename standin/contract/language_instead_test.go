// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestInsteadOfTriggers follows docs/t-sql/statements/create-trigger-transact-sql.md.
func TestInsteadOfTriggers(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE item (id int PRIMARY KEY, name varchar(20) NOT NULL, cents int NULL); INSERT item VALUES (1, 'a', " +
				"100), (2, 'b', 200)",
			"ok",
		},
		{"CREATE TABLE seen (what varchar(3), id int, name varchar(20), price int)", "ok"},
		{"CREATE VIEW price AS SELECT id, name, cents / 100 AS price FROM item", "ok"},
		{"INSERT price (id, name, price) VALUES (3, 'c', 3)", "!4406/16"},
		{`CREATE TRIGGER price_insert ON price INSTEAD OF INSERT AS
			SET NOCOUNT ON
			INSERT item (id, name, cents) SELECT id, ISNULL(name, 'nameless'), price * 100 FROM inserted`, "ok"},
		{"INSERT price (id, price) VALUES (3, 3), (4, 4)", "ok"},
		{"SELECT @@ROWCOUNT", "2"},
		{"INSERT price SELECT id + 10, name, price FROM price WHERE id = 1", "ok"},
		{"SELECT id, name, cents FROM item WHERE id > 2 ORDER BY id", "3 nameless 300; 4 nameless 400; 11 a 100"},
		{`CREATE TRIGGER price_change ON price INSTEAD OF UPDATE, DELETE AS
			INSERT seen SELECT 'new', id, name, price FROM inserted
			INSERT seen SELECT 'old', id, name, price FROM deleted
			IF UPDATE(price) UPDATE item SET cents = i.price * 100 FROM item JOIN inserted AS i ON i.id = item.id`, "ok"},
		{"UPDATE price SET price = price + 1 WHERE id < 3", "ok"},
		{"SELECT what, id, price FROM seen ORDER BY what, id; DELETE seen", "new 1 2; new 2 3; old 1 1; old 2 2"},
		{"UPDATE p SET price = 9 FROM price AS p JOIN item ON item.id = p.id WHERE item.name = 'b'", "ok"},
		{"SELECT cents FROM item WHERE id = 2; DELETE seen", "900"},
		{"DELETE FROM price WHERE id = 1", "ok"},
		{"SELECT what, id FROM seen", "old 1"},
		{"SELECT COUNT(*) FROM item", "5"},
		{"CREATE TRIGGER second ON price INSTEAD OF INSERT AS RETURN", "!2111/16"},
		{"CREATE TRIGGER second ON price AFTER INSERT AS RETURN", "!8197/16"},
		// On a table, the trigger's own change of it is made.
		{
			"CREATE TRIGGER keeps ON item INSTEAD OF DELETE AS UPDATE item SET name = 'gone' WHERE id IN (SELECT id FROM " +
				"deleted); DELETE item WHERE id IN (SELECT id FROM deleted WHERE id > 10)",
			"ok",
		},
		{"DELETE item WHERE id IN (2, 11)", "ok"},
		{"SELECT id, name FROM item WHERE name = 'gone'", "2 gone"},
		{"SELECT COUNT(*) FROM item", "4"},
		{
			"SELECT name, is_instead_of_trigger FROM sys.triggers ORDER BY name",
			"keeps true; price_change true; price_insert true",
		},
		{"CREATE TRIGGER fails ON item INSTEAD OF UPDATE AS THROW 50001, 'no', 1", "ok"},
		{"UPDATE item SET name = 'x'", "!50001/16"},
		{"DROP VIEW price; SELECT COUNT(*) FROM sys.triggers", "2"},
	})
}

// TestMultiStatementFunctions follows docs/t-sql/statements/create-function-transact-sql.md.
func TestMultiStatementFunctions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE person (id int PRIMARY KEY, boss int NULL); INSERT person VALUES (1, NULL), (2, 1), (3, 2)", "ok"},
		{
			`CREATE FUNCTION dbo.squares (@n int, @from int = 1) RETURNS @r TABLE (n int, sq int NOT NULL DEFAULT 0 CHECK (sq >= 0), twice AS sq * 2, PRIMARY KEY (n)) WITH SCHEMABINDING AS
			BEGIN
				DECLARE @i int = @from
				WHILE @i <= @n BEGIN INSERT @r (n, sq) VALUES (@i, @i * @i) SET @i += 1 END
				IF @n > 100 RETURN
				UPDATE @r SET sq = -sq * -1
				RETURN
			END`,
			"ok",
		},
		{"SELECT * FROM dbo.squares(3, DEFAULT)", "1 1 2; 2 4 8; 3 9 18"},
		{"SELECT p.id, s.sq FROM person AS p CROSS APPLY dbo.squares(p.id, 2) AS s ORDER BY p.id, s.n", "2 4; 3 4; 3 9"},
		{`CREATE FUNCTION dbo.reports (@boss int) RETURNS @found TABLE (id int, level int) AS
			BEGIN
				WITH tree (id, level) AS (SELECT id, 0 FROM person WHERE id = @boss UNION ALL SELECT p.id, level + 1 FROM person AS p JOIN tree AS t ON p.boss = t.id)
				INSERT @found SELECT id, level FROM tree
				RETURN
			END`, "ok"},
		{
			"BEGIN TRANSACTION; INSERT person VALUES (4, 3); SELECT id, level FROM dbo.reports(2) ORDER BY level; ROLLBACK",
			"2 0; 3 1; 4 2",
		},
		{"SELECT COUNT(*) FROM person AS p JOIN dbo.reports(1) AS r ON r.id = p.id WHERE r.level > 0", "2"},
		{
			"ALTER FUNCTION dbo.reports (@boss int) RETURNS @found TABLE (id int) AS BEGIN INSERT @found SELECT id FROM " +
				"person WHERE boss = @boss RETURN END",
			"ok",
		},
		{"SELECT * FROM dbo.reports(1)", "2"},
		{"CREATE OR ALTER FUNCTION dbo.reports (@boss int) RETURNS @found TABLE (id int) AS BEGIN RETURN END", "ok"},
		{"SELECT COUNT(*) FROM dbo.reports(1)", "0"},
		{"SELECT * FROM dbo.squares(1)", "!313/16"},
		{"SELECT * FROM dbo.squares(1, 2, 3)", "!8144/16"},
		{"SELECT * FROM dbo.squares('x', 1)", "!245/16"},
		{"CREATE FUNCTION dbo.wrong () RETURNS @r TABLE (id int) AS BEGIN INSERT person VALUES (9, 1) RETURN END", "!443/16"},
		{"CREATE FUNCTION dbo.wrong () RETURNS @r TABLE (id int) AS BEGIN SELECT 1 RETURN END", "!444/16"},
		{"CREATE FUNCTION dbo.wrong () RETURNS @r TABLE (id int) AS BEGIN INSERT @r VALUES (1) END", "!455/16"},
		{"CREATE FUNCTION dbo.wrong () RETURNS @r TABLE (id int, id int) AS BEGIN RETURN END", "!2705/16"},
		{"CREATE FUNCTION dbo.wrong () RETURNS @r TABLE (id nothing) AS BEGIN RETURN END", "!2715/16"},
		{
			"CREATE FUNCTION dbo.total (@n int) RETURNS int AS BEGIN DECLARE @t TABLE (a int); INSERT @t SELECT sq FROM " +
				"dbo.squares(@n, 1); RETURN (SELECT SUM(a) FROM @t) END",
			"ok",
		},
		{"SELECT id, dbo.total(id) FROM person ORDER BY id", "1 1; 2 5; 3 14"},
		{
			"SELECT o.name, o.type_desc, c.name FROM sys.objects AS o JOIN sys.columns AS c ON c.object_id = o.object_id " +
				"WHERE o.type = 'TF' AND o.name = 'squares' ORDER BY c.column_id",
			"squares SQL_TABLE_VALUED_FUNCTION n; squares SQL_TABLE_VALUED_FUNCTION sq; squares SQL_TABLE_VALUED_FUNCTION twice",
		},
		{"DROP FUNCTION dbo.squares, dbo.reports", "ok"},
	})
}

// TestCommonTableExpressionsIntoTemporaryTables: where a statement runs is known only once its target is.
func TestCommonTableExpressionsIntoTemporaryTables(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE kept (id int); INSERT kept VALUES (1), (2)", "ok"},
		{
			"CREATE TABLE #t (id int); WITH c AS (SELECT id FROM kept) INSERT #t SELECT id * 10 FROM c; SELECT id FROM #t",
			"10; 20",
		},
		{
			"DECLARE @t TABLE (id int); WITH c AS (SELECT id FROM kept) INSERT @t SELECT id + 5 FROM c; SELECT id FROM @t",
			"6; 7",
		},
	})
}

// TestCursorsThatChangeRows follows docs/t-sql/language-elements/declare-cursor-transact-sql.md and the CURRENT OF of
// docs/t-sql/queries/update-transact-sql.md.
func TestCursorsThatChangeRows(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE item (id int PRIMARY KEY, name varchar(20)); INSERT item VALUES (1, 'a'), (2, 'b'), (3, 'c')", "ok"},
		{`DECLARE @id int
		DECLARE c CURSOR FOR SELECT id FROM item ORDER BY id FOR UPDATE OF name
		OPEN c
		FETCH NEXT FROM c INTO @id
		WHILE @@FETCH_STATUS = 0
		BEGIN
			IF @id = 2 DELETE FROM item WHERE CURRENT OF c
			ELSE UPDATE item SET name = name + CAST(@id AS varchar(5)) WHERE CURRENT OF c
			FETCH NEXT FROM c INTO @id
		END
		CLOSE c
		DEALLOCATE c
		SELECT id, name FROM item ORDER BY id`, "1 a1; 3 c3"},
		{
			"DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT id FROM item; OPEN c; FETCH c; DELETE item WHERE CURRENT OF c",
			"!16929/16",
		},
		{"DECLARE c CURSOR LOCAL FOR SELECT id FROM item; OPEN c; DELETE item WHERE CURRENT OF c", "!16931/16"},
		{"DELETE item WHERE CURRENT OF nothing", "!16916/16"},
		{
			"DECLARE @c CURSOR, @id int; SET @c = CURSOR SCROLL FOR SELECT id FROM item; OPEN @c; FETCH LAST FROM @c INTO " +
				"@id; SELECT @id, @@FETCH_STATUS; CLOSE @c; DEALLOCATE @c",
			"3 0",
		},
		{
			"DECLARE @c CURSOR, @d CURSOR, @id int; SET @c = CURSOR FOR SELECT id FROM item ORDER BY id; SET @d = @c; OPEN " +
				"@d; FETCH @c INTO @id; FETCH @d INTO @id; SELECT @id",
			"3",
		},
		{"DECLARE g CURSOR FOR SELECT id FROM item; DECLARE @c CURSOR; SET @c = g; OPEN @c; FETCH g; DEALLOCATE g", "1"},
	})
}
