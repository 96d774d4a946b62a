// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestToolsConnect has what SQL Server Management Studio, Azure Data Studio, sqlcmd, DBeaver and mssql-cli ask when
// they connect, in the shapes in which they are publicly known: each is answered (docs/ssms/object/object-explorer.md,
// docs/tools/sqlcmd/sqlcmd-utility.md, docs/t-sql/functions/serverproperty-transact-sql.md,
// docs/t-sql/functions/connectionproperty-transact-sql.md).
func TestToolsConnect(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	mustExec(t, db, "CREATE TABLE listed (id int NOT NULL CONSTRAINT pk_listed PRIMARY KEY, name nvarchar(20))")
	for _, text := range []string{
		// Management Studio: the session, the server's node, its databases.
		"SET ROWCOUNT 0 SET TEXTSIZE 2147483647 SET NOCOUNT OFF SET CONCAT_NULL_YIELDS_NULL ON SET ARITHABORT ON SET " +
			"LOCK_TIMEOUT -1 SET QUERY_GOVERNOR_COST_LIMIT 0 SET DEADLOCK_PRIORITY NORMAL " +
			"SET TRANSACTION ISOLATION LEVEL READ COMMITTED SET ANSI_NULLS ON SET ANSI_NULL_DFLT_ON ON SET ANSI_PADDING ON " +
			"SET ANSI_WARNINGS ON SET CURSOR_CLOSE_ON_COMMIT OFF SET IMPLICIT_TRANSACTIONS OFF SET QUOTED_IDENTIFIER ON",
		"select @@spid; select SERVERPROPERTY('ProductLevel');",
		"SELECT dtb.name AS [Name], dtb.state AS [State] FROM master.sys.databases dtb",
		"SET LOCK_TIMEOUT 10000\nDECLARE @edition sysname; SET @edition = cast(SERVERPROPERTY(N'EDITION') as sysname); " +
			"SELECT case when @edition = N'SQL Azure' then 2 else 1 end as 'DatabaseEngineType', " +
			"SERVERPROPERTY('EngineEdition') AS DatabaseEngineEdition, SERVERPROPERTY('ProductVersion') AS ProductVersion, " +
			"@@MICROSOFTVERSION AS MicrosoftVersion",
		"select host_platform from sys.dm_os_host_info",
		"SELECT CAST(serverproperty(N'Servername') AS sysname) AS [Server_Name], 'Server[@Name=' + " +
			"quotename(CAST(serverproperty(N'Servername') AS sysname),'''') + ']' AS [Urn], CAST(null AS int) AS " +
			"[Server_Status], " +
			"0 AS [Server_IsContainedAuthentication], (@@microsoftversion / 0x1000000) & 0xff AS [VersionMajor], " +
			"(@@microsoftversion / 0x10000) & 0xff AS [VersionMinor], @@microsoftversion & 0xffff AS [BuildNumber], " +
			"CAST(SERVERPROPERTY('IsSingleUser') AS bit) AS [IsSingleUser], CAST(SERVERPROPERTY(N'Edition') AS sysname) AS " +
			"[Edition], CAST(SERVERPROPERTY('EngineEdition') AS int) AS [EngineEdition], " +
			"CAST(ISNULL(SERVERPROPERTY(N'IsXTPSupported'), 0) AS bit) AS [IsXTPSupported], " +
			"SERVERPROPERTY(N'ProductVersion') AS [VersionString], CAST(ISNULL(SERVERPROPERTY('IsHadrEnabled'), 0) AS bit) " +
			"AS [IsHadrEnabled], " +
			"CAST(FULLTEXTSERVICEPROPERTY('IsFullTextInstalled') AS bit) AS [IsFullTextInstalled], " +
			"CAST(SERVERPROPERTY('IsPolyBaseInstalled') AS bit) AS [IsPolyBaseInstalled], SERVERPROPERTY('PathSeparator') AS " +
			"[PathSeparator]",
		"SELECT SYSTEM_USER",
		"SELECT ISNULL(SUSER_SNAME(), ''), ISNULL(IS_SRVROLEMEMBER('sysadmin'), 0), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW " +
			"SERVER STATE'), has_dbaccess('msdb')",
		"exec sp_executesql N'SELECT db_name()'",
		"SELECT dtb.name AS [Name], dtb.database_id AS [ID], CAST(has_dbaccess(dtb.name) AS bit) AS [IsAccessible], " +
			"dtb.is_read_only, dtb.user_access, dtb.collation_name, dtb.compatibility_level, dtb.recovery_model, " +
			"ISNULL(suser_sname(dtb.owner_sid), '') AS [Owner], dtb.snapshot_isolation_state, " +
			"dtb.is_read_committed_snapshot_on, CAST(isnull(dtb.source_database_id, 0) AS bit) AS [IsDatabaseSnapshot], " +
			"CASE WHEN DATABASEPROPERTY(dtb.name, 'IsShutDown') = 1 THEN 0x200 ELSE 0 END | case dtb.state when 1 then 0x2 " +
			"when 6 then 0x20 else 1 end AS [Status], drs.database_guid, dmi.mirroring_guid, " +
			"ISNULL((SELECT arstates.role FROM sys.dm_hadr_availability_replica_states AS arstates WHERE arstates.replica_id " +
			"= dtb.replica_id), 3) AS [PrimaryRole] FROM master.sys.databases AS dtb " +
			"LEFT OUTER JOIN sys.database_mirroring AS dmi ON dmi.database_id = dtb.database_id LEFT OUTER JOIN " +
			"sys.database_recovery_status AS drs ON drs.database_id = dtb.database_id ORDER BY [Name] ASC",
		"SELECT CASE WHEN has_dbaccess(N'master') = 1 THEN 'true' ELSE 'false' END; SELECT COUNT(*) FROM " +
			"msdb.dbo.syspolicy_configuration WHERE name = N'Enabled'",
		"SELECT log.name, log.sid, log.type, log.is_disabled FROM sys.server_principals AS log WHERE (log.type in ('U', " +
			"'G', 'S', 'C', 'K') AND log.principal_id not between 101 and 255 AND log.name <> " +
			"N'##MS_AgentSigningCertificate##') ORDER BY log.name",
		"SELECT SCHEMA_NAME(tbl.schema_id) AS [Schema], tbl.name AS [Name], tbl.object_id AS [ID], tbl.create_date, " +
			"CAST(CASE WHEN tbl.is_ms_shipped = 1 THEN 1 WHEN (SELECT major_id FROM sys.extended_properties WHERE major_id = " +
			"tbl.object_id AND minor_id = 0 AND class = 1 AND name = N'microsoft_database_tools_support') IS NOT NULL THEN 1 " +
			"ELSE 0 END AS bit) AS [IsSystemObject], " +
			"CAST(tbl.is_memory_optimized AS bit), CAST(CASE tbl.temporal_type WHEN 2 THEN 1 ELSE 0 END AS bit), " +
			"CAST(tbl.is_external AS bit), tbl.is_node, tbl.is_edge FROM sys.tables AS tbl WHERE (tbl.is_filetable = 0) " +
			"ORDER BY [Schema], [Name]",
		// Azure Data Studio's service.
		"SELECT SERVERPROPERTY('EngineEdition'), SERVERPROPERTY('productversion'), SERVERPROPERTY('productlevel'), " +
			"SERVERPROPERTY('edition'), SERVERPROPERTY('MachineName'), " +
			"(SELECT CASE WHEN EXISTS (SELECT TOP 1 1 from [sys].[all_columns] WITH (NOLOCK) WHERE name = N'xml_index_type' " +
			"AND OBJECT_ID(N'sys.xml_indexes') = object_id) THEN 1 ELSE 0 END AS SXI_PRESENT)",
		"SELECT OSVersion = RIGHT(@@version, LEN(@@version)- 3 -charindex (' ON ', @@version))",
		"SELECT name FROM sys.databases WHERE state_desc = 'ONLINE' ORDER BY name ASC",
		"SELECT HOST_NAME(), CONNECTIONPROPERTY('net_transport'), CONNECTIONPROPERTY('local_net_address'), " +
			"@@SERVERNAME, @@OPTIONS",
		"SELECT cpu_count, physical_memory_kb, sqlserver_start_time FROM sys.dm_os_sys_info; SELECT SUM(CAST(size AS " +
			"bigint)) * 8 FROM sys.master_files",
		// sqlcmd and its Go form.
		"SET QUOTED_IDENTIFIER OFF", "SET TEXTSIZE 4096", "print ''",
		"select @@servername, @@version, suser_sname(), original_login(), db_name()",
		// DBeaver.
		"SELECT @@VERSION", "SELECT db_name(), schema_name(), original_login()", "SELECT SERVERPROPERTY('IsClustered')",
		"SELECT db.* FROM sys.databases db ORDER BY db.name",
		"SELECT ss.*, ep.value as description FROM sys.schemas ss LEFT OUTER JOIN sys.extended_properties ep ON ep.class " +
			"= 3 AND ep.major_id = ss.schema_id AND ep.minor_id = 0 AND ep.name = 'MS_Description' ORDER BY ss.name",
		"SELECT ss.*, ep.value as description FROM sys.types ss LEFT OUTER JOIN sys.extended_properties ep ON ep.class = " +
			"6 AND ep.major_id = ss.user_type_id AND ep.minor_id = 0 AND ep.name = 'MS_Description' WHERE ss.is_user_defined " +
			"= 1 ORDER BY ss.name",
		"SELECT o.*, dep.value as description FROM sys.all_objects o LEFT OUTER JOIN sys.extended_properties dep ON " +
			"dep.major_id = o.object_id AND dep.minor_id = 0 AND dep.class = 1 AND dep.name = N'MS_Description' WHERE o.type " +
			"IN ('U', 'S', 'ET') AND o.schema_id = 1 ORDER BY o.name",
		"SELECT c.*, t.name as table_name, dc.definition as default_definition, dc.name as default_constraint_name, " +
			"ep.value as description, cc.definition as computed_column_definition FROM sys.all_columns c JOIN " +
			"sys.all_objects t ON t.object_id = c.object_id " +
			"LEFT OUTER JOIN sys.default_constraints dc ON dc.parent_object_id = t.object_id AND dc.parent_column_id = " +
			"c.column_id LEFT OUTER JOIN sys.extended_properties ep ON ep.class = 1 AND ep.major_id = t.object_id AND " +
			"ep.minor_id = c.column_id AND ep.name = 'MS_Description' " +
			"LEFT OUTER JOIN sys.computed_columns cc ON cc.object_id = c.object_id AND cc.column_id = c.column_id WHERE " +
			"t.object_id = OBJECT_ID('listed') ORDER BY c.object_id, c.column_id",
		"SELECT i.*, p.rows FROM sys.indexes i LEFT OUTER JOIN sys.partitions p ON p.object_id = i.object_id AND " +
			"p.index_id = i.index_id WHERE i.object_id = OBJECT_ID('listed')",
		"SELECT CASE WHEN EXISTS (SELECT 1 FROM sys.system_objects WHERE name = 'external_tables') THEN 1 ELSE 0 END",
		"SELECT * FROM sys.server_principals WHERE 1 = 0",
		"SELECT s.*, t.text FROM sys.dm_exec_sessions s LEFT OUTER JOIN sys.dm_exec_connections c ON c.session_id = " +
			"s.session_id OUTER APPLY sys.dm_exec_sql_text(c.most_recent_sql_handle) t",
		// mssql-cli.
		"SELECT name FROM sys.schemas ORDER BY 1", "SELECT SCHEMA_NAME()",
		"SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'BASE TABLE' ORDER BY 1, 2",
		"SELECT isc.TABLE_SCHEMA, isc.TABLE_NAME, isc.COLUMN_NAME, isc.DATA_TYPE, isc.COLUMN_DEFAULT FROM " +
			"INFORMATION_SCHEMA.COLUMNS isc, INFORMATION_SCHEMA.TABLES ist WHERE ist.TABLE_TYPE = 'VIEW' AND isc.TABLE_NAME " +
			"= ist.TABLE_NAME AND isc.TABLE_SCHEMA = ist.TABLE_SCHEMA",
		"SELECT DISTINCT ROUTINE_SCHEMA, ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'",
		"SELECT [name] FROM sys.types WHERE is_user_defined = 1",
		"SELECT SERVERPROPERTY('ProductLevel'), SERVERPROPERTY('Edition'), SERVERPROPERTY('EngineEdition')",
	} {
		if _, err := tryQuery(db, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}
