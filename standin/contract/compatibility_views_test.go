// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestCompatibilityViews: the columns of the pages of docs/relational-databases/system-compatibility-views, by which
// scripts of long ago look at columns and parameters, constraints, users and their rights.
func TestCompatibilityViews(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			`CREATE TABLE t (a int IDENTITY CONSTRAINT pk PRIMARY KEY, b nvarchar(10) NULL CONSTRAINT df DEFAULT 'x', c decimal(9,2) NOT NULL, d varchar(max), CONSTRAINT ck CHECK (a > 0));
CREATE TABLE u (a int CONSTRAINT fk REFERENCES t (a)); CREATE USER me WITHOUT LOGIN; GRANT SELECT ON t TO me; DENY UPDATE ON t TO me`,
			"ok",
		},
		{"CREATE PROCEDURE p @a int, @b nvarchar(4) OUTPUT AS SELECT a FROM t", "ok"},
		{
			"SELECT name, xtype, length, prec, scale, colid, colstat, status, isnullable, iscomputed, usertype FROM " +
				"syscolumns WHERE id = OBJECT_ID('t') ORDER BY colid",
			"a 56 4 10 0 1 1 128 0 0 56; b 231 20 10 NULL 2 0 8 1 0 231; c 106 5 9 2 3 0 0 0 0 106; d 167 -1 -1 NULL 4 " +
				"0 8 1 0 167",
		},
		{"SELECT OBJECT_NAME(cdefault) FROM syscolumns WHERE id = OBJECT_ID('t') AND name = 'b'", "df"},
		{
			"SELECT name, number, colid, isoutparam, status, prec FROM syscolumns WHERE id = OBJECT_ID('p') ORDER BY colid",
			"@a 1 1 0 8 10; @b 1 2 1 72 4",
		},
		{
			"SELECT OBJECT_NAME(constid), colid, status & 0xF, IIF(status & 16 > 0, 'column', 'table') FROM sysconstraints " +
				"WHERE id = OBJECT_ID('t') ORDER BY 1",
			"ck 0 4 table; df 2 5 column; pk 0 1 table",
		},
		{"SELECT fkey1, fkey2, rkey1, keycnt FROM sysreferences WHERE constid = OBJECT_ID('fk')", "1 0 1 1"},
		{"SELECT OBJECT_NAME(id), OBJECT_NAME(depid) FROM sysdepends", "p t"},
		{
			"SELECT OBJECT_NAME(id), USER_NAME(uid), action, protecttype FROM sysprotects WHERE uid = USER_ID('me') AND id > " +
				"0 ORDER BY action",
			"t me 193 205; t me 197 206",
		},
		{
			"SELECT name, hasdbaccess, islogin, issqluser, issqlrole, gid FROM sysusers WHERE name IN ('dbo', 'me', 'guest', " +
				"'public') ORDER BY uid",
			"public 0 0 0 1 0; dbo 1 1 1 0 0; guest 0 1 1 0 0; me 1 1 1 0 0",
		},
		{"SELECT sysadmin, dbcreator, isntuser, denylogin FROM syslogins WHERE name = 'sa'", "1 1 0 0"},
		{
			"SELECT name, variable, allownulls, prec, usertype FROM systypes WHERE name IN ('int', 'nvarchar') ORDER BY name",
			"int false true 10 56; nvarchar true true 4000 231",
		},
		{"SELECT name, rowcnt, groupid, rows FROM sysindexes WHERE id = OBJECT_ID('t')", "pk 0 1 0"},
		{
			`CREATE TABLE keyed (a int NOT NULL CONSTRAINT pk_keyed PRIMARY KEY, b int NOT NULL CONSTRAINT uq_keyed UNIQUE, c int, d int);
CREATE UNIQUE INDEX ux ON keyed (c, b) WITH (IGNORE_DUP_KEY = ON, FILLFACTOR = 80); CREATE INDEX ix ON keyed (d)`,
			"ok",
		},
		{
			"SELECT name, status & 6163, keycnt, OrigFillFactor FROM sysindexes WHERE id = OBJECT_ID('keyed') ORDER BY indid",
			"pk_keyed 2066 1 0; uq_keyed 4098 1 0; ux 3 2 80; ix 0 1 0",
		},
		{`SELECT c.name FROM sysindexkeys k JOIN syscolumns c ON c.id = k.id AND c.colid = k.colid
WHERE k.id = OBJECT_ID('keyed') AND k.indid = (SELECT TOP 1 indid FROM sysindexes WHERE id = k.id AND indid BETWEEN 1 AND 254 AND status & 2048 = 2048) ORDER BY k.keyno`, "a"},
		{
			"DECLARE @t nvarchar(max) = N'CREATE PROCEDURE long AS BEGIN SELECT 1 AS a /* ' + REPLICATE(CAST(N'x' AS " +
				"nvarchar(max)), 9000) + N' */ END'; EXEC (@t)",
			"ok",
		},
		{
			"CREATE TABLE constrained (a int CONSTRAINT pk_c PRIMARY KEY, b int CONSTRAINT uq_c UNIQUE, c int CONSTRAINT " +
				"fk_c REFERENCES t (a) NOT FOR REPLICATION, d int CHECK (d > 0)); ALTER TABLE constrained NOCHECK CONSTRAINT fk_c",
			"ok",
		},
		{
			"SELECT status FROM sysconstraints WHERE id = OBJECT_ID('constrained') ORDER BY status & 15",
			"2593; 3106; 2115619; 133140",
		},
		{
			"SELECT number, colid, LEN(text) FROM syscomments WHERE id = OBJECT_ID('long') ORDER BY colid",
			"1 1 4000; 1 2 4000; 1 3 1055",
		},
		{
			"SELECT k.name, c.colid FROM syscomments c JOIN sys.check_constraints k ON k.object_id = c.id AND k.definition = " +
				"c.text WHERE k.parent_object_id = OBJECT_ID('t') UNION ALL SELECT k.name, c.colid FROM syscomments c JOIN " +
				"sys.default_constraints k ON k.object_id = c.id AND k.definition = c.text WHERE k.parent_object_id = " +
				"OBJECT_ID('t')",
			"ck 1; df 1",
		},
		{
			"SELECT error, severity FROM master.dbo.sysmessages WHERE description LIKE 'Invalid object name%' AND " +
				"msglangid = 1033",
			"208 16",
		},
		{"SELECT category FROM sysdatabases WHERE name = 'master'", "0"},
		{"SELECT isremote, pub, querytimeout FROM sysservers WHERE srvid = 0", "true false 0"},
		{"SELECT COUNT(*) FROM sysdevices WHERE phyname IS NULL", "0"},
		{"SELECT IIF(COUNT(*) > 0, 'counters', 'none') FROM sysperfinfo", "counters"},
		{"SELECT request_id, stmt_end, RTRIM(net_library) FROM sysprocesses WHERE spid = @@SPID", "0 -1 TCP/IP"},
	})
}

// TestColumnsOfPages: columns that pages of views have and that tools select by name
// (sys-dm-exec-requests-transact-sql.md, sys-dm-exec-query-stats-transact-sql.md, sys-dm-os-schedulers-transact-sql.md,
// sys-dm-server-services-transact-sql.md, sys-databases-transact-sql.md, sys-tables-transact-sql.md,
// sys-traces-transact-sql.md, sys-views-transact-sql.md).
func TestColumnsOfPages(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SET DATEFIRST 3; SELECT r.date_first, s.date_first, r.quoted_identifier, r.dop, r.is_resumable FROM " +
				"sys.dm_exec_requests AS r JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id WHERE " +
				"r.session_id = @@SPID",
			"3 3 true 1 false",
		},
		{
			"SELECT query_hash, query_plan_hash, statement_sql_handle, task_address, ansi_nulls FROM sys.dm_exec_requests " +
				"WHERE 1 = 0",
			"",
		},
		{
			"SELECT q.query_hash, q.query_plan_hash, q.text FROM (SELECT s.*, t.text FROM sys.dm_exec_query_stats AS s CROSS " +
				"APPLY sys.dm_exec_sql_text(s.sql_handle) AS t) AS q",
			"",
		},
		{"SELECT yield_count, quantum_length_us, ideal_workers_limit FROM sys.dm_os_schedulers WHERE 1 = 0", ""},
		{"SELECT startup_type_desc FROM sys.dm_server_services WHERE servicename LIKE 'SQL Server (%'", "Automatic"},
		{"SELECT is_temporal_history_retention_enabled FROM sys.databases WHERE name = DB_NAME()", "true"},
		{"SELECT history_retention_period, history_retention_period_unit_desc FROM sys.tables WHERE 1 = 0", ""},
		{"SELECT is_rowset, event_count FROM sys.traces WHERE 1 = 0", ""},
		{"CREATE VIEW v AS SELECT 1 AS a", "ok"},
		{"CREATE VIEW w AS SELECT object_id FROM sys.tables WHERE object_id > 1 WITH CHECK OPTION", "ok"},
		{
			"SELECT name, with_check_option FROM sys.all_views WHERE name IN ('v', 'w', 'objects') ORDER BY name",
			"objects false; v false; w true",
		},
	})
}
