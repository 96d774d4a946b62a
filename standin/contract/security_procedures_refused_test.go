// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestSecurityProceduresThatAreRefused goes by the pages of docs/relational-databases/system-stored-procedures on
// logins, users, roles and permissions.
func TestSecurityProceduresThatAreRefused(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.newDatabase(t, "one")
	converse(t, connection(t, i.open(t, "one")), []say{
		{
			"CREATE LOGIN l WITH PASSWORD = 'C0ntract-Suite'; CREATE USER l; CREATE USER bare WITHOUT LOGIN; CREATE ROLE r; " +
				"CREATE TABLE t (a int, b int); GRANT SELECT ON t TO l; GRANT SELECT (b) ON t TO r; GRANT CREATE TABLE TO l",
			"ok",
		},
		// NULL is no name, and nothing is done in a transaction.
		{
			"EXEC sp_addlogin NULL, 'C0ntract-Suite'",
			"!15004/16",
		}, {"EXEC sp_droplogin NULL", "!15004/16"}, {"EXEC sp_addrole NULL", "!15004/16"},
		{"EXEC sp_grantdbaccess NULL", "!15004/16"}, {"EXEC sp_defaultdb 'l', NULL", "!15004/16"},
		{"EXEC sp_password NULL, NULL, 'l'", "!15004/16"},
		{
			"BEGIN TRAN; EXEC sp_addlogin 'm', 'C0ntract-Suite'",
			"!15002/16",
		}, {"EXEC sp_addrole 's'", "!15002/16"}, {"EXEC sp_password NULL, 'C0ntract-Suite2', 'l'", "!15002/16"},
		{"EXEC sp_change_users_login 'Auto_Fix', 'l'", "!15289/16"}, {"ROLLBACK", "ok"},
		{
			"EXEC sp_addlogin 'm', 'C0ntract-Suite', @encryptopt = 'maybe'",
			"!15600/15",
		}, {"EXEC sp_addlogin 'm', 'C0ntract-Suite', @encryptopt = 'skip_encryption'", "!40517/16"},
		{"SELECT COUNT(*) FROM sys.server_principals WHERE name = 'm'", "0"},
		{
			"EXEC sp_denylogin 'l'",
			"ok",
		}, {"SELECT state FROM sys.server_permissions WHERE permission_name = 'CONNECT SQL' AND grantee_principal_id = " +
			"SUSER_ID('l')", "D"}, {"SELECT DB_NAME()", "one"},
		// Names that are not there.
		{
			"EXEC sp_helplogins 'nobody'",
			"!15007/16",
		}, {"EXEC sp_helpuser 'nobody'", "!15198/16"}, {"EXEC sp_helprole 'l'", "!15409/11"},
		{"EXEC sp_helprolemember 'nobody'", "!15409/11"}, {"EXEC sp_helpsrvrole 'nobody'", "!15412/11"},
		{
			"EXEC sp_change_users_login 'Auto_Fix', 'nobody'",
			"!15291/16",
		}, {"EXEC sp_change_users_login 'Update_One', 'bare', 'l'", "!15291/16"},
		// Every parameter of sp_helprotect counts.
		{
			"EXEC sp_helprotect 'nothing'",
			"!15330/11",
		}, {"EXEC sp_helprotect NULL, 'nobody'", "!15330/11"}, {"EXEC sp_helprotect NULL, NULL, 'r'", "!15330/11"},
		{"EXEC sp_helprotect NULL, NULL, NULL, 'x'", "!15300/11"},
		{
			"EXEC sp_helprotect 't'",
			"dbo t l dbo Grant SELECT (All+New); dbo t r dbo Grant SELECT b",
		}, {"EXEC sp_helprotect NULL, 'l', NULL, 's'", ". . l dbo Grant CONNECT .; . . l dbo Grant CREATE TABLE ."},
		{"EXEC sp_helprotect 'CREATE TABLE'", ". . l dbo Grant CREATE TABLE ."},
		// NULL is nobody, and roles have no properties of logins.
		{
			"SELECT IS_SRVROLEMEMBER('sysadmin', NULL), IS_ROLEMEMBER('db_owner', NULL), LOGINPROPERTY('sysadmin', 'IsLocked')",
			"NULL NULL NULL",
		},
	})
}
