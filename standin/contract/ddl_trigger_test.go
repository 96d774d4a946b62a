// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDatabaseTriggers: docs/t-sql/statements/create-trigger-transact-sql.md,
// docs/t-sql/functions/eventdata-transact-sql.md and docs/relational-databases/triggers/use-the-eventdata-function.md,
// in words of their own.
func TestDatabaseTriggers(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TRIGGER keep ON DATABASE FOR CREATE_TABLE, DROP_TABLE AS PRINT 'seen' ROLLBACK", "ok"},
		{"CREATE TABLE a (n int)", "!3609/16/1/1"},
		{"SELECT OBJECT_ID('a'), @@TRANCOUNT", "NULL 0"},
		{"BEGIN TRANSACTION; CREATE SEQUENCE kept; CREATE TABLE a (n int); SELECT 'not reached'", "!3609/16"},
		{"SELECT OBJECT_ID('a'), OBJECT_ID('kept'), @@TRANCOUNT", "NULL NULL 0"},
		{"SELECT 1 AS n INTO a", "!3609"},
		{"SELECT OBJECT_ID('a')", "NULL"},
		{"CREATE TABLE #temporary (n int)", "ok"},
		{
			"SELECT name, parent_class, parent_class_desc, parent_id, type, is_disabled, is_instead_of_trigger FROM " +
				"sys.triggers",
			"keep 0 DATABASE 0 TR false false",
		},
		{"SELECT COUNT(*) FROM sys.objects WHERE name = 'keep'", "0"},
		{
			"SELECT definition FROM sys.sql_modules",
			"CREATE TRIGGER keep ON DATABASE FOR CREATE_TABLE, DROP_TABLE AS PRINT 'seen' ROLLBACK",
		},
		{"DISABLE TRIGGER keep ON DATABASE", "ok"},
		{"CREATE TABLE a (n int)", "ok"},
		{"ENABLE TRIGGER ALL ON DATABASE", "ok"},
		{"DROP TABLE a", "!3609"},
		{"DROP TABLE IF EXISTS nothing", "ok"},
		{"CREATE TRIGGER keep ON DATABASE FOR CREATE_VIEW AS SELECT 1", "!2714/16"},
		{"ALTER TRIGGER none ON DATABASE FOR CREATE_VIEW AS SELECT 1", "!208/16"},
		{"CREATE OR ALTER TRIGGER keep ON DATABASE FOR DDL_VIEW_EVENTS AS ROLLBACK", "ok"},
		{"DROP TABLE a", "ok"},
		{
			"SELECT type, type_desc, is_first, is_last, event_group_type, event_group_type_desc FROM sys.trigger_events " +
				"ORDER BY type",
			"41 CREATE_VIEW false false 10019 DDL_VIEW_EVENTS; 42 ALTER_VIEW false false 10019 DDL_VIEW_EVENTS; 43 DROP_VIEW " +
				"false false 10019 DDL_VIEW_EVENTS",
		},
		{"CREATE TRIGGER x ON DATABASE FOR CREATE_DATABASE AS SELECT 1", "!1098/15"},
		{"CREATE TRIGGER x ON DATABASE FOR INSERT AS SELECT 1", "!1098/15"},
		{"CREATE TRIGGER x ON DATABASE FOR CREATE_NOTHING AS SELECT 1", "!1084/15"},
		{"CREATE TRIGGER x ON DATABASE FOR CREATE_TABLE, CREATE_TABLE AS SELECT 1", "!1095/15"},
		{"CREATE TRIGGER dbo.x ON DATABASE FOR CREATE_TABLE AS SELECT 1", "!1094/15"},
		{"DROP TRIGGER x ON DATABASE", "!3701/11"},
		{"DROP TRIGGER IF EXISTS x ON DATABASE", "ok"},
		{"DROP TRIGGER keep ON DATABASE", "ok"},
		{"SELECT COUNT(*) FROM sys.triggers", "0"},
		{"SELECT EVENTDATA()", "NULL"},
		{"CREATE TRIGGER x ON DATABASE WITH NATIVE_COMPILATION FOR DROP_SYNONYM AS ROLLBACK", "!40517"},
		{
			"CREATE TRIGGER safety ON DATABASE FOR DROP_SYNONYM AS\nIF (@@ROWCOUNT = 0)\nRETURN;\nRAISERROR ('Not this one', " +
				"10, 1)\nROLLBACK",
			"ok",
		},
		{"CREATE SYNONYM kept FOR a; SELECT 1 WHERE 1 = 0; DROP SYNONYM kept", "!3609"},
		{"SELECT name FROM sys.synonyms", "kept"},
		{
			"SELECT type_name FROM sys.trigger_event_types WHERE parent_type = (SELECT type FROM sys.trigger_event_types " +
				"WHERE type_name = 'DDL_TABLE_EVENTS') ORDER BY type",
			"CREATE_TABLE; ALTER_TABLE; DROP_TABLE",
		},
	})
}

// TestEventData: what triggers learn of each statement, their order, and what they do within its transaction.
func TestEventData(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	taken := "SELECT event, isnull(object, ''), text FROM log; TRUNCATE TABLE log"
	converse(t, db, []say{
		{"CREATE TABLE log (id int IDENTITY, event nvarchar(100), object nvarchar(200), text nvarchar(max))", "ok"},
		{"CREATE PROCEDURE inner_data AS SELECT ISNULL(CONVERT(nvarchar(max), EVENTDATA()), 'none')", "ok"},
		{`CREATE TRIGGER logs ON DATABASE FOR DDL_DATABASE_LEVEL_EVENTS AS
			DECLARE @e xml = EVENTDATA();
			INSERT log (event, object, text) VALUES (@e.value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(100)'),
				CONCAT(@e.value('(/EVENT_INSTANCE/SchemaName)[1]', 'nvarchar(100)'), '.', @e.value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(100)'), '/',
					@e.value('(/EVENT_INSTANCE/ObjectType)[1]', 'nvarchar(100)'), '/', @e.value('(/EVENT_INSTANCE/TargetObjectName)[1]', 'nvarchar(100)')),
				@e.value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(max)'))`, "ok"},
		{"CREATE TABLE t (a int)\nCREATE INDEX i ON t (a)", "ok"},
		{taken, "CREATE_TABLE dbo.t/TABLE/ CREATE TABLE t (a int); CREATE_INDEX dbo.i/INDEX/t CREATE INDEX i ON t (a)"},
		{"CREATE OR ALTER VIEW v AS SELECT 1 AS a", "ok"},
		{"CREATE OR ALTER VIEW v AS SELECT 2 AS a", "ok"},
		{"EXEC sp_rename 't.a', 'b', 'COLUMN'", "ok"},
		{"CREATE USER u WITHOUT LOGIN; GRANT SELECT ON t TO u; ALTER ROLE db_owner ADD MEMBER u", "ok"},
		{"CREATE TRIGGER tr ON t AFTER INSERT AS SELECT 1", "ok"},
		{
			"SELECT event, object FROM log ORDER BY id; TRUNCATE TABLE log",
			"CREATE_VIEW dbo.v/VIEW/; ALTER_VIEW dbo.v/VIEW/; RENAME .//; CREATE_USER .u/SQL USER/; GRANT_DATABASE " +
				".t/OBJECT/; ADD_ROLE_MEMBER .u/SQL USER/; CREATE_TRIGGER dbo.tr/TRIGGER/t",
		},
		{"BEGIN TRANSACTION; DROP VIEW v; ROLLBACK; SELECT COUNT(*) FROM log", "0"},
		{"CREATE TABLE t (a int)", "!2714"},
		{"SELECT COUNT(*) FROM log", "0"},
		{"CREATE TRIGGER nested ON DATABASE FOR CREATE_TABLE AS EXEC inner_data", "ok"},
		{"CREATE TABLE t2 (a int)", "none"},
		{"EXEC sp_settriggerorder 'nested', 'First', 'CREATE_TABLE', 'DATABASE'", "ok"},
		{"EXEC sp_settriggerorder 'logs', 'First', 'CREATE_TABLE', 'DATABASE'", "!15130/16"},
		{"EXEC sp_settriggerorder 'nested', 'First', 'DROP_TABLE', 'DATABASE'", "!15125/16"},
		{"EXEC sp_settriggerorder 'none', 'First', 'DROP_TABLE', 'DATABASE'", "!15165/16"},
		{
			"SELECT t.name, e.is_first, e.is_last FROM sys.trigger_events e JOIN sys.triggers t ON t.object_id = e.object_id " +
				"WHERE e.type_desc = 'CREATE_TABLE' ORDER BY 1",
			"logs false false; nested true false",
		},
		{
			"ALTER TRIGGER nested ON DATABASE FOR ALTER_TABLE AS DECLARE @d xml = EVENTDATA(); SELECT " +
				"@d.value('(//Create/Columns/Name)[1]', 'sysname'), @d.value('(//Create/Constraints/Name)[1]', 'sysname'), " +
				"DB_NAME(), @d.value('(//UserName)[1]', 'sysname')",
			"ok",
		},
		{"SELECT COUNT(*) FROM sys.trigger_events WHERE is_first = 1", "0"},
		{
			"ALTER TABLE t2 ADD c int, CONSTRAINT ck CHECK (c > 0)",
			"c ck " + value(t, db, "SELECT DB_NAME()").(string) + " dbo",
		},
		{"CREATE TABLE [<&>] (a int)", "ok"},
		{"SELECT TOP (1) text FROM log ORDER BY id DESC", "CREATE TABLE [<&>] (a int)"},
		{"TRUNCATE TABLE log", "ok"},
		{"SELECT 1 AS n INTO three UNION ALL SELECT 2 UNION ALL SELECT 3; SELECT @@ROWCOUNT", "3"},
		{
			"DROP USER IF EXISTS nobody; DROP ROLE IF EXISTS nobody; DROP SCHEMA IF EXISTS nothing; DROP TYPE IF EXISTS nothing",
			"ok",
		},
		{"CREATE TYPE ty FROM int; CREATE ROLE r", "ok"},
		{"CREATE SCHEMA sc", "ok"},
		{
			"DROP ROLE IF EXISTS r; DROP SCHEMA IF EXISTS sc; DROP TYPE IF EXISTS ty; CREATE INDEX i3 ON three (n); DROP " +
				"INDEX three.i3",
			"ok",
		},
		{"ALTER ROLE db_owner DROP MEMBER u; REVOKE SELECT ON t FROM u; DROP USER IF EXISTS u", "ok"},
		{
			"SELECT event FROM log ORDER BY id; TRUNCATE TABLE log",
			"CREATE_TABLE; CREATE_TYPE; CREATE_ROLE; CREATE_SCHEMA; DROP_ROLE; DROP_SCHEMA; DROP_TYPE; CREATE_INDEX; " +
				"DROP_INDEX; DROP_ROLE_MEMBER; REVOKE_DATABASE; DROP_USER",
		},
		{
			"EXEC sp_addextendedproperty 'a', 'b'; EXEC sp_dropextendedproperty 'a'; EXEC sp_indexoption 'three', " +
				"'AllowRowLocks', 'FALSE'",
			"ok",
		},
		{
			taken,
			"CREATE_EXTENDED_PROPERTY .// EXEC sp_addextendedproperty 'a', 'b';; DROP_EXTENDED_PROPERTY .// EXEC " +
				"sp_dropextendedproperty 'a';; ALTER_INDEX .three/INDEX/ EXEC sp_indexoption 'three', 'AllowRowLocks', 'FALSE'",
		},
		{
			"CREATE CERTIFICATE c ENCRYPTION BY PASSWORD /* is */ = /* this */ 'S3cret-pw' WITH SUBJECT = 'password = ''none'''",
			"ok",
		},
		{
			"SELECT text FROM log",
			"CREATE CERTIFICATE c ENCRYPTION BY PASSWORD /* is */ = /* this */ '******' WITH SUBJECT = 'password = ''none'''",
		},
		{
			"CREATE TRIGGER f1 ON t AFTER DELETE AS PRINT 'one'; EXEC sp_settriggerorder 'f1', 'Last', 'DELETE'; EXEC " +
				"sp_settriggerorder 'f1', 'First', 'INSERT'",
			"ok",
		},
	})
}

// TestServerTriggers: triggers ON ALL SERVER run in master, for every database, and are there after a crash.
func TestServerTriggers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "watched")
	list := func() []say {
		return []say{
			{"CREATE TABLE refused (n int)", "!3609/16"},
			{"SELECT OBJECT_ID('refused')", "NULL"},
			{"CREATE DATABASE refused", "!3609/16"},
			{"SELECT DB_ID('refused')", "NULL"},
			{"DROP DATABASE other", "!3609/16"},
			{"SELECT name FROM sys.databases WHERE name = 'other'", "other"},
		}
	}
	converse(t, db, []say{
		{"CREATE DATABASE other", "ok"},
		{"CREATE TRIGGER guard ON ALL SERVER FOR CREATE_TABLE, DDL_DATABASE_EVENTS AS ROLLBACK", "ok"},
		{
			"CREATE TRIGGER logins ON ALL SERVER FOR DDL_LOGIN_EVENTS AS SELECT DB_NAME(), " +
				"EVENTDATA().value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(200)')",
			"ok",
		},
		{
			"SELECT name, parent_class, parent_class_desc, parent_id FROM sys.server_triggers ORDER BY 1",
			"guard 100 SERVER 0; logins 100 SERVER 0",
		},
		{"SELECT COUNT(*) FROM sys.triggers", "0"},
		{
			"CREATE LOGIN l WITH PASSWORD = 'S3cret-' , CHECK_POLICY = OFF",
			"master CREATE LOGIN l WITH PASSWORD = '******' , CHECK_POLICY = OFF",
		},
		{"CREATE TRIGGER x ON ALL SERVER FOR LOGON, CREATE_TABLE AS ROLLBACK", "!102"},
		{
			"CREATE TRIGGER links ON ALL SERVER FOR DDL_LINKED_SERVER_LOGIN_EVENTS AS SELECT " +
				"EVENTDATA().value('(//CommandText)[1]', 'nvarchar(200)')",
			"ok",
		},
		{
			"EXEC sp_addlinkedserver 'far'; EXEC sp_addlinkedsrvlogin 'far', 'false', NULL, 'remote', 'S3cret-pw'",
			"EXEC sp_addlinkedsrvlogin 'far', 'false', NULL, 'remote', '******'",
		},
		{
			"EXEC sp_addlinkedsrvlogin @rmtsrvname = 'far', @useself = 'false', @rmtuser = 'remote', @rmtpassword = " +
				"N'S3cret-pw'",
			"EXEC sp_addlinkedsrvlogin @rmtsrvname = 'far', @useself = 'false', @rmtuser = 'remote', @rmtpassword = '******'",
		},
		{"EXEC sp_dropserver 'far', 'droplogins'; DROP TRIGGER links ON ALL SERVER", "ok"},
	})
	converse(t, db, list())
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	db = i.open(t, "watched")
	converse(t, db, list())
	converse(t, db, []say{
		{"DISABLE TRIGGER ALL ON ALL SERVER", "ok"},
		{"CREATE TABLE refused (n int)", "ok"},
		{"DROP TRIGGER guard, logins ON ALL SERVER", "ok"},
		{"DROP DATABASE other", "ok"},
		{"SELECT COUNT(*) FROM sys.server_triggers", "0"},
	})
}

// TestTriggersWithOneNumber: a trigger of the server fires for what one of a database does that has the same object_id.
func TestTriggersWithOneNumber(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	db := i.newDatabase(t, "twin")
	converse(t, db, []say{
		{"CREATE TRIGGER maker ON DATABASE FOR CREATE_VIEW AS CREATE TABLE made (n int)", "ok"},
		{"CREATE TRIGGER guard ON ALL SERVER FOR CREATE_TABLE AS ROLLBACK", "ok"},
		{"SELECT COUNT(*) FROM sys.triggers t JOIN sys.server_triggers s ON s.object_id = t.object_id", "1"},
		{"CREATE VIEW v AS SELECT 1 AS a", "!3609"},
		{"SELECT OBJECT_ID('v'), OBJECT_ID('made')", "NULL NULL"},
	})
}

// TestAttachingWithTriggers: a trigger that rolls FOR ATTACH back leaves the files as they are, and what was in them.
func TestAttachingWithTriggers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "moved")
	mustExec(t, db, "CREATE TABLE kept (n int); INSERT kept VALUES (42)")
	files := query(t, db, "SELECT physical_name FROM sys.database_files ORDER BY type")
	db.Close()
	admin := i.open(t, "master")
	mustExec(t, admin, "ALTER DATABASE moved SET OFFLINE WITH ROLLBACK IMMEDIATE")
	data, log := files[0][0].(string), files[1][0].(string)
	for _, file := range []string{data, log} {
		g.Expect(exec.Command("cp", "-r", file, file+".copy").Run()).To(Succeed())
	}
	attach := "CREATE DATABASE copied ON (FILENAME = '" + data + ".copy'), (FILENAME = '" + log + ".copy') FOR ATTACH"
	mustExec(t, admin, "CREATE TRIGGER guard ON ALL SERVER FOR CREATE_DATABASE AS ROLLBACK")
	converse(
		t,
		admin,
		[]say{
			{attach, "!3609/16"},
			{"SELECT DB_ID('copied')", "NULL"},
			{"DROP TRIGGER guard ON ALL SERVER", "ok"},
			{attach, "ok"},
			{"SELECT n FROM copied.dbo.kept", "42"},
			{
				"SELECT name, type_desc FROM sys.master_files WHERE database_id = DB_ID('copied') ORDER BY type",
				"moved.mdf ROWS; moved_log.ldf LOG",
			},
		},
	)
}

// TestAGDatabaseTriggers: triggers of a database go where its log goes: a secondary that becomes primary fires them,
// and redo does not.
func TestAGDatabaseTriggers(t *testing.T) {
	t.Parallel()
	c := newGroup(t, "SYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1, 2)
	app := c.servers[0].open(t, "app")
	converse(t, app, []say{
		{"CREATE TABLE fired (text nvarchar(max))", "ok"},
		{
			"CREATE TRIGGER noted ON DATABASE FOR DDL_TABLE_EVENTS AS INSERT fired VALUES " +
				"(EVENTDATA().value('(//ObjectName)[1]', 'sysname'))",
			"ok",
		},
		{"CREATE TABLE first (n int)", "ok"},
	})
	app.Close()
	c.promote(1)
	converse(t, c.servers[1].open(t, "app"), []say{
		{"SELECT text FROM fired", "first"},
		{"SELECT name FROM sys.triggers", "noted"},
		{"CREATE TABLE second (n int)", "ok"},
		{"SELECT text FROM fired ORDER BY text", "first; second"},
	})
}
