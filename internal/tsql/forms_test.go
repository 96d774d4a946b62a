// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "regexp"

// form is a statement's documented form that the catalog does not cover, with the page of MicrosoftDocs/sql-docs that
// it comes from. The page writes optional parts in brackets; here they are what the operator uses of them.
type form struct {
	pattern *regexp.Regexp
	doc     string
}

const (
	nameForm   = `\[(?:[^\]]|\]\])+\]`
	stringForm = `N'(?:[^']|'')*'`
)

// forms of statements. Each statement that is not made of procedures and of DDL in the catalog must be one of these as
// a whole, and each form must be met by some statement.
var forms = []form{
	of(
		"docs/t-sql/statements/create-login-transact-sql.md",
		`CREATE LOGIN NAME WITH PASSWORD = STRING, SID = 0x[0-9A-F]{32}, DEFAULT_DATABASE = NAME, CHECK_EXPIRATION = (ON|OFF), CHECK_POLICY = (ON|OFF)`,
	),
	of(
		"docs/t-sql/statements/alter-login-transact-sql.md",
		`ALTER LOGIN NAME (WITH PASSWORD = STRING( UNLOCK)?|WITH DEFAULT_DATABASE = NAME|ENABLE|DISABLE|`+
			`WITH CHECK_EXPIRATION = (ON|OFF), CHECK_POLICY = (ON|OFF))`,
	),
	of("docs/t-sql/statements/drop-login-transact-sql.md", `DROP LOGIN NAME`),
	of("docs/t-sql/statements/create-user-transact-sql.md", `CREATE USER NAME FOR LOGIN NAME`),
	of("docs/t-sql/statements/alter-user-transact-sql.md", `ALTER USER NAME WITH LOGIN = NAME`),
	of("docs/t-sql/statements/revoke-database-permissions-transact-sql.md", `REVOKE VIEW DEFINITION FROM NAME CASCADE`),
	of("docs/t-sql/statements/grant-schema-permissions-transact-sql.md", `GRANT SELECT ON SCHEMA::NAME TO NAME`),
	of("docs/t-sql/statements/grant-object-permissions-transact-sql.md",
		`GRANT VIEW DEFINITION ON OBJECT::NAME\.NAME TO NAME`),
	of("docs/t-sql/statements/revoke-schema-permissions-transact-sql.md",
		`REVOKE SELECT ON SCHEMA::NAME FROM NAME CASCADE`),
	of("docs/t-sql/statements/revoke-object-permissions-transact-sql.md",
		`REVOKE VIEW DEFINITION ON OBJECT::NAME\.NAME FROM NAME CASCADE`),
	of("docs/t-sql/statements/set-lock-timeout-transact-sql.md", `SET LOCK_TIMEOUT \d{4}`),
	of("docs/t-sql/statements/create-trigger-transact-sql.md", `EXEC \(N'CREATE OR ALTER TRIGGER NAME\.NAME ON `+
		`NAME\.NAME AFTER INSERT, UPDATE, DELETE NOT FOR REPLICATION AS THROW 50002, N''[^']+'', 1;'\)`),
	of("docs/t-sql/statements/enable-trigger-transact-sql.md", `ENABLE TRIGGER NAME\.NAME ON NAME\.NAME`),
	of("docs/t-sql/statements/drop-trigger-transact-sql.md", `DROP TRIGGER IF EXISTS NAME\.NAME`),
	of("docs/t-sql/statements/drop-user-transact-sql.md", `DROP USER NAME`),
	of(
		"docs/t-sql/statements/alter-table-transact-sql.md",
		`ALTER TABLE NAME\.NAME REBUILD WITH \(DATA_COMPRESSION = (NONE|ROW|PAGE)(, ONLINE = ON)?\)`,
	),
	of("docs/t-sql/statements/alter-role-transact-sql.md", `ALTER ROLE NAME (ADD|DROP) MEMBER NAME`),
	of("docs/t-sql/statements/alter-server-role-transact-sql.md", `ALTER SERVER ROLE NAME (ADD|DROP) MEMBER NAME`),
	of("docs/t-sql/statements/grant-server-permissions-transact-sql.md", `GRANT `+serverPermissions+` TO NAME`),
	of("docs/t-sql/statements/revoke-server-permissions-transact-sql.md", `REVOKE `+serverPermissions+` FROM NAME`),
	of(
		"docs/t-sql/statements/grant-database-permissions-transact-sql.md",
		`GRANT (CREATE CERTIFICATE|CONTROL|VIEW DEFINITION) TO NAME`,
	),
	of(
		"docs/t-sql/statements/grant-server-principal-permissions-transact-sql.md",
		`GRANT IMPERSONATE ON LOGIN::NAME TO NAME`,
	),
	of("docs/t-sql/statements/grant-endpoint-permissions-transact-sql.md", `GRANT CONNECT ON ENDPOINT::NAME TO NAME`),
	of("docs/t-sql/statements/revoke-endpoint-permissions-transact-sql.md",
		`REVOKE CONNECT ON ENDPOINT::NAME FROM NAME`),
	of("docs/t-sql/statements/create-database-transact-sql.md", `CREATE DATABASE NAME( COLLATE [A-Za-z0-9_]+)?`),
	of("docs/t-sql/statements/drop-database-transact-sql.md", `DROP DATABASE IF EXISTS NAME`),
	of(
		"docs/t-sql/statements/alter-database-transact-sql-set-options.md",
		`ALTER DATABASE NAME SET RECOVERY (FULL|BULK_LOGGED|SIMPLE)`,
	),
	of(
		"docs/t-sql/statements/alter-database-transact-sql-set-options.md",
		`ALTER DATABASE NAME SET READ_COMMITTED_SNAPSHOT (ON|OFF) WITH NO_WAIT`,
	),
	of(
		"docs/t-sql/statements/alter-database-transact-sql-compatibility-level.md",
		`ALTER DATABASE NAME SET COMPATIBILITY_LEVEL = \d{3}`,
	),
	of("docs/t-sql/statements/alter-authorization-transact-sql.md", `ALTER AUTHORIZATION ON DATABASE::NAME TO NAME`),
	of(
		"docs/t-sql/statements/alter-database-transact-sql-file-and-filegroup-options.md",
		`ALTER DATABASE NAME MODIFY FILE \(NAME = NAME, FILENAME = STRING\)`,
	),
	of(
		"docs/t-sql/statements/alter-database-transact-sql-file-and-filegroup-options.md",
		`ALTER DATABASE NAME ADD FILE \(NAME = NAME, FILENAME = STRING, SIZE = \d+MB, FILEGROWTH = \d+MB\)`,
	),
	of("docs/t-sql/statements/create-certificate-transact-sql.md", `CREATE CERTIFICATE NAME FROM BINARY = 0x[0-9A-F]+ `+
		`WITH PRIVATE KEY \(BINARY = 0x[0-9A-F]+, DECRYPTION BY PASSWORD = STRING\)`),
	of("docs/t-sql/statements/drop-certificate-transact-sql.md", `DROP CERTIFICATE NAME`),
	of("docs/t-sql/statements/drop-availability-group-transact-sql.md", `DROP AVAILABILITY GROUP NAME`),
	of("docs/t-sql/database-console-commands/dbcc-checkdb-transact-sql.md",
		`DBCC CHECKDB \(STRING\) WITH NO_INFOMSGS, ALL_ERRORMSGS`),
	of("docs/t-sql/database-console-commands/dbcc-traceon-transact-sql.md", `DBCC TRACE(ON|OFF|STATUS) \(\d+, -1\)`),
	of("docs/t-sql/language-elements/reconfigure-transact-sql.md", `RECONFIGURE`),
	of("docs/t-sql/language-elements/kill-transact-sql.md", `KILL \d+`),
	of("docs/t-sql/language-elements/throw-transact-sql.md", `THROW \d{5}, STRING, \d+;?`),
	of("docs/t-sql/language-elements/try-catch-transact-sql.md", `(BEGIN|END) (TRY|CATCH)`),
	of("docs/t-sql/language-elements/throw-transact-sql.md", `THROW`),
	of("docs/t-sql/language-elements/begin-end-transact-sql.md", `(BEGIN|END)`),
	of("docs/t-sql/statements/alter-database-transact-sql.md", `ALTER DATABASE NAME MODIFY NAME = NAME`),
	of("docs/t-sql/statements/alter-database-transact-sql-set-options.md",
		`ALTER DATABASE NAME SET (SINGLE_USER WITH ROLLBACK IMMEDIATE|MULTI_USER)`),
	of("docs/t-sql/statements/alter-database-transact-sql-set-options.md",
		`ALTER DATABASE NAME SET (READ_ONLY|READ_WRITE) WITH ROLLBACK IMMEDIATE`),
	of("docs/t-sql/language-elements/if-else-transact-sql.md", `(IF .*|ELSE)`),
	of("docs/t-sql/queries/select-transact-sql.md", `(?s)SELECT .*`),
}

// serverPermissions are permissions on the server as the GRANT page lists them.
const serverPermissions = `(VIEW SERVER STATE|VIEW SERVER PERFORMANCE STATE|VIEW ANY DEFINITION|VIEW ANY DATABASE|CONNECT SQL|` +
	`CONNECT ANY DATABASE|CREATE ANY DATABASE|ALTER ANY DATABASE|ALTER ANY AVAILABILITY GROUP|ALTER ANY CONNECTION|CREATE AVAILABILITY GROUP|` +
	`ALTER ANY ENDPOINT|CREATE ENDPOINT|ALTER ANY LOGIN|ALTER ANY LINKED SERVER|ALTER SERVER STATE|ALTER SETTINGS|CONTROL SERVER)`

func of(doc, pattern string) form {
	pattern = regexp.MustCompile(`\bNAME\b( =)?`).ReplaceAllStringFunc(pattern, func(m string) string {
		if m == "NAME =" {
			return m
		}
		return nameForm
	})
	pattern = regexp.MustCompile(`\bSTRING\b`).ReplaceAllLiteralString(pattern, stringForm)
	return form{regexp.MustCompile(`^` + pattern + `$`), doc}
}
