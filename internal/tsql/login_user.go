// SPDX-License-Identifier: Apache-2.0

package tsql

// LoginState reads a SQL login's SID, whether it is disabled, and whether the password is its own: 1, or 0 when it is not.
// The hash shows to those alone who have CONTROL SERVER.
// Sources: docs/relational-databases/system-catalog-views/sys-sql-logins-transact-sql.md,
// docs/t-sql/functions/pwdcompare-transact-sql.md.
func LoginState(name, password string) Statement {
	return new(builder).
		sql("SELECT l.sid, l.is_disabled, COALESCE(PWDCOMPARE(@password, l.password_hash), 0)\nFROM sys.sql_logins AS l\nWHERE l.name = @name").
		arg("name", name).secretArg("password", password).done("look at login " + name)
}

// UserState reads the SID of a user of the current database, and the server's login of that SID; NULL when there is none.
// Sources: docs/relational-databases/system-catalog-views/sys-database-principals-transact-sql.md,
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
		sql("SELECT r.name\nFROM sys.database_role_members AS m\nJOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id\n"+
			"JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id\nWHERE u.name = @name").
		arg("name", user).done("read the roles of user " + user)
}

// UserPermissions reads what a user is granted on the current database itself, with the state: G, W (with grant option) or
// D (denied). Source: docs/relational-databases/system-catalog-views/sys-database-permissions-transact-sql.md.
func UserPermissions(user string) Statement {
	return new(builder).
		sql("SELECT p.permission_name, p.state\nFROM sys.database_permissions AS p\n"+
			"JOIN sys.database_principals AS u ON u.principal_id = p.grantee_principal_id\nWHERE p.class = 0 AND u.name = @name").
		arg("name", user).done("read the permissions of user " + user)
}

// MapUser maps a user of the current database to a login, whose SID it gets.
// Source: docs/t-sql/statements/alter-user-transact-sql.md.
func MapUser(user, login string) Statement {
	return new(builder).sql("ALTER USER ").name(user).sql(" WITH LOGIN = ").name(login).done("map user " + user + " to its login")
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
	return new(builder).sql("REVOKE ", string(p), " FROM ").name(user).sql(" CASCADE").done("revoke " + string(p) + " from user " + user)
}
