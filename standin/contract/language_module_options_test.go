// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestModulesExecuteAs: procedures, functions and triggers run as whom EXECUTE AS says, for as long as they run
// (docs/t-sql/statements/execute-as-clause-transact-sql.md). Texts that are executed have no ownership chain, so that
// the caller's own permissions tell.
func TestModulesExecuteAs(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE USER reader WITHOUT LOGIN; CREATE USER writer WITHOUT LOGIN", "ok"},
		{
			"CREATE TABLE secret (a int); CREATE TABLE journal (who sysname); INSERT secret VALUES (1); GRANT SELECT ON " +
				"secret TO reader",
			"ok",
		},
		{"CREATE PROCEDURE asCaller AS EXEC ('SELECT USER_NAME(), (SELECT COUNT(*) FROM secret)')", "ok"},
		{
			"CREATE PROCEDURE asReader WITH EXECUTE AS 'reader' AS EXEC ('SELECT USER_NAME(), (SELECT COUNT(*) FROM secret)')",
			"ok",
		},
		{
			"CREATE PROCEDURE asOwner @a int = 1 WITH RECOMPILE, EXEC AS OWNER AS EXEC ('SELECT USER_NAME(), (SELECT " +
				"COUNT(*) FROM secret)')",
			"ok",
		},
		{
			"CREATE PROCEDURE asSelf WITH EXECUTE AS SELF AS BEGIN EXECUTE AS USER = 'writer'; SELECT USER_NAME(); REVERT; " +
				"SELECT USER_NAME() END",
			"ok",
		},
		{"CREATE FUNCTION who() RETURNS sysname WITH EXECUTE AS 'reader' AS BEGIN RETURN USER_NAME() END", "ok"},
		{
			"CREATE FUNCTION rows() RETURNS @r TABLE (n sysname) WITH EXECUTE AS 'reader' AS BEGIN INSERT @r VALUES " +
				"(USER_NAME()); RETURN END",
			"ok",
		},
		{"CREATE TRIGGER noted ON secret WITH EXECUTE AS OWNER AFTER INSERT AS INSERT journal VALUES (USER_NAME())", "ok"},
		{"GRANT EXECUTE TO writer; GRANT INSERT ON secret TO writer; GRANT SELECT ON dbo.rows TO writer", "ok"},
		{
			"SELECT OBJECT_NAME(object_id), USER_NAME(execute_as_principal_id), CAST(IIF(execute_as_principal_id = -2, 1, 0) " +
				"AS int), is_recompiled FROM sys.sql_modules WHERE execute_as_principal_id IS NOT NULL ORDER BY 1",
			"asOwner NULL 1 true; asReader reader 0 false; asSelf dbo 0 false; noted NULL 1 false; rows reader 0 false; who " +
				"reader 0 false",
		},
		{"EXECUTE AS USER = 'writer'", "ok"},
		{"EXEC asCaller", "!229/14"},
		{"EXEC asReader", "reader 1"},
		{"EXEC asOwner", "dbo 1"},
		{"SELECT dbo.who(), USER_NAME()", "reader writer"},
		{"SELECT n FROM dbo.rows()", "reader"},
		{"INSERT secret VALUES (2); SELECT USER_NAME()", "writer"},
		{"EXEC('CREATE PROCEDURE p WITH EXECUTE AS ''dbo'' AS SELECT 1')", "!262"},
		{"REVERT; SELECT who FROM journal", "dbo"},
		{"GRANT CREATE PROCEDURE TO writer; GRANT ALTER ON SCHEMA::dbo TO writer; EXECUTE AS USER = 'writer'", "ok"},
		{"CREATE PROCEDURE p WITH EXECUTE AS 'dbo' AS SELECT 1", "!15517/16"},
		{"CREATE PROCEDURE p WITH EXECUTE AS SELF AS SELECT USER_NAME()", "ok"},
		{"REVERT", "ok"},
		{"EXEC p", "writer"},
		{"ALTER PROCEDURE p AS SELECT USER_NAME()", "ok"},
		{"EXEC p", "dbo"},
		{"CREATE PROCEDURE q WITH EXECUTE AS 'nobody' AS SELECT 1", "!15517/16"},
		{"CREATE FUNCTION i() RETURNS TABLE WITH EXECUTE AS 'reader' AS RETURN SELECT 1 AS a", "!156/15"},
		{"CREATE TRIGGER d ON DATABASE WITH EXECUTE AS OWNER FOR CREATE_TABLE AS PRINT 'x'", "!102/15"},
		{
			"CREATE TRIGGER d ON DATABASE WITH EXECUTE AS 'dbo' FOR CREATE_TABLE AS INSERT journal VALUES ('d ' + USER_NAME())",
			"ok",
		},
		{"GRANT CREATE TABLE TO writer; EXECUTE AS USER = 'writer'; CREATE TABLE made (a int); REVERT", "ok"},
		{"SELECT who FROM journal ORDER BY 1", "d dbo; dbo"},
	})
}

// TestEncryptedModules: the text of modules WITH ENCRYPTION is shown to nobody, and the other options do what they say
// or are refused (docs/t-sql/statements/create-trigger-transact-sql.md, create-procedure-transact-sql.md,
// create-function-transact-sql.md).
func TestEncryptedModules(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int)", "ok"},
		{"CREATE PROCEDURE p WITH ENCRYPTION AS SELECT 'p'", "ok"},
		{"CREATE VIEW v WITH ENCRYPTION AS SELECT 1 AS a", "ok"},
		{
			"CREATE FUNCTION f(@a int) RETURNS int WITH ENCRYPTION, RETURNS NULL ON NULL INPUT, EXECUTE AS CALLER BEGIN " +
				"RETURN ISNULL(@a, 7) END",
			"ok",
		},
		{"SELECT OBJECT_NAME(object_id) FROM sys.sql_modules WHERE definition IS NULL ORDER BY 1", "f; p; v"},
		{"EXEC p", "p"},
		{"SELECT dbo.f(1), dbo.f(NULL), (SELECT a FROM v)", "1 NULL 1"},
		{
			"SELECT OBJECT_DEFINITION(OBJECT_ID('p')), (SELECT ROUTINE_DEFINITION FROM INFORMATION_SCHEMA.ROUTINES WHERE " +
				"ROUTINE_NAME = 'p'), (SELECT encrypted FROM syscomments WHERE id = OBJECT_ID('p'))",
			"NULL NULL true",
		},
		{"EXEC sp_helptext 'p'", ""},
		{"ALTER PROCEDURE p AS SELECT 'q'", "ok"},
		{
			"CREATE TRIGGER d ON DATABASE FOR CREATE_PROCEDURE AS INSERT t SELECT 100 WHERE " +
				"EVENTDATA().exist('/EVENT_INSTANCE/TSQLCommand[CommandText=\"--ENCRYPTED--\" and " +
				"SetOptions/@ENCRYPTED=\"TRUE\"]') = 1",
			"ok",
		},
		{"CREATE PROCEDURE s WITH ENCRYPTION AS SELECT 'secret'", "ok"},
		{"SELECT MAX(a) FROM t", "100"},
		{"CREATE TRIGGER n ON t WITH NATIVE_COMPILATION, SCHEMABINDING AFTER INSERT AS SELECT 1", "!40517/16"},
		{"CREATE TRIGGER n ON t WITH SCHEMABINDING AFTER INSERT AS SELECT 1", "!10796/15"},
		{"CREATE PROCEDURE n WITH NATIVE_COMPILATION AS SELECT 1", "!40517/16"},
	})
}
