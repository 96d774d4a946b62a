// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// TestRestoreToAPointInTime:
// docs/relational-databases/backup-restore/restore-a-sql-server-database-to-a-point-in-time-full-recovery-model.md and
// docs/t-sql/statements/restore-statements-arguments-transact-sql.md, STOPAT.
func TestRestoreToAPointInTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	// A moment is before what comes after it and after what was before it, by more than datetime's precision.
	moment := func() string {
		mustExec(t, db, "WAITFOR DELAY '00:00:00.050'")
		at := value(t, db, "SELECT CONVERT(varchar(30), GETDATE(), 126)").(string)
		mustExec(t, db, "WAITFOR DELAY '00:00:00.050'")
		return at
	}
	early := moment()
	mustExec(t, db, "BACKUP DATABASE works TO DISK = 'works.bak'; INSERT works.dbo.t VALUES (2)")
	one := moment()
	mustExec(t, db, "INSERT works.dbo.t VALUES (3); BACKUP LOG works TO DISK = 'works.bak'; INSERT works.dbo.t VALUES (4)")
	two := moment()
	mustExec(
		t,
		db,
		"INSERT works.dbo.t VALUES (5); DELETE works.dbo.t WHERE a = 1; BACKUP LOG works TO DISK = 'works.bak' "+
			"WITH NORECOVERY",
	)
	late := moment()
	restore := func(set int, what, option string) string {
		return fmt.Sprintf("RESTORE %s works FROM DISK = 'works.bak' WITH FILE = %d, %s", what, set, option)
	}
	rows := "SELECT a FROM works.dbo.t ORDER BY a"
	converse(t, db, []say{
		{restore(1, "DATABASE", "NORECOVERY, STOPAT = '"+early+"'"), "!4338/16"},
		{restore(1, "DATABASE", "NORECOVERY, STOPAT = '"+one+"'"), "ok"},
		{restore(2, "LOG", "NORECOVERY, STOPAT = '"+early+"'"), "!4335/16"},
		{restore(2, "LOG", "RECOVERY, STOPAT = '"+one+"'"), "ok"},
		{rows, "1; 2"},
		{restore(1, "DATABASE", "REPLACE, NORECOVERY"), "ok"},
		{"DECLARE @d datetime = '" + two + "'; " + restore(2, "LOG", "RECOVERY, STOPAT = @d"), "ok"},
		{"SELECT state_desc FROM sys.databases WHERE name = 'works'", "RESTORING"},
		{restore(3, "LOG", "RECOVERY, STOPAT = '"+two+"'"), "ok"},
		{rows, "1; 2; 3; 4"},
		{"INSERT works.dbo.t VALUES (6)", "ok"},
		{restore(1, "DATABASE", "REPLACE, NORECOVERY"), "ok"},
		{restore(2, "LOG", "NORECOVERY, STOPAT = '"+one+"'"), "ok"},
		{restore(2, "LOG", "NORECOVERY"), "ok"},
		{restore(3, "LOG", "NORECOVERY, STOPAT = '"+one+"'"), "!4335/16"},
	})
	i.stop(t)
	g.Expect(i.launch()).To(Succeed())
	db = connection(t, i.open(t, "master"))
	converse(t, db, []say{
		{restore(3, "LOG", "NORECOVERY, STOPAT = '"+one+"'"), "!4335/16"},
		{restore(3, "LOG", "RECOVERY, STOPAT = '"+late+"'"), "ok"},
		{"SELECT state_desc FROM sys.databases WHERE name = 'works'", "RESTORING"},
		{"RESTORE DATABASE works WITH RECOVERY", "ok"},
		{rows, "2; 3; 4; 5"},
		{restore(3, "LOG", "STOPBEFOREMARK = 'lsn:32000000040000001'"), "!40517/16"},
	})
}
