// SPDX-License-Identifier: Apache-2.0

package security

import "strings"

// The tables below are from docs/relational-databases/security/permissions-database-engine.md ("SQL Server
// permissions": implied and covering permissions) and
// docs/relational-databases/security/authentication-access/server-level-roles.md and database-level-roles.md
// ("Permissions of fixed roles").

// serverCovering has, for each server permission, the ones that cover it; CONTROL SERVER covers all.
var serverCovering = map[string][]string{
	"CREATE ANY DATABASE":               {"ALTER ANY DATABASE"},
	"VIEW ANY DATABASE":                 {"ALTER ANY DATABASE", "VIEW ANY DEFINITION"},
	"CREATE AVAILABILITY GROUP":         {"ALTER ANY AVAILABILITY GROUP"},
	"CREATE ENDPOINT":                   {"ALTER ANY ENDPOINT"},
	"CREATE LOGIN":                      {"ALTER ANY LOGIN"},
	"CREATE SERVER ROLE":                {"ALTER ANY SERVER ROLE"},
	"VIEW SERVER STATE":                 {"ALTER SERVER STATE"},
	"VIEW SERVER PERFORMANCE STATE":     {"VIEW SERVER STATE", "ALTER SERVER STATE"},
	"VIEW SERVER SECURITY STATE":        {"VIEW SERVER STATE", "ALTER SERVER STATE"},
	"VIEW ANY SECURITY DEFINITION":      {"VIEW ANY DEFINITION"},
	"VIEW ANY PERFORMANCE DEFINITION":   {"VIEW ANY DEFINITION"},
	"VIEW ANY ERROR LOG":                {"VIEW SERVER STATE"},
	"CREATE DDL EVENT NOTIFICATION":     {"ALTER ANY EVENT NOTIFICATION"},
	"CREATE TRACE EVENT NOTIFICATION":   {"ALTER ANY EVENT NOTIFICATION"},
	"EXTERNAL ACCESS ASSEMBLY":          {"UNSAFE ASSEMBLY"},
	"CREATE ANY EVENT SESSION":          {"ALTER ANY EVENT SESSION"},
	"ALTER ANY EVENT SESSION ADD EVENT": {"ALTER ANY EVENT SESSION"},
}

// classCovering has the server permission that covers ALTER on a server-wide securable's class.
var classCovering = map[int32]string{
	classLogin: "ALTER ANY LOGIN", classEndpoint: "ALTER ANY ENDPOINT", classGroup: "ALTER ANY AVAILABILITY GROUP",
}

// serverSteps are the places where a permission on a server-wide securable, or one that covers it, may have been given.
func serverSteps(sec securable, name string) []step {
	server := securable{class: classServer}
	steps := []step{{server, "CONTROL SERVER"}}
	if sec.class == classServer {
		steps = append(steps, step{server, name})
		for _, cover := range serverCovering[name] {
			steps = append(steps, step{server, cover})
		}
		return steps
	}
	steps = append(steps, step{sec, name}, step{sec, "CONTROL"})
	if name == "ALTER" || name == "VIEW DEFINITION" || name == "CONNECT" && sec.class == classEndpoint {
		steps = append(steps, step{sec, "ALTER"})
	}
	switch {
	case name == "ALTER":
		steps = append(steps, step{server, classCovering[sec.class]})
	case name == "VIEW DEFINITION":
		steps = append(steps, step{server, "VIEW ANY DEFINITION"}, step{server, classCovering[sec.class]})
	case name == "IMPERSONATE" && sec.class == classLogin:
		steps = append(steps, step{server, "IMPERSONATE ANY LOGIN"})
	}
	return steps
}

// databaseCovering has, for each database permission, the ones that cover it; CONTROL covers all.
var databaseCovering = map[string][]string{
	"BACKUP DATABASE": nil, "BACKUP LOG": nil, "CHECKPOINT": nil, "CONNECT": {"CONNECT REPLICATION"},
	"VIEW DATABASE STATE":             nil,
	"VIEW DATABASE PERFORMANCE STATE": {"VIEW DATABASE STATE"},
	"VIEW DATABASE SECURITY STATE":    {"VIEW DATABASE STATE"},
	"CREATE USER":                     {"ALTER ANY USER", "ALTER"},
	"CREATE ROLE":                     {"ALTER ANY ROLE", "ALTER"},
	"CREATE SCHEMA":                   {"ALTER ANY SCHEMA", "ALTER"},
	"CREATE CERTIFICATE":              {"ALTER ANY CERTIFICATE", "ALTER"},
	"CREATE SYMMETRIC KEY":            {"ALTER ANY SYMMETRIC KEY", "ALTER"},
	"VIEW SECURITY DEFINITION":        {"VIEW DEFINITION"},
	"VIEW PERFORMANCE DEFINITION":     {"VIEW DEFINITION"},
}

// alterCovers are the database permissions that ALTER on the database covers.
func alterCovers(name string) bool {
	return strings.HasPrefix(name, "CREATE ") || strings.HasPrefix(name, "ALTER ANY ")
}

// databaseSteps are the places in a database where a permission, or one that covers it, may have been given.
func databaseSteps(sec securable, name string) []step {
	database := securable{class: classDatabase}
	steps := []step{{database, "CONTROL"}}
	if sec.class == classDatabase {
		steps = append(steps, step{database, name})
		for _, cover := range databaseCovering[name] {
			steps = append(steps, step{database, cover})
		}
		if alterCovers(name) {
			steps = append(steps, step{database, "ALTER"})
		}
		return steps
	}
	steps = append(steps, step{securable{class: sec.class, major: sec.major}, name},
		step{securable{class: sec.class, major: sec.major}, "CONTROL"})
	// To take what is within is not covered by TAKE OWNERSHIP of what it is in
	// (docs/t-sql/statements/grant-object-permissions-transact-sql.md, grant-schema-permissions-transact-sql.md).
	within := name != "TAKE OWNERSHIP"
	if within {
		steps = append(steps, step{database, name})
	}
	if sec.class == classObject && sec.schema != 0 {
		schema := securable{class: classSchema, major: sec.schema}
		if steps = append(steps, step{schema, "CONTROL"}); within {
			steps = append(steps, step{schema, name})
		}
	}
	if name == "ALTER" {
		switch sec.class {
		case classObject, classSchema, classType:
			steps = append(steps, step{database, "ALTER ANY SCHEMA"})
		case classCertificate:
			steps = append(steps, step{database, "ALTER ANY CERTIFICATE"})
		case classPrincipal:
			steps = append(steps, step{database, "ALTER ANY USER"}, step{database, "ALTER ANY ROLE"})
		}
	}
	return steps
}

// serverPermissionFor names the server permission that covers a database permission, empty when only CONTROL SERVER
// does.
func serverPermissionFor(name string, sec securable) []string {
	covers := []string{"CONTROL SERVER"}
	switch name {
	case "ALTER", "CREATE DATABASE":
		if sec.class == classDatabase {
			covers = append(covers, "ALTER ANY DATABASE")
		}
	case "VIEW DEFINITION", "VIEW SECURITY DEFINITION", "VIEW PERFORMANCE DEFINITION":
		covers = append(covers, "VIEW ANY DEFINITION")
	case "VIEW DATABASE STATE", "VIEW DATABASE PERFORMANCE STATE", "VIEW DATABASE SECURITY STATE":
		covers = append(covers, "VIEW SERVER STATE")
	case "CONNECT":
		covers = append(covers, "CONNECT ANY DATABASE")
	case "SELECT":
		covers = append(covers, "SELECT ALL USER SECURABLES")
	}
	if name == "VIEW DATABASE PERFORMANCE STATE" {
		covers = append(covers, "VIEW SERVER PERFORMANCE STATE")
	}
	return covers
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// serverRolePermissions are what the fixed server roles may do. Every login has CONNECT SQL by a grant of its own, not
// through a role, and public has VIEW ANY DATABASE by one that can be revoked.
var serverRolePermissions = map[int32]map[string]bool{
	securityadminID: set("ALTER ANY LOGIN"),
	serveradminID: set("ALTER ANY ENDPOINT", "ALTER RESOURCES", "ALTER SERVER STATE", "ALTER SETTINGS", "SHUTDOWN",
		"VIEW SERVER STATE"),
	setupadminID:   set("ALTER ANY LINKED SERVER"),
	processadminID: set("ALTER ANY CONNECTION", "ALTER SERVER STATE"),
	diskadminID:    set("ALTER RESOURCES"),
	dbcreatorID:    set("ALTER ANY DATABASE"),
	bulkadminID:    set("ADMINISTER BULK OPERATIONS"),
}

// databaseRolePermissions are what the fixed database roles may do; db_owner does everything.
var databaseRolePermissions = map[int32]map[string]bool{
	dbAccessAdminID: set("ALTER ANY USER", "CONNECT", "CREATE SCHEMA", "VIEW DATABASE STATE"),
	dbSecurityAdminID: set(
		"ALTER ANY APPLICATION ROLE",
		"ALTER ANY ROLE",
		"CREATE SCHEMA",
		"VIEW DEFINITION",
		"VIEW DATABASE STATE",
	),
	dbDDLAdminID: set("ALTER ANY ASSEMBLY", "ALTER ANY ASYMMETRIC KEY", "ALTER ANY CERTIFICATE", "ALTER ANY SCHEMA",
		"ALTER ANY SYMMETRIC KEY", "CHECKPOINT", "CREATE FUNCTION", "CREATE PROCEDURE", "CREATE SCHEMA", "CREATE SEQUENCE",
		"CREATE SYNONYM", "CREATE TABLE", "CREATE TYPE", "CREATE VIEW", "REFERENCES", "VIEW DATABASE STATE"),
	dbBackupOperatorID: set("BACKUP DATABASE", "BACKUP LOG", "CHECKPOINT", "VIEW DATABASE STATE"),
	dbDataReaderID:     set("SELECT", "VIEW DATABASE STATE"),
	dbDataWriterID:     set("DELETE", "INSERT", "UPDATE", "VIEW DATABASE STATE"),
}
