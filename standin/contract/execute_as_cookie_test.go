// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestExecuteAsWithCookie: docs/t-sql/statements/execute-as-transact-sql.md, @character_variable and example B, and
// docs/t-sql/statements/revert-transact-sql.md, Using REVERT WITH COOKIE.
func TestExecuteAsWithCookie(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE USER user1 WITHOUT LOGIN; CREATE USER user2 WITHOUT LOGIN; CREATE TABLE kept (cookie varbinary(100)); " +
				"GRANT SELECT, INSERT ON kept TO public",
			"ok",
		},
		{
			"DECLARE @cookie varbinary(100); EXECUTE AS USER = 'user1' WITH COOKIE INTO @cookie; INSERT kept VALUES " +
				"(@cookie); SELECT USER_NAME(), DATALENGTH(@cookie)",
			"user1 100",
		},
		{"REVERT", "!15591/16"},
		{"DECLARE @cookie varbinary(100) = 0x0102; REVERT WITH COOKIE = @cookie", "!15589/16"},
		{"SELECT USER_NAME()", "user1"},
		{
			"DECLARE @cookie varbinary(100) = (SELECT cookie FROM kept); REVERT WITH COOKIE = @cookie; SELECT USER_NAME()",
			"dbo",
		},
		{"DECLARE @name sysname = N'user2'; EXECUTE AS USER = @name; SELECT USER_NAME(); REVERT", "user2"},
		{"DECLARE @name sysname = N'nobody'; EXECUTE AS USER = @name", "!15517/16"},
		{"EXECUTE AS USER = 'user1' WITH COOKIE INTO @undeclared", "!137/15"},
		{"SELECT USER_NAME()", "dbo"},
	})
}
