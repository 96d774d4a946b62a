// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestEveryView reads every view that the server says it has: none ends the connection, and each has as many values as
// columns (docs/relational-databases/system-catalog-views/catalog-views-transact-sql.md, sys.all_views).
func TestEveryView(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	mustExec(t, db, "CREATE TABLE t (a int PRIMARY KEY, b xml NULL)")
	names, err := tryQuery(
		db,
		"SELECT SCHEMA_NAME(schema_id) + '.' + name FROM sys.system_views WHERE schema_id IN (3, 4) ORDER BY name",
	)
	if err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Expect(len(names)).To(BeNumerically(">", 250))
	for _, row := range names {
		name, _ := row[0].(string)
		if _, err := tryQuery(db, "SELECT * FROM "+name); err != nil &&
			!strings.Contains(err.Error(), "No catalog entry was found") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestActivity: what sessions, transactions, files and logs are doing
// (docs/relational-databases/system-dynamic-management-views).
func TestActivity(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (a int NOT NULL CONSTRAINT pk_t PRIMARY KEY, b int NULL)", "ok"},
		{"INSERT t VALUES (1, 2), (2, 3)", "ok"},
		{"CREATE INDEX ix_b ON t (b)", "ok"},
		{
			"SELECT i.name, s.index_type_desc, s.alloc_unit_type_desc, s.record_count FROM " +
				"sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('t'), NULL, NULL, 'DETAILED') s JOIN sys.indexes i ON " +
				"i.object_id = s.object_id AND i.index_id = s.index_id ORDER BY i.index_id",
			"pk_t CLUSTERED INDEX IN_ROW_DATA 2; ix_b NONCLUSTERED INDEX IN_ROW_DATA 2",
		},
		{
			"SELECT COUNT(*), COUNT(record_count) FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('t'), 1, NULL, NULL)",
			"1 0",
		},
		{
			"SELECT IIF(COUNT(*) > 0 AND MIN(vlf_size_mb) > 0, 1, 0), IIF(COUNT(DISTINCT vlf_sequence_number) = COUNT(*), 1, " +
				"0) FROM sys.dm_db_log_info(DB_ID())",
			"1 1",
		},
		{
			"SELECT event_type, parameters, event_info FROM sys.dm_exec_input_buffer(@@SPID, NULL)",
			"Language Event 0 SELECT event_type, parameters, event_info FROM sys.dm_exec_input_buffer(@@SPID, NULL)",
		},
		{
			"BEGIN TRANSACTION; SELECT COUNT(*) FROM sys.dm_tran_database_transactions d JOIN " +
				"sys.dm_tran_session_transactions s ON s.transaction_id = d.transaction_id WHERE s.session_id = @@SPID AND " +
				"d.database_id = DB_ID(); ROLLBACK",
			"1",
		},
		{"SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE blocking_session_id = @@SPID", "0"},
		{
			"SELECT total_page_count - allocated_extent_page_count - unallocated_extent_page_count FROM " +
				"sys.dm_db_file_space_usage",
			"0",
		},
		{"SELECT mirroring_guid, mirroring_state_desc FROM sys.database_mirroring WHERE database_id = DB_ID()", "NULL NULL"},
		{
			"SELECT desired_state_desc IN_, 1 FROM sys.database_query_store_options WHERE actual_state_desc NOT IN ('OFF', " +
				"'READ_ONLY', 'READ_WRITE', 'ERROR')",
			"",
		},
		{
			"SELECT current_utc_offset, is_currently_dst FROM sys.time_zone_info WHERE name = 'India Standard Time'",
			"+05:30 false",
		},
		{"SELECT type, usage FROM sys.login_token WHERE name = 'public'", "SERVER ROLE GRANT OR DENY"},
		{
			"SELECT permission_name FROM fn_my_permissions(NULL, 'SERVER') WHERE permission_name IN ('CONTROL SERVER', 'VIEW " +
				"SERVER STATE') ORDER BY 1",
			"CONTROL SERVER; VIEW SERVER STATE",
		},
		{
			"SELECT entity_name, permission_name FROM fn_my_permissions(NULL, 'DATABASE') WHERE permission_name = 'BACKUP LOG'",
			"database BACKUP LOG",
		},
		{"SELECT COUNT(*) FROM fn_my_permissions('nothing', 'OBJECT')", "0"},
		{"SELECT COUNT(*) FROM msdb.dbo.suspect_pages WHERE database_id = DB_ID()", "0"},
	})
}

// TestCatalogJoins: joins of catalogue views are looked up and not multiplied
// (docs/relational-databases/system-catalog-views/querying-the-sql-server-system-catalog-faq.yml).
func TestCatalogJoins(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	mustExec(t, db, "CREATE TYPE name FROM nvarchar(20)")
	mustExec(
		t,
		db,
		"DECLARE @i int = 1, @t nvarchar(200); WHILE @i <= 60 BEGIN SET @t = CONCAT('CREATE TABLE t', @i, ' (a int, b "+
			"name, c bigint, d date, e bit)'); EXEC (@t); SET @i += 1 END",
	)
	joined := "SELECT COUNT(*), COUNT(DISTINCT c.object_id), MIN(t.name), MAX(t.name) FROM sys.objects o JOIN " +
		"sys.columns c ON c.object_id = o.object_id JOIN sys.types t ON t.user_type_id = c.user_type_id WHERE o.type = 'U'"
	started := time.Now()
	g.Expect(query(t, db, joined)).To(Equal([][]any{{int64(300), int64(60), "bigint", "name"}}))
	g.Expect(query(t, db,
		"SELECT COUNT(*) FROM sys.all_columns c LEFT JOIN sys.all_objects o ON o.object_id = c.object_id WHERE "+
			"o.name IS NULL")).
		To(Equal([][]any{{int64(0)}}))
	g.Expect(time.Since(started)).To(BeNumerically("<", 20*time.Second))
}

// TestReferences: which object names which
// (docs/relational-databases/system-catalog-views/sys-sql-expression-dependencies-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-sql-referencing-entities-transact-sql.md).
func TestReferences(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE dbo.one (a int)", "ok"},
		{"CREATE VIEW dbo.two AS SELECT a FROM dbo.one", "ok"},
		{
			"CREATE PROCEDURE dbo.three AS WITH c AS (SELECT a FROM dbo.two) INSERT dbo.one SELECT a FROM c; SELECT * FROM " +
				"dbo.later; EXEC dbo.three",
			"ok",
		},
		{
			"SELECT OBJECT_NAME(referencing_id), referenced_schema_name, referenced_entity_name, OBJECT_NAME(referenced_id) " +
				"FROM sys.sql_expression_dependencies ORDER BY 1, 3",
			"three dbo later NULL; three dbo one one; three dbo three three; three dbo two two; two dbo one one",
		},
		{"SELECT referencing_entity_name FROM sys.dm_sql_referencing_entities('dbo.one', 'OBJECT') ORDER BY 1", "three; two"},
		{
			"SELECT referenced_entity_name FROM sys.dm_sql_referenced_entities('dbo.two', 'OBJECT') WHERE " +
				"referenced_minor_id = 0",
			"one",
		},
		{"SELECT VIEW_NAME, TABLE_NAME FROM INFORMATION_SCHEMA.VIEW_TABLE_USAGE", "two one"},
	})
	if _, err := tryQuery(db, "EXEC sp_depends 'dbo.one'"); err != nil {
		t.Error(err)
	}
}

// TestFormerProcedures: procedures of earlier versions, each beside the statement that has taken its place
// (docs/relational-databases/system-stored-procedures/system-stored-procedures-transact-sql.md).
func TestFormerProcedures(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"EXEC sp_addrole 'readers'", "ok"},
		{"EXEC sp_addtype 'ssn', 'varchar(11)', 'NOT NULL'", "ok"},
		{"SELECT TYPE_NAME(system_type_id), max_length, is_nullable FROM sys.types WHERE name = 'ssn'", "varchar 11 false"},
		{"EXEC sp_droptype 'ssn'", "ok"},
		{"EXEC sp_droprole 'readers'", "ok"},
		{"SELECT COUNT(*) FROM sys.database_principals WHERE name = 'readers'", "0"},
		{
			"EXEC sp_helplanguage 'us_english'",
			"0 mdy 7 0 us_english English " +
				"January,February,March,April,May,June,July,August,September,October,November,December " +
				"Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec " +
				"Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday 1033 1033",
		},
		{"EXEC sp_changedbowner 'sa'", "ok"},
		{"EXEC xp_cmdshell 'dir'", "!15281/16/1"},
		{"EXEC sp_nothing_of_this_name", "!2812/16/62"},
		{"DECLARE @t nvarchar(max) = N'CREATE VIEW long AS SELECT ''' + REPLICATE(N'x', 600) + N''' AS a'; EXEC (@t)", "ok"},
		{
			"DECLARE @t TABLE (line nvarchar(255)); INSERT @t EXEC sp_helptext 'long'; SELECT COUNT(*), MAX(LEN(line)) FROM @t",
			"3 255",
		},
	})
	if _, err := tryQuery(db, "EXEC sp_describe_parameter_encryption N'SELECT @a', N'@a int'"); err != nil {
		t.Error(err)
	}
}

// TestArithmeticOff: with ARITHABORT and ANSI_WARNINGS off an overflow and a division by zero are NULL, and what is too
// long for a column is cut (docs/t-sql/statements/set-arithabort-transact-sql.md,
// docs/t-sql/statements/set-ansi-warnings-transact-sql.md).
func TestArithmeticOff(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (a tinyint NULL, b varchar(3) NULL)", "ok"},
		{
			"SET ARITHABORT OFF; SET ANSI_WARNINGS OFF; SELECT 1 / 0, 10 / 2; SET ANSI_WARNINGS ON; SET ARITHABORT ON",
			"NULL 5",
		},
		{
			"SET ARITHABORT OFF; SET ANSI_WARNINGS OFF; INSERT t VALUES (300, 'abcdef'); INSERT t VALUES (1 / 0, 'xy'); SET " +
				"ANSI_WARNINGS ON; SET ARITHABORT ON",
			"ok",
		},
		{"SELECT a, b FROM t ORDER BY b", "NULL abc; NULL xy"},
		{"SET ANSI_WARNINGS ON; SET ARITHABORT OFF; SELECT 1 / 0", "!8134/16/1"},
		{"SET ARITHABORT ON; INSERT t VALUES (1, 'abcdef')", "!2628/16/1"},
	})
}

// TestPlacesOfTables: a file group or partition scheme that there is not is no place for a table or an index
// (docs/t-sql/statements/create-table-transact-sql.md, docs/t-sql/functions/filegroup-id-transact-sql.md).
func TestPlacesOfTables(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (a int NOT NULL) ON [PRIMARY]", "ok"},
		{"CREATE TABLE u (a int) ON nowhere", "!1921/16/1"},
		{"CREATE TABLE u (a int) ON nowhere(a)", "!1921/16/1"},
		{"CREATE TABLE u (a int, b varchar(max)) TEXTIMAGE_ON nowhere", "!1921/16/1"},
		{"CREATE INDEX i ON t (a) ON nowhere", "!1921/16/1"},
		{"ALTER TABLE t ADD CONSTRAINT pk_t PRIMARY KEY (a) ON nowhere", "!1921/16/1"},
		{"ALTER TABLE t ADD CONSTRAINT pk_t PRIMARY KEY (a) ON \"default\"", "ok"},
		{"SELECT COUNT(*) FROM sys.tables WHERE name = 'u'", "0"},
		{
			"SELECT INDEX_COL('t', 1, 1), INDEXKEY_PROPERTY(OBJECT_ID('t'), 1, 1, 'ColumnId'), FILEGROUP_NAME(1), " +
				"FILEGROUP_ID('PRIMARY'), FILEGROUPPROPERTY('PRIMARY', 'IsDefault'), FILEGROUP_ID('nowhere')",
			"a 1 PRIMARY 1 1 NULL",
		},
		{"CREATE TABLE u (a int, b AS ISNULL(a, 0) NOT NULL)", "!8183/16"},
		{"CREATE TABLE u (a int, b AS a + 1 CHECK (b > 0))", "!8183/16"},
		{"CREATE DATABASE not_made COLLATE Not_A_Collation", "!448/16"},
	})
}

// TestVariantProperties: the type of an expression (docs/t-sql/functions/sql-variant-property-transact-sql.md).
func TestVariantProperties(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT SQL_VARIANT_PROPERTY(CAST(46279.1 AS decimal(8,2)), 'BaseType'), SQL_VARIANT_PROPERTY(CAST(46279.1 AS " +
				"decimal(8,2)), 'Precision'), SQL_VARIANT_PROPERTY(CAST(46279.1 AS decimal(8,2)), 'Scale')",
			"decimal 8 2",
		},
		{
			"SELECT SQL_VARIANT_PROPERTY(CAST(1 AS bigint), 'BaseType'), SQL_VARIANT_PROPERTY(CAST('a' AS char(5)), " +
				"'MaxLength'), SQL_VARIANT_PROPERTY(CAST(1 AS money), 'BaseType'), SQL_VARIANT_PROPERTY(GETDATE(), 'BaseType'), " +
				"SQL_VARIANT_PROPERTY(NULL, 'BaseType')",
			"bigint 5 money datetime NULL",
		},
	})
}

// TestStoredVariants: a stored value has its base type, and values compare by family first
// (docs/t-sql/data-types/sql-variant-transact-sql.md).
func TestStoredVariants(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	const kinds = "bit tinyint smallint int bigint smallmoney money decimal(8,2) real float date time(3) smalldatetime " +
		"datetime datetime2(5) datetimeoffset(1) char(4) varchar(9) nchar(3) nvarchar(7) binary(3) varbinary(5) " +
		"uniqueidentifier"
	converse(t, db, []say{{"CREATE TABLE v (id int IDENTITY PRIMARY KEY, x sql_variant)", "ok"}})
	for _, kind := range strings.Fields(kinds) {
		value := "1"
		switch {
		case strings.Contains(kind, "date") || strings.Contains(kind, "time"):
			value = "'2024-02-03 10:11:00'"
		case strings.Contains(kind, "binary"):
			value = "0x0102"
		case kind == "uniqueidentifier":
			value = "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"
		}
		name, _, _ := strings.Cut(kind, "(")
		converse(t, db, []say{
			{
				"DECLARE @t " + kind + " = " + value +
					"; INSERT v VALUES (@t); SELECT SQL_VARIANT_PROPERTY(x, 'BaseType') FROM v WHERE id = SCOPE_IDENTITY()",
				name,
			},
			{
				"DECLARE @t " + kind + " = " + value + "; SELECT IIF(CAST(x AS " + kind +
					") = @t, 'same', 'other'), IIF(x = @t, 'equal', 'not'), IIF(SQL_VARIANT_PROPERTY(x, 'MaxLength') = " +
					"SQL_VARIANT_PROPERTY(@t, 'MaxLength') AND SQL_VARIANT_PROPERTY(x, 'Precision') = SQL_VARIANT_PROPERTY(@t, " +
					"'Precision') AND SQL_VARIANT_PROPERTY(x, 'Scale') = SQL_VARIANT_PROPERTY(@t, 'Scale'), 'whole', 'lost'), " +
					"DATALENGTH(x) - DATALENGTH(@t) FROM v WHERE id = (SELECT MAX(id) FROM v)",
				"same equal whole 0",
			},
		})
	}
	converse(t, db, []say{
		{"SELECT x FROM v WHERE id = 1", "true"},
		{"SELECT COUNT(*) FROM v WHERE x = 1", "8"},
		{"SELECT COUNT(*) FROM v WHERE x IN (1, '1')", "12"},
		{"SELECT COUNT(*) FROM v WHERE x BETWEEN CAST(0.5 AS float) AND CAST(2 AS real)", "2"},
		{
			"DELETE FROM v; INSERT v SELECT x FROM (VALUES (CAST('b' AS sql_variant)), (CAST(N'A' AS sql_variant)), (CAST(20 " +
				"AS sql_variant)), (CAST(3.5 AS sql_variant)), (CAST(-1 AS sql_variant)), (CAST(1E0 AS sql_variant)), " +
				"(CAST(0x05 AS sql_variant)), (CAST(NEWID() AS sql_variant)), (CAST(CAST('1999-01-01' AS date) AS " +
				"sql_variant)), (NULL)) AS n (x)",
			"ok",
		},
		{
			"SELECT SQL_VARIANT_PROPERTY(x, 'BaseType') FROM v ORDER BY x",
			"NULL; uniqueidentifier; varbinary; nvarchar; varchar; int; decimal; int; float; date",
		},
		{"SELECT COUNT(*) FROM v a JOIN v b ON a.x < b.x", "36"},
		{"SELECT CAST(MAX(x) AS date) FROM v WHERE x IS NOT NULL", "1999-01-01T00:00:00"},
		{
			"SELECT IIF(CAST('abc  ' AS sql_variant) = CAST(N'ABC' AS sql_variant), 'equal', 'not'), IIF(CAST(CAST(1 AS " +
				"bigint) AS sql_variant) = CAST(1.0 AS sql_variant), 'equal', 'not'), IIF(CAST('1' AS sql_variant) < CAST(0 AS " +
				"sql_variant), 'less', 'not')",
			"equal equal less",
		},
		{"DECLARE @m varchar(max) = 'x'; SELECT CAST(@m AS sql_variant)", "!206/16"},
		{"SELECT UPPER(CAST(x AS varchar(9))) FROM v WHERE x = 'B'", "B"},
		{
			"SELECT COUNT(*), COUNT(DISTINCT x) FROM (VALUES (CAST(1 AS sql_variant)), (CAST(1.0 AS sql_variant)), (CAST('1' " +
				"AS sql_variant))) AS n (x)",
			"3 2",
		},
		{
			"SELECT COUNT(*) FROM (VALUES (CAST(1 AS sql_variant)), (CAST(1.0 AS sql_variant)), (CAST('1' AS sql_variant))) " +
				"AS n (x) GROUP BY x ORDER BY 1",
			"1; 2",
		},
		{"CREATE TABLE k (x sql_variant NOT NULL PRIMARY KEY); INSERT k VALUES (1), ('1')", "ok"},
		{"INSERT k VALUES (1.0)", "!2627/14/1"},
		{
			"EXEC sp_set_session_context 'k', 5; SELECT SQL_VARIANT_PROPERTY(SESSION_CONTEXT(N'k'), 'BaseType'), " +
				"CAST(SESSION_CONTEXT(N'k') AS int) + 1",
			"int 6",
		},
	})
}

// TestHalvesOfServerStatements: statements that manage a server and end too early, or say one thing twice, with the
// line where they do (docs/relational-databases/errors-events/database-engine-events-and-errors.md).
func TestHalvesOfServerStatements(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	var list []say
	for _, one := range []say{
		{"CREATE AVAILABILITY GROUP", "!102/15/1/3"},
		{"CREATE AVAILABILITY GROUP g WITH (CLUSTER_TYPE = NOTHING) FOR REPLICA ON N'a' WITH (ENDPOINT_URL = " +
			"N'tcp://a:5022')", "!102/15/1/3"},
		{"ALTER AVAILABILITY GROUP g FAILOVR", "!102/15/1/3"},
		{"ALTER AVAILABILITY GROUP g SET ()", "!102/15/1/3"},
		{"DROP AVAILABILITY GROUP g, h", "!102/15/1/3"},
		{"BACKUP DATABASE d TO DISK =", "!102/15/1/3"},
		{"BACKUP DATABASE d TO DISK = 'a' WITH STATS = x", "!102/15/1/3"},
		{"BACKUP DATABASE d TO DISK = 'a' WITH NOTHING", "!155/15/1/3"},
		{"RESTORE DATABASE d FROM DISK", "!156/15/1/3"},
		{"RESTORE DATABASE d FROM DISK = 'x' WITH MOVE 'a' 'b'", "!102/15/1/3"},
		{"CREATE ENDPOINT e STATE = RUNNING AS TCP (LISTENER_PORT = 5022) FOR DATABASE_MIRRORING (ROLE = ALL)",
			"!102/15/1/3"},
		{"CREATE LOGIN l WITH PASSWORD =", "!102/15/1/3"},
		{"CREATE LOGIN l FROM NOTHING", "!102/15/1/3"},
		{"CREATE CERTIFICATE c WITH SUBJECT = x", "!102/15/1/3"},
		{"BACKUP CERTIFICATE c TO FILE = 'x' WITH", "!102/15/1/3"},
		{"CREATE MASTER KEY ENCRYPTION BY PASSWORD = x", "!102/15/1/3"},
		{"DROP MASTER", "!102/15/1/3"},
		{"GRANT CONNECT ON ENDPOINT::e TO", "!102/15/1/3"},
		{"CREATE USER u WITH PASSWORD = 'Str0ng-Passw0rd'", "!33233/16/1"},
		{"EXEC sp_addpublication @publication =", "!102/15/1/3"},
		{"EXEC sp_addpublication @publication = , @status = N'active'", "!102/15/1/3"},
		{"EXEC sp_addarticle @publication = 'p', 'a'", "!119/15/1/3"},
	} {
		list = append(list, say{"SELECT 1;\n\n" + one.text, one.want})
	}
	converse(t, db, list)
}

// TestOpenTransaction: the oldest open transaction of a database
// (docs/t-sql/database-console-commands/dbcc-opentran-transact-sql.md).
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (a int)", "ok"},
		{"DBCC OPENTRAN", "ok"},
		{"BEGIN TRANSACTION; INSERT t VALUES (1); DBCC OPENTRAN; ROLLBACK", "ok"},
		{"DBCC OPENTRAN ('no_such_database')", "!2520/16"},
	})
}
