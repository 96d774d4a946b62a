// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestAnsiNullsOff: the table of docs/t-sql/statements/set-ansi-nulls-transact-sql.md: the option counts for the
// constant NULL and for variables, not between columns, and stays with a module that was made under it.
func TestAnsiNullsOff(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE TABLE nulls (a int NULL, b int NULL, c varchar(9) NULL); INSERT nulls VALUES (0, NULL, 'x'), (NULL, " +
				"NULL, NULL), (1, 1, 'y')",
			"ok",
		},
		{"SELECT COUNT(*) FROM nulls WHERE a = NULL", "0"},
		{"SET ANSI_NULLS OFF", "ok"},
		{
			"SELECT COUNT(*) FROM nulls WHERE a = NULL",
			"1",
		}, {"SELECT COUNT(*) FROM nulls WHERE NULL <> a", "2"}, {"SELECT COUNT(*) FROM nulls WHERE c = NULL", "1"},
		{
			"DECLARE @v int; SELECT COUNT(*) FROM nulls WHERE a = @v; SELECT COUNT(*) FROM nulls WHERE @v <> a",
			"1",
		}, {"DECLARE @v int = 1; SELECT COUNT(*) FROM nulls WHERE a <> @v", "1"},
		{
			"DECLARE @v varchar(9); SELECT COUNT(*) FROM nulls WHERE c <> @v",
			"2",
		}, {"SELECT COUNT(*) FROM nulls WHERE a = b", "1"}, {"SELECT COUNT(*) FROM nulls WHERE a > NULL", "0"},
		{"SELECT IIF(NULL = NULL, 1, 0), IIF(1 = NULL, 1, 0), IIF(1 <> NULL, 1, 0), IIF(NULL <> NULL, 1, 0)", "1 0 1 0"},
		{"CREATE PROCEDURE made_off AS SELECT COUNT(*) FROM nulls WHERE a = NULL", "ok"},
		{"SET ANSI_NULLS ON", "ok"},
		{
			"CREATE PROCEDURE made_on AS SELECT COUNT(*) FROM nulls WHERE a = NULL",
			"ok",
		}, {"EXEC made_off", "1"}, {"EXEC made_on", "0"},
		{"SET ANSI_NULLS OFF; EXEC made_on; SET ANSI_NULLS ON", "0"},
		{
			"SELECT OBJECT_NAME(object_id), uses_ansi_nulls, OBJECTPROPERTY(object_id, 'ExecIsAnsiNullsOn') FROM " +
				"sys.sql_modules ORDER BY 1",
			"made_off false 0; made_on true 1",
		},
		{"SELECT COUNT(*) FROM nulls WHERE a = NULL", "0"},
	})
}

// TestAnsiNullsOffOfFunctions: a function keeps the setting whether it is a value or executed.
func TestAnsiNullsOffOfFunctions(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"SET ANSI_NULLS OFF", "ok"},
		{"CREATE FUNCTION dbo.same (@a int) RETURNS int AS BEGIN RETURN IIF(@a = NULL, 1, 0) END", "ok"},
		{"SET ANSI_NULLS ON; SELECT dbo.same(NULL)", "1"},
		{"DECLARE @r int; EXEC @r = dbo.same NULL; SELECT @r", "1"},
	})
}

// TestConcatNullYieldsNull: docs/t-sql/statements/set-concat-null-yields-null-transact-sql.md, also within modules,
// where the session's setting counts.
func TestConcatNullYieldsNull(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE PROCEDURE joins AS DECLARE @x varchar(9); SELECT 'abc' + @x", "ok"},
		{"SELECT 'abc' + NULL", "NULL"}, {"EXEC joins", "NULL"},
		{"SET CONCAT_NULL_YIELDS_NULL OFF", "ok"},
		{
			"SELECT 'abc' + NULL, CAST(NULL AS nvarchar(9)) + N'x', 'a' + x + 'b', 0x01 + CAST(NULL AS varbinary(9)) FROM " +
				"(VALUES (CAST(NULL AS varchar(9)))) v (x)",
			"abc x ab NULL",
		}, {"EXEC joins", "abc"},
		{"SET CONCAT_NULL_YIELDS_NULL ON; SELECT 'abc' + NULL", "NULL"}, {"EXEC joins", "NULL"},
	})
}

// TestRowCountAfterSet: docs/t-sql/functions/rowcount-transact-sql.md (SET of an option resets it to 0, as USE and
// PRINT do) and context-info-transact-sql.md: the value has the 128 bytes that a session keeps.
func TestRowCountAfterSet(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"DECLARE @a int, @b int, @c int, @n int; SELECT @n = 1; SET ROWCOUNT 0; SET @a = @@ROWCOUNT; SELECT @n = 1; SET " +
				"NOCOUNT ON; SET @b = @@ROWCOUNT; SELECT @n = 1; PRINT 'x'; SET @c = @@ROWCOUNT; SELECT @a, @b, @c",
			"0 0 0",
		},
		{
			"SET CONTEXT_INFO 0x1234",
			"ok",
		}, {"SELECT DATALENGTH(CONTEXT_INFO()), CAST(CONTEXT_INFO() AS varbinary(4)), (SELECT DATALENGTH(context_info) " +
			"FROM sys.dm_exec_sessions WHERE session_id = @@SPID)", "128 0x12340000 128"},
	})
}
