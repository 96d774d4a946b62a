// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestNumbersFromCatalogViews: numbers are made of joins of catalog views whose rows nobody wants; the joins here have
// more of them than can be read, so that an answer is one that stopped early
// (docs/t-sql/functions/row-number-transact-sql.md).
func TestNumbersFromCatalogViews(t *testing.T) {
	t.Parallel()
	const rows = "FROM sys.all_columns a CROSS JOIN sys.all_columns b CROSS JOIN sys.all_columns c"
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT TOP (1000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n INTO #n " + rows, "ok"},
		{"SELECT COUNT(*), MIN(n), MAX(n) FROM #n", "1000 1 1000"},
		{
			"WITH n AS (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT 1) DESC) AS n " + rows +
				") SELECT MAX(n) FROM (SELECT TOP (500) n FROM n WHERE n > 5) q",
			"505",
		},
		{
			"SELECT x.a, ROW_NUMBER() OVER (ORDER BY (SELECT x.a) DESC, (SELECT NULL)) FROM (VALUES (1), (3), (2)) x (a) " +
				"ORDER BY x.a",
			"1 3; 2 2; 3 1",
		},
		{
			"SELECT x.a, COUNT(*) OVER (ORDER BY (SELECT 1)), RANK() OVER (ORDER BY (SELECT 1)) FROM (VALUES (1), (2)) x (a) " +
				"ORDER BY x.a",
			"1 2 1; 2 2 1",
		},
		{"SELECT COUNT(*), MAX(number), MAX(high) FROM master.dbo.spt_values WHERE type = 'P'", "2048 2047 128"},
		{"SELECT v.name FROM master..spt_values v WHERE v.type = 'L' AND v.number = 4", "S"},
		{"SELECT low FROM master.dbo.spt_values WHERE number = 1 AND type = N'E'", "8192"},
	})
}

// TestToolsAskTheHost: the extended procedures with which tools of management read the set-up of a server, and
// functions of msdb and master by their full names. What is not set leaves the variable as it was.
func TestToolsAskTheHost(t *testing.T) {
	t.Parallel()
	const key = `N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\MSSQLServer'`
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"DECLARE @mode int, @audit int = 7; EXEC master.dbo.xp_instance_regread " + key +
				", N'LoginMode', @mode OUTPUT; EXEC master.sys.xp_instance_regread " + key +
				", N'NotSet', @audit OUTPUT, 'no_output'; SELECT @mode, @audit",
			"2 7",
		},
		{
			"DECLARE @d nvarchar(512); EXEC xp_instance_regread " + key +
				", N'DefaultData', @param = @d OUT, @no_output = N'no_output'; SELECT IIF(@d = " +
				"SERVERPROPERTY('InstanceDefaultDataPath'), 1, 0)",
			"1",
		},
		{"EXEC xp_regread " + key + ", N'LoginMode'", "LoginMode 2"},
		{"DECLARE @r int; EXEC @r = master.dbo.xp_qv N'2745196162', @@SERVICENAME; SELECT @r", "2"},
		{
			"SELECT CASE WHEN 1 = msdb.dbo.fn_syspolicy_is_automation_enabled() AND EXISTS (SELECT * FROM " +
				"msdb.dbo.syspolicy_system_health_state WHERE target_query_expression_with_id LIKE 'Server%') THEN 1 ELSE 0 END",
			"0",
		},
		{"SELECT COUNT(*) FROM msdb.dbo.syspolicy_policies", "0"},
		{
			"SELECT CONVERT(varchar(30), msdb.dbo.agent_datetime(20240131, 91505), 126), msdb.dbo.agent_datetime(NULL, 1)",
			"2024-01-31T09:15:05 NULL",
		},
		{"SELECT msdb.dbo.agent_datetime(0, 0)", "!242/16"}, {"SELECT dbo.agent_datetime(20240131, 0)", "!4121/16"},
		{
			"SELECT sys.fn_varbintohexstr(0xAB0C), master.dbo.fn_varbintohexstr(0x01), master.sys.fn_varbintohexsubstring(0, " +
				"0xABCDEF, 2, 1), sys.fn_varbintohexsubstring(1, 0xABCDEF, 2, 0)",
			"0xab0c 0x01 cd 0xcdef",
		},
		{"CREATE PROCEDURE told @a sysname, @b int = 0 AS SELECT @a, @b", "ok"},
		{
			"SELECT CONVERT(varchar(30), CAST(d AS datetime), 126), CONVERT(varchar(30), CAST(d AS smalldatetime), 127), " +
				"CONVERT(varchar(30), CAST(d AS datetime2(3)), 126) FROM (VALUES ('2024-01-31T09:15:00')) x (d)",
			"2024-01-31T09:15:00 2024-01-31T09:15:00 2024-01-31T09:15:00.000",
		},
		{
			"DECLARE @n int; SELECT @n = 1 WHERE 1 = 0; EXEC told @@SERVICENAME, @b = @@ROWCOUNT",
			"MSSQLSERVER 0",
		}, {"EXEC told @@NOTHING", "!137/15"},
		{
			"CREATE TABLE #drives (drive char(1), free int); INSERT #drives EXEC master.dbo.xp_fixeddrives; SELECT COUNT(*) " +
				"FROM #drives WHERE free > 0",
			"1",
		},
	})
}

// TestToolsBrowse: columns and views that management objects ask of every server of this version, in short
// (docs/relational-databases/system-catalog-views, docs/relational-databases/system-tables/backupset-transact-sql.md).
func TestToolsBrowse(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE browsed (id int NOT NULL, name varchar(9))",
			"ok",
		}, {"CREATE VIEW seen AS SELECT id FROM browsed", "ok"},
		{
			"SELECT name, is_ansi_padded, is_column_set, encryption_algorithm_name, column_encryption_key_id, " +
				"is_dropped_ledger_column, ledger_view_column_type, is_data_deletion_filter_column, graph_type_desc FROM " +
				"sys.columns " +
				"WHERE object_id IN (OBJECT_ID('browsed'), OBJECT_ID('seen')) ORDER BY object_id, column_id",
			"id false false NULL NULL false NULL false NULL; name true false NULL NULL false NULL false NULL; id false false " +
				"NULL NULL false NULL false NULL",
		},
		{"SELECT COUNT(*) FROM sys.all_columns WHERE is_sparse IS NULL OR is_masked IS NULL OR is_rowguidcol IS NULL", "0"},
		{
			"SELECT is_media_read_only, is_persistent_log_buffer FROM sys.master_files WHERE database_id = DB_ID() AND " +
				"file_id = 1",
			"false false",
		},
		{
			"SELECT ledger_view_id, is_dropped_ledger_table, data_retention_period_unit FROM sys.tables WHERE name = 'browsed'",
			"NULL false NULL",
		},
		{
			"SELECT ledger_view_type, is_dropped_ledger_view, has_opaque_metadata, is_replicated FROM sys.views WHERE " +
				"name = 'seen'",
			"0 false false false",
		},
		{
			"SELECT is_ledger_on, is_change_feed_enabled, is_result_set_caching_on, is_data_retention_enabled, " +
				"is_tempdb_spill_to_remote_store FROM sys.databases WHERE database_id = DB_ID()",
			"false false false false false",
		},
		{
			"SELECT inline_type FROM sys.sql_modules WHERE object_id = OBJECT_ID('seen')",
			"false",
		}, {"SELECT COUNT(*) FROM sys.all_parameters WHERE is_cursor_ref = 1 OR is_readonly = 1", "0"},
		{
			"SELECT name, pool_id, max_memory_percent FROM sys.resource_governor_resource_pools ORDER BY 2",
			"internal 1 100; default 2 100",
		}, {"SELECT name, importance FROM sys.resource_governor_workload_groups WHERE group_id = 2", "default Medium"},
		{
			"SELECT COUNT(*) FROM sys.filetable_system_defined_objects; SELECT COUNT(*) FROM sys.edge_constraints; SELECT " +
				"COUNT(*) FROM sys.fulltext_languages; SELECT COUNT(*) FROM sys.registered_search_property_lists",
			"0",
		},
		{
			"SELECT capture_policy_execution_count FROM sys.database_query_store_options",
			"NULL",
		}, {"SELECT last_pause_time, last_max_dop_used FROM sys.index_resumable_operations", ""},
		{"DECLARE @d sysname = DB_NAME(); BACKUP DATABASE @d TO DISK = 'browsed.bak'", "ok"},
		{
			"SELECT s.is_snapshot, s.is_readonly, s.begins_log_chain, s.encryptor_type, s.software_vendor_id, f.file_type, " +
				"f.filegroup_name, IIF(f.file_size > 0, 1, 0) FROM msdb.dbo.backupset s JOIN msdb.dbo.backupfile f ON " +
				"f.backup_set_id = s.backup_set_id WHERE s.database_name = DB_NAME() ORDER BY f.file_number",
			"false false false NULL 4608 D PRIMARY 1; false false false NULL 4608 L NULL 1",
		},
		{"SELECT TOP (0) stop_at, device_count, stop_at_mark_name, stop_before FROM msdb.dbo.restorehistory", ""},
	})
}
