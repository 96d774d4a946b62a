// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestLookAround: what people type to see what is there (docs/relational-databases/system-stored-procedures).
func TestLookAround(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE parent (id int NOT NULL CONSTRAINT pk_parent PRIMARY KEY, code varchar(10) NOT NULL CONSTRAINT " +
				"uq_code UNIQUE)",
			"ok",
		},
		{
			"CREATE TABLE child (id int IDENTITY(5, 2) CONSTRAINT pk_child PRIMARY KEY, parent int NULL CONSTRAINT fk_parent " +
				"REFERENCES parent ON DELETE CASCADE, price decimal(8,2) NOT NULL CONSTRAINT df_price DEFAULT 1.5 CONSTRAINT " +
				"ck_price CHECK (price > 0), twice AS price * 2)",
			"ok",
		},
		{"CREATE INDEX ix_price ON child (price DESC) INCLUDE (parent) WHERE price > 5", "ok"},
		{"CREATE TRIGGER tr_child ON child AFTER DELETE AS RETURN", "ok"},
		{
			"DECLARE @t TABLE (name sysname, owner sysname, type nvarchar(31), created datetime); INSERT @t SELECT name, " +
				"SCHEMA_NAME(schema_id), type_desc, create_date FROM sys.objects WHERE name = 'child'; SELECT COUNT(*) FROM @t",
			"1",
		},
		{
			"EXEC sp_helpindex 'child'",
			"ix_price nonclustered located on PRIMARY price(-); pk_child clustered, unique, primary key located on PRIMARY id",
		},
		{"EXEC sp_helptrigger 'dbo.child'", "tr_child dbo 0 1 0 1 0 dbo"},
		{"EXEC sp_helpindex 'nothing'", "!15009/16/1"},
		{"EXEC sp_help 'nothing'", "!15009/16/1"},
		{"EXEC sp_helptext 'tr_child'", "CREATE TRIGGER tr_child ON child AFTER DELETE AS RETURN"},
		{
			"SELECT c.name, TYPE_NAME(c.user_type_id), c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity, " +
				"c.is_computed FROM sys.columns c WHERE c.object_id = OBJECT_ID('child') ORDER BY c.column_id",
			"id int 4 10 0 false true false; parent int 4 10 0 true false false; price decimal 5 8 2 false false false; " +
				"twice decimal 9 10 2 true false true",
		},
		{
			"SELECT f.name, OBJECT_NAME(f.referenced_object_id), f.delete_referential_action_desc FROM sys.foreign_keys f " +
				"WHERE f.parent_object_id = OBJECT_ID('child')",
			"fk_parent parent CASCADE",
		},
		{
			"SELECT name, type_desc, has_filter, filter_definition FROM sys.indexes WHERE object_id = OBJECT_ID('child') " +
				"ORDER BY index_id",
			"pk_child CLUSTERED false NULL; ix_price NONCLUSTERED true ([price]>(5))",
		},
		{
			"SELECT i.name, COL_NAME(c.object_id, c.column_id), c.is_descending_key, c.is_included_column FROM " +
				"sys.index_columns c JOIN sys.indexes i ON i.object_id = c.object_id AND i.index_id = c.index_id WHERE i.name = " +
				"'ix_price' ORDER BY c.index_column_id",
			"ix_price price true false; ix_price parent false true",
		},
		{
			"SELECT OBJECTPROPERTY(OBJECT_ID('child'), 'IsTable'), COL_LENGTH('parent', 'code'), TYPE_ID('int'), " +
				"OBJECT_ID('nothing'), IDENT_SEED('child'), IDENT_INCR('child')",
			"1 10 56 NULL 5 2",
		},
		{
			"SELECT DATABASEPROPERTYEX(DB_NAME(), 'Status'), SERVERPROPERTY('EngineEdition'), SERVERPROPERTY('nothing')",
			"ONLINE 3 NULL",
		},
		{
			"SELECT TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES ORDER BY TABLE_NAME",
			"child BASE TABLE; parent BASE TABLE",
		},
		{
			"SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.COLUMNS WHERE " +
				"TABLE_NAME = 'parent' ORDER BY ORDINAL_POSITION",
			"id int NO NULL; code varchar NO 10",
		},
		{
			"SELECT CONSTRAINT_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE ORDER BY 1, 2",
			"ck_price price; fk_parent parent; pk_child id; pk_parent id; uq_code code",
		},
		{"SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS", "ck_price ([price]>(0))"},
		{"SELECT name, length FROM syscolumns WHERE id = OBJECT_ID('parent') ORDER BY colid", "id 4; code 10"},
		{"SELECT COUNT(*) FROM sys.all_views WHERE name = 'objects'", "1"},
		{
			"SELECT IIF(COUNT(*) = (SELECT cpu_count FROM sys.dm_os_sys_info), 'all', 'some') FROM sys.dm_os_schedulers " +
				"WHERE status = 'VISIBLE ONLINE'",
			"all",
		},
		{"SELECT IIF(physical_memory_in_use_kb > 1000, 'some', 'none') FROM sys.dm_os_process_memory", "some"},
		{"BEGIN TRANSACTION mine; SELECT name, transaction_state FROM sys.dm_tran_active_transactions; ROLLBACK", "mine 2"},
		{
			"SELECT OBJECT_NAME(object_id), SUM(row_count) FROM sys.dm_db_partition_stats WHERE index_id < 2 AND object_id = " +
				"OBJECT_ID('child') GROUP BY object_id",
			"child 0",
		},
		{
			"SELECT session_id - @@SPID, is_user_process, transaction_isolation_level FROM sys.dm_exec_sessions WHERE " +
				"session_id = @@SPID",
			"0 true 2",
		},
	})
	for _, statement := range []string{"EXEC sp_help", "EXEC sp_help 'child'", "EXEC sp_helpconstraint 'child'",
		"EXEC sp_spaceused", "EXEC sp_spaceused 'child'", "EXEC sp_who2", "EXEC sp_helpfile", "EXEC sp_updatestats"} {
		if _, err := tryQuery(db, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestNumbersAndTimes: docs/t-sql/data-types (precision, scale and length; datetime2; smalldatetime; char and varchar).
func TestNumbersAndTimes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CAST(10 AS decimal(10,2)) / CAST(3 AS decimal(10,2)), CAST(1 AS decimal(38,10)) * CAST(1 AS " +
				"decimal(38,10)), 1.0 / 3, CAST(5 AS decimal(5,0)) + CAST(0.25 AS decimal(3,2))",
			"3.3333333333333 1.000000 0.333333 5.25",
		},
		{
			"SELECT CAST(1.25 AS decimal(3,1)), CAST(-1.25 AS decimal(3,1)), CAST(2.5 AS int), ROUND(123.456, 1), " +
				"ROUND(123.456, -1), ROUND(150.75, 0, 1), CAST(1.005 AS money)",
			"1.3 -1.3 2 123.500 120.000 150.00 1.0050",
		},
		{
			"SELECT CAST('2026-01-01 12:34:56.1234567' AS datetime2(3)), CAST('2026-01-01 23:59:59.9999999' AS " +
				"datetime2(3)), CAST('2026-01-01 12:34:56.998' AS datetime)",
			"2026-01-01T12:34:56.123 2026-01-02T00:00:00 2026-01-01T12:34:56.997",
		},
		{
			"SELECT CAST('2026-01-01 12:34:29.998' AS smalldatetime), CAST('2026-01-01 12:34:29.999' AS smalldatetime), " +
				"CAST('2026-01-01 12:34:30' AS smalldatetime)",
			"2026-01-01T12:34:00 2026-01-01T12:35:00 2026-01-01T12:35:00",
		},
		{
			"SELECT IIF('a' = 'A', 1, 0), IIF('a' = 'a   ', 1, 0), IIF('a' LIKE 'a ', 1, 0), LEN('a  '), DATALENGTH('a  '), " +
				"DATALENGTH(CAST('a' AS char(4)))",
			"1 1 0 1 3 4",
		},
		{
			"CREATE TABLE v (t tinyint NULL, s smallint NULL, d decimal(5,2) NULL, c varchar(3) NULL, b binary(2) NULL, m " +
				"smallmoney NULL)",
			"ok",
		},
		{"INSERT v (t) VALUES (256)", "!220/16"},
		{"INSERT v (s) VALUES (40000)", "!220/16"},
		{"INSERT v (d) VALUES (1000)", "!8115/16/8/1"},
		{"INSERT v (c) VALUES ('abcd')", "!2628/16/1/1"},
		{"INSERT v (m) VALUES (300000)", "!8115/16"},
		{"INSERT v (t) VALUES ('x')", "!245/16/1/1"},
		{"INSERT v (d) VALUES ('x')", "!8114/16/5/1"},
		{"SELECT CAST('2026-13-01' AS datetime)", "!242/16/3/1"},
		{"SELECT CAST('nonsense' AS datetime2)", "!241/16/1/1"},
		{"SELECT 2147483647 + 1", "!8115/16/2/1"},
		{"SELECT 1 / 0", "!8134/16/1/1"},
		{"SELECT COUNT(*) FROM v", "0"},
		{
			"DECLARE @c varchar(3) = 'abcdef', @d datetime2(0) = '2026-01-01 00:00:00.5'; SELECT @c, @d, " +
				"CONVERT(varchar(3), 12345)",
			"abc 2026-01-01T00:00:01 *",
		},
		{
			"SELECT TRY_CONVERT(int, 'x'), TRY_CAST('2026-02-30' AS date), CONVERT(varchar(10), CAST('2026-03-04' AS date), " +
				"101), CONVERT(varchar(30), CAST('2026-03-04 05:06:07.123' AS datetime), 126)",
			"NULL NULL 03/04/2026 2026-03-04T05:06:07.123",
		},
	})
}

// TestMisshapen: statements of which one half is missing, each refused as a whole.
// By docs/t-sql/statements/statements.md, docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func TestMisshapen(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	mustExec(t, db, "CREATE TABLE t (a int NULL, b int NULL)")
	mustExec(t, db, "CREATE TABLE marker (n int)")
	var list []say
	for _, one := range []say{
		{"SELECT * FROM t JOIN t u", "!102/15/1/3"},
		{"SELECT * FROM t JOIN t u WHERE 1 = 1", "!156/15/1/3"},
		{"SELECT * FROM (SELECT 1 AS a)", "!102/15/1/3"},
		{"SELECT CASE a END FROM t", "!156/15/1/3"},
		{"SELECT * FROM t WHERE a", "!4145/15/1/3"},
		{"IF 1 SELECT 1", "!4145/15/1/3"},
		{"SELECT a FROM t WHERE a =", "!102/15/1/3"},
		{"ALTER TABLE t ADD COLUMN c int", "!156/15/1/3"},
		{"CREATE INDEX i ON t", "!102/15/1/3"},
		{"CREATE TABLE made", "!102/15/1/3"},
		{"CREATE TABLE made ()", "!102/15/1/3"},
		{"CREATE UNKNOWN x", "!102/15"},
		{"INSERT t VALUES", "!156/15/1/3"},
		{"INSERT t (a, ) VALUES (1)", "!102/15/1/3"},
		{"CREATE PROCEDURE p AS SELECT 1", "!111/15/1/3"},
		{"UPDATE t SET", "!102/15/1/3"},
		{"SELECT DEFAULT", "!156/15/1/3"},
		{"SELECT (*) FROM t", "!102/15"},
		{"SELECT 'open", "!105/15/1/3"},
		{"SELECT 1 /* open", "!113/15/1/3"},
		{"SELECT 1 WITH c AS (SELECT 1 AS a) SELECT a FROM c", "!319"},
		{"SET NOCOUNT", "!102/15/1/3"},
		{"BEGIN SELECT 1", "!102/15/1/3"},
	} {
		list = append(list, say{"INSERT marker VALUES (1);\n\n" + one.text, one.want})
	}
	converse(t, db, append(list, say{"SELECT COUNT(*) FROM marker", "0"}))
}
