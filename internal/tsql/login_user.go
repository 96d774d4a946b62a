// SPDX-License-Identifier: Apache-2.0

package tsql

// LoginState reads a SQL login's SID, whether it is disabled, whether the password is its own (1, or 0 when it is not),
// whether it may connect to the server, whether its default database is there, whether it was locked out for wrong
// passwords, and whether its password is checked and expires. The hash shows to those alone who have CONTROL SERVER.
// Sources: docs/relational-databases/system-catalog-views/sys-sql-logins-transact-sql.md,
// sys-server-permissions-transact-sql.md, docs/t-sql/functions/pwdcompare-transact-sql.md,
// loginproperty-transact-sql.md.
func LoginState(name, password string) Statement {
	return new(builder).
		sql("SELECT l.sid, l.is_disabled, COALESCE(PWDCOMPARE(@password, l.password_hash), 0),\n"+
			"    CASE WHEN EXISTS (SELECT 1 FROM sys.server_permissions AS p WHERE p.grantee_principal_id = l.principal_id\n"+
			"        AND p.class = 100 AND p.permission_name = N'CONNECT SQL' AND p.state IN ('G', 'W')) THEN 1 ELSE 0 END,\n"+
			"    CASE WHEN EXISTS (SELECT 1 FROM sys.server_permissions AS p WHERE p.grantee_principal_id = l.principal_id\n"+
			"        AND p.class = 100 AND p.permission_name = N'CONNECT SQL' AND p.state = 'D') THEN 1 ELSE 0 END,\n"+
			"    CASE WHEN DB_ID(l.default_database_name) IS NULL THEN 0 ELSE 1 END, COALESCE(CAST(LOGINPROPERTY(l.name, "+
			"'IsLocked') AS int), 0),\n    l.is_policy_checked, l.is_expiration_checked\n"+
			"FROM sys.sql_logins AS l\nWHERE l.name = @name").
		arg("name", name).secretArg("password", password).done("look at login " + name)
}

// LoginPermissions reads what a login is granted on the server itself, with the state: G, W (with grant option) or D
// (denied). Source: docs/relational-databases/system-catalog-views/sys-server-permissions-transact-sql.md.
func LoginPermissions(name string) Statement {
	return new(builder).
		sql("SELECT p.permission_name, p.state\nFROM sys.server_permissions AS p\n"+
			"JOIN sys.server_principals AS l ON l.principal_id = p.grantee_principal_id\n"+
			"WHERE p.class = 100 AND l.name = @name").
		arg("name", name).done("read the permissions of login " + name)
}

// LoginRoles reads the server roles that a login is a member of.
// Source: docs/relational-databases/system-catalog-views/sys-server-role-members-transact-sql.md.
func LoginRoles(name string) Statement {
	return new(builder).
		sql("SELECT r.name\nFROM sys.server_role_members AS x\nJOIN sys.server_principals AS r ON r.principal_id = "+
			"x.role_principal_id\n"+
			"JOIN sys.server_principals AS l ON l.principal_id = x.member_principal_id\nWHERE l.name = @name").
		arg("name", name).done("read the server roles of login " + name)
}

// UserOwns reads what keeps a user of the current database from being dropped: the class and the name of each schema
// and role that it owns (15138), of each module that runs as it (15136), and of each principal to which it has granted
// or denied something (15284). Sources:
// docs/relational-databases/system-catalog-views/schemas-catalog-views-sys-schemas.md,
// sys-database-principals-transact-sql.md, sys-sql-modules-transact-sql.md, sys-database-permissions-transact-sql.md.
func UserOwns(user string) Statement {
	return new(builder).
		sql("SELECT N'SCHEMA', s.name\nFROM sys.schemas AS s\nJOIN sys.database_principals AS u ON u.principal_id = "+
			"s.principal_id\nWHERE u.name = @name\n"+
			"UNION ALL\nSELECT N'ROLE', r.name\nFROM sys.database_principals AS r\nJOIN sys.database_principals AS u ON "+
			"u.principal_id = r.owning_principal_id\nWHERE u.name = @name AND r.type = 'R'\n"+
			"UNION ALL\nSELECT N'EXECUTE AS', x.name + N'.' + o.name\nFROM sys.sql_modules AS m\n"+
			"JOIN sys.objects AS o ON o.object_id = m.object_id\nJOIN sys.schemas AS x ON x.schema_id = o.schema_id\n"+
			"JOIN sys.database_principals AS u ON u.principal_id = m.execute_as_principal_id\nWHERE u.name = @name\n"+
			"UNION ALL\nSELECT DISTINCT N'GRANTOR', g.name\nFROM sys.database_permissions AS p\n"+
			"JOIN sys.database_principals AS u ON u.principal_id = p.grantor_principal_id\n"+
			"JOIN sys.database_principals AS g ON g.principal_id = p.grantee_principal_id\n"+
			"WHERE u.name = @name AND g.name <> @name").
		arg("name", user).done("read what user " + user + " owns")
}

// LoginOwns reads the databases that a login owns: while there is one it is not dropped (15174). Each instance has the
// owner for itself, and of a database of which it is a secondary replica, SECONDARY here, that one cannot be changed.
// Sources: docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-database-replica-states-transact-sql.md.
func LoginOwns(login string) Statement {
	return new(builder).
		sql("SELECT CASE WHEN EXISTS (SELECT 1 FROM sys.dm_hadr_database_replica_states AS h\n"+
			"    WHERE h.database_id = d.database_id AND h.is_local = 1 AND h.is_primary_replica = 0)\n"+
			"    THEN N'SECONDARY' ELSE N'DATABASE' END, d.name\n"+
			"FROM sys.databases AS d\nJOIN sys.server_principals AS l ON l.sid = d.owner_sid\nWHERE l.name = @name").
		arg("name", login).done("read what login " + login + " owns")
}

// UserState reads the SID of a user of the current database, and the server's login of that SID; NULL when there is
// none. Sources: docs/relational-databases/system-catalog-views/sys-database-principals-transact-sql.md,
// docs/t-sql/functions/suser-sname-transact-sql.md.
func UserState(user string) Statement {
	return new(builder).
		sql("SELECT u.sid, SUSER_SNAME(u.sid)\nFROM sys.database_principals AS u\nWHERE u.name = @name AND u.type = 'S'").
		arg("name", user).done("look at user " + user)
}

// UserRoles reads the roles of the current database that a user is a member of.
// Source: docs/relational-databases/system-catalog-views/sys-database-role-members-transact-sql.md.
func UserRoles(user string) Statement {
	return new(builder).
		sql("SELECT r.name\nFROM sys.database_role_members AS m\nJOIN sys.database_principals AS r ON r.principal_id = "+
			"m.role_principal_id\n"+
			"JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id\nWHERE u.name = @name").
		arg("name", user).done("read the roles of user " + user)
}

// UserPermissions reads what a user is granted on the current database itself, with the state: G, W (with grant option)
// or D (denied). Source: docs/relational-databases/system-catalog-views/sys-database-permissions-transact-sql.md.
func UserPermissions(user string) Statement {
	return new(builder).
		sql("SELECT p.permission_name, p.state\nFROM sys.database_permissions AS p\n"+
			"JOIN sys.database_principals AS u ON u.principal_id = p.grantee_principal_id\nWHERE p.class = 0 AND "+
			"u.name = @name").
		arg("name", user).done("read the permissions of user " + user)
}

// MapUser maps a user of the current database to a login, whose SID it gets.
// Source: docs/t-sql/statements/alter-user-transact-sql.md.
func MapUser(user, login string) Statement {
	return new(
		builder,
	).sql("ALTER USER ").
		name(user).
		sql(" WITH LOGIN = ").
		name(login).
		done("map user " + user + " to its login")
}

// DropRoleMember takes a user out of a role of the current database.
// Source: docs/t-sql/statements/alter-role-transact-sql.md.
func DropRoleMember(role, user string) Statement {
	return new(builder).sql("ALTER ROLE ").name(role).sql(" DROP MEMBER ").name(user).
		done("take " + user + " out of role " + role)
}

// RevokeDatabasePermission takes a permission on the current database from a user, with what others were granted by it.
// Source: docs/t-sql/statements/revoke-database-permissions-transact-sql.md.
func RevokeDatabasePermission(p DatabasePermission, user string) Statement {
	return new(
		builder,
	).sql("REVOKE ", string(p), " FROM ").
		name(user).
		sql(" CASCADE").
		done("revoke " + string(p) + " from user " + user)
}
