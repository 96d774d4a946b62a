// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Who gives something another owner needs TAKE OWNERSHIP of it and to be able to act as the new owner, and permissions
// go with the owner (docs/t-sql/statements/alter-authorization-transact-sql.md, Remarks and Permissions;
// create-schema-transact-sql.md, create-role-transact-sql.md).
func TestOwnersAreChangedByWhoMay(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "OWN")
	i.sa().do("CREATE DATABASE d")
	db := i.as("sa", saPassword, "d")
	db.do("CREATE USER u WITHOUT LOGIN", "CREATE USER v WITHOUT LOGIN", "CREATE ROLE r", "CREATE ROLE r2")
	db.do(
		"CREATE SCHEMA s",
		"CREATE TABLE s.t (a int)",
		"CREATE TABLE dbo.t (a int)",
		"GRANT SELECT ON SCHEMA::s TO v",
		"DENY INSERT ON s.t TO v",
		"GRANT SELECT ON dbo.t TO v",
	)
	asU := func(text string) int32 {
		t.Helper()
		db.do("EXECUTE AS USER = 'u'")
		defer db.do("REVERT")
		return db.refused(text)
	}
	const transfer, keep = "ALTER AUTHORIZATION ON SCHEMA::s TO ", "ALTER AUTHORIZATION ON OBJECT::s.t TO SCHEMA OWNER"
	for _, text := range []string{transfer + "u", transfer + "v", keep, "ALTER AUTHORIZATION ON ROLE::r TO u"} {
		g.Expect(asU(text)).To(BeEquivalentTo(15151), text)
	}
	db.do("GRANT TAKE OWNERSHIP ON SCHEMA::s TO u")
	for _, text := range []string{transfer + "v", transfer + "dbo", transfer + "r", keep} {
		g.Expect(asU(text)).To(BeEquivalentTo(15151), text)
	}
	db.do("GRANT TAKE OWNERSHIP ON s.t TO u")
	g.Expect(asU(keep)).To(BeEquivalentTo(15151), "the schema is dbo's")
	g.Expect(db.value("SELECT principal_id FROM sys.schemas WHERE name = 's'")).To(BeEquivalentTo(1))
	const permissions = "SELECT COUNT(*) FROM sys.database_permissions WHERE grantee_principal_id = USER_ID('v') AND " +
		"class IN (1, 3)"
	db.do(transfer + "dbo")
	g.Expect(db.value(permissions)).To(BeEquivalentTo(3), "it was dbo's before")

	g.Expect(asU(transfer + "u")).To(BeZero())
	g.Expect(db.value(permissions)).To(BeEquivalentTo(1), "dbo.t's")
	g.Expect(asU(keep)).To(BeZero(), "the owner of the schema")
	db.do("GRANT IMPERSONATE ON USER::v TO u")
	g.Expect(asU(transfer + "v")).To(BeZero())
	g.Expect(db.value("SELECT USER_NAME(principal_id) FROM sys.schemas WHERE name = 's'")).To(Equal("v"))
	db.do("GRANT TAKE OWNERSHIP ON SCHEMA::s TO u", "ALTER ROLE r ADD MEMBER u")
	g.Expect(asU(transfer + "r2")).To(BeEquivalentTo(15151))
	g.Expect(asU(transfer + "r")).To(BeZero())

	db.do("GRANT CREATE SCHEMA TO u", "GRANT CREATE ROLE TO u")
	g.Expect(asU("CREATE SCHEMA s2 AUTHORIZATION dbo")).To(BeEquivalentTo(15151))
	g.Expect(asU("CREATE SCHEMA s2 AUTHORIZATION v")).To(BeZero())
	g.Expect(asU("CREATE ROLE r3 AUTHORIZATION dbo")).To(BeEquivalentTo(15151))
	g.Expect(asU("CREATE ROLE r3 AUTHORIZATION r")).To(BeZero())
	db.do("ALTER AUTHORIZATION ON SCHEMA::guest TO v")
	for _, name := range []string{"sys", "dbo", "INFORMATION_SCHEMA"} {
		g.Expect(db.refused("ALTER AUTHORIZATION ON SCHEMA::"+name+" TO v")).To(BeEquivalentTo(15150), name)
	}
}

// TestDatabasesAreGivenToWhoMayBeImpersonated: the same page, ALTER AUTHORIZATION for databases.
func TestDatabasesAreGivenToWhoMayBeImpersonated(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "OWN")
	sa := i.sa()
	sa.do(
		"CREATE DATABASE d",
		"CREATE LOGIN one WITH PASSWORD = N'F1rst-Password'",
		"CREATE LOGIN two WITH PASSWORD = N'F1rst-Password'",
	)
	db := i.as("sa", saPassword, "d")
	db.do("CREATE USER one", "GRANT TAKE OWNERSHIP ON DATABASE::d TO one")
	one := i.as("one", "F1rst-Password", "d")
	g.Expect(one.refused("ALTER AUTHORIZATION ON DATABASE::d TO two")).To(BeEquivalentTo(15151))
	sa.do("GRANT IMPERSONATE ON LOGIN::two TO one")
	g.Expect(one.refused("ALTER AUTHORIZATION ON DATABASE::d TO two")).To(BeZero())
	g.Expect(sa.value("SELECT SUSER_SNAME(owner_sid) FROM sys.databases WHERE name = 'd'")).To(Equal("two"))
}
