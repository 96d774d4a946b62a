// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// TestConnect goes by [MS-TDS] 2.2.6.5.
func TestConnect(t *testing.T) {
	for _, encrypt := range []string{"disable", "false", "true"} {
		t.Run("encrypt="+encrypt, func(t *testing.T) {
			g := NewWithT(t)
			db, err := sql.Open("sqlserver", shared.dsn(shared.user, shared.password, "", map[string]string{"encrypt": encrypt}))
			g.Expect(err).NotTo(HaveOccurred())
			defer db.Close()
			g.Expect(db.Ping()).To(Succeed())
		})
	}
}

// TestServerSaysWhatItIs goes by docs/t-sql/functions/serverproperty-transact-sql.md.
func TestServerSaysWhatItIs(t *testing.T) {
	g := NewWithT(t)
	db := shared.open(t, "")
	g.Expect(value(t, db, "SELECT @@VERSION")).NotTo(BeEmpty())
	g.Expect(value(t, db, "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))")).
		To(MatchRegexp(`^\d+\.\d+\.\d+\.\d+$`))
	g.Expect(value(t, db,
		"SELECT CASE WHEN @@SERVERNAME = CAST(SERVERPROPERTY('ServerName') AS nvarchar(128)) THEN 1 ELSE 0 END")).
		To(Equal(int64(1)))
	g.Expect(value(t, db, "SELECT DB_NAME()")).To(Equal("master"))
	g.Expect(value(t, db, "SELECT APP_NAME()")).To(Equal("contract"))
	g.Expect(value(t, db, "SELECT @@SPID")).To(BeNumerically(">", 50))
	g.Expect(value(t, db, "SELECT SUSER_SNAME()")).To(Equal(shared.user))
}

// TestWrongPasswordAndDatabase goes by
// docs/relational-databases/errors-events/mssqlserver-18456-database-engine-error.md.
func TestWrongPasswordAndDatabase(t *testing.T) {
	g := NewWithT(t)
	login := func(user, password, database string) mssql.Error {
		db := shared.openAs(t, user, password, database)
		var e mssql.Error
		err := db.Ping()
		g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
		return e
	}
	e := login(shared.user, "wrong", "")
	g.Expect(e.Number).To(Equal(int32(18456)))
	g.Expect(e.Class).To(Equal(uint8(14)))
	g.Expect(e.State).To(Equal(uint8(1)), "the client is not told the cause")
	g.Expect(login(uniqueName("nobody"), "wrong", "").Number).To(Equal(int32(18456)))
	e = login(shared.user, shared.password, uniqueName("none"))
	numbers := []int32{e.Number}
	for _, other := range e.All {
		numbers = append(numbers, other.Number)
	}
	g.Expect(numbers).To(ContainElement(int32(4060)))
}

// TestUse goes by docs/t-sql/language-elements/use-transact-sql.md.
func TestUse(t *testing.T) {
	g := NewWithT(t)
	c := connection(t, shared.open(t, ""))
	mustExec(t, c, "USE msdb")
	g.Expect(value(t, c, "SELECT DB_NAME()")).To(Equal("msdb"))
	g.Expect(failure(t, c, "USE no_such_database").Number).To(Equal(int32(911)))
	g.Expect(value(t, c, "SELECT DB_NAME()")).To(Equal("msdb"))
}

// TestAttention goes by [MS-TDS] 2.2.1.7.
func TestAttention(t *testing.T) {
	g := NewWithT(t)
	db := shared.open(t, "")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := db.ExecContext(ctx, "WAITFOR DELAY '00:10:00'")
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
	g.Expect(time.Since(start)).To(BeNumerically("<", patient))
	g.Expect(db.Ping()).To(Succeed())
}

// TestAttentionKeepsTheTransactionUsable goes by [MS-TDS] 2.2.1.7.
func TestAttentionKeepsTheTransactionUsable(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	tx, err := db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	mustExec(t, tx, "INSERT t VALUES (1)")
	g.Expect(tx.Rollback()).To(Succeed())
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(0)))
}

// TestSessionStateEndsWithTheUseOfAPooledConnection goes by [MS-TDS] 2.2.3.1.2.
func TestSessionStateEndsWithTheUseOfAPooledConnection(t *testing.T) {
	g := NewWithT(t)
	db := shared.open(t, "")
	db.SetMaxOpenConns(1)
	first, err := db.Conn(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	spid := value(t, first, "SELECT @@SPID")
	mustExec(
		t,
		first,
		"USE msdb; SET NOCOUNT ON; CREATE TABLE #mine (id int); EXEC sp_set_session_context @key = N'external_cluster', "+
			"@value = N'yes'; BEGIN TRANSACTION",
	)
	g.Expect(value(t, first, "SELECT CAST(SESSION_CONTEXT(N'external_cluster') AS nvarchar(10))")).To(Equal("yes"))
	g.Expect(first.Close()).To(Succeed())
	second := connection(t, db)
	g.Expect(value(t, second, "SELECT @@SPID")).To(Equal(spid), "the same connection")
	g.Expect(value(t, second, "SELECT DB_NAME()")).To(Equal("master"))
	g.Expect(value(t, second, "SELECT @@TRANCOUNT")).To(Equal(int64(0)))
	g.Expect(value(t, second, "SELECT CAST(SESSION_CONTEXT(N'external_cluster') AS nvarchar(10))")).To(BeNil())
	g.Expect(failure(t, second, "SELECT * FROM #mine").Number).To(Equal(int32(208)))
}

// TestPreparedStatement goes by docs/relational-databases/system-stored-procedures/sp-prepare-transact-sql.md.
func TestPreparedStatement(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY, name nvarchar(50))")
	insert, err := db.Prepare("INSERT INTO t (id, name) VALUES (@p1, @p2)")
	g.Expect(err).NotTo(HaveOccurred())
	defer insert.Close()
	for i := range 20 {
		result, err := insert.Exec(i, "name")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RowsAffected()).To(Equal(int64(1)))
	}
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(20)))
}
