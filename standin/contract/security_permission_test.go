// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDenialsWinAndRolesAdd goes by docs/t-sql/statements/deny-transact-sql.md.
func TestDenialsWinAndRolesAdd(t *testing.T) {
	g := NewWithT(t)
	admin := shared.open(t, "")
	db := newDatabase(t)
	database := value(t, db, "SELECT DB_NAME()").(string)
	name := uniqueName("login")
	mustExec(t, admin, "CREATE LOGIN ["+name+"] WITH PASSWORD = N'F1rst-Password'")
	mustExec(t, db, "CREATE TABLE t (id int, secret int); INSERT t VALUES (1, 2)")
	mustExec(t, db, "CREATE USER ["+name+"] FOR LOGIN ["+name+"]; ALTER ROLE db_datareader ADD MEMBER ["+name+"]")
	limited := shared.openAs(t, name, "F1rst-Password", database)
	g.Expect(value(t, limited, "SELECT id FROM t")).To(Equal(int64(1)))
	mustExec(t, db, "DENY SELECT ON dbo.t TO ["+name+"]")
	g.Expect(failure(t, limited, "SELECT id FROM t").Number).To(Equal(int32(229)))
	mustExec(t, db, "REVOKE SELECT ON dbo.t FROM ["+name+"]")
	g.Expect(value(t, limited, "SELECT id FROM t")).To(Equal(int64(1)))
	g.Expect(query(t, limited,
		"SELECT HAS_PERMS_BY_NAME('dbo.t', 'OBJECT', 'SELECT'), HAS_PERMS_BY_NAME('dbo.t', 'OBJECT', 'DELETE'), "+
			"IS_MEMBER('db_datareader')")).
		To(Equal([][]any{{int64(1), int64(0), int64(1)}}))
	limited.Close()
	mustExec(t, db, "DROP USER ["+name+"]")
	_, _ = admin.Exec("DROP LOGIN [" + name + "]")
}

// TestExecuteAs goes by docs/t-sql/statements/execute-as-transact-sql.md.
func TestExecuteAs(t *testing.T) {
	g := NewWithT(t)
	admin := shared.open(t, "")
	db := newDatabase(t)
	name := uniqueName("login")
	mustExec(t, admin, "CREATE LOGIN ["+name+"] WITH PASSWORD = N'F1rst-Password'")
	mustExec(t, db, "CREATE TABLE t (id int); CREATE USER ["+name+"] FOR LOGIN ["+name+"]")
	conn, err := db.Conn(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	mustExec(t, conn, "EXECUTE AS LOGIN = '"+name+"'")
	g.Expect(query(t, conn, "SELECT SUSER_SNAME(), ORIGINAL_LOGIN()")).To(Equal([][]any{{name, shared.user}}))
	_, err = tryQuery(conn, "SELECT id FROM t")
	g.Expect(err).To(HaveOccurred())
	mustExec(t, conn, "REVERT")
	g.Expect(query(t, conn, "SELECT SUSER_SNAME()")).To(Equal([][]any{{shared.user}}))
	g.Expect(query(t, conn, "SELECT id FROM t")).To(BeEmpty())
	mustExec(t, db, "DROP USER ["+name+"]")
	mustExec(t, admin, "DROP LOGIN ["+name+"]")
}
