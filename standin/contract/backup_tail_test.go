// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestTailOfTheLog: docs/relational-databases/backup-restore/tail-log-backups-sql-server.md and
// docs/database-engine/log-shipping/fail-over-to-a-log-shipping-secondary-sql-server.md: the tail WITH NORECOVERY
// leaves the database RESTORING, its copy elsewhere goes on, and the old one follows that.
func TestTailOfTheLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, two := newInstance(t), newInstance(t)
	path := one.root + "/data/works.bak"
	works := one.newDatabase(t, "works")
	held := connection(t, works)
	mustExec(t, held, "CREATE TABLE t (a int); INSERT t VALUES (1)")
	first, second := connection(t, one.open(t, "master")), connection(t, two.open(t, "master"))
	converse(t, first, []say{
		{"BACKUP LOG works TO DISK = '" + path + "' WITH NORECOVERY", "!3101/16"},
		{"BACKUP DATABASE works TO DISK = '" + path + "'", "ok"},
	})
	converse(t, held, []say{
		{"BACKUP LOG works TO DISK = '" + path + "' WITH NORECOVERY", "!3102/16"},
		{"INSERT t VALUES (2); USE master", "ok"},
	})
	g.Expect(held.Close()).To(Succeed())
	works.Close()
	g.Eventually(func() any {
		return value(t, first, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE database_id = DB_ID('works')")
	}, "60s").Should(BeEquivalentTo(0))
	converse(t, first, []say{
		{"BACKUP LOG works TO DISK = '/no/such/folder/x.trn' WITH NORECOVERY", "!3201/16"},
		{"SELECT state_desc FROM sys.databases WHERE name = 'works'", "ONLINE"},
		{"BACKUP LOG works TO DISK = '" + path + "' WITH NO_TRUNCATE", "ok"},
		{"BACKUP LOG works TO DISK = '" + path + "' WITH NORECOVERY", "ok"},
		{"SELECT state_desc FROM sys.databases WHERE name = 'works'", "RESTORING"},
		{"SELECT * FROM works.dbo.t", "!927/14"},
		{"BACKUP LOG works TO DISK = '" + path + "' WITH NORECOVERY", "!927/14"},
	})
	rows := query(t, first, "RESTORE HEADERONLY FROM DISK = '"+path+"'")
	g.Expect(rows).To(HaveLen(3))
	g.Expect([]any{rows[1][42], rows[1][43], rows[2][42], rows[2][43]}).
		To(Equal([]any{false, true, true, false}), "IsForceOffline and IsCopyOnly")
	one.stop(t)
	g.Expect(one.launch()).To(Succeed())
	first = connection(t, one.open(t, "master"))
	g.Expect(value(t, first, "SELECT state_desc FROM sys.databases WHERE name = 'works'")).To(Equal("RESTORING"))

	// The copy has all of it, and is what the old one follows.
	converse(t, second, []say{
		{
			"RESTORE DATABASE works FROM DISK = '" + path + "' WITH NORECOVERY, MOVE 'works' TO '" + two.root +
				"/data/works.mdf', MOVE 'works_log' TO '" + two.root + "/data/works.ldf'",
			"ok",
		},
		{"RESTORE LOG works FROM DISK = '" + path + "' WITH FILE = 3, RECOVERY", "ok"},
		{"SELECT a FROM works.dbo.t ORDER BY a", "1; 2"},
		{"INSERT works.dbo.t VALUES (3)", "ok"},
		{"BACKUP LOG works TO DISK = '" + path + "'", "ok"},
		{"INSERT works.dbo.t VALUES (4)", "ok"},
		{"BACKUP LOG works TO DISK = '" + path + "' WITH NORECOVERY", "ok"},
	})
	converse(t, first, []say{
		{"RESTORE LOG works FROM DISK = '" + path + "' WITH FILE = 5, NORECOVERY", "!4305/16"},
		{"RESTORE LOG works FROM DISK = '" + path + "' WITH FILE = 4, NORECOVERY", "ok"},
		{"RESTORE LOG works FROM DISK = '" + path + "' WITH FILE = 5, RECOVERY", "ok"},
		{"SELECT a FROM works.dbo.t ORDER BY a", "1; 2; 3; 4"},
		{"INSERT works.dbo.t VALUES (5)", "ok"},
		{"BACKUP LOG works TO DISK = '" + path + "'", "ok"},
	})
	converse(t, second, []say{
		{"RESTORE LOG works FROM DISK = '" + path + "' WITH FILE = 6", "ok"},
		{"SELECT a FROM works.dbo.t ORDER BY a", "1; 2; 3; 4; 5"},
	})
}

// TestTailIsTakenBack: RESTORE WITH RECOVERY alone brings back the database whose tail was taken.
func TestTailIsTakenBack(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	converse(t, db, []say{
		{"BACKUP DATABASE works TO DISK = 'works.bak'", "ok"},
		{"BACKUP LOG works TO DISK = 'works.bak' WITH NORECOVERY", "ok"},
		{"RESTORE DATABASE works WITH RECOVERY", "ok"},
		{"INSERT works.dbo.t VALUES (2)", "ok"},
		{"BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		{"RESTORE DATABASE works WITH RECOVERY", "!3153/16"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH REPLACE, NORECOVERY", "ok"},
		{"RESTORE LOG works FROM DISK = 'works.bak' WITH FILE = 2, NORECOVERY", "ok"},
		{"RESTORE LOG works FROM DISK = 'works.bak' WITH FILE = 3", "ok"},
		{"SELECT a FROM works.dbo.t ORDER BY a", "1; 2"},
	})
}
