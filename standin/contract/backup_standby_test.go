// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestStandby: docs/t-sql/statements/restore-statements-arguments-transact-sql.md, STANDBY, and
// docs/t-sql/statements/restore-statements-transact-sql.md, example G: the database is read between two restores of
// log, by nobody during one.
func TestStandby(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	mustExec(
		t,
		db,
		"BACKUP DATABASE works TO DISK = 'works.bak'; INSERT works.dbo.t VALUES (2); BACKUP LOG works TO DISK = 'works.bak'",
	)
	mustExec(t, db, "INSERT works.dbo.t VALUES (3); BACKUP LOG works TO DISK = 'works.bak'")
	move := ", MOVE 'works' TO '" + i.root + "/data/copy.mdf', MOVE 'works_log' TO '" + i.root + "/data/copy.ldf'"
	rows := "SELECT a FROM copy.dbo.t ORDER BY a"
	state := "SELECT state_desc, is_in_standby, is_read_only, DATABASEPROPERTYEX('copy', 'IsInStandBy'), " +
		"DATABASEPROPERTYEX('copy', 'Updateability') FROM sys.databases WHERE name = 'copy'"
	undo := filepath.Join(i.root, "data", "undo.dat")
	converse(t, db, []say{
		{"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH STANDBY = '" + i.root + "/data/works.mdf'" + move, "!1834/16"},
		{"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH STANDBY = '/no/such/folder/undo.dat'" + move, "!5133/16"},
		{"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH NORECOVERY, STANDBY = 'undo.dat'" + move, "!3031/16"},
		{
			"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH STANDBY = '" + i.root + "/data/../data/works.bak'" + move,
			"!3170/16",
		},
		{"SELECT DB_ID('copy')", "NULL"},
		{"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH STANDBY = 'undo.dat'" + move, "ok"},
		{rows, "1"},
		{state, "ONLINE true true 1 READ_ONLY"},
		{"INSERT copy.dbo.t VALUES (9)", "!3906/16"},
		{"CREATE TABLE copy.dbo.u (a int)", "!3906/16"},
		{"BACKUP DATABASE copy TO DISK = 'copy.bak'", "!3036/16"},
		{"BACKUP LOG copy TO DISK = 'copy.bak' WITH NORECOVERY", "!3036/16"},
		{"ALTER DATABASE copy SET RECOVERY SIMPLE", "!5063/16"},
		{"RESTORE LOG copy FROM DISK = 'works.bak' WITH FILE = 3, STANDBY = 'undo.dat'", "!4305/16"},
		{rows, "1"},
		{"USE copy", "ok"},
		{"RESTORE LOG copy FROM DISK = 'works.bak' WITH FILE = 2, STANDBY = 'undo.dat'", "!3102/16"},
		{"USE master", "ok"},
	})
	g.Expect(undo).To(BeARegularFile())
	reader := i.open(t, "copy")
	held := connection(t, reader)
	converse(t, held, []say{{"SELECT a FROM t", "1"}})
	converse(t, db, []say{{"RESTORE LOG copy FROM DISK = 'works.bak' WITH FILE = 2, STANDBY = 'undo.dat'", "!3101/16"}})
	converse(t, held, []say{{"SELECT a FROM t", "1"}})
	g.Expect(held.Close()).To(Succeed())
	g.Expect(reader.Close()).To(Succeed())
	g.Eventually(func() any {
		return value(t, db, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE database_id = DB_ID('copy')")
	}, "60s").Should(BeEquivalentTo(0))
	converse(t, db, []say{
		{
			"DECLARE @f nvarchar(100) = N'second.dat'; RESTORE LOG copy FROM DISK = 'works.bak' WITH FILE = 2, STANDBY = @f",
			"ok",
		},
		{rows, "1; 2"},
	})
	g.Expect(undo).NotTo(BeAnExistingFile(), "the next restore removes it")
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	db = connection(t, i.open(t, "master"))
	converse(t, db, []say{
		{state, "ONLINE true true 1 READ_ONLY"},
		{rows, "1; 2"},
		{"RESTORE LOG copy FROM DISK = 'works.bak' WITH FILE = 3, NORECOVERY", "ok"},
		{rows, "!927/14"},
		{"RESTORE DATABASE copy WITH STANDBY = 'undo.dat'", "ok"},
		{rows, "1; 2; 3"},
		{"RESTORE DATABASE copy WITH RECOVERY", "ok"},
		{state, "ONLINE false false 0 READ_WRITE"},
		{"INSERT copy.dbo.t VALUES (4)", "ok"},
		{"RESTORE LOG copy FROM DISK = 'works.bak' WITH FILE = 3, STANDBY = 'undo.dat'", "!3117/16"},
	})
	g.Expect(undo).NotTo(BeAnExistingFile())
	// A standby can be restored over without its tail.
	mustExec(t, db, "DROP DATABASE copy; RESTORE DATABASE copy FROM DISK = 'works.bak' WITH STANDBY = 'undo.dat'"+move)
	converse(t, db, []say{
		{"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH RECOVERY" + move, "ok"},
		{rows, "1"},
	})
}
