// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// TestScriptsOfManagementTools: what tools write when they script a database and its tables
// (docs/t-sql/statements/create-database-transact-sql.md, alter-database-transact-sql-set-options.md,
// create-table-transact-sql.md).
func TestScriptsOfManagementTools(t *testing.T) {
	t.Parallel()
	admin := connection(t, shared.open(t, ""))
	name := uniqueName("d")
	converse(t, admin, []say{
		{"CREATE DATABASE [" + name + "] CONTAINMENT = NONE WITH CATALOG_COLLATION = DATABASE_DEFAULT, LEDGER = OFF", "ok"},
		{"CREATE DATABASE [" + name + "x] WITH LEDGER = ON", "!40517/16"},
		{"ALTER DATABASE [" + name + "] SET AUTO_CREATE_STATISTICS ON(INCREMENTAL = OFF)", "ok"},
		{"ALTER DATABASE [" + name + "] SET AUTO_CREATE_STATISTICS ON(INCREMENTAL = ON)", "!40517/16"},
		{"ALTER DATABASE [" + name + "] SET FILESTREAM( NON_TRANSACTED_ACCESS = OFF )", "ok"},
		{"ALTER DATABASE [" + name + "] SET FILESTREAM( NON_TRANSACTED_ACCESS = FULL )", "!40517/16"},
		{"ALTER DATABASE [" + name + "] SET FILESTREAM( NON_TRANSACTED_ACCESS = MAYBE )", "!102/15"},
		{"EXEC sys.sp_db_vardecimal_storage_format N'" + name + "', N'ON'", "ok"},
		{"EXEC sys.sp_db_vardecimal_storage_format N'" + name + "'", name + " ON"},
		{"EXEC sys.sp_db_vardecimal_storage_format N'nowhere', N'ON'", "!15010/16"},
		{"USE [" + name + "]", "ok"},
		{
			"CREATE TYPE [dbo].[list] AS TABLE([id] [int] NOT NULL, [v] [nvarchar](50) COLLATE Latin1_General_CI_AS NULL, " +
				"PRIMARY KEY CLUSTERED ([id] ASC)WITH (IGNORE_DUP_KEY = ON))",
			"ok",
		},
		{"DECLARE @l [dbo].[list]; INSERT @l VALUES (1, N'a'), (1, N'b'), (2, N'c'); SELECT * FROM @l", "1 a; 2 c"},
		{
			"CREATE FUNCTION [dbo].[f](@a [int]) RETURNS @t TABLE ([id] [int] NOT NULL, [v] [nvarchar](50) COLLATE " +
				"Latin1_General_CI_AS NULL, UNIQUE ([id] ASC) WITH (IGNORE_DUP_KEY = OFF, FILLFACTOR = 80)) WITH EXECUTE AS " +
				"CALLER AS BEGIN INSERT @t VALUES (@a, N'x'); RETURN; END",
			"ok",
		},
		{"SELECT * FROM dbo.f(3)", "3 x"},
		{"USE master; DROP DATABASE [" + name + "]", "ok"},
	})
}

// TestScriptsOfMaintenance: what scripts have with which people look at servers and keep them in order
// (docs/relational-databases/system-stored-procedures/sp-executesql-transact-sql.md,
// docs/t-sql/queries/table-value-constructor-transact-sql.md, docs/t-sql/language-elements/variables-transact-sql.md,
// docs/t-sql/statements/alter-table-table-constraint-transact-sql.md).
func TestScriptsOfMaintenance(t *testing.T) {
	t.Parallel()
	rows := func(n int) string {
		return strings.TrimSuffix(strings.Repeat("(1, 'x'), ", n), ", ")
	}
	converse(t, connection(t, newDatabase(t)), []say{
		{"EXEC dbo.sp_executesql @statement = N'CREATE PROCEDURE p AS SELECT 1'", "ok"},
		{"EXEC sp_executesql @statement = N'SELECT @a', @parameters = N'@a int', @a = 3", "3"},
		{"EXEC sp_executesql @stmt = N'SELECT @a', @statement = N'SELECT 2'", "!8143/16"},
		{
			"CREATE PROCEDURE server @name sysname = @@SERVERNAME, @id int = @@SPID AS SELECT IIF(@name = @@SERVERNAME AND " +
				"@id = @@SPID, 'own', 'other')",
			"ok",
		},
		{"EXEC server", "own"},
		{"EXEC server @id = 0", "other"},
		{"CREATE PROCEDURE bad @name sysname = @other AS SELECT 1", "!137/15"},
		{fmt.Sprintf("SELECT COUNT(*), SUM(a), MAX(b) FROM (VALUES %s) AS v (a, b)", rows(2500)), "2500 2500 x"},
		{
			fmt.Sprintf(
				"SELECT COUNT(*) FROM sys.schemas AS s CROSS APPLY (VALUES %s) AS v (a, b) WHERE s.name = 'dbo'",
				rows(501),
			),
			"501",
		},
		{"CREATE TABLE t (a int, b varchar(9))", "ok"},
		{"INSERT t VALUES " + rows(1000), "ok"},
		{"INSERT t VALUES " + rows(1001), "!10738/15/1"},
		{fmt.Sprintf("INSERT t SELECT * FROM (VALUES %s) AS v (a, b); SELECT COUNT(*) FROM t", rows(1001)), "2001"},
		{
			"IF 1 = 1 GOTO there\nDECLARE @v int = 5\nDECLARE @w table (a int)\nthere:\nINSERT @w VALUES (1)\nSELECT @v, " +
				"COUNT(*) FROM @w",
			"NULL 1",
		},
		{
			"DECLARE @s table (a bit, b bit, c AS CAST(CASE WHEN a = 1 AND b = 1 THEN 1 ELSE 0 END AS bit) PERSISTED, id int " +
				"IDENTITY, PRIMARY KEY (c, id) WITH (IGNORE_DUP_KEY = ON)); INSERT @s (a, b) VALUES (1, 0), (1, 1); SELECT c, " +
				"id FROM @s ORDER BY id",
			"false 1; true 2",
		},
		{
			"CREATE TABLE k (a int, b AS a + 1 PERSISTED, PRIMARY KEY (b)); SELECT is_nullable FROM sys.columns WHERE " +
				"object_id = OBJECT_ID('k') AND name = 'b'",
			"false",
		},
		{"INSERT k VALUES (NULL)", "!515/16"},
		{"CREATE TABLE l (a int, b AS a + 1, PRIMARY KEY (b))", "!1711/16"},
	})
}

// TestColumnsOfSystemViews: documented columns for which monitoring tools ask, of views that have something to show and
// of those that are empty here (docs/relational-databases/system-dynamic-management-views,
// docs/relational-databases/system-compatibility-views).
func TestColumnsOfSystemViews(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"SELECT contained_availability_group_id FROM sys.dm_exec_sessions WHERE session_id = @@SPID", "NULL"},
		{
			"SELECT date_format, date_first, quoted_identifier, ansi_nulls, query_hash, query_plan_hash, " +
				"statement_context_id, dop, is_resumable, page_resource FROM sys.dm_exec_requests WHERE session_id = @@SPID",
			"mdy 7 true true NULL NULL NULL 1 false NULL",
		},
		{"SELECT RTRIM(net_library), request_id, stmt_end FROM sysprocesses WHERE spid = @@SPID", "TCP/IP 0 -1"},
		{
			"SELECT COUNT(*) FROM sys.dm_os_schedulers WHERE yield_count + total_cpu_usage_ms + total_scheduler_delay_ms + " +
				"ideal_workers_limit < 0",
			"0",
		},
		{"SELECT query_hash, query_plan_hash FROM sys.dm_exec_query_stats WHERE 1 = 0", ""},
		{"SELECT row_lock_wait_in_ms FROM sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL) WHERE 1 = 0", ""},
		{
			"SELECT persistent_version_store_size_kb, pvs_off_row_page_skipped_min_useful_xts FROM " +
				"sys.dm_tran_persistent_version_store_stats WHERE 1 = 0",
			"",
		},
		{"SELECT q.query_plan.value('.', 'nvarchar(9)') FROM sys.dm_exec_query_plan(0x01) AS q", "NULL"},
		{"CREATE TABLE parent (id int IDENTITY CONSTRAINT pk PRIMARY KEY, name varchar(9) NULL, twice AS id * 2)", "ok"},
		{"CREATE TABLE child (id int, parent int CONSTRAINT fk REFERENCES parent)", "ok"},
		{"EXEC ('CREATE PROCEDURE p @a decimal(9, 2), @b int OUTPUT AS SELECT 1')", "ok"},
		{"INSERT parent VALUES ('x')", "ok"},
		{
			"SELECT name, colstat & 1, status & 128, isnullable, iscomputed, number, isoutparam FROM syscolumns WHERE id IN " +
				"(OBJECT_ID('parent'), OBJECT_ID('p')) ORDER BY id, colid",
			"id 1 128 0 0 0 0; name 0 0 1 0 0 0; twice 0 0 1 1 0 0; @a 0 0 1 0 1 0; @b 0 0 1 0 1 1",
		},
		{
			"SELECT indid, rowcnt, rows, IIF(dpages > 0 AND used > 0 AND reserved > 0, 'some', 'none') FROM sysindexes WHERE " +
				"id = OBJECT_ID('parent')",
			"1 1 1 some",
		},
		{"SELECT OBJECT_NAME(constid), fkey1, rkey1, fkey2, keycnt FROM sysreferences", "fk 2 1 0 1"},
		{
			"SELECT OBJECT_NAME(constid), status & 15 FROM sysconstraints WHERE id IN (OBJECT_ID('parent'), " +
				"OBJECT_ID('child')) ORDER BY 1",
			"fk 3; pk 1",
		},
		{
			"SELECT name, securityadmin, dbcreator, isntuser FROM master.dbo.syslogins WHERE sysadmin = 1 AND sid = 0x01",
			"sa 1 1 0",
		},
		{"SELECT hasdbaccess, gid, isapprole FROM sysusers WHERE name = 'dbo'", "1 0 0"},
		{"SELECT variable, allownulls FROM systypes WHERE name = 'varchar'", "true true"},
		{"SELECT severity FROM sysmessages WHERE error = 208 AND msglangid = 1033", "16"},
		{"SELECT COUNT(*) FROM sysperfinfo WHERE cntr_type = 0", "0"},
		{"SELECT DISTINCT startup_type_desc FROM sys.dm_server_services", "Automatic"},
		{"SELECT category FROM sysdatabases WHERE dbid = 1", "0"},
		{"SELECT SUM(lob_used_page_count + row_overflow_reserved_page_count) FROM sys.dm_db_partition_stats", "0"},
	})
}

// TestQueriesOfMonitoring: the shapes that queries of monitoring have (docs/t-sql/queries/from-transact-sql.md, Using
// APPLY; docs/t-sql/language-elements/exists-transact-sql.md).
func TestQueriesOfMonitoring(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE a (id int, n varchar(9)); INSERT a VALUES (1, 'x'), (2, 'y'), (3, 'z')", "ok"},
		{"CREATE TABLE b (a int, at int); INSERT b VALUES (1, 5), (1, 7), (2, 3), (2, 9)", "ok"},
		{"CREATE TABLE c (at int, t varchar(9)); INSERT c VALUES (5, 'five'), (7, 'seven'), (3, 'three')", "ok"},
		{"SELECT 1 WHERE EXISTS (SELECT * FROM b GROUP BY a HAVING COUNT(*) > 1)", "1"},
		{"SELECT 1 WHERE EXISTS (SELECT * FROM b GROUP BY a HAVING COUNT(*) > 2)", ""},
		{"SELECT 1 WHERE EXISTS (SELECT at FROM b GROUP BY a)", "!8120/16"},
		{
			"SELECT a.id, f.at, f.t FROM a CROSS APPLY (SELECT TOP (1) b.at, c.t FROM b JOIN c ON c.at = b.at WHERE b.a = " +
				"a.id ORDER BY b.at DESC) AS f ORDER BY a.id",
			"1 7 seven; 2 3 three",
		},
		{
			"SELECT a.id, f.at, f.t FROM a OUTER APPLY (SELECT TOP (1) b.at, c.t FROM b LEFT JOIN c ON c.at = b.at WHERE b.a " +
				"= a.id ORDER BY b.at DESC) AS f ORDER BY a.id",
			"1 7 seven; 2 9 NULL; 3 NULL NULL",
		},
		{
			"SELECT a.id, f.name FROM a OUTER APPLY (SELECT TOP 1 s.name + '!' AS name FROM sys.schemas AS s WHERE " +
				"s.schema_id <= a.id ORDER BY s.schema_id DESC) AS f ORDER BY a.id",
			"1 dbo!; 2 guest!; 3 INFORMATION_SCHEMA!",
		},
		{
			"SELECT a.id, f.name, f.n FROM a CROSS APPLY (SELECT TOP 1 s.name, x.n FROM sys.schemas AS s JOIN a AS x ON x.id " +
				"= s.schema_id WHERE s.schema_id < a.id ORDER BY s.schema_id DESC) AS f ORDER BY a.id",
			"2 dbo x; 3 guest y",
		},
		{
			"SELECT a.id, f.v FROM a OUTER APPLY (SELECT a.n + '?' AS v WHERE a.id > 1) AS f ORDER BY a.id",
			"1 NULL; 2 y?; 3 z?",
		},
		{"SELECT a.id, f.v FROM a CROSS APPLY (SELECT a.n + '?' AS v WHERE a.id > 1) AS f ORDER BY a.id", "2 y?; 3 z?"},
		{"SELECT a.id FROM a CROSS APPLY (SELECT TOP 1 d.at FROM (SELECT at, a FROM b) AS d WHERE d.a = a.id) AS f", "1; 2"},
		{"SELECT is_enabled, max_size, max_files, path FROM sys.dm_os_server_diagnostics_log_configurations", ""},
		{"SELECT file_exists, file_is_a_directory, parent_directory_exists FROM sys.dm_os_file_exists('/')", "0 1 1"},
		{
			"SELECT file_exists, file_is_a_directory, parent_directory_exists FROM sys.dm_os_file_exists('/no such " +
				"folder/file')",
			"0 0 0",
		},
		{"EXEC master.dbo.xp_fileexist '/no such folder'", "0 0 1"},
		{"DECLARE @there int; EXEC master..xp_fileexist '/proc/self/stat', @there OUTPUT; SELECT @there", "1"},
		{"EXEC master.sys.xp_create_subdir '/proc/none'", "!5133/16"},
	})
}

// TestManagementAsksForWhatIsAbsent: lists of operators, alerts, proxies and mail are empty, and are asked for by every
// tool of management (docs/relational-databases/system-stored-procedures/sp-help-operator-transact-sql.md and its kin,
// docs/relational-databases/system-tables).
func TestManagementAsksForWhatIsAbsent(t *testing.T) {
	t.Parallel()
	db := connection(t, shared.open(t, "msdb"))
	for _, name := range []string{"sp_help_operator", "sp_help_alert", "sp_help_proxy", "sp_help_targetserver",
		"sp_help_targetservergroup", "sp_help_maintenance_plan", "sysmail_help_profile_sp",
		"sysmail_help_account_sp", "sysmail_help_profileaccount_sp", "sysmail_help_principalprofile_sp"} {
		converse(t, db, []say{{"EXEC msdb.dbo." + name, ""}})
	}
	for _, name := range []string{"sysalerts", "sysnotifications", "sysproxies", "sysproxylogin", "systargetservers",
		"sysmail_profile", "sysmail_account", "sysssispackages", "sysmaintplan_plans", "sysmaintplan_subplans",
		"sysdac_instances", "syspolicy_conditions", "dbmaintplans"} {
		converse(t, db, []say{{"SELECT * FROM msdb.dbo." + name, ""}})
	}
	converse(t, db, []say{
		{"EXEC sp_help_operator @operator_name = N'nobody'", "!14262/16"},
		{"EXEC sp_help_alert @alert_name = N'none'", "!14262/16"},
		{"EXEC sp_help_alert @colour = 1", "!8145/16"},
		{"EXEC sysmail_help_status_sp", "STOPPED"},
		{"SELECT subsystem FROM syssubsystems WHERE subsystem_id IN (1, 6) ORDER BY subsystem_id", "TSQL; Distribution"},
		{
			"SELECT COUNT(*) FROM sysjobs_view AS v FULL JOIN sysjobs AS j ON j.job_id = v.job_id WHERE v.job_id IS NULL OR " +
				"j.job_id IS NULL OR v.originating_server <> @@SERVERNAME",
			"0",
		},
		{"SELECT originating_server_id, master_server FROM sysoriginatingservers_view", "0 false"},
	})
}

// TestFilesOfBackupsAndRestores: docs/relational-databases/system-tables/backupfilegroup-transact-sql.md,
// restorefile-transact-sql.md and restorefilegroup-transact-sql.md.
func TestFilesOfBackupsAndRestores(t *testing.T) {
	t.Parallel()
	admin := connection(t, shared.open(t, ""))
	name := uniqueName("d")
	folder := value(t, admin, "SELECT CAST(SERVERPROPERTY('InstanceDefaultBackupPath') AS nvarchar(260))").(string)
	file := strings.TrimRight(folder, "/") + "/" + name + ".bak"
	for _, text := range []string{
		"CREATE DATABASE [" + name + "]",
		"BACKUP DATABASE [" + name + "] TO DISK = '" + file + "'",
		"RESTORE DATABASE [" + name + "] FROM DISK = '" + file + "' WITH REPLACE",
	} {
		mustExec(t, admin, text)
	}
	converse(t, admin, []say{
		{
			"SELECT g.name, g.filegroup_id, g.type, g.is_default FROM msdb.dbo.backupfilegroup AS g JOIN msdb.dbo.backupset " +
				"AS b ON b.backup_set_id = g.backup_set_id WHERE b.database_name = '" + name + "'",
			"PRIMARY 1 FG true",
		},
		{
			"SELECT f.file_number, IIF(f.destination_phys_name = m.physical_name, 'there', 'elsewhere') FROM " +
				"msdb.dbo.restorefile AS f JOIN msdb.dbo.restorehistory AS h ON h.restore_history_id = f.restore_history_id " +
				"JOIN sys.master_files AS m " +
				"ON m.database_id = DB_ID(h.destination_database_name) AND m.file_id = f.file_number WHERE " +
				"h.destination_database_name = '" + name + "' ORDER BY 1",
			"1 there; 2 there",
		},
		{
			"SELECT g.filegroup_name FROM msdb.dbo.restorefilegroup AS g JOIN msdb.dbo.restorehistory AS h ON " +
				"h.restore_history_id = g.restore_history_id WHERE h.destination_database_name = '" + name + "'",
			"PRIMARY",
		},
		{"SELECT create_lsn, differential_base_lsn FROM msdb.dbo.backupfile WHERE 1 = 0", ""},
		{"DROP DATABASE [" + name + "]", "ok"},
	})
}

// TestFloatThatIsNoNumber: programs that read tables with gaps send NaN for them. That is error 8023 of the parameter,
// and the connection goes on
// (docs/relational-databases/errors-events/database-engine-events-and-errors-8000-to-8999.md).
func TestFloatThatIsNoNumber(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := db.ExecContext(t.Context(), "SELECT @p1", v)
		var e mssql.Error
		g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
		g.Expect(e.Number).To(Equal(int32(8023)))
		g.Expect(e.Message).To(ContainSubstring("not a valid instance of data type float"))
		converse(t, db, []say{{"SELECT 1", "1"}})
	}
}
