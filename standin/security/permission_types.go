// SPDX-License-Identifier: Apache-2.0

package security

// serverPermissions are those that have no ON clause and are given to logins
// (docs/t-sql/statements/grant-server-permissions-transact-sql.md).
var serverPermissions = permissionsOf("SERVER")

// securablePermissions are the permissions that apply to each other class
// (docs/t-sql/statements/grant-*-permissions-*.md).
var securablePermissions = map[int32]map[string]bool{
	classDatabase:    permissionsOf("DATABASE", "ALL"),
	classObject:      permissionsOf("OBJECT"),
	classSchema:      permissionsOf("SCHEMA"),
	classPrincipal:   permissionsOf("USER, ROLE, APPLICATION ROLE"),
	classCertificate: permissionsOf("CERTIFICATE"),
	classLogin:       permissionsOf("LOGIN, SERVER ROLE"),
	classEndpoint:    permissionsOf("ENDPOINT"),
	classGroup:       permissionsOf("AVAILABILITY GROUP"),
}

// columnPermissions are those that apply to columns (docs/t-sql/statements/grant-object-permissions-transact-sql.md).
var columnPermissions = set("REFERENCES", "SELECT", "UPDATE")

// allPrivileges are what ALL stands for (docs/t-sql/statements/grant-transact-sql.md, "ALL").
var allPrivileges = map[int32][]string{
	classDatabase: {
		"BACKUP DATABASE",
		"BACKUP LOG",
		"CREATE DATABASE",
		"CREATE DEFAULT",
		"CREATE FUNCTION",
		"CREATE PROCEDURE",
		"CREATE RULE",
		"CREATE TABLE",
		"CREATE VIEW",
	},
	classObject: {"DELETE", "EXECUTE", "INSERT", "REFERENCES", "SELECT", "UPDATE"},
}
