// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestPrincipalsThatCannotBeChanged goes by docs/t-sql/statements/alter-login-transact-sql.md,
// drop-login-transact-sql.md, alter-user-transact-sql.md, drop-user-transact-sql.md, alter-role-transact-sql.md and
// their pages for server roles.
func TestPrincipalsThatCannotBeChanged(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.newDatabase(t, "one")
	admin := connection(t, i.open(t, "master"))
	converse(t, admin, []say{
		// Logins.
		{
			"CREATE LOGIN l WITH PASSWORD = 'C0ntract-Suite' MUST_CHANGE, CHECK_EXPIRATION = ON; CREATE LOGIN m WITH " +
				"PASSWORD = 'C0ntract-Suite'",
			"ok",
		},
		{"ALTER LOGIN l WITH CHECK_EXPIRATION = OFF", "!15128/16"}, {"ALTER LOGIN l WITH CHECK_POLICY = OFF", "!15128/16"},
		{"SELECT is_policy_checked, is_expiration_checked FROM sys.sql_logins WHERE name = 'l'", "true true"},
		{
			"ALTER LOGIN l WITH PASSWORD = 'C0ntract-Suite2' UNLOCK UNLOCK",
			"!102/15",
		}, {"ALTER LOGIN l WITH PASSWORD = 'C0ntract-Suite2' MUST_CHANGE MUST_CHANGE", "!102/15"},
		{"ALTER LOGIN l WITH PASSWORD = 'C0ntract-Suite2' UNLOCK MUST_CHANGE, CHECK_EXPIRATION = ON", "ok"},
		// What owns something stays.
		{
			"CREATE SERVER ROLE of_m AUTHORIZATION m",
			"ok",
		}, {"DROP LOGIN m", "!15141/16"}, {"CREATE SERVER ROLE of_role AUTHORIZATION of_m", "ok"},
		{"DROP SERVER ROLE of_m", "!15141/16"},
		{"DROP SERVER ROLE of_role; DROP SERVER ROLE of_m", "ok"},
		{
			"EXEC msdb.dbo.sp_add_job @job_name = 'of m', @owner_login_name = 'm'",
			"ok",
		}, {"DROP LOGIN m", "!15170/16"}, {"EXEC msdb.dbo.sp_delete_job @job_name = 'of m'; DROP LOGIN m", "ok"},
		// Server roles.
		{
			"CREATE SERVER ROLE [a\\b]",
			"!15006/16",
		}, {"CREATE SERVER ROLE sr; ALTER SERVER ROLE sr WITH NAME = [a\\b]", "!15006/16"},
		{"ALTER SERVER ROLE sr ADD MEMBER [public]", "!15405/11"},
		// Users.
		{
			"USE one; CREATE LOGIN n WITH PASSWORD = 'C0ntract-Suite'; CREATE LOGIN o WITH PASSWORD = 'C0ntract-Suite'; " +
				"CREATE USER n; CREATE USER bare WITHOUT LOGIN",
			"ok",
		},
		{
			"CREATE CERTIFICATE c ENCRYPTION BY PASSWORD = 'C0ntract-Suite' WITH SUBJECT = 'c'; CREATE USER certified FOR " +
				"CERTIFICATE c",
			"ok",
		},
		{
			"CREATE USER other FOR CERTIFICATE c WITH DEFAULT_SCHEMA = dbo",
			"!15259/16",
		}, {"ALTER USER certified WITH DEFAULT_SCHEMA = dbo", "!15259/16"},
		{
			"ALTER USER bare WITH LOGIN = o",
			"!33016/16",
		}, {"ALTER USER certified WITH LOGIN = o", "!33016/16"},
		{"ALTER USER bare WITH NAME = renamed, LOGIN = o", "!33016/16"},
		{
			"SELECT name, authentication_type FROM sys.database_principals WHERE name IN ('bare', 'renamed', " +
				"'certified') ORDER BY 1",
			"bare 0; certified 0",
		},
		{"ALTER USER n WITH LOGIN = o; ALTER USER n WITH LOGIN = n", "ok"},
		{
			"USE master; CREATE CERTIFICATE lc ENCRYPTION BY PASSWORD = 'C0ntract-Suite' WITH SUBJECT = 'lc'; CREATE LOGIN " +
				"of_certificate FROM CERTIFICATE lc; USE one",
			"ok",
		}, {"ALTER USER n WITH LOGIN = of_certificate", "!33017/16"},
		// Roles.
		{
			"CREATE ROLE r",
			"ok",
		}, {"ALTER ROLE r WITH NAME = [a\\b]", "!15006/16"}, {"ALTER ROLE r ADD MEMBER db_owner", "!15405/11"},
		{"ALTER ROLE r ADD MEMBER sys", "!15405/11"},
		{
			"ALTER ROLE r ADD MEMBER INFORMATION_SCHEMA",
			"!15405/11",
		}, {"ALTER ROLE r ADD MEMBER [public]", "!15405/11"},
		{"ALTER ROLE r ADD MEMBER guest; ALTER ROLE r DROP MEMBER guest", "ok"},
		{"SELECT COUNT(*) FROM sys.database_role_members WHERE role_principal_id = USER_ID('r')", "0"},
		// A user that a module acts as stays.
		{
			"CREATE PROCEDURE p WITH EXECUTE AS 'bare' AS RETURN",
			"ok",
		}, {"DROP USER bare", "!15136/16"}, {"DROP PROCEDURE p; DROP USER bare", "ok"},
	})
}

// TestWhoMayChangeAUser: one's own default schema, another's login only with CONTROL of the database
// (docs/t-sql/statements/alter-user-transact-sql.md, Permissions).
func TestWhoMayChangeAUser(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.newDatabase(t, "one")
	converse(t, connection(t, i.open(t, "one")), []say{
		{
			"CREATE LOGIN l WITH PASSWORD = 'C0ntract-Suite'; CREATE LOGIN m WITH PASSWORD = 'C0ntract-Suite'; CREATE USER u " +
				"FOR LOGIN l; CREATE USER v WITHOUT LOGIN; CREATE USER w WITHOUT LOGIN",
			"ok",
		},
		{
			"GRANT ALTER ANY USER TO v; EXECUTE AS USER = 'v'",
			"ok",
		}, {"ALTER USER u WITH LOGIN = m", "!15247/16"},
		{"ALTER USER u WITH NAME = x; ALTER USER x WITH NAME = u, DEFAULT_SCHEMA = guest", "ok"},
		{"REVERT; EXECUTE AS USER = 'w'", "ok"},
		{
			"ALTER USER w WITH DEFAULT_SCHEMA = guest",
			"ok",
		}, {"ALTER USER u WITH DEFAULT_SCHEMA = dbo", "!15151/16"}, {"ALTER USER w WITH NAME = x", "!15151/16"},
		{"ALTER USER w WITH DEFAULT_SCHEMA = dbo, NAME = x", "!15151/16"}, {"REVERT", "ok"},
		{
			"SELECT name, default_schema_name FROM sys.database_principals WHERE name IN ('u', 'w', 'x') ORDER BY 1",
			"u guest; w guest",
		},
	})
}
