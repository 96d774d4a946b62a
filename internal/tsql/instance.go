// SPDX-License-Identifier: Apache-2.0

package tsql

// Instance reads what an instance says of itself: @@SERVERNAME, SERVERPROPERTY('ServerName'),
// SERVERPROPERTY('ProductVersion'), SERVERPROPERTY('Edition'), @@VERSION and the time it started, in UTC.
// Sources: docs/t-sql/functions/serverproperty-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-os-sys-info-transact-sql.md.
func Instance() Statement {
	return text(`SELECT @@SERVERNAME, CAST(SERVERPROPERTY('ServerName') AS nvarchar(128)),
    CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), CAST(SERVERPROPERTY('Edition') AS nvarchar(128)),
    @@VERSION,
    (SELECT ` + utc("sqlserver_start_time") + ` FROM sys.dm_os_sys_info)`)
}

// utc is a column of the server's local time in UTC: an engine goes by the time zone that its server declares. Of a
// time before the last change from or to summer time it is wrong by that.
// Sources: docs/t-sql/functions/datepart-transact-sql.md (tzoffset), sysdatetimeoffset-transact-sql.md.
func utc(column string) string {
	return "DATEADD(minute, -DATEPART(tzoffset, SYSDATETIMEOFFSET()), " + column + ")"
}

// Alive is the shortest statement that an engine must execute to answer.
func Alive() Statement { return text("SELECT @@SERVERNAME") }

// Clock reads the engine's time, in UTC.
// Source: docs/t-sql/functions/sysutcdatetime-transact-sql.md.
func Clock() Statement { return text("SELECT SYSUTCDATETIME()") }

// ServerLogins reads the SQL logins of the server with their SIDs.
// Source: docs/relational-databases/system-catalog-views/sys-server-principals-transact-sql.md.
func ServerLogins() Statement {
	return text("SELECT name, sid, is_disabled FROM sys.server_principals WHERE [type] = 'S'")
}

// ServerPermissions reads the permissions that are granted on the server itself.
// Source: docs/relational-databases/system-catalog-views/sys-server-permissions-transact-sql.md.
func ServerPermissions() Statement {
	return text(`SELECT p.name, g.permission_name, g.state
FROM sys.server_permissions AS g JOIN sys.server_principals AS p ON p.principal_id = g.grantee_principal_id
WHERE g.class = 100`)
}

// ServerRoleMembers reads who is in which fixed server role.
// Source: docs/relational-databases/system-catalog-views/sys-server-role-members-transact-sql.md.
func ServerRoleMembers() Statement {
	return text(`SELECT r.name, m.name
FROM sys.server_role_members AS x
JOIN sys.server_principals AS r ON r.principal_id = x.role_principal_id
JOIN sys.server_principals AS m ON m.principal_id = x.member_principal_id`)
}

// GroupNames reads the names of the availability groups of which the instance hosts a replica.
// Source: docs/relational-databases/system-catalog-views/sys-availability-groups-transact-sql.md.
func GroupNames() Statement { return text("SELECT name FROM sys.availability_groups") }

// EngineEdition selects what kind of edition an instance is: 3 for Enterprise, Developer and Evaluation.
// Source: docs/t-sql/functions/serverproperty-transact-sql.md.
func EngineEdition() Statement {
	return text(`SELECT CAST(SERVERPROPERTY('EngineEdition') AS int)`).Because("read the edition")
}
