// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestLogins goes by docs/t-sql/statements/create-login-transact-sql.md.
func TestLogins(t *testing.T) {
	g := NewWithT(t)
	admin := shared.open(t, "")
	name := uniqueName("login")
	mustExec(t, admin, "CREATE LOGIN ["+name+"] WITH PASSWORD = N'F1rst-Password', CHECK_POLICY = OFF")
	t.Cleanup(func() { _, _ = admin.Exec("DROP LOGIN [" + name + "]") })
	g.Expect(failure(t, admin, "CREATE LOGIN ["+name+"] WITH PASSWORD = N'F1rst-Password'").Number).To(Equal(int32(15025)))
	db := shared.openAs(t, name, "F1rst-Password", "")
	g.Expect(value(t, db, "SELECT SUSER_SNAME()")).To(Equal(name))
	db.Close()
	mustExec(t, admin, "ALTER LOGIN ["+name+"] WITH PASSWORD = N'Sec0nd-Password'")
	old := shared.openAs(t, name, "F1rst-Password", "")
	g.Expect(old.Ping()).NotTo(Succeed())
	db = shared.openAs(t, name, "Sec0nd-Password", "")
	g.Expect(db.Ping()).To(Succeed())
	db.Close()
	mustExec(t, admin, "ALTER LOGIN ["+name+"] DISABLE")
	g.Expect(shared.openAs(t, name, "Sec0nd-Password", "").Ping()).NotTo(Succeed())
	mustExec(t, admin, "DROP LOGIN ["+name+"]")
	g.Expect(failure(t, admin, "DROP LOGIN ["+name+"]").Number).To(Equal(int32(15151)))
}

// TestALoginMayDoOnlyWhatItWasGranted goes by docs/t-sql/statements/grant-transact-sql.md.
func TestALoginMayDoOnlyWhatItWasGranted(t *testing.T) {
	g := NewWithT(t)
	admin := shared.open(t, "")
	db := newDatabase(t)
	database := value(t, db, "SELECT DB_NAME()").(string)
	mustExec(t, db, "CREATE TABLE t (id int)")
	name := uniqueName("login")
	mustExec(t, admin, "CREATE LOGIN ["+name+"] WITH PASSWORD = N'F1rst-Password', CHECK_POLICY = OFF")
	g.Expect(shared.openAs(t, name, "F1rst-Password", database).Ping()).NotTo(Succeed(), "no user in the database")
	mustExec(t, db, "CREATE USER ["+name+"] FOR LOGIN ["+name+"]")
	limited := shared.openAs(t, name, "F1rst-Password", database)
	g.Expect(failure(t, limited, "SELECT * FROM t").Number).To(Equal(int32(229)))
	mustExec(t, db, "GRANT SELECT ON dbo.t TO ["+name+"]")
	g.Expect(value(t, limited, "SELECT COUNT(*) FROM t")).To(Equal(int64(0)))
	g.Expect(failure(t, limited, "INSERT t VALUES (1)").Number).To(Equal(int32(229)))
	g.Expect(failure(t, limited, "CREATE TABLE u (id int)").Number).To(Equal(int32(262)))
	g.Expect(failure(t, limited, "CREATE DATABASE ["+uniqueName("x")+"]").Number).To(Equal(int32(262)))
	g.Expect(failure(t, limited, "CREATE LOGIN ["+uniqueName("x")+"] WITH PASSWORD = N'F1rst-Password'").Number).To(Equal(int32(15247)))
	mustExec(t, db, "ALTER ROLE db_datawriter ADD MEMBER ["+name+"]")
	mustExec(t, limited, "INSERT t VALUES (1)")
	limited.Close()
	mustExec(t, db, "DROP USER ["+name+"]")
	mustExec(t, admin, "DROP LOGIN ["+name+"]")
}
