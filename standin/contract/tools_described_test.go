// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestColumnsOfFunctionsAndProcedures: the columns of table-valued functions are in sys.columns and
// INFORMATION_SCHEMA.ROUTINE_COLUMNS, a procedure is described without its arguments, and what cannot be described says
// why (docs/relational-databases/system-catalog-views/sys-columns-transact-sql.md,
// docs/relational-databases/system-information-schema-views/routine-columns-transact-sql.md, docs/relational-databases/
// system-dynamic-management-views/sys-dm-exec-describe-first-result-set-for-object-transact-sql.md,
// docs/t-sql/statements/set-fmtonly-transact-sql.md).
func TestColumnsOfFunctionsAndProcedures(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TYPE own FROM varchar(7)", "ok"},
		{"CREATE PROCEDURE p @a int, @b own AS SELECT @a AS x, @b AS y", "ok"},
		{"CREATE FUNCTION tf () RETURNS @t TABLE (a int NOT NULL, b decimal(9, 2)) AS BEGIN RETURN END", "ok"},
		{"CREATE FUNCTION fi (@n int) RETURNS TABLE AS RETURN (SELECT @n AS a, N'x' AS b)", "ok"},
		{
			"SELECT OBJECT_NAME(object_id), column_id, name, TYPE_NAME(system_type_id) FROM sys.columns WHERE object_id IN " +
				"(OBJECT_ID('tf'), OBJECT_ID('fi')) ORDER BY 1, 2",
			"fi 1 a int; fi 2 b nvarchar; tf 1 a int; tf 2 b decimal",
		},
		{
			"SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, DATA_TYPE, " +
				"CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE FROM INFORMATION_SCHEMA.ROUTINE_COLUMNS ORDER BY " +
				"TABLE_NAME, ORDINAL_POSITION",
			"dbo fi a 1 YES int NULL 10 0; dbo fi b 2 NO nvarchar 1 NULL NULL; dbo tf a 1 NO int NULL 10 0; dbo tf b 2 YES " +
				"decimal NULL 9 2",
		},
		{
			"SELECT name, system_type_name FROM sys.dm_exec_describe_first_result_set_for_object(OBJECT_ID('p'), 0)",
			"x int; y varchar(7)",
		},
		{
			"SELECT name, system_type_name FROM sys.dm_exec_describe_first_result_set(N'EXEC p', NULL, 0)",
			"x int; y varchar(7)",
		},
		{"SELECT name, error_number FROM sys.dm_exec_describe_first_result_set(N'EXEC nosuch', NULL, 0)", "NULL 2812"},
		{"EXEC p", "!201/16/4"},
		{"SELECT OBJECT_NAME(object_id), parameter_id, TYPE_NAME(user_type_id) FROM sys.parameter_type_usages", "p 2 own"},
		{"CREATE TYPE own_table AS TABLE (a int)", "ok"},
		{"CREATE PROCEDURE q @t own_table READONLY, @n sysname, @c CURSOR VARYING OUTPUT, @d dbo.own OUTPUT AS RETURN", "ok"},
		{
			"SELECT parameter_id, name, TYPE_NAME(system_type_id), TYPE_NAME(user_type_id), max_length, is_output, " +
				"is_readonly, is_cursor_ref FROM sys.parameters WHERE object_id = OBJECT_ID('q') AND is_cursor_ref = 0 ORDER BY " +
				"parameter_id",
			"1 @t NULL own_table -1 false true false; 2 @n nvarchar sysname 256 false false false; 4 @d varchar own 7 true " +
				"false false",
		},
		{"SELECT parameter_id, name, is_output FROM sys.parameters WHERE is_cursor_ref = 1", "3 @c true"},
		{"CREATE TABLE t (a int)", "ok"}, {"CREATE TRIGGER g ON t AFTER UPDATE, DELETE AS RETURN", "ok"},
		{
			"SELECT OBJECT_NAME(object_id), type_desc, is_trigger_event FROM sys.events ORDER BY type_desc",
			"g DELETE true; g UPDATE true",
		},
		{"SELECT COUNT(*) FROM sys.event_notification_event_types WHERE type_name = 'CREATE_TABLE'", "1"},
		{"SELECT COUNT(*) FROM sys.trace_events AS e JOIN sys.trace_categories AS c ON c.category_id = e.category_id", "0"},
		{
			"SELECT te.name FROM sys.traces AS t CROSS APPLY sys.fn_trace_getinfo(t.id) AS i JOIN sys.trace_events AS te ON " +
				"te.trace_event_id = t.id",
			"",
		},
		{"SELECT credential_identity FROM sys.database_credentials", ""},
		{"SELECT partition_number FROM sys.dm_db_incremental_stats_properties(OBJECT_ID('t'), 1)", ""},
		{"SELECT query_hash FROM sys.dm_db_missing_index_group_stats_query", ""},
	})
}
