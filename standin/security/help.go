// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// installHelp registers the procedures that show logins, users, roles and permissions
// (docs/relational-databases/system-stored-procedures/security-stored-procedures-transact-sql.md).
func installHelp(r *engine.Registry) {
	r.TextProcedure(
		"sp_helprole",
		"@rolename sysname",
		`IF @p1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.database_principals WHERE type IN ('R', 'A') AND name = @p1) BEGIN RAISERROR(15409, 11, 1, @p1); RETURN 1 END
		SELECT name AS RoleName, CAST(principal_id AS smallint) AS RoleId, CAST(IIF(type = 'A', 1, 0) AS int) AS IsAppRole FROM sys.database_principals WHERE type IN ('R', 'A') AND (@p1 IS NULL OR name = @p1) ORDER BY principal_id`,
	)
	r.TextProcedure(
		"sp_helprolemember",
		"@rolename sysname",
		`IF @p1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.database_principals WHERE type = 'R' AND name = @p1) BEGIN RAISERROR(15409, 11, 1, @p1); RETURN 1 END
		SELECT g.name AS DbRole, m.name AS MemberName, m.sid AS MemberSID FROM sys.database_role_members r JOIN sys.database_principals g ON g.principal_id = r.role_principal_id
		JOIN sys.database_principals m ON m.principal_id = r.member_principal_id WHERE @p1 IS NULL OR g.name = @p1 ORDER BY g.name, m.name`,
	)
	r.TextProcedure(
		"sp_helpdbfixedrole",
		"@rolename sysname",
		`IF @p1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.database_principals WHERE is_fixed_role = 1 AND name = @p1) BEGIN RAISERROR(15412, 11, 1, @p1); RETURN END
		SELECT name AS DbFixedRole, CAST(CASE name WHEN 'db_owner' THEN 'DB Owners' WHEN 'db_accessadmin' THEN 'DB Access Administrators' WHEN 'db_securityadmin' THEN 'DB Security Administrators'
		WHEN 'db_ddladmin' THEN 'DB DDL Administrators' WHEN 'db_backupoperator' THEN 'DB Backup Operator' WHEN 'db_datareader' THEN 'DB Data Reader' WHEN 'db_datawriter' THEN 'DB Data Writer'
		WHEN 'db_denydatareader' THEN 'DB Deny Data Reader' ELSE 'DB Deny Data Writer' END AS nvarchar(70)) AS Description FROM sys.database_principals WHERE is_fixed_role = 1 AND (@p1 IS NULL OR name = @p1) ORDER BY principal_id`,
	)
	r.TextProcedure(
		"sp_helpuser",
		"@name_in_db sysname",
		`IF @p1 IS NOT NULL AND DATABASE_PRINCIPAL_ID(@p1) IS NULL BEGIN RAISERROR(15198, 16, 1, @p1); RETURN 1 END
		SELECT u.name AS UserName, ISNULL(g.name, 'public') AS RoleName, l.name AS LoginName, l.default_database_name AS DefDBName, u.default_schema_name AS DefSchemaName,
			CAST(u.principal_id AS char(10)) AS UserID, u.sid AS SID
		FROM sys.database_principals u LEFT JOIN sys.database_role_members r ON r.member_principal_id = u.principal_id LEFT JOIN sys.database_principals g ON g.principal_id = r.role_principal_id
			LEFT JOIN sys.server_principals l ON l.sid = u.sid WHERE u.type <> 'R' AND (@p1 IS NULL OR u.name = @p1) ORDER BY u.name, g.name`,
	)
	installLoginMappings(r)
	r.Procedure(engine.Procedure{Name: "sp_addlogin", NoTransaction: true, Run: addLogin,
		Parameters: engine.ParameterList(
			"@loginame! sysname, @passwd nvarchar(128), @defdb sysname, @deflanguage sysname, @sid varbinary(16), " +
				"@encryptopt varchar(20)",
		)})
	r.TextProcedure(
		"sp_helpsrvrole",
		"@srvrolename sysname",
		`IF @p1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.server_principals WHERE is_fixed_role = 1 AND name = @p1) BEGIN RAISERROR(15412, 11, 1, @p1); RETURN 1 END
		SELECT name AS ServerRole, CAST(CASE name WHEN 'sysadmin' THEN 'System Administrators' WHEN 'securityadmin' THEN 'Security Administrators' WHEN 'serveradmin' THEN 'Server Administrators'
			WHEN 'setupadmin' THEN 'Setup Administrators' WHEN 'processadmin' THEN 'Process Administrators' WHEN 'diskadmin' THEN 'Disk Administrators' WHEN 'dbcreator' THEN 'Database Creators' ELSE 'Bulk Insert Administrators' END AS sysname) AS Description
		FROM sys.server_principals WHERE type = 'R' AND is_fixed_role = 1 AND name <> 'public' AND (@p1 IS NULL OR name = @p1) ORDER BY principal_id`,
	)
	r.TextProcedure(
		"sp_helpsrvrolemember",
		"@srvrolename sysname",
		`IF @p1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.server_principals WHERE type = 'R' AND name = @p1) BEGIN RAISERROR(15412, 11, 1, @p1); RETURN END
		SELECT g.name AS ServerRole, m.name AS MemberName, m.sid AS MemberSID FROM sys.server_role_members r JOIN sys.server_principals g ON g.principal_id = r.role_principal_id
		JOIN sys.server_principals m ON m.principal_id = r.member_principal_id WHERE @p1 IS NULL OR g.name = @p1 ORDER BY g.name, m.name`,
	)
	r.TextProcedure(
		"sp_helprotect",
		"@name nvarchar(776), @username sysname, @grantorname sysname, @permissionarea varchar(10) = o s",
		helpProtect,
	)
	r.TextProcedure(
		"sp_helplinkedsrvlogin",
		"@rmtsrvname sysname, @locallogin sysname",
		`IF @p1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.servers WHERE name = @p1) BEGIN RAISERROR(15015, 16, 1, @p1); RETURN END
		SELECT s.name AS [Linked Server], p.name AS [Local Login], CAST(l.uses_self_credential AS smallint) AS [Is Self Mapping], l.remote_name AS [Remote Login]
		FROM sys.servers s JOIN sys.linked_logins l ON l.server_id = s.server_id LEFT JOIN sys.server_principals p ON p.principal_id = l.local_principal_id
		WHERE s.is_linked = 1 AND (@p1 IS NULL OR s.name = @p1) AND (@p2 IS NULL OR p.name = @p2) ORDER BY s.name, p.name`,
	)
	r.TextProcedure(
		"sp_linkedservers",
		"",
		`SELECT name AS SRV_NAME, CAST(provider AS nvarchar(128)) AS SRV_PROVIDERNAME, CAST(product AS nvarchar(128)) AS SRV_PRODUCT, data_source AS SRV_DATASOURCE, CAST(NULL AS nvarchar(4000)) AS SRV_PROVIDERSTRING,
		CAST(NULL AS nvarchar(4000)) AS SRV_LOCATION, CAST(NULL AS sysname) AS SRV_CAT FROM sys.servers ORDER BY name`,
	)
	r.TextProcedure(
		"sp_MShasdbaccess",
		"",
		`SELECT name AS dbname, SUSER_SNAME(owner_sid) AS owner, CAST(0 AS int) AS DboLogin, 1 AS accessible, state AS status, CAST('' AS nvarchar(128)) AS status2 FROM sys.databases WHERE HAS_DBACCESS(name) = 1 ORDER BY name`,
	)
	for name, text := range map[string]string{
		"sp_droplogin":      `DECLARE @t nvarchar(max) = N'DROP LOGIN ' + QUOTENAME(@p1); EXEC (@t)`,
		"sp_grantdbaccess":  `DECLARE @t nvarchar(max) = N'CREATE USER ' + QUOTENAME(ISNULL(@p2, @p1)) + N' FOR LOGIN ' + QUOTENAME(@p1); EXEC (@t)`,
		"sp_revokedbaccess": `DECLARE @t nvarchar(max) = N'DROP USER ' + QUOTENAME(@p1); EXEC (@t)`,
		"sp_defaultdb":      `DECLARE @t nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(@p1) + N' WITH DEFAULT_DATABASE = ' + QUOTENAME(@p2); EXEC (@t)`,
		"sp_dbcmptlevel":    `IF @p2 IS NULL BEGIN DECLARE @l int = (SELECT compatibility_level FROM sys.databases WHERE name = @p1); PRINT CONCAT('The current compatibility level is ', @l, '.') END ELSE BEGIN DECLARE @t nvarchar(max) = N'ALTER DATABASE ' + QUOTENAME(@p1) + N' SET COMPATIBILITY_LEVEL = ' + CAST(@p2 AS nvarchar(3)); EXEC (@t) END`} {
		parameters := map[string]string{"sp_droplogin": "@loginame! sysname",
			"sp_grantdbaccess":  "@loginame! sysname, @name_in_db sysname",
			"sp_revokedbaccess": "@name_in_db! sysname", "sp_defaultdb": "@loginame! sysname, @defdb! sysname",
			"sp_dbcmptlevel": "@dbname! sysname, @new_cmptlevel tinyint"}[name]
		if name == "sp_dbcmptlevel" {
			r.TextProcedure(name, parameters, text)
			continue
		}
		r.PrincipalProcedure(name, parameters, text)
	}
}

// helpProtect is sp_helprotect (docs/relational-databases/system-stored-procedures/sp-helprotect-transact-sql.md):
// permissions on objects (o) and statements (s) of the current database.
const helpProtect = `IF @p4 NOT LIKE '%[oOsS]%' BEGIN RAISERROR(15300, 11, 1, @p4, 'o,s'); RETURN 1 END
	DECLARE @r TABLE (Owner sysname, Object sysname, Grantee sysname, Grantor sysname, ProtectType nvarchar(10), Action nvarchar(60), [Column] sysname);
	INSERT @r SELECT CAST(ISNULL(OBJECT_SCHEMA_NAME(d.major_id), '.') AS sysname) AS Owner,
		CAST(ISNULL(OBJECT_NAME(d.major_id), '.') AS sysname) AS Object, g.name AS Grantee, USER_NAME(d.grantor_principal_id) AS Grantor, CAST(CASE d.state WHEN 'D' THEN 'Deny' WHEN 'W' THEN 'Grant_WGO' ELSE 'Grant' END AS nvarchar(10)) AS ProtectType,
		CAST(d.permission_name AS nvarchar(60)) AS Action, CAST(CASE WHEN d.class = 0 THEN '.' WHEN d.minor_id = 0 THEN '(All+New)' ELSE COL_NAME(d.major_id, d.minor_id) END AS sysname) AS [Column]
	FROM sys.database_permissions d JOIN sys.database_principals g ON g.principal_id = d.grantee_principal_id
	WHERE (d.class = 1 AND @p4 LIKE '%[oO]%' OR d.class = 0 AND @p4 LIKE '%[sS]%') AND (@p1 IS NULL OR d.class = 1 AND d.major_id = OBJECT_ID(@p1) OR d.class = 0 AND d.permission_name = @p1)
		AND (@p2 IS NULL OR g.name = @p2) AND (@p3 IS NULL OR d.grantor_principal_id = DATABASE_PRINCIPAL_ID(@p3));
	IF @@ROWCOUNT = 0 AND COALESCE(@p1, @p2, @p3) IS NOT NULL BEGIN RAISERROR(15330, 11, 1); RETURN 1 END
	SELECT Owner, Object, Grantee, Grantor, ProtectType, Action, [Column] FROM @r ORDER BY Owner, Object, Grantee, Action, [Column]`

// addLogin is sp_addlogin (docs/relational-databases/system-stored-procedures/sp-addlogin-transact-sql.md). A hash of a
// password is no text here, so that one cannot come as @passwd.
func addLogin(ctx context.Context, c *engine.ProcCall) error {
	switch option := strings.ToLower(c.String("@encryptopt")); option {
	case "":
	case "skip_encryption", "skip_encryption_old":
		return sqlerr.Unsupported("sp_addlogin with @encryptopt = '" + option + "'")
	default:
		return failure(15600, 1, "sys.sp_addlogin")
	}
	if c.Value("@loginame") == nil {
		return failure(15004, 1)
	}
	return c.Exec(
		ctx,
		`DECLARE @t nvarchar(max) = N'CREATE LOGIN ' + QUOTENAME(@p1) + N' WITH PASSWORD = N''' + REPLACE(ISNULL(@p2, N''), N'''', N'''''') + N'''';
		IF @p5 IS NOT NULL SET @t += N', SID = ' + CONVERT(nvarchar(40), @p5, 1); IF @p3 IS NOT NULL SET @t += N', DEFAULT_DATABASE = ' + QUOTENAME(@p3); IF @p4 IS NOT NULL SET @t += N', DEFAULT_LANGUAGE = ' + QUOTENAME(@p4); EXEC (@t)`,
		c.Value("@loginame"),
		c.Value("@passwd"),
		c.Value("@defdb"),
		c.Value("@deflanguage"),
		c.Value("@sid"),
	)
}
