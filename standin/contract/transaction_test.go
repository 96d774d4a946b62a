// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestTransactions goes by docs/t-sql/language-elements/transactions-transact-sql.md.
func TestTransactions(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	tx, err := db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	mustExec(t, tx, "INSERT t VALUES (1)")
	g.Expect(value(t, tx, "SELECT @@TRANCOUNT")).To(Equal(int64(1)))
	g.Expect(tx.Rollback()).To(Succeed())
	tx, err = db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	mustExec(t, tx, "INSERT t VALUES (2)")
	g.Expect(tx.Commit()).To(Succeed())
	g.Expect(query(t, db, "SELECT id FROM t")).To(Equal([][]any{{int64(2)}}))
}

// TestTransactionStatements goes by docs/t-sql/language-elements/transactions-transact-sql.md.
func TestTransactionStatements(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	c := connection(t, db)
	mustExec(t, c, "BEGIN TRANSACTION; INSERT t VALUES (1)")
	mustExec(t, c, "BEGIN TRAN; INSERT t VALUES (2); COMMIT")
	g.Expect(value(t, c, "SELECT @@TRANCOUNT")).To(Equal(int64(1)))
	mustExec(t, c, "SAVE TRANSACTION here; INSERT t VALUES (3); ROLLBACK TRANSACTION here")
	g.Expect(value(t, c, "SELECT XACT_STATE()")).To(Equal(int64(1)))
	mustExec(t, c, "COMMIT TRANSACTION")
	g.Expect(query(t, c, "SELECT id FROM t ORDER BY id")).To(Equal([][]any{{int64(1)}, {int64(2)}}))
	mustExec(t, c, "BEGIN TRAN; DELETE t; ROLLBACK")
	g.Expect(value(t, c, "SELECT COUNT(*) FROM t")).To(Equal(int64(2)))
	g.Expect(failure(t, c, "COMMIT").Number).To(Equal(int32(3902)))
	g.Expect(failure(t, c, "ROLLBACK").Number).To(Equal(int32(3903)))
	g.Expect(failure(t, c, "BEGIN TRAN; ROLLBACK TRAN nowhere").Number).To(Equal(int32(6401)))
	mustExec(t, c, "IF @@TRANCOUNT > 0 ROLLBACK")
}

// TestAStatementIsAllOrNothing goes by docs/t-sql/statements/set-xact-abort-transact-sql.md.
func TestAStatementIsAllOrNothing(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	mustExec(t, db, "INSERT t VALUES (3)")
	g.Expect(failure(t, db, "INSERT t VALUES (1), (2), (3)").Number).To(Equal(int32(2627)))
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(1)))
	// The transaction of a failed statement goes on, unless XACT_ABORT is on.
	c := connection(t, db)
	_, err := tryQuery(c, "BEGIN TRAN; INSERT t VALUES (10); INSERT t VALUES (3); INSERT t VALUES (11); COMMIT")
	g.Expect(err).To(HaveOccurred())
	g.Expect(value(t, c, "SELECT COUNT(*) FROM t")).To(Equal(int64(3)))
	_, err = tryQuery(
		c,
		"SET XACT_ABORT ON; BEGIN TRAN; INSERT t VALUES (20); INSERT t VALUES (3); INSERT t VALUES (21); COMMIT",
	)
	g.Expect(err).To(HaveOccurred())
	g.Expect(value(t, c, "SELECT @@TRANCOUNT")).To(Equal(int64(0)))
	g.Expect(value(t, c, "SELECT COUNT(*) FROM t")).To(Equal(int64(3)))
}

// TestUncommittedRowsAreNotSeen goes by docs/t-sql/statements/set-transaction-isolation-level-transact-sql.md.
func TestUncommittedRowsAreNotSeen(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	mustExec(t, db, "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE")
	tx, err := db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	mustExec(t, tx, "INSERT t VALUES (1)")
	other := connection(t, db)
	g.Expect(value(t, other, "SELECT COUNT(*) FROM t")).To(Equal(int64(0)))
	g.Expect(tx.Commit()).To(Succeed())
	g.Expect(value(t, other, "SELECT COUNT(*) FROM t")).To(Equal(int64(1)))
}

// TestReadCommittedSnapshotTakesTheDatabaseAlone goes by
// docs/t-sql/statements/alter-database-transact-sql-set-options.md, READ_COMMITTED_SNAPSHOT: no other connection to the
// database may be active, and NO_WAIT waits for none.
func TestReadCommittedSnapshotTakesTheDatabaseAlone(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mine, other := connection(t, db), connection(t, db)
	mustExec(t, other, "CREATE TABLE t (id int)")
	const set = "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT"
	const is = "SELECT is_read_committed_snapshot_on FROM sys.databases WHERE database_id = DB_ID()"
	_, err := mine.ExecContext(t.Context(), set)
	g.Expect(severe(err)).To(Equal([]int32{5070, 5069}))
	g.Expect(value(t, mine, is)).To(BeFalse())
	g.Expect(value(t, other, "SELECT COUNT(*) FROM t")).To(Equal(int64(0)), "nobody was thrown out")
	mustExec(t, other, "USE master")
	mustExec(t, mine, set)
	g.Expect(value(t, mine, is)).To(BeTrue())
}

// TestLockTimeout goes by docs/t-sql/statements/set-lock-timeout-transact-sql.md.
func TestLockTimeout(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	mustExec(t, db, "INSERT t VALUES (1)")
	tx, err := db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	mustExec(t, tx, "UPDATE t SET id = 2")
	other := connection(t, db)
	g.Expect(failure(t, other, "SET LOCK_TIMEOUT 200; UPDATE t SET id = 3").Number).To(Equal(int32(1222)))
	// A waiting statement can be cancelled.
	mustExec(t, other, "SET LOCK_TIMEOUT -1")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err = other.ExecContext(ctx, "UPDATE t SET id = 3")
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
}

// TestImplicitTransactions goes by docs/t-sql/statements/set-implicit-transactions-transact-sql.md.
func TestImplicitTransactions(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	c := connection(t, db)
	mustExec(t, c, "SET IMPLICIT_TRANSACTIONS ON")
	mustExec(t, c, "INSERT t VALUES (1)")
	g.Expect(value(t, c, "SELECT @@TRANCOUNT")).To(Equal(int64(1)))
	mustExec(t, c, "IF @@TRANCOUNT > 0 ROLLBACK TRAN")
	mustExec(t, c, "SET IMPLICIT_TRANSACTIONS OFF")
	g.Expect(value(t, c, "SELECT COUNT(*) FROM t")).To(Equal(int64(0)))
}
