// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestNumbersFromCatalogViews: numbers are made of joins of catalog views whose rows nobody wants; the joins here have more of them than can be
// read, so that an answer is one that stopped early (docs/t-sql/functions/row-number-transact-sql.md).
func TestNumbersFromCatalogViews(t *testing.T) {
	t.Parallel()
	const rows = "FROM sys.all_columns a CROSS JOIN sys.all_columns b CROSS JOIN sys.all_columns c"
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT TOP (1000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n INTO #n " + rows, "ok"},
		{"SELECT COUNT(*), MIN(n), MAX(n) FROM #n", "1000 1 1000"},
		{"WITH n AS (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT 1) DESC) AS n " + rows + ") SELECT MAX(n) FROM (SELECT TOP (500) n FROM n WHERE n > 5) q", "505"},
		{"SELECT x.a, ROW_NUMBER() OVER (ORDER BY (SELECT x.a) DESC, (SELECT NULL)) FROM (VALUES (1), (3), (2)) x (a) ORDER BY x.a", "1 3; 2 2; 3 1"},
		{"SELECT x.a, COUNT(*) OVER (ORDER BY (SELECT 1)), RANK() OVER (ORDER BY (SELECT 1)) FROM (VALUES (1), (2)) x (a) ORDER BY x.a", "1 2 1; 2 2 1"},
		{"SELECT COUNT(*), MAX(number), MAX(high) FROM master.dbo.spt_values WHERE type = 'P'", "2048 2047 128"},
		{"SELECT v.name FROM master..spt_values v WHERE v.type = 'L' AND v.number = 4", "S"},
		{"SELECT low FROM master.dbo.spt_values WHERE number = 1 AND type = N'E'", "8192"},
	})
}

// TestToolsAskTheHost: the extended procedures with which tools of management read the set-up of a server, and functions of msdb and master by their full
// names. What is not set leaves the variable as it was.
func TestToolsAskTheHost(t *testing.T) {
	t.Parallel()
	const key = `N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\MSSQLServer'`
	converse(t, connection(t, newDatabase(t)), []say{
		{"DECLARE @mode int, @audit int = 7; EXEC master.dbo.xp_instance_regread " + key + ", N'LoginMode', @mode OUTPUT; EXEC master.sys.xp_instance_regread " + key + ", N'NotSet', @audit OUTPUT, 'no_output'; SELECT @mode, @audit", "2 7"},
		{"DECLARE @d nvarchar(512); EXEC xp_instance_regread " + key + ", N'DefaultData', @param = @d OUT, @no_output = N'no_output'; SELECT IIF(@d = SERVERPROPERTY('InstanceDefaultDataPath'), 1, 0)", "1"},
		{"EXEC xp_regread " + key + ", N'LoginMode'", "LoginMode 2"},
		{"DECLARE @r int; EXEC @r = master.dbo.xp_qv N'2745196162', @@SERVICENAME; SELECT @r", "2"},
		{"SELECT CASE WHEN 1 = msdb.dbo.fn_syspolicy_is_automation_enabled() AND EXISTS (SELECT * FROM msdb.dbo.syspolicy_system_health_state WHERE target_query_expression_with_id LIKE 'Server%') THEN 1 ELSE 0 END", "0"},
		{"SELECT COUNT(*) FROM msdb.dbo.syspolicy_policies", "0"},
		{"SELECT CONVERT(varchar(30), msdb.dbo.agent_datetime(20240131, 91505), 126), msdb.dbo.agent_datetime(NULL, 1)", "2024-01-31T09:15:05 NULL"},
		{"SELECT msdb.dbo.agent_datetime(0, 0)", "!242/16"}, {"SELECT dbo.agent_datetime(20240131, 0)", "!4121/16"},
		{"SELECT sys.fn_varbintohexstr(0xAB0C), master.dbo.fn_varbintohexstr(0x01), master.sys.fn_varbintohexsubstring(0, 0xABCDEF, 2, 1), sys.fn_varbintohexsubstring(1, 0xABCDEF, 2, 0)", "0xab0c 0x01 cd 0xcdef"},
		{"CREATE PROCEDURE told @a sysname, @b int = 0 AS SELECT @a, @b", "ok"},
		{"SELECT CONVERT(varchar(30), CAST(d AS datetime), 126), CONVERT(varchar(30), CAST(d AS smalldatetime), 127), CONVERT(varchar(30), CAST(d AS datetime2(3)), 126) FROM (VALUES ('2024-01-31T09:15:00')) x (d)", "2024-01-31T09:15:00 2024-01-31T09:15:00 2024-01-31T09:15:00.000"},
		{"DECLARE @n int; SELECT @n = 1 WHERE 1 = 0; EXEC told @@SERVICENAME, @b = @@ROWCOUNT", "MSSQLSERVER 0"}, {"EXEC told @@NOTHING", "!137/15"},
		{"CREATE TABLE #drives (drive char(1), free int); INSERT #drives EXEC master.dbo.xp_fixeddrives; SELECT COUNT(*) FROM #drives WHERE free > 0", "1"},
	})
}
