// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestEndpointStatementsThatAreRefused goes by docs/t-sql/statements/create-endpoint-transact-sql.md,
// alter-endpoint-transact-sql.md and grant-endpoint-permissions-transact-sql.md.
func TestEndpointStatementsThatAreRefused(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	mirroring := " FOR DATABASE_MIRRORING (ROLE = ALL, AUTHENTICATION = CERTIFICATE own)"
	converse(t, connection(t, i.open(t, "master")), []say{
		{
			"CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'C0ntract-Suite'; CREATE CERTIFICATE own WITH SUBJECT = 'own'; " +
				"CREATE LOGIN l WITH PASSWORD = 'C0ntract-Suite'",
			"ok",
		},
		{
			"CREATE ENDPOINT e AS TCP (LISTENER_PORT = 70000)" + mirroring,
			"!7810/15",
		}, {"CREATE ENDPOINT e AS TCP (LISTENER_PORT = 1023)" + mirroring, "!7810/15"},
		{"CREATE ENDPOINT e AS TCP (LISTENER_PORT = 5022) FOR TSQL ()", "!40517/16"},
		{
			"CREATE ENDPOINT e AUTHORIZATION sysadmin AS TCP (LISTENER_PORT = 15022)" + mirroring,
			"!15151/16",
		}, {"CREATE ENDPOINT [TSQL Default TCP] AS TCP (LISTENER_PORT = 15022)" + mirroring, "!15530/16"},
		{
			"SELECT COUNT(*) FROM sys.database_mirroring_endpoints",
			"0",
		}, {"CREATE ENDPOINT e AUTHORIZATION l AS TCP (LISTENER_PORT = 15022)" + mirroring, "ok"},
		{
			"ALTER ENDPOINT [TSQL Default TCP] STATE = STOPPED",
			"!40517/16",
		}, {"GRANT CONNECT ON ENDPOINT::[TSQL Default TCP] TO l", "!40517/16"},
		{"DROP ENDPOINT [TSQL Default TCP]", "!7873/16"},
		{
			"GRANT ALL ON ENDPOINT::e TO public",
			"!4623/16",
		}, {"GRANT CONNECT ON ENDPOINT::a.e TO public", "!117/15"},
		{"GRANT CONNECT (a) ON ENDPOINT::e TO public", "!1020/15"},
		{
			"ALTER AUTHORIZATION ON ENDPOINT::e TO SCHEMA OWNER",
			"!156/15",
		}, {"ALTER AUTHORIZATION ON ENDPOINT::e TO sysadmin", "!15151/16"}, {"ALTER AUTHORIZATION ON t (a) TO l", "!102/15"},
		{
			"SELECT SUSER_NAME(principal_id) FROM sys.endpoints WHERE name = 'e'",
			"l",
		}, {"DROP LOGIN l", "!15141/16"}, {"ALTER AUTHORIZATION ON ENDPOINT::e TO sa; DROP LOGIN l", "ok"},
	})
}

// TestOwnerOfAServerRole: docs/t-sql/statements/alter-authorization-transact-sql.md.
func TestOwnerOfAServerRole(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newInstance(t).open(t, "master")), []say{
		{
			"CREATE LOGIN l WITH PASSWORD = 'C0ntract-Suite'; CREATE LOGIN m WITH PASSWORD = 'C0ntract-Suite'; CREATE SERVER " +
				"ROLE r AUTHORIZATION l; GRANT ALTER ON SERVER ROLE::r TO m",
			"ok",
		},
		{
			"ALTER AUTHORIZATION ON SERVER ROLE::r TO nobody",
			"!15151/16",
		}, {"ALTER AUTHORIZATION ON SERVER ROLE::r TO r", "!15151/16"},
		{"ALTER AUTHORIZATION ON SERVER ROLE::sysadmin TO m", "!15151/16"},
		{"ALTER AUTHORIZATION ON SERVER ROLE::l TO m", "!15151/16"},
		{
			"EXECUTE AS LOGIN = 'm'; ALTER AUTHORIZATION ON SERVER ROLE::r TO m",
			"!15151/16",
		}, {"REVERT; ALTER AUTHORIZATION ON SERVER ROLE::r TO m", "ok"},
		{
			"SELECT SUSER_NAME(owning_principal_id) FROM sys.server_principals WHERE name = 'r'",
			"m",
		}, {"SELECT COUNT(*) FROM sys.server_permissions WHERE class_desc = 'SERVER_PRINCIPAL'", "0"}, {"DROP LOGIN l", "ok"},
		{"DROP LOGIN m", "!15141/16"},
	})
}

// TestDatabasesAreSeenByPublicUntilThatIsRevoked:
// docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md, Permissions.
func TestDatabasesAreSeenByPublicUntilThatIsRevoked(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.newDatabase(t, "one")
	admin := connection(t, i.open(t, "master"))
	seen := "EXECUTE AS LOGIN = 'l'; SELECT name FROM sys.databases WHERE name IN ('master', 'tempdb', 'one') ORDER " +
		"BY 1; REVERT"
	given := "SELECT permission_name, state FROM sys.server_permissions WHERE grantee_principal_id = 2"
	converse(t, admin, []say{
		{
			"CREATE LOGIN l WITH PASSWORD = 'C0ntract-Suite'",
			"ok",
		}, {given, "VIEW ANY DATABASE G"}, {seen, "master; one; tempdb"},
		{
			"REVOKE VIEW ANY DATABASE FROM public",
			"ok",
		}, {given, ""}, {seen, "master; tempdb"}, {"GRANT VIEW ANY DATABASE TO l", "ok"}, {seen, "master; one; tempdb"},
		{"REVOKE VIEW ANY DATABASE FROM l", "ok"},
	})
	i.kill()
	NewWithT(t).Expect(i.launch()).To(Succeed())
	converse(t, connection(t, i.open(t, "master")), []say{{given, ""}, {seen, "master; tempdb"}})
}
