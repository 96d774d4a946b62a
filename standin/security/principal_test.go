// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestLoginsAuthenticate(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	sa.do(
		"CREATE LOGIN [one] WITH PASSWORD = N'F1rst-Password', SID = 0x000102030405060708090a0b0c0d0e0f, " +
			"DEFAULT_DATABASE = [master]",
	)
	one := i.as("one", "F1rst-Password", "")
	g.Expect(one.value("SELECT SUSER_SNAME()")).To(Equal("one"))
	g.Expect(one.value("SELECT CONVERT(varchar(40), SUSER_SID(), 1)")).To(Equal("0x000102030405060708090A0B0C0D0E0F"))
	g.Expect(i.as("one", "f1rst-password", "").db.Ping()).To(MatchError(ContainSubstring("Login failed for user 'one'")))
	g.Expect(numberOf(i.as("nobody", "F1rst-Password", "").db.Ping())).To(BeEquivalentTo(18456))
	g.Expect(numberOf(i.as("sa", "wrong", "").db.Ping())).To(BeEquivalentTo(18456))
	g.Expect(sa.refused("DROP LOGIN [one]")).To(BeEquivalentTo(15434), "logged in")
	one.close()

	sa.do("ALTER LOGIN [one] DISABLE")
	g.Expect(numberOf(i.as("one", "F1rst-Password", "").db.Ping())).To(BeEquivalentTo(18470))
	sa.do("ALTER LOGIN [one] ENABLE", "DENY CONNECT SQL TO [one]")
	g.Expect(numberOf(i.as("one", "F1rst-Password", "").db.Ping())).To(BeEquivalentTo(18456))
	sa.do("GRANT CONNECT SQL TO [one]", "ALTER LOGIN [one] WITH NAME = [uno], PASSWORD = N'0ther-Password'")
	g.Expect(i.as("uno", "0ther-Password", "").db.Ping()).To(Succeed())
	i.stop()
	i.run("SEC")
	g.Expect(i.as("uno", "0ther-Password", "").db.Ping()).To(Succeed(), "after a restart")
	g.Expect(i.sa().db.Ping()).To(Succeed())
}

func TestLoginsAreRefused(t *testing.T) {
	g := NewWithT(t)
	sa := start(t, "SEC").sa()
	sa.do("CREATE LOGIN [one] WITH PASSWORD = N'F1rst-Password', SID = 0x000102030405060708090a0b0c0d0e0f")
	for batch, number := range map[string]int32{
		"CREATE LOGIN [one] WITH PASSWORD = N'F1rst-Password'":                                            15025,
		"CREATE LOGIN [two] WITH PASSWORD = N'short'":                                                     15116,
		"CREATE LOGIN [two] WITH PASSWORD = N'alllowercase'":                                              15118,
		"CREATE LOGIN [two] WITH PASSWORD = N'F1rst-Password', SID = 0x0102":                              15419,
		"CREATE LOGIN [two] WITH PASSWORD = N'F1rst-Password', SID = 0x000102030405060708090a0b0c0d0e0f":  15433,
		"CREATE LOGIN [two] WITH PASSWORD = N'F1rst-Password', DEFAULT_DATABASE = [nothing]":              15010,
		"CREATE LOGIN [two] WITH PASSWORD = N'F1rst-Password', CHECK_EXPIRATION = ON, CHECK_POLICY = OFF": 15122,
		"CREATE LOGIN [two] WITH PASSWORD = N'F1rst-Password' MUST_CHANGE":                                15099,
		"CREATE LOGIN [DOMAIN\\two] FROM WINDOWS":                                                         15401,
		"CREATE LOGIN [two] FROM CERTIFICATE [nothing]":                                                   15151,
		"ALTER LOGIN [nothing] DISABLE":                                                                   15151,
		"DROP LOGIN [nothing]":                                                                            15151,
		"DROP LOGIN [sa]":                                                                                 15405,
		"ALTER SERVER ROLE [nothing] ADD MEMBER [one]":                                                    15151,
		"ALTER SERVER ROLE [public] ADD MEMBER [one]":                                                     15081,
		"GRANT VIEW SERVER STATE TO [nothing]":                                                            15151,
		"GRANT VIEW SERVER STATE TO [sa]":                                                                 4624,
		"GRANT SELECT ON LOGIN::[one] TO [one]":                                                           4606,
		"GRANT ALTER ON AVAILABILITY GROUP::[nothing] TO [one]":                                           15151,
	} {
		g.Expect(sa.refused(batch)).To(Equal(number), batch)
	}
	g.Expect(sa.value("SELECT COUNT(*) FROM sys.sql_logins WHERE name = 'two'")).To(BeEquivalentTo(0))
}

func TestLoginsTravelByHashAndSID(t *testing.T) {
	g := NewWithT(t)
	first, second := start(t, "ONE"), start(t, "TWO")
	first.sa().do("CREATE LOGIN [app] WITH PASSWORD = N'F1rst-Password'")
	hash := first.sa().value("SELECT CONVERT(varchar(300), password_hash, 1) FROM sys.sql_logins WHERE " +
		"name = 'app'").(string)
	sid := first.sa().value("SELECT CONVERT(varchar(100), sid, 1) FROM sys.sql_logins WHERE name = 'app'").(string)
	g.Expect(hash).To(HavePrefix("0x0200"))
	second.sa().do("CREATE LOGIN [app] WITH PASSWORD = " + hash + " HASHED, SID = " + sid + ", CHECK_POLICY = OFF")
	g.Expect(second.as("app", "F1rst-Password", "").value("SELECT CONVERT(varchar(100), SUSER_SID(), 1)")).To(Equal(sid))
}

func TestUsersAndRoles(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	sa.do("CREATE LOGIN [app] WITH PASSWORD = N'F1rst-Password'", "CREATE DATABASE [d]")
	g.Expect(i.as("app", "F1rst-Password", "d").db.Ping()).NotTo(Succeed(), "no user")
	db := i.as("sa", saPassword, "d")
	db.do("CREATE TABLE dbo.t (a int)", "INSERT dbo.t VALUES (1)", "CREATE USER [u] FOR LOGIN [app]")
	g.Expect(db.refused("CREATE USER [v] FOR LOGIN [app]")).To(BeEquivalentTo(15063))
	g.Expect(db.refused("CREATE USER [u] WITHOUT LOGIN")).To(BeEquivalentTo(15023))
	g.Expect(db.refused("CREATE USER [w] FOR LOGIN [nothing]")).To(BeEquivalentTo(15007))
	app := i.as("app", "F1rst-Password", "d")
	g.Expect(app.value("SELECT USER_NAME()")).To(Equal("u"))
	g.Expect(app.refused("SELECT a FROM dbo.t")).To(BeEquivalentTo(229))
	db.do("ALTER ROLE [db_datareader] ADD MEMBER [u]")
	g.Expect(app.value("SELECT a FROM dbo.t")).To(BeEquivalentTo(1))
	g.Expect(app.value("SELECT IS_MEMBER('db_datareader')")).To(BeEquivalentTo(1))
	g.Expect(app.refused("INSERT dbo.t VALUES (2)")).To(BeEquivalentTo(229))
	db.do("CREATE ROLE [r]", "GRANT INSERT ON dbo.t TO [r]", "EXEC sp_addrolemember 'r', 'u'")
	app.do("INSERT dbo.t VALUES (2)")
	db.do("DENY INSERT ON dbo.t TO [u]")
	g.Expect(app.refused("INSERT dbo.t VALUES (3)")).To(BeEquivalentTo(229))
	db.do("REVOKE INSERT ON dbo.t FROM [u]")
	app.do("INSERT dbo.t VALUES (3)")
	g.Expect(app.refused("CREATE TABLE dbo.x (a int)")).To(BeEquivalentTo(262))
	g.Expect(app.refused("CREATE USER [z] WITHOUT LOGIN")).To(BeEquivalentTo(15247))
	g.Expect(app.refused("GRANT SELECT ON dbo.t TO [r]")).To(BeEquivalentTo(4613))
	g.Expect(db.refused("DROP ROLE [r]")).To(BeEquivalentTo(15144))
	g.Expect(db.refused("DROP ROLE [db_owner]")).To(BeEquivalentTo(15150))
	g.Expect(sa.refused("DROP LOGIN [nothing]")).To(BeEquivalentTo(15151))
	g.Expect(db.rows("SELECT name FROM sys.database_principals WHERE type = 'R' AND is_fixed_role = 0 ORDER BY name")).
		To(Equal([][]any{{"public"}, {"r"}}))
	app.close()
	db.do("DROP USER [u]", "DROP ROLE [r]")
}

func TestServerRights(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	sa.do("CREATE LOGIN [op] WITH PASSWORD = N'F1rst-Password'")
	op := i.as("op", "F1rst-Password", "")
	g.Expect(op.refused("CREATE DATABASE [x]")).To(BeEquivalentTo(262))
	g.Expect(op.refused("CREATE LOGIN [x] WITH PASSWORD = N'F1rst-Password'")).To(BeEquivalentTo(15247))
	g.Expect(op.refused("CREATE ENDPOINT [e] AS TCP (LISTENER_PORT = 5022) FOR DATABASE_MIRRORING (ROLE = ALL)")).
		To(BeEquivalentTo(15247))
	g.Expect(op.refused("GRANT VIEW SERVER STATE TO [op]")).To(BeEquivalentTo(4613))
	g.Expect(op.value("SELECT COUNT(*) FROM sys.server_principals WHERE name = 'op'")).To(BeEquivalentTo(1))
	g.Expect(op.value("SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')")).To(BeEquivalentTo(0))
	sa.do("GRANT VIEW SERVER STATE, ALTER ANY LOGIN TO [op]", "GRANT CREATE ANY DATABASE TO [op] WITH GRANT OPTION")
	g.Expect(op.value("SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE')")).To(BeEquivalentTo(1))
	op.do("CREATE LOGIN [x] WITH PASSWORD = N'F1rst-Password'", "CREATE DATABASE [x]")
	g.Expect(op.refused("ALTER LOGIN [sa] WITH PASSWORD = N'F1rst-Password'")).To(BeEquivalentTo(15151))
	g.Expect(op.refused("ALTER SERVER ROLE [sysadmin] ADD MEMBER [op]")).To(BeEquivalentTo(15151))
	g.Expect(sa.rows(`SELECT p.permission_name, p.state, p.class FROM sys.server_permissions p JOIN sys.server_principals l
		ON l.principal_id = p.grantee_principal_id WHERE l.name = 'op' ORDER BY p.permission_name`)).To(HaveLen(4))
	sa.do("ALTER SERVER ROLE [sysadmin] ADD MEMBER [op]")
	again := i.as("op", "F1rst-Password", "")
	g.Expect(again.value("SELECT IS_SRVROLEMEMBER('sysadmin')")).To(BeEquivalentTo(1))
	g.Expect(sa.value(`SELECT COUNT(*) FROM sys.server_role_members m JOIN sys.server_principals r ON r.principal_id = m.role_principal_id
		JOIN sys.server_principals l ON l.principal_id = m.member_principal_id WHERE r.name = 'sysadmin' AND l.name = 'op'`)).
		To(BeEquivalentTo(1))
}

// ALTER ANY DATABASE suffices for ALTER and DROP DATABASE, without a user in the database; nothing less does.
func TestDatabasesAreAlteredFromOutside(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	sa.do("CREATE DATABASE [x]", "CREATE LOGIN [op] WITH PASSWORD = N'F1rst-Password'")
	op := i.as("op", "F1rst-Password", "")
	g.Expect(op.refused("ALTER DATABASE [x] SET RECOVERY SIMPLE")).To(BeEquivalentTo(5011))
	g.Expect(op.refused("DROP DATABASE [x]")).To(BeEquivalentTo(3701))
	sa.do("GRANT ALTER ANY DATABASE TO [op]")
	op.do("ALTER DATABASE [x] SET RECOVERY SIMPLE", "DROP DATABASE [x]")
	g.Expect(sa.value("SELECT COUNT(*) FROM sys.databases WHERE name = 'x'")).To(BeEquivalentTo(0))
}

func TestImpersonation(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	sa := i.sa()
	sa.do("CREATE LOGIN [app] WITH PASSWORD = N'F1rst-Password'", "CREATE DATABASE [d]")
	db := i.as("sa", saPassword, "d")
	db.do("CREATE TABLE dbo.t (a int)", "CREATE USER [u] FOR LOGIN [app]")
	db.do("EXECUTE AS LOGIN = 'app'")
	g.Expect(db.value("SELECT SUSER_SNAME()")).To(Equal("app"))
	g.Expect(db.value("SELECT ORIGINAL_LOGIN()")).To(Equal("sa"))
	g.Expect(db.refused("SELECT a FROM dbo.t")).To(BeEquivalentTo(229))
	g.Expect(db.refused("EXECUTE AS LOGIN = 'sa'")).To(BeEquivalentTo(15406))
	db.do("REVERT")
	g.Expect(db.value("SELECT SUSER_SNAME()")).To(Equal("sa"))
	db.do("EXECUTE AS USER = 'u'")
	g.Expect(db.value("SELECT USER_NAME()")).To(Equal("u"))
	g.Expect(db.refused("CREATE LOGIN [x] WITH PASSWORD = N'F1rst-Password'")).To(BeEquivalentTo(15247))
	g.Expect(db.refused("EXECUTE AS USER = 'dbo'")).To(BeEquivalentTo(15517))
	db.do("REVERT")
	g.Expect(db.value("SELECT USER_NAME()")).To(Equal("dbo"))
	g.Expect(db.refused("EXECUTE AS USER = 'nothing'")).To(BeEquivalentTo(15517))
	db.do("REVERT")
}
