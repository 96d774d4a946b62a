// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestColumnsThatViewsUse goes by
// docs/relational-databases/system-information-schema-views/view-column-usage-transact-sql.md.
func TestColumnsThatViewsUse(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE t (id int PRIMARY KEY, g int, v int, twice AS v * 2, unused int); CREATE TABLE u (id int, note " +
				"varchar(9))",
			"",
		},
		{"CREATE VIEW direct AS SELECT id, twice FROM t WHERE g > 0", ""},
		{"CREATE VIEW joined AS SELECT t.v, (SELECT MAX(note) FROM u WHERE u.id = t.id) AS note FROM dbo.t AS t", ""},
		{"CREATE VIEW above (x) AS SELECT d.id FROM direct AS d", ""},
		{"CREATE VIEW every_one AS SELECT * FROM u", ""},
		{
			"SELECT VIEW_NAME, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.VIEW_COLUMN_USAGE ORDER BY VIEW_NAME, " +
				"TABLE_NAME, COLUMN_NAME",
			"above direct id; direct t g; direct t id; direct t twice; every_one u id; every_one u note; joined t id; joined " +
				"t v; joined u id; joined u note",
		},
		{
			"SELECT DISTINCT VIEW_CATALOG, VIEW_SCHEMA, TABLE_CATALOG, TABLE_SCHEMA, IIF(VIEW_CATALOG = DB_NAME(), 1, 0) " +
				"FROM INFORMATION_SCHEMA.VIEW_COLUMN_USAGE WHERE VIEW_CATALOG <> DB_NAME() OR TABLE_SCHEMA <> 'dbo'",
			"",
		},
	})
}

// TestTriggersOnViewsAreCompiled: the statements of an INSTEAD OF trigger on a view are judged when it is made, as
// those of a table's are (docs/t-sql/statements/create-trigger-transact-sql.md).
func TestTriggersOnViewsAreCompiled(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL)",
			"",
		}, {"CREATE VIEW shown AS SELECT id, v AS amount FROM t", ""},
		{"CREATE TRIGGER wrong ON shown INSTEAD OF INSERT AS SELECT v FROM inserted", "!207/16/1/1"},
		{"CREATE TRIGGER wrong ON shown INSTEAD OF INSERT AS\nINSERT t (id) SELECT id, amount FROM inserted", "!121/15/1/2"},
		{"SELECT COUNT(*) FROM sys.triggers", "0"},
		{
			"CREATE TRIGGER fine ON shown INSTEAD OF INSERT, DELETE AS BEGIN DELETE t WHERE id IN (SELECT id FROM deleted); " +
				"INSERT t SELECT id, amount FROM inserted; SELECT * FROM absent WHERE 1 = 0 END",
			"",
		},
		{
			"CREATE OR ALTER TRIGGER fine ON shown INSTEAD OF INSERT AS INSERT t SELECT id, ISNULL(amount, 7) FROM inserted",
			"",
		},
		{"INSERT shown (id) VALUES (1); SELECT v FROM t", "7"},
	})
}

// TestQueryStoreOfNewDatabases: it is ON
// (docs/relational-databases/performance/monitoring-performance-by-using-the-query-store.md, Enable the Query Store).
func TestQueryStoreOfNewDatabases(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"SELECT is_query_store_on FROM sys.databases WHERE database_id = DB_ID()", "true"},
		{"SELECT desired_state_desc, query_capture_mode_desc FROM sys.database_query_store_options", "READ_WRITE AUTO"},
		{"SELECT name FROM sys.databases WHERE is_query_store_on = 1 AND name IN ('master', 'tempdb', 'msdb')", ""},
	})
}
