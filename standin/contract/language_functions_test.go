// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestRecursionHasALimit follows docs/t-sql/queries/with-common-table-expression-transact-sql.md and
// hints-transact-sql-query.md, MAXRECURSION.
func TestRecursionHasALimit(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 101) SELECT COUNT(*) FROM n", "101"},
		{"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 102) SELECT COUNT(*) FROM n", "!530/16/1/1"},
		{"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n", "!530/16/1/1"},
		{
			"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT COUNT(*) FROM n OPTION " +
				"(MAXRECURSION 0)",
			"1000",
		},
		{
			"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT COUNT(*) FROM n OPTION " +
				"(MAXRECURSION 5)",
			"!530/16",
		},
		{
			"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT COUNT(*) FROM n OPTION " +
				"(MAXRECURSION 40000)",
			"!310/15",
		},
		{
			"CREATE TABLE kept (i int); WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) INSERT kept SELECT i FROM n",
			"!530/16",
		},
		{"SELECT COUNT(*) FROM kept", "0"},
	})
}

// TestNewerFunctions: DATE_BUCKET, GENERATE_SERIES, PERCENTILE_CONT and _DISC, JSON_OBJECT and JSON_ARRAY, bits,
// COMPRESS, AT TIME ZONE, FORMAT (docs/t-sql/functions).
func TestNewerFunctions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CONVERT(varchar(30), DATE_BUCKET(WEEK, 1, CAST('2020-04-30 21:21:21' AS datetime2(0))), 120), " +
				"CONVERT(varchar(30), DATE_BUCKET(MONTH, 2, CAST('2020-04-30' AS date)), 23), CONVERT(varchar(30), " +
				"DATE_BUCKET(HOUR, 6, CAST('2020-04-30 21:21:21' AS datetime2(0))), 120)",
			"2020-04-27 00:00:00 2020-03-01 2020-04-30 18:00:00",
		},
		{"SELECT DATE_BUCKET(DAY, 0, GETDATE())", "!9834/16"},
		{"SELECT DATE_BUCKET(NANOSECOND, 1, GETDATE())", "!9810/16"},
		{"SELECT value FROM GENERATE_SERIES(1, 10, 3)", "1; 4; 7; 10"},
		{"SELECT value FROM GENERATE_SERIES(3, 1)", "3; 2; 1"},
		{"SELECT COUNT(*) FROM GENERATE_SERIES(1, 0, 1)", "0"},
		{"SELECT value FROM GENERATE_SERIES(1, 10, 0)", "!4199/16"},
		{"SELECT value FROM GENERATE_SERIES(1, CAST(10 AS bigint))", "!5373/16"},
		{
			"CREATE TABLE pay (who varchar(5), grp int, amount money); INSERT pay VALUES ('a', 1, 10), ('b', 1, 20), ('c', " +
				"2, 40), ('d', 2, NULL), ('e', 1, 50)",
			"ok",
		},
		{
			"SELECT DISTINCT grp, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) OVER (PARTITION BY grp), " +
				"PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY amount) OVER (PARTITION BY grp) FROM pay ORDER BY grp",
			"1 20 20.0000; 2 40 40.0000",
		},
		{
			"SELECT DISTINCT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY amount DESC) OVER (), PERCENTILE_DISC(0.9) WITHIN " +
				"GROUP (ORDER BY who) OVER () FROM pay",
			"42.5 e",
		},
		{"SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) FROM pay", "!10753/15"},
		{"SELECT PERCENTILE_CONT(0.5) OVER () FROM pay", "!10754/15"},
		{
			"SELECT JSON_OBJECT('name':'v\"', 'n':1, 'x':NULL), JSON_ARRAY('a', 1, NULL), JSON_ARRAY('a', NULL NULL ON " +
				"NULL), JSON_OBJECT('a':JSON_ARRAY(1, 2) ABSENT ON NULL)",
			`{"name":"v\"","n":1,"x":null} ["a",1] ["a",null] {"a":[1,2]}`,
		},
		{
			"SELECT LEFT_SHIFT(1, 3), RIGHT_SHIFT(-1, 28), GET_BIT(5, 2), SET_BIT(0, 3), SET_BIT(15, 0, 0), 5 << 1, 16 >> 2",
			"8 15 true 8 14 10 4",
		},
		{
			"SELECT CAST(DECOMPRESS(COMPRESS('hello')) AS varchar(10)), LEFT(CONVERT(varchar(max), COMPRESS('x'), 2), 4)",
			"hello 1F8B",
		},
		{
			"SELECT CONVERT(varchar(40), CAST('2024-07-01 12:00' AS datetime2(0)) AT TIME ZONE 'Pacific Standard Time', " +
				"121), CONVERT(varchar(40), CAST('2024-01-01 12:00 +00:00' AS datetimeoffset(0)) AT TIME ZONE 'Central European " +
				"Standard Time', 121)",
			"2024-07-01 12:00:00 -07:00 2024-01-01 13:00:00 +01:00",
		},
		{"SELECT SYSDATETIME() AT TIME ZONE 'Nowhere Standard Time'", "!9820/16"},
		{
			"SELECT FORMAT(123456789, '###-##-####'), FORMAT(12345, '00-00000'), FORMAT(-1234567.891, '#,##0.00'), " +
				"FORMAT(5, '000')",
			"123-45-6789 00-12345 -1,234,567.89 005",
		},
	})
}

// TestChangesThatPickRows: TOP, .WRITE, MERGE TOP, IGNORE_DUP_KEY and SET DEFAULT
// (docs/t-sql/queries/update-transact-sql.md, docs/t-sql/statements/insert-transact-sql.md, merge-transact-sql.md,
// create-index-transact-sql.md, create-table-transact-sql.md).
func TestChangesThatPickRows(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL DEFAULT 1, note varchar(max), uni nvarchar(max))", "ok"},
		{"INSERT TOP (2) INTO item (id) VALUES (1), (2), (3)", "ok"},
		{"INSERT TOP (50) PERCENT INTO item (id) SELECT value FROM GENERATE_SERIES(11, 13)", "ok"},
		{"SELECT id FROM item ORDER BY id", "1; 2; 11; 12"},
		{"UPDATE TOP (30) PERCENT item SET n = 2; SELECT @@ROWCOUNT", "2"},
		{"DELETE TOP (10) PERCENT FROM item; SELECT @@ROWCOUNT", "1"},
		{"DELETE item; INSERT item VALUES (1, 1, 'This is a test', N'é𝄞x')", "ok"},
		{
			"UPDATE item SET note .WRITE('was', 5, 2), uni.WRITE(N'!', NULL, 0), n = 5 WHERE id = 1; SELECT n, note, " +
				"uni FROM item",
			"5 This was a test é𝄞x!",
		},
		{"UPDATE item SET uni.WRITE(N'-', 1, 2), note.WRITE(NULL, 4, NULL); SELECT note, uni FROM item", "This é-x!"},
		{"UPDATE item SET note.WRITE('x', 50, 1)", "!7116/16"},
		{"UPDATE item SET n.WRITE(1, 0, 1)", "!258/15"},
		{
			"MERGE TOP (1) INTO item USING (VALUES (30), (31)) AS s (id) ON item.id = s.id WHEN NOT MATCHED THEN INSERT (id) " +
				"VALUES (s.id); SELECT COUNT(*) FROM item WHERE id >= 30",
			"1",
		},
		{"CREATE TABLE once (a int, b int); CREATE UNIQUE INDEX ux ON once (a) WITH (IGNORE_DUP_KEY = ON)", "ok"},
		{"INSERT once VALUES (1, 1), (1, 2), (NULL, 3), (NULL, 4); SELECT @@ROWCOUNT", "2"},
		{"INSERT once (a, b) OUTPUT inserted.a SELECT 1, 5 UNION ALL SELECT 7, 7", "7"},
		{"SELECT a, b FROM once ORDER BY b", "1 1; NULL 3; 7 7"},
		{"UPDATE once SET a = 1 WHERE a = 7", "!2601/14"},
		{"CREATE INDEX wrong ON once (b) WITH (IGNORE_DUP_KEY = ON)", "!1916/16"},
		{"CREATE TABLE parent (id int PRIMARY KEY); INSERT parent VALUES (0), (1), (2)", "ok"},
		{
			"CREATE TABLE child (id int, p int DEFAULT 0 CONSTRAINT fk REFERENCES parent (id) ON DELETE SET DEFAULT ON " +
				"UPDATE SET DEFAULT); INSERT child VALUES (1, 1), (2, 2)",
			"ok",
		},
		{
			"DELETE parent WHERE id = 1; UPDATE parent SET id = 7 WHERE id = 2; SELECT id, p FROM child ORDER BY id",
			"1 0; 2 0",
		},
		{"DELETE parent WHERE id = 0", "!547/16"},
		{
			"SELECT delete_referential_action_desc, update_referential_action_desc FROM sys.foreign_keys",
			"SET_DEFAULT SET_DEFAULT",
		},
	})
}

// TestNumbersOfRows: docs/t-sql/queries/top-transact-sql.md, select-order-by-clause-transact-sql.md.
func TestNumbersOfRows(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"SELECT TOP (-1) name FROM sys.objects", "!127/15"},
		{"DECLARE @n int = -1; SELECT TOP (@n) name FROM sys.objects", "!127/15"},
		{"DECLARE @n int = 0; SELECT TOP (@n) 1", ""},
		{"SELECT value FROM GENERATE_SERIES(1, 5) ORDER BY value OFFSET -1 ROWS", "!10742/15"},
		{"SELECT value FROM GENERATE_SERIES(1, 5) ORDER BY value OFFSET 0 ROWS FETCH NEXT 0 ROWS ONLY", "!10744/15"},
		{
			"DECLARE @o int = 2, @f int = 2; SELECT value FROM GENERATE_SERIES(1, 5) ORDER BY value OFFSET @o ROWS FETCH " +
				"NEXT @f ROWS ONLY",
			"3; 4",
		},
		// Halves of statements leave the connection as it is.
		{"ALTER TABLE x ADD", "!156/15/1/1"},
		{"SELECT 1", "1"},
	})
}

// TestMessagesAndSchemas: docs/relational-databases/system-stored-procedures/sp-addmessage-transact-sql.md,
// docs/t-sql/statements/alter-schema-transact-sql.md.
func TestMessagesAndSchemas(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"EXEC sp_addmessage 70123, 16, N'Row %d of %s'", "ok"},
		{"RAISERROR(70123, 16, 2, 5, N'x')", "!70123/16/2/1"},
		{
			"BEGIN TRY RAISERROR(70123, 11, 1, 5, N'x') END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE() END CATCH",
			"70123 Row 5 of x",
		},
		{"EXEC sp_addmessage 70123, 16, N'again'", "!15043/16"},
		{"EXEC sp_addmessage 70123, 10, N'again', @replace = 'replace'", "ok"},
		{
			"SELECT message_id, language_id, severity, is_event_logged, text FROM sys.messages WHERE message_id = 70123",
			"70123 1033 10 false again",
		},
		{
			"SELECT severity, text FROM sys.messages WHERE message_id = 208 AND language_id = 1033",
			"16 Invalid object name '%s'.",
		},
		{"EXEC sp_addmessage 50000, 16, N'x'", "!15040/16"},
		{"EXEC sp_addmessage 70124, 26, N'x'", "!15041/16"},
		{"EXEC sp_dropmessage 70123", "ok"},
		{"EXEC sp_dropmessage 70123", "!15179/16"},
		{"RAISERROR(70123, 16, 1)", "!18054/16"},
		{"CREATE TABLE moved (id int PRIMARY KEY, CONSTRAINT ck CHECK (id > 0)); INSERT moved VALUES (1)", "ok"},
		{"CREATE SCHEMA other", "ok"},
		{"ALTER SCHEMA other TRANSFER dbo.moved; SELECT id FROM other.moved", "1"},
		{"SELECT SCHEMA_NAME(schema_id) FROM sys.objects WHERE name IN ('moved', 'ck')", "other; other"},
		{"SELECT * FROM dbo.moved", "!208/16"},
		{"ALTER SCHEMA nowhere TRANSFER other.moved", "!15151/16"},
		{"ALTER SCHEMA dbo TRANSFER OBJECT::other.nothing", "!15151/16"},
		{"CREATE TABLE dbo.moved (id int); ALTER SCHEMA dbo TRANSFER other.moved", "!15530/16"},
	})
}
