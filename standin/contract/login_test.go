// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"errors"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// dropLogin drops a login whose connections were closed: the server hears of that a little later, and refuses until
// then.
func dropLogin(t *testing.T, admin *sql.DB, name string) {
	t.Helper()
	NewWithT(t).Eventually(func() any {
		return value(t, admin, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE login_name = @p1", name)
	}).WithTimeout(patient).Should(BeEquivalentTo(0))
	mustExec(t, admin, "DROP LOGIN ["+name+"]")
}

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
	dropLogin(t, admin, name)
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
	g.Expect(failure(t, limited, "CREATE LOGIN ["+uniqueName("x")+"] WITH PASSWORD = N'F1rst-Password'").Number).
		To(Equal(int32(15247)))
	mustExec(t, db, "ALTER ROLE db_datawriter ADD MEMBER ["+name+"]")
	mustExec(t, limited, "INSERT t VALUES (1)")
	limited.Close()
	mustExec(t, db, "DROP USER ["+name+"]")
	dropLogin(t, admin, name)
}

// TestPasswordChangedAtLogin: a login that has to change its password is refused until it brings a new one
// ([MS-TDS] 2.2.6.4, fChangePassword; docs/t-sql/statements/create-login-transact-sql.md, MUST_CHANGE).
func TestPasswordChangedAtLogin(t *testing.T) {
	g := NewWithT(t)
	admin := shared.open(t, "")
	name := uniqueName("login")
	mustExec(
		t,
		admin,
		"CREATE LOGIN ["+name+"] WITH PASSWORD = N'F1rst-Secret' MUST_CHANGE, CHECK_EXPIRATION = ON, CHECK_POLICY = ON",
	)
	t.Cleanup(func() { _, _ = admin.Exec("DROP LOGIN [" + name + "]") })
	ping := func(password, changed string) error {
		options := map[string]string{}
		if changed != "" {
			options["change password"] = changed
		}
		db, err := sql.Open("sqlserver", shared.dsn(name, password, "", options))
		g.Expect(err).NotTo(HaveOccurred())
		defer db.Close()
		return db.Ping()
	}
	number := func(err error) int32 {
		t.Helper()
		var e mssql.Error
		g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
		return e.All[0].Number
	}
	g.Expect(number(ping("F1rst-Secret", ""))).To(Equal(int32(18488)))
	g.Expect(number(ping("Wr0ng-Secret", "Sec0nd-Secret"))).To(Equal(int32(18456)))
	g.Expect(number(ping("F1rst-Secret", "Sh0rt-1"))).To(Equal(int32(18464)))
	g.Expect(number(ping("F1rst-Secret", "onlylowercase"))).To(Equal(int32(18466)))
	g.Expect(ping("F1rst-Secret", "Sec0nd-Secret")).To(Succeed())
	g.Expect(number(ping("F1rst-Secret", ""))).To(Equal(int32(18456)))
	g.Expect(ping("Sec0nd-Secret", "")).To(Succeed())
	g.Expect(ping("Sec0nd-Secret", "Th1rd-Secret")).To(Succeed(), "of its own will")
	g.Expect(ping("Th1rd-Secret", "")).To(Succeed())
}
