// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestRenameOfEverything: docs/relational-databases/system-stored-procedures/sp-rename-transact-sql.md, @objtype.
func TestRenameOfEverything(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "before"))
	converse(t, db, []say{
		{"CREATE TYPE dbo.word FROM nvarchar(5); CREATE TYPE dbo.list AS TABLE (a int)", "ok"},
		{"CREATE TABLE t (w dbo.word, a int); CREATE STATISTICS s ON t (a); CREATE STATISTICS s2 ON t (w)", "ok"},
		{"EXEC sp_rename 'word', 'old_word', 'USERDATATYPE'", "ok"},
		{"EXEC sp_rename 'dbo.list', 'listed', 'USERDATATYPE'", "ok"},
		{"SELECT name FROM sys.types WHERE is_user_defined = 1 ORDER BY name", "listed; old_word"},
		{"SELECT TYPE_NAME(user_type_id) FROM sys.columns WHERE object_id = OBJECT_ID('t') AND name = 'w'", "old_word"},
		{"CREATE TYPE dbo.word FROM nvarchar(9); DECLARE @l dbo.listed; INSERT @l VALUES (1); SELECT a FROM @l", "1"},
		{"EXEC sp_rename 'word', 'old_word', 'USERDATATYPE'", "!15335"},
		{"EXEC sp_rename 'nothing', 'x', 'USERDATATYPE'", "!15225"},
		{
			"BEGIN TRY EXEC sp_rename 'nothing', 'x' END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
			"No item by the name of 'nothing' could be found in the current database 'before', given that @itemtype was " +
				"input as '(null)'.",
		},
		{
			"BEGIN TRY EXEC sp_rename 'nothing', 'x', 'userdatatype' END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
			"No item by the name of 'nothing' could be found in the current database 'before', given that @itemtype was " +
				"input as 'userdatatype'.",
		},
		{"EXEC sp_rename 't.s', 'of_a', 'STATISTICS'", "ok"},
		{"EXEC sp_rename 't.of_a', 's2', 'STATISTICS'", "!15335"},
		{"EXEC sp_rename 't.nothing', 'x', 'STATISTICS'", "!15248"},
		{"SELECT name FROM sys.stats WHERE object_id = OBJECT_ID('t') ORDER BY name", "of_a; s2"},
		{"EXEC sp_rename 't', 'x', 'NONSENSE'", "!15249"},
	})
	mustExec(t, db, "USE master")
	admin := connection(t, i.open(t, "master"))
	mustExec(t, admin, "EXEC sp_rename N'before', N'after', N'DATABASE'")
	g.Expect(query(t, admin, "SELECT DB_ID('before'), SIGN(DB_ID('after'))")).To(Equal([][]any{{nil, int64(1)}}))
}

// TestFormerLoginProcedures: docs/relational-databases/system-stored-procedures/sp-addlogin-transact-sql.md,
// sp-denylogin-transact-sql.md, sp-revokelogin-transact-sql.md, sp-grantlogin-transact-sql.md.
func TestFormerLoginProcedures(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	admin := connection(t, i.open(t, "master"))
	converse(t, admin, []say{
		{"EXEC sp_addlogin 'Michael', 'B548bmM%f6', 'tempdb', 'us_english', 0x0123456789ABCDEF0123456789ABCDEF", "ok"},
		{
			"SELECT CONVERT(varchar(40), sid, 1), default_database_name, default_language_name FROM sys.sql_logins WHERE " +
				"name = 'Michael'",
			"0x0123456789ABCDEF0123456789ABCDEF tempdb us_english",
		},
		{"EXEC sp_addlogin @loginame = 'Moved', @passwd = 'B548bmM%f6', @encryptopt = NULL", "ok"},
		{"EXEC sp_grantlogin 'Corporate\\BobJ'", "!15401"},
		{"EXEC sp_denylogin 'Moved'", "ok"},
		{
			"SELECT state_desc FROM sys.server_permissions WHERE grantee_principal_id = SUSER_ID('Moved') AND " +
				"permission_name = 'CONNECT SQL'",
			"DENY",
		},
		{"EXEC sp_revokelogin 'Moved'", "ok"},
	})
	g.Expect(query(t, admin, "SELECT SUSER_ID('Moved')")).To(Equal([][]any{{nil}}))
}
