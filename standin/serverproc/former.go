// SPDX-License-Identifier: Apache-2.0

package serverproc

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/syntax"
)

// formerStatements are procedures of earlier versions that have become statements, with their parameters: each runs its
// statement (docs/relational-databases/system-stored-procedures).
var formerStatements = [][3]string{
	{
		"sp_addtype",
		"@typename! sysname, @phystype! sysname, @nulltype varchar(8), @owner sysname",
		`DECLARE @t nvarchar(max) = N'CREATE TYPE ' + QUOTENAME(ISNULL(@p4, SCHEMA_NAME())) + N'.' + QUOTENAME(@p1) + N' FROM ' + @p2 + ISNULL(N' ' + @p3, N''); EXEC (@t)`,
	},
	{"sp_droptype", "@typename! sysname", `DECLARE @t nvarchar(max) = N'DROP TYPE ' + QUOTENAME(@p1); EXEC (@t)`},
	{
		"sp_renamedb",
		"@dbname! sysname, @newname! sysname",
		`DECLARE @t nvarchar(max) = N'ALTER DATABASE ' + QUOTENAME(@p1) + N' MODIFY NAME = ' + QUOTENAME(@p2); EXEC (@t)`,
	},
	{
		"sp_changedbowner",
		"@loginame! sysname, @map varchar(5)",
		`DECLARE @t nvarchar(max) = N'ALTER AUTHORIZATION ON DATABASE::' + QUOTENAME(DB_NAME()) + N' TO ' + QUOTENAME(@p1); EXEC (@t)`,
	},
	{
		"sp_change_users_login",
		"@Action! varchar(10), @UserNamePattern sysname, @LoginName sysname, @Password sysname",
		`IF @p1 = 'Report' BEGIN
			SELECT u.name AS UserName, u.sid AS UserSID FROM sys.database_principals u WHERE u.type = 'S' AND u.principal_id > 4 AND u.authentication_type = 1 AND NOT EXISTS (SELECT 1 FROM sys.server_principals l WHERE l.sid = u.sid) ORDER BY u.name; RETURN END
		IF @p1 NOT IN ('Update_One', 'Auto_Fix') OR @p2 IS NULL OR @p1 = 'Update_One' AND @p3 IS NULL BEGIN RAISERROR(15600, 16, 1, 'sys.sp_change_users_login'); RETURN END
		IF @@TRANCOUNT > 0 BEGIN RAISERROR(15289, 16, 1); RETURN 1 END
		IF NOT EXISTS (SELECT 1 FROM sys.database_principals WHERE type = 'S' AND principal_id > 4 AND authentication_type = 1 AND name = @p2) BEGIN RAISERROR(15291, 16, 1, 'user', @p2); RETURN 1 END
		DECLARE @t nvarchar(max) = N'ALTER USER ' + QUOTENAME(@p2) + N' WITH LOGIN = ' + QUOTENAME(ISNULL(@p3, @p2)); EXEC (@t)`,
	},
	{
		"sp_validatelogins",
		"",
		`SELECT CAST(NULL AS varbinary(85)) AS SID, CAST(NULL AS sysname) AS [NT Login] WHERE 1 = 0`,
	},
	{
		"sp_helpntgroup",
		"@ntname sysname",
		`SELECT CAST(NULL AS sysname) AS NTGroupName, CAST(NULL AS smallint) AS NTGroupId, CAST(NULL AS varbinary(85)) AS SID, CAST(NULL AS int) AS HasDbAccess WHERE 1 = 0`,
	},
	{
		"sp_helpdevice",
		"@devname sysname",
		`SELECT name AS device_name, physical_name, CAST(type_desc AS nvarchar(255)) AS description, CAST(0 AS int) AS status, CAST(type AS smallint) AS cntrltype, CAST(0 AS int) AS size FROM sys.backup_devices WHERE @p1 IS NULL OR name = @p1`,
	},
	{
		"sp_helplanguage",
		"@language sysname",
		`IF @p1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.languages WHERE @p1 IN (name, alias)) BEGIN RAISERROR(15033, 16, 1, @p1); RETURN END
		SELECT langid, dateformat, datefirst, upgrade, name, alias, months, shortmonths, days, lcid, msglangid FROM sys.languages WHERE @p1 IS NULL OR @p1 IN (name, alias) ORDER BY langid`,
	},
	{"sp_flush_log", "", `CHECKPOINT`},
	// Every database of users has had the format since SQL Server 2008 (sp-db-vardecimal-storage-format-transact-sql.md).
	{
		"sp_db_vardecimal_storage_format",
		"@dbname sysname, @vardecimal_storage_format varchar(3)",
		`IF DB_ID(@p1) IS NULL AND @p1 IS NOT NULL BEGIN RAISERROR(15010, 16, 1, @p1); RETURN 1 END
		IF @p2 IS NULL SELECT name AS [Database Name], CAST('ON' AS varchar(3)) AS [Vardecimal State] FROM sys.databases WHERE name = @p1 OR @p1 IS NULL AND database_id > 4
		ELSE IF @p2 <> 'ON' BEGIN RAISERROR(15600, 16, 1, 'sys.sp_db_vardecimal_storage_format'); RETURN 1 END`,
	},
}

// formerPrincipals are those of logins, users and roles.
var formerPrincipals = [][3]string{
	{
		"sp_addrole",
		"@rolename! sysname, @ownername sysname",
		`DECLARE @t nvarchar(max) = N'CREATE ROLE ' + QUOTENAME(@p1) + ISNULL(N' AUTHORIZATION ' + QUOTENAME(@p2), N''); EXEC (@t)`,
	},
	{"sp_droprole", "@rolename! sysname", `DECLARE @t nvarchar(max) = N'DROP ROLE ' + QUOTENAME(@p1); EXEC (@t)`},
	{
		"sp_adduser",
		"@loginame! sysname, @name_in_db sysname, @grpname sysname",
		`DECLARE @u sysname = ISNULL(@p2, @p1), @t nvarchar(max); SET @t = N'CREATE USER ' + QUOTENAME(@u) + N' FOR LOGIN ' + QUOTENAME(@p1); EXEC (@t);
		IF @p3 IS NOT NULL EXEC sp_addrolemember @p3, @u`,
	},
	{"sp_dropuser", "@name_in_db! sysname", `DECLARE @t nvarchar(max) = N'DROP USER ' + QUOTENAME(@p1); EXEC (@t)`},
	{
		"sp_defaultlanguage",
		"@loginame! sysname, @language sysname",
		`DECLARE @t nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(@p1) + N' WITH DEFAULT_LANGUAGE = ' + QUOTENAME(ISNULL(@p2, @@LANGUAGE)); EXEC (@t)`,
	},
	{
		"sp_password",
		"@old sysname, @new! sysname, @loginame sysname",
		`DECLARE @t nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(ISNULL(@p3, SUSER_SNAME())) + N' WITH PASSWORD = N''' + REPLACE(@p2, N'''', N'''''') + N''''
		+ ISNULL(N' OLD_PASSWORD = N''' + REPLACE(@p1, N'''', N'''''') + N'''', N''); EXEC (@t)`,
	},
	{
		"sp_grantlogin",
		"@loginame! sysname",
		`DECLARE @t nvarchar(max) = N'CREATE LOGIN ' + QUOTENAME(@p1) + N' FROM WINDOWS'; EXEC (@t)`,
	},
	{
		"sp_denylogin",
		"@loginame! sysname",
		`DECLARE @t nvarchar(max) = N'USE master; DENY CONNECT SQL TO ' + QUOTENAME(@p1); EXEC (@t)`,
	},
	{"sp_revokelogin", "@loginame! sysname", `DECLARE @t nvarchar(max) = N'DROP LOGIN ' + QUOTENAME(@p1); EXEC (@t)`},
}

// installFormerProcedures registers those, and further procedures with which people look around.
func installFormerProcedures(r *engine.Registry) {
	for _, p := range formerStatements {
		r.TextProcedure(p[0], p[1], p[2])
	}
	for _, p := range formerPrincipals {
		r.PrincipalProcedure(p[0], p[1], p[2])
	}
	r.Procedure(
		engine.Procedure{
			Name:       "sp_describe_parameter_encryption",
			Parameters: engine.ParameterList("@tsql! nvarchar(max), @params nvarchar(max)"),
			Run:        describeEncryption,
		},
	)
}

// describeEncryption is sp_describe_parameter_encryption: no column is encrypted, so that no key is listed and every
// parameter of the statement is in plain text
// (docs/relational-databases/system-stored-procedures/sp-describe-parameter-encryption-transact-sql.md).
func describeEncryption(_ context.Context, c *engine.ProcCall) error {
	if _, err := syntax.ParseQuoted(c.String("@tsql"), true); err != nil {
		return err
	}
	parameters, err := syntax.ParseParameters(c.String("@params"))
	if err != nil {
		return err
	}
	keys := engine.ColumnList(
		"column_encryption_key_ordinal int, database_id int, column_encryption_key_id int, column_encryption_key_version " +
			"int, column_encryption_key_metadata_version binary(8), column_encryption_key_encrypted_value varbinary(4000), " +
			"column_master_key_store_provider_name nvarchar(128), column_master_key_path nvarchar(4000), " +
			"column_encryption_key_encryption_algorithm_name sysname",
	)
	if err := c.ResultSet(keys, nil); err != nil {
		return err
	}
	var rows [][]any
	for i, p := range parameters {
		rows = append(rows, []any{int64(i + 1), p.Name, int64(0), int64(0), int64(0), int64(0)})
	}
	return c.ResultSet(
		engine.ColumnList(
			"parameter_ordinal int, parameter_name sysname, column_encryption_algorithm tinyint, column_encryption_type "+
				"tinyint, column_encryption_key_ordinal int, column_encryption_normalization_rule_version tinyint",
		),
		rows,
	)
}
