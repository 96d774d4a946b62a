// SPDX-License-Identifier: Apache-2.0

package tsql

import "strconv"

// Login is a SQL Server login with its security identifier.
type Login struct {
	// Name of the login.
	Name string
	// SID has 16 bytes and is the same on every server of a namespace: a database that moves between replicas keeps its
	// users' logins by SID (docs/t-sql/statements/create-login-transact-sql.md, "SID = sid").
	SID []byte
	// Password in clear.
	Password string
	// Policy that the password is held to.
	Policy PasswordPolicy
}

// PasswordPolicy says how a password is checked. The zero value is the policy that a login is made with when nobody
// says otherwise.
type PasswordPolicy struct {
	// Unchecked is CHECK_POLICY = OFF, Expires CHECK_EXPIRATION = ON; SQL Server refuses both at once.
	Unchecked, Expires bool
}

// options of CREATE and ALTER LOGIN. Both are named: CHECK_POLICY = ON alone sets CHECK_EXPIRATION too
// (docs/relational-databases/security/password-policy.md).
func (p PasswordPolicy) options() string {
	on := map[bool]string{true: "ON", false: "OFF"}
	return "CHECK_EXPIRATION = " + on[p.Expires] + ", CHECK_POLICY = " + on[!p.Unchecked]
}

// SetPasswordPolicy says how the password of a login is checked from now on.
// Source: docs/t-sql/statements/alter-login-transact-sql.md.
func SetPasswordPolicy(login string, p PasswordPolicy) Statement {
	return new(builder).sql("ALTER LOGIN ").name(login).sql(" WITH ", p.options()).
		done("set the password policy of login " + login)
}

// CreateLogin creates the login with its SID if there is none of that name.
// Source: docs/t-sql/statements/create-login-transact-sql.md.
func CreateLogin(l Login) Statement {
	return new(builder).
		sql("IF SUSER_ID(").str(l.Name).sql(") IS NULL\n    CREATE LOGIN ").name(l.Name).
		sql(" WITH PASSWORD = ").secret(l.Password).
		sql(", SID = ", Binary(l.SID), ", DEFAULT_DATABASE = [master], ", l.Policy.options()).
		done("create login " + l.Name)
}

// AlterLoginPassword sets the password of a login. Source: docs/t-sql/statements/alter-login-transact-sql.md.
func AlterLoginPassword(l Login) Statement {
	return new(builder).
		sql("ALTER LOGIN ").name(l.Name).sql(" WITH PASSWORD = ").secret(l.Password).
		done("set the password of login " + l.Name)
}

// UnlockLogin sets the password of a login that was locked out for wrong ones. Source:
// docs/t-sql/statements/alter-login-transact-sql.md.
func UnlockLogin(l Login) Statement {
	return new(builder).
		sql("ALTER LOGIN ").name(l.Name).sql(" WITH PASSWORD = ").secret(l.Password).sql(" UNLOCK").
		done("unlock login " + l.Name)
}

// SetDefaultDatabase makes a database that in which a login begins that names none.
// Source: docs/t-sql/statements/alter-login-transact-sql.md.
func SetDefaultDatabase(login, database string) Statement {
	return new(builder).sql("ALTER LOGIN ").name(login).sql(" WITH DEFAULT_DATABASE = ").name(database).
		done("set the default database of login " + login)
}

// DisableLogin lets a login connect no more; its sessions go on. Source:
// docs/t-sql/statements/alter-login-transact-sql.md.
func DisableLogin(name string) Statement {
	return new(builder).sql("ALTER LOGIN ").name(name).sql(" DISABLE").done("disable login " + name)
}

// EnableLogin lets a disabled login connect again. Source: docs/t-sql/statements/alter-login-transact-sql.md.
func EnableLogin(name string) Statement {
	return new(builder).sql("ALTER LOGIN ").name(name).sql(" ENABLE").done("enable login " + name)
}

// DropLogin drops a login if it exists. Source: docs/t-sql/statements/drop-login-transact-sql.md.
func DropLogin(name string) Statement {
	return new(builder).
		sql("IF SUSER_ID(").str(name).sql(") IS NOT NULL\n    DROP LOGIN ").name(name).
		done("drop login " + name)
}

// LoginSessions reads the numbers of a login's sessions: while it has any it is not dropped (15434). A session is of
// the login that it began with, whoever it executes as now. Source:
// docs/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql.md.
func LoginSessions(name string) Statement {
	return new(builder).
		sql("SELECT CAST(s.session_id AS int)\nFROM sys.dm_exec_sessions AS s\nWHERE s.is_user_process = 1 AND "+
			"s.original_login_name = @login").
		arg("login", name).done("read the sessions of login " + name)
}

// NoSession is the error of KILL for a number that no session has any more.
const NoSession = 6106

// EndLoginSession ends a session while it is that login's: since its number was read it may have ended, and the number
// may be somebody else's. Sources: docs/t-sql/language-elements/kill-transact-sql.md and that of LoginSessions.
func EndLoginSession(login string, id int) Statement {
	number := strconv.Itoa(id)
	return new(builder).
		sql("IF EXISTS (SELECT 1 FROM sys.dm_exec_sessions WHERE session_id = ", number, " AND original_login_name = ").
		str(login).sql(")\n    KILL ", number).
		done("end session " + number + " of login " + login)
}

// ServerPermission is a permission on the server as GRANT names it
// (docs/t-sql/statements/grant-server-permissions-transact-sql.md).
type ServerPermission string

// Permissions on the server that the operator grants.
const (
	ViewServerState            ServerPermission = "VIEW SERVER STATE"
	ViewServerPerformanceState ServerPermission = "VIEW SERVER PERFORMANCE STATE"
	ViewAnyDefinition          ServerPermission = "VIEW ANY DEFINITION"
	ViewAnyDatabase            ServerPermission = "VIEW ANY DATABASE"
	ConnectSQL                 ServerPermission = "CONNECT SQL"
	ConnectAnyDatabase         ServerPermission = "CONNECT ANY DATABASE"
	CreateAnyDatabase          ServerPermission = "CREATE ANY DATABASE"
	AlterAnyDatabase           ServerPermission = "ALTER ANY DATABASE"
	AlterAnyAvailabilityGroup  ServerPermission = "ALTER ANY AVAILABILITY GROUP"
	AlterAnyConnection         ServerPermission = "ALTER ANY CONNECTION"
	CreateAvailabilityGroup    ServerPermission = "CREATE AVAILABILITY GROUP"
	AlterAnyEndpoint           ServerPermission = "ALTER ANY ENDPOINT"
	CreateEndpoint             ServerPermission = "CREATE ENDPOINT"
	AlterAnyLogin              ServerPermission = "ALTER ANY LOGIN"
	AlterAnyLinkedServer       ServerPermission = "ALTER ANY LINKED SERVER"
	AlterServerState           ServerPermission = "ALTER SERVER STATE"
	AlterSettings              ServerPermission = "ALTER SETTINGS"
	ControlServer              ServerPermission = "CONTROL SERVER"
)

// GrantServerPermission grants a permission on the server to a login. It must run in master.
// Source: docs/t-sql/statements/grant-server-permissions-transact-sql.md.
func GrantServerPermission(p ServerPermission, login string) Statement {
	return new(builder).sql("GRANT ", string(p), " TO ").name(login).done("grant " + string(p) + " to " + login)
}

// RevokeServerPermission takes a permission on the server from a login. It must run in master.
// Source: docs/t-sql/statements/revoke-server-permissions-transact-sql.md.
func RevokeServerPermission(p ServerPermission, login string) Statement {
	return new(builder).sql("REVOKE ", string(p), " FROM ").name(login).done("revoke " + string(p) + " from " + login)
}

// AddServerRoleMember adds a login to a fixed server role. Source:
// docs/t-sql/statements/alter-server-role-transact-sql.md.
func AddServerRoleMember(role, login string) Statement {
	return new(builder).sql("ALTER SERVER ROLE ").name(role).sql(" ADD MEMBER ").name(login).
		done("add " + login + " to server role " + role)
}

// DropServerRoleMember takes a login out of a fixed server role.
// Source: docs/t-sql/statements/alter-server-role-transact-sql.md.
func DropServerRoleMember(role, login string) Statement {
	return new(builder).sql("ALTER SERVER ROLE ").name(role).sql(" DROP MEMBER ").name(login).
		done("take " + login + " out of server role " + role)
}

// CreateUser creates a database user for a login in the current database if there is none of that name.
// Source: docs/t-sql/statements/create-user-transact-sql.md.
func CreateUser(user, login string) Statement {
	return new(builder).sql("IF DATABASE_PRINCIPAL_ID(").str(user).sql(") IS NULL\n    CREATE USER ").name(user).
		sql(" FOR LOGIN ").name(login).done("create user " + user)
}

// DropUser drops a user of the current database if it exists. Source: docs/t-sql/statements/drop-user-transact-sql.md.
func DropUser(user string) Statement {
	return new(builder).sql("IF DATABASE_PRINCIPAL_ID(").str(user).sql(") IS NOT NULL\n    DROP USER ").name(user).
		done("drop user " + user)
}

// AddRoleMember adds a user to a role of the current database. Source:
// docs/t-sql/statements/alter-role-transact-sql.md.
func AddRoleMember(role, user string) Statement {
	return new(builder).sql("ALTER ROLE ").name(role).sql(" ADD MEMBER ").name(user).
		done("add " + user + " to role " + role)
}

// DatabasePermission is a permission on a database as GRANT names it
// (docs/t-sql/statements/grant-database-permissions-transact-sql.md).
type DatabasePermission string

// Permissions on a database that the operator grants.
const (
	PermissionConnect           DatabasePermission = "CONNECT"
	PermissionCreateCertificate DatabasePermission = "CREATE CERTIFICATE"
	PermissionControl           DatabasePermission = "CONTROL"
	PermissionViewDefinition    DatabasePermission = "VIEW DEFINITION"
)

// GrantDatabasePermission grants a permission on the current database to a user.
// Source: docs/t-sql/statements/grant-database-permissions-transact-sql.md.
func GrantDatabasePermission(p DatabasePermission, user string) Statement {
	return new(builder).sql("GRANT ", string(p), " TO ").name(user).done("grant " + string(p) + " to user " + user)
}

// GrantImpersonateLogin lets a login impersonate another. It must run in master.
// Source: docs/t-sql/statements/grant-server-principal-permissions-transact-sql.md.
func GrantImpersonateLogin(target, login string) Statement {
	return new(builder).sql("GRANT IMPERSONATE ON LOGIN::").name(target).sql(" TO ").name(login).
		done("let " + login + " impersonate " + target)
}
