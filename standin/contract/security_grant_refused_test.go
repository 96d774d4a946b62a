// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestPermissionStatementsThatAreRefused goes by docs/t-sql/statements/grant-transact-sql.md, deny-transact-sql.md,
// revoke-transact-sql.md and their pages by securable, with the numbers of
// docs/relational-databases/errors-events/database-engine-events-and-errors-4000-to-4999.md.
func TestPermissionStatementsThatAreRefused(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.newDatabase(t, "one")
	db := connection(t, i.open(t, "one"))
	converse(t, db, []say{
		{
			"CREATE LOGIN l WITH PASSWORD = 'C0ntract-Suite'; CREATE LOGIN m WITH PASSWORD = 'C0ntract-Suite'; CREATE SERVER " +
				"ROLE sr; CREATE USER l; CREATE USER m; CREATE ROLE r; CREATE TABLE t (a int, b int)",
			"ok",
		}, {"CREATE SCHEMA s", "ok"},
		{"CREATE PROCEDURE p AS RETURN", "ok"},
		// Lists of columns.
		{
			"GRANT SELECT (a) ON t (b) TO l",
			"!1019/15",
		}, {"GRANT DELETE (a) ON t TO l", "!1020/15"}, {"GRANT CONTROL (a) ON t TO l", "!1020/15"},
		{"GRANT DELETE ON t (a) TO l", "!1020/15"},
		{
			"GRANT EXECUTE (a) ON p TO l",
			"!1020/15",
		}, {"GRANT SELECT (a) ON SCHEMA::s TO l", "!1020/15"}, {"GRANT CONNECT (a) TO l", "!1020/15"},
		{"GRANT ALL (a) ON t TO l", "!102/15"},
		{"GRANT SELECT (a, c) ON t TO l", "!4615/16"}, {"REVOKE SELECT ON t (c) FROM l", "!4615/16"},
		// ALL is for objects and the database.
		{
			"GRANT ALL ON SCHEMA::s TO l",
			"!4623/16",
		}, {"GRANT ALL ON USER::m TO l", "!4623/16"}, {"DENY ALL ON ROLE::r TO l", "!4623/16"},
		{"USE master; GRANT ALL ON LOGIN::m TO l", "!4623/16"}, {"USE one", "ok"},
		// What a class does not have.
		{
			"GRANT IMPERSONATE ON ROLE::r TO l",
			"!4606/16",
		}, {"GRANT TAKE OWNERSHIP ON USER::m TO l", "!4606/16"},
		{"USE master; GRANT IMPERSONATE ON SERVER ROLE::sr TO l", "!4606/16"},
		{"GRANT TAKE OWNERSHIP ON LOGIN::m TO l; USE one", "!4606/16"},
		{"USE one", "ok"},
		// Scopes.
		{
			"GRANT VIEW SERVER STATE, CREATE TABLE TO l",
			"!4620/16",
		}, {"GRANT CREATE TABLE, VIEW SERVER STATE TO l", "!4620/16"}, {"GRANT CREATE DATABASE TO l", "!4619/16"},
		{"GRANT CREATE TABLE, CREATE DATABASE TO l", "!4619/16"},
		{
			"GRANT IMPERSONATE ON LOGIN::m TO l",
			"!4621/16",
		}, {"GRANT ALTER ON SERVER ROLE::sr TO l", "!4621/16"}, {"GRANT CONNECT ON ENDPOINT::e TO l", "!4621/16"},
		{"GRANT ALTER ON AVAILABILITY GROUP::g TO l", "!4621/16"},
		{
			"GRANT SELECT ON master.dbo.t TO l",
			"!4610/16",
		}, {"GRANT SELECT ON one.dbo.t TO l", "ok"}, {"GRANT SELECT ON a.b.c.d.e TO l", "!117/15"},
		{"GRANT SELECT ON SCHEMA::dbo.s TO l", "!117/15"}, {"GRANT IMPERSONATE ON USER::dbo.m TO l", "!117/15"},
		// Grantees.
		{
			"GRANT SELECT ON t TO db_datareader",
			"!4617/16",
		}, {"DENY SELECT ON t TO db_owner", "!4617/16"}, {"REVOKE CONNECT FROM db_owner", "!4617/16"},
		{"GRANT CONNECT TO r", "!4627/16"}, {"DENY CONNECT ON DATABASE::one TO r", "!4627/16"},
		{
			"GRANT SELECT ON t TO dbo",
			"!4624/16",
		}, {"GRANT SELECT ON t TO r, nobody", "!15151/16"},
		{"SELECT COUNT(*) FROM sys.database_permissions WHERE grantee_principal_id = USER_ID('r')", "0"},
		{
			"USE master; GRANT VIEW SERVER STATE TO dbcreator",
			"!4617/16",
		}, {"GRANT VIEW SERVER STATE TO sa", "!4624/16"}, {"REVOKE CONNECT FROM guest", "!15182/16"},
		{"DENY CONNECT TO guest", "!15182/16"}, {"USE tempdb; REVOKE CONNECT FROM guest", "!15182/16"},
		{"USE one; GRANT CONNECT TO guest; REVOKE CONNECT FROM guest", "ok"},
		// Yourself, and AS.
		{"GRANT SELECT ON t TO l WITH GRANT OPTION; GRANT CONTROL ON SCHEMA::s TO r", "ok"},
		{
			"EXECUTE AS USER = 'l'; GRANT SELECT ON t TO l",
			"!4624/16",
		}, {"GRANT SELECT ON t TO m AS r", "!4618/16"}, {"REVERT", "ok"}, {"GRANT SELECT ON t TO m AS nobody", "!15151/16"},
		// Every documented permission is a word of the language.
		{
			"GRANT ALTER ANY SECURITY POLICY, ALTER ANY MASK, CREATE ROUTE, VIEW LEDGER CONTENT, EXECUTE ANY EXTERNAL " +
				"SCRIPT TO l",
			"ok",
		}, {"GRANT SEND ON t TO l", "!4606/16"}, {"GRANT ALTER ANY THING TO l", "!156/15"},
	})
}

// TestGrantableIsTakenWithWhatWasGranted: CASCADE is required of who revokes or denies what was given WITH GRANT
// OPTION, and takes what the principal gave on (docs/t-sql/statements/revoke-object-permissions-transact-sql.md,
// CASCADE; deny-object-permissions-transact-sql.md).
func TestGrantableIsTakenWithWhatWasGranted(t *testing.T) {
	t.Parallel()
	given := "SELECT USER_NAME(grantee_principal_id), state FROM sys.database_permissions WHERE major_id = " +
		"OBJECT_ID('t') ORDER BY 1"
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE TABLE t (a int); CREATE USER u WITHOUT LOGIN; CREATE USER v WITHOUT LOGIN; CREATE USER w WITHOUT LOGIN; " +
				"CREATE USER x WITHOUT LOGIN",
			"ok",
		},
		{"GRANT SELECT ON t TO u WITH GRANT OPTION; GRANT SELECT ON t TO x", "ok"},
		{
			"EXECUTE AS USER = 'u'; GRANT SELECT ON t TO v WITH GRANT OPTION; REVERT; EXECUTE AS USER = 'v'; GRANT SELECT ON " +
				"t TO w; REVERT",
			"ok",
		},
		{given, "u W; v W; w G; x G"},
		{
			"REVOKE SELECT ON t FROM u",
			"!4611/16",
		}, {"REVOKE GRANT OPTION FOR SELECT ON t FROM u", "!4611/16"}, {"DENY SELECT ON t TO u", "!4611/16"},
		{"REVOKE SELECT ON t FROM x, u", "!4611/16"},
		{given, "u W; v W; w G; x G"},
		{"REVOKE GRANT OPTION FOR SELECT ON t FROM v CASCADE", "ok"}, {given, "u W; v G; x G"},
		{"DENY SELECT ON t TO u CASCADE", "ok"}, {given, "u D; x G"},
		{"REVOKE SELECT ON t FROM u; REVOKE SELECT ON t FROM x CASCADE", "ok"}, {given, ""},
	})
}

// TestAllOnColumns: ALL stands for what applies to columns where there are any
// (docs/t-sql/statements/grant-object-permissions-transact-sql.md).
func TestAllOnColumns(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int, b int); CREATE USER u WITHOUT LOGIN; GRANT ALL ON t (b) TO u", "ok"},
		{
			"SELECT permission_name, minor_id FROM sys.database_permissions WHERE grantee_principal_id = USER_ID('u') AND " +
				"class = 1 ORDER BY 1",
			"REFERENCES 2; SELECT 2; UPDATE 2",
		},
		{
			"EXECUTE AS USER = 'u'; DELETE t",
			"!229/14",
		}, {"REVERT; REVOKE ALL ON t (b) FROM u; SELECT COUNT(*) FROM sys.database_permissions WHERE class = 1 AND " +
			"grantee_principal_id = USER_ID('u')", "0"},
	})
}
