// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestMergeHints follows docs/t-sql/statements/merge-transact-sql.md: the hints of the target stand before its alias.
func TestMergeHints(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL)", "ok"},
		{
			"MERGE INTO stock WITH (HOLDLOCK) AS s USING (VALUES (1, 5)) AS v (id, n) ON s.id = v.id WHEN MATCHED THEN " +
				"UPDATE SET n = s.n + v.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n);",
			"ok",
		},
		{
			"MERGE dbo.stock WITH (UPDLOCK, SERIALIZABLE) s USING (SELECT 1 AS id) AS v ON s.id = v.id WHEN MATCHED THEN " +
				"UPDATE SET n += 1 OUTPUT $action, inserted.n;",
			"UPDATE 6",
		},
		{"MERGE stock WITH (HOLDLOCK) USING (SELECT 1 AS id) AS v ON stock.id = v.id WHEN MATCHED THEN DELETE;", "ok"},
		{"SELECT COUNT(*) FROM stock", "0"},
		{
			`MERGE INTO dbo.stock USING (SELECT 4 AS id, 1 AS n) AS v (id, n) ON (dbo.stock.id = v.id) WHEN MATCHED AND dbo.stock.n < 9 THEN UPDATE SET n = dbo.stock.n + v.n
			WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n) WHEN NOT MATCHED BY SOURCE AND dbo.stock.id > 5 THEN DELETE OUTPUT $action;`,
			"INSERT",
		},
	})
}

// TestNestedChange follows docs/t-sql/queries/from-transact-sql.md, <dml_table_source>.
func TestNestedChange(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL); INSERT stock VALUES (1, 10), (2, 0), (3, 7)", "ok"},
		{"CREATE TABLE gone (id int, what varchar(10) NOT NULL CHECK (what <> 'never'))", "ok"},
		{`INSERT INTO gone (id, what) SELECT id, act FROM
			(MERGE stock AS s USING (VALUES (1, -3), (2, 0), (4, 4)) AS v (id, n) ON s.id = v.id
			WHEN MATCHED AND s.n + v.n <= 0 THEN DELETE
			WHEN MATCHED THEN UPDATE SET n = s.n + v.n
			WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n)
			OUTPUT $action, COALESCE(deleted.id, inserted.id)) AS changes (act, id)
			WHERE act IN ('DELETE', 'INSERT')`, "ok"},
		{"SELECT @@ROWCOUNT", "2"},
		{"SELECT id, what FROM gone ORDER BY id", "2 DELETE; 4 INSERT"},
		{
			"INSERT gone SELECT d.id, 'out' FROM (DELETE stock OUTPUT deleted.id, deleted.n WHERE id = 3) AS d WHERE d.n > 5",
			"ok",
		},
		{"SELECT id FROM gone WHERE what = 'out'", "3"},
		// What the outer INSERT refuses, the nested change has not done either.
		{"INSERT gone SELECT id, 'never' FROM (UPDATE stock SET n = 0 OUTPUT inserted.id) AS u", "!547/16"},
		{"SELECT id, n FROM stock ORDER BY id", "1 7; 4 4"},
		{"SELECT * FROM (DELETE stock OUTPUT deleted.id) AS d", "!10729"},
		{"INSERT gone SELECT 1, 'x' FROM (DELETE stock) AS d", "!10726"},
	})
}

// TestKeysToTheirOwnTable: a foreign key has to hold when the statement ends, not between its rows.
func TestKeysToTheirOwnTable(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE person (id int PRIMARY KEY, boss int NULL CONSTRAINT fk_boss REFERENCES person (id))", "ok"},
		{"INSERT person VALUES (2, 1), (1, NULL), (3, 4), (4, 3)", "ok"},
		{"INSERT person VALUES (7, 6), (5, 8)", "!547/16"},
		{"INSERT person SELECT n, 9 FROM (VALUES (8), (9)) AS v (n)", "ok"},
		{"DELETE person WHERE id = 1", "!547/16"},
		{"DELETE person WHERE id IN (1, 2)", "ok"},
		{"UPDATE person SET boss = 5 WHERE id = 3", "!547/16"},
		{
			"BEGIN TRANSACTION; DELETE person WHERE id IN (3, 4); BEGIN TRY INSERT person VALUES (20, 21) END TRY BEGIN " +
				"CATCH SELECT ERROR_NUMBER() END CATCH; COMMIT",
			"547",
		},
		{"SELECT id, boss FROM person ORDER BY id", "8 9; 9 9"},
	})
}

// TestSequencesGiveEachRowAValue follows docs/t-sql/functions/next-value-for-transact-sql.md.
func TestSequencesGiveEachRowAValue(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE SEQUENCE s AS int START WITH 10 INCREMENT BY 10", "ok"},
		{"CREATE TABLE numbered (id int NOT NULL CONSTRAINT df_id DEFAULT NEXT VALUE FOR s, name varchar(5))", "ok"},
		{"INSERT numbered (name) VALUES ('a'), ('b')", "ok"},
		{"INSERT numbered (name) SELECT v FROM (VALUES ('c'), ('d')) AS x (v)", "ok"},
		{"INSERT numbered VALUES (NEXT VALUE FOR s, 'e'), (NEXT VALUE FOR s, 'f')", "ok"},
		{"SELECT id, name FROM numbered ORDER BY name", "10 a; 20 b; 30 c; 40 d; 50 e; 60 f"},
		{"SELECT NEXT VALUE FOR s OVER (ORDER BY name), name FROM numbered WHERE id > 40 ORDER BY name", "70 e; 80 f"},
		{"UPDATE numbered SET id = NEXT VALUE FOR s", "ok"},
		{"SELECT COUNT(DISTINCT id), MAX(id) FROM numbered", "6 140"},
		{"SELECT NEXT VALUE FOR s", "150"},
	})
}

// TestQuotedIdentifier follows docs/t-sql/statements/set-quoted-identifier-transact-sql.md.
func TestQuotedIdentifier(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{`CREATE TABLE "select" ("order" int); INSERT "select" VALUES (1); SELECT "order" FROM "select"`, "1"},
		{"SET QUOTED_IDENTIFIER OFF", "ok"},
		{`SELECT "it's", 'a "b"', "say ""so"""`, `it's a "b" say "so"`},
		{`SELECT "order" FROM "select"`, "!102/15/1/1"},
		{`CREATE TABLE kept (a varchar(10) CONSTRAINT df_a DEFAULT "it's", b int CHECK (b > 0 OR "x" = "y"))`, "ok"},
		{`CREATE PROCEDURE says AS SELECT "in the procedure"`, "ok"},
		{`SET QUOTED_IDENTIFIER ON`, "ok"},
		{`INSERT kept (b) VALUES (1); SELECT a FROM "kept"`, "it's"},
		{"EXEC says", "in the procedure"},
		{`SELECT "nothing"`, "!207/16/1/1"},
		{`SET QUOTED_IDENTIFIER OFF SELECT "x" AS a`, "x"},
		{`SET QUOTED_IDENTIFIER ON; SELECT 1 AS "x y"`, "1"},
	})
}

func TestKeysAndComputedColumns(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE line (total AS price * quantity, price int, quantity int)", "ok"},
		{"INSERT line (price, quantity) OUTPUT inserted.total VALUES (3, 4)", "12"},
		{"SELECT * FROM line", "12 3 4"},
		{"CREATE TABLE wrong (a int, b AS a + 1, c AS b + 1)", "!1759/16"},
		{"CREATE TABLE wrong (a int, PRIMARY KEY)", "!8135/16"},
		{"ALTER TABLE line ADD CONSTRAINT pk_line PRIMARY KEY", "!8135/16"},
		{"CREATE INDEX ix ON line (price); DROP INDEX dbo.line.ix", "ok"},
		{"DROP INDEX dbo.line.ix", "!3701/11/7/1"},
	})
}

// TestIndexesOnComputedColumns: docs/relational-databases/indexes/indexes-on-computed-columns.md. The indexes are there
// after a restore, too.
func TestIndexesOnComputedColumns(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	name := query(t, db, "SELECT DB_NAME()")[0][0].(string)
	converse(t, db, []say{
		{
			"CREATE TABLE sale (id int NOT NULL CONSTRAINT pk_sale PRIMARY KEY, price money NOT NULL, code varchar(10), " +
				"total AS price * 2 PERSISTED NOT NULL CONSTRAINT ck_total CHECK (total < 100), low AS LOWER(code), weight " +
				"float, heavy AS weight * 2)",
			"ok",
		},
		{"CREATE UNIQUE INDEX by_low ON sale (low) INCLUDE (total); CREATE INDEX by_total ON sale (total DESC)", "ok"},
		{"CREATE INDEX by_heavy ON sale (heavy)", "!2799/16/1"},
		{"CREATE TABLE wrong (at AS GETDATE() PERSISTED)", "!4936/16/1"},
		{"CREATE TABLE wrong (a int, b AS COALESCE(a, 0) PRIMARY KEY)", "!1711/16"},
		{"CREATE TABLE demo (a int, b AS ISNULL(a, 0) PRIMARY KEY); INSERT demo VALUES (NULL)", "ok"},
		{"INSERT demo VALUES (0)", "!2627/14/1"},
		{"INSERT sale (id, price, code) VALUES (1, 10, 'A'), (2, 20, 'b')", "ok"},
		{"INSERT sale (id, price, code) VALUES (3, 30, 'B')", "!2601/14/1"},
		{"INSERT sale (id, price, code) VALUES (3, 50, 'c')", "!547/16"},
		{"SET QUOTED_IDENTIFIER OFF; INSERT sale (id, price, code) VALUES (3, 1, 'c')", "!1934/16"},
		{"SET QUOTED_IDENTIFIER ON; SELECT id, low FROM sale WHERE total = 40", "2 b"},
		{
			"SELECT i.name, c.name, k.is_descending_key, k.is_included_column FROM sys.indexes i JOIN sys.index_columns k ON " +
				"k.object_id = i.object_id AND k.index_id = i.index_id JOIN sys.columns c ON c.object_id = k.object_id AND " +
				"c.column_id = k.column_id WHERE i.object_id = OBJECT_ID('sale') AND i.name LIKE 'by%' ORDER BY 1, 4",
			"by_low low false false; by_low total false true; by_total total true false",
		},
		{
			"SELECT COLUMNPROPERTY(OBJECT_ID('sale'), 'heavy', 'IsDeterministic'), COLUMNPROPERTY(OBJECT_ID('sale'), " +
				"'heavy', 'IsPrecise'), COLUMNPROPERTY(OBJECT_ID('sale'), 'low', 'IsPrecise'), " +
				"COLUMNPROPERTY(OBJECT_ID('sale'), 'id', 'IsPrecise')",
			"1 0 1 NULL",
		},
		{"ALTER TABLE sale DROP COLUMN code", "!5074/16"},
		{"BACKUP DATABASE " + name + " TO DISK = '" + name + ".bak'", "ok"},
		{"USE master; RESTORE DATABASE " + name + " FROM DISK = '" + name + ".bak' WITH REPLACE", "ok"},
		{"USE " + name + "; DBCC CHECKDB", "ok"},
		{"INSERT sale (id, price, code) VALUES (3, 30, 'B')", "!2601/14/1"},
		{"SELECT id FROM sale WHERE low = 'b'", "2"},
		{"DROP TABLE sale, demo", "ok"},
	})
}
