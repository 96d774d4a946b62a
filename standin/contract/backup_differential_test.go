// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestDifferentialBackups:
// docs/relational-databases/backup-restore/create-a-differential-database-backup-sql-server.md, example, and
// restore-a-differential-database-backup-sql-server.md, examples A and B.
func TestDifferentialBackups(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	rows := "SELECT a FROM works.dbo.t ORDER BY a"
	converse(t, db, []say{
		{"BACKUP DATABASE works TO DISK = 'works.bak' WITH DIFFERENTIAL", "!3035/16"},
		{"BACKUP DATABASE works TO DISK = 'works.bak' WITH INIT", "ok"},
		{"INSERT works.dbo.t VALUES (2)", "ok"},
		{"BACKUP DATABASE works TO DISK = 'works.bak' WITH DIFFERENTIAL", "ok"},
		{"INSERT works.dbo.t VALUES (3)", "ok"},
		{"BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		{"INSERT works.dbo.t VALUES (4)", "ok"},
		{"BACKUP DATABASE works TO DISK = 'works.bak' WITH COPY_ONLY", "ok"},
		{"BACKUP DATABASE works TO DISK = 'works.bak' WITH DIFFERENTIAL, COPY_ONLY, COMPRESSION", "ok"},
		{"BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		{
			"SELECT type, position, is_copy_only FROM msdb.dbo.backupset ORDER BY backup_set_id",
			"D 1 false; I 2 false; L 3 false; D 4 true; I 5 false; L 6 false",
		},
	})
	headers := query(t, db, "RESTORE HEADERONLY FROM DISK = 'works.bak'")
	g.Expect(headers[1][2]).To(BeEquivalentTo(5))
	g.Expect(headers[1][47]).To(Equal(headers[0][13]), "DifferentialBaseLSN is FirstLSN of the base")
	g.Expect(headers[4][48]).To(Equal(headers[0][50]), "DifferentialBaseGUID is BackupSetGUID of the base")
	g.Expect(headers[2][47]).To(BeNil())
	converse(t, db, []say{
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 2", "!3117/16"},
		{"RESTORE DATABASE other FROM DISK = 'works.bak' WITH FILE = 2", "!3118/16"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 4, REPLACE, NORECOVERY", "ok"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 5, NORECOVERY", "!3136/16"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 1, NORECOVERY", "ok"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 2, RECOVERY", "ok"},
		{rows, "1; 2"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 1, REPLACE, NORECOVERY", "ok"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 2, NORECOVERY", "ok"},
		{"RESTORE LOG works FROM DISK = 'works.bak' WITH FILE = 6, NORECOVERY", "!4305/16"},
		{"RESTORE LOG works FROM DISK = 'works.bak' WITH FILE = 3, NORECOVERY", "ok"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 2, NORECOVERY", "!3136/16"},
		{"RESTORE DATABASE works FROM DISK = 'works.bak' WITH FILE = 5, NORECOVERY", "ok"},
		{"RESTORE LOG works FROM DISK = 'works.bak' WITH FILE = 6, RECOVERY", "ok"},
		{rows, "1; 2; 3; 4"},
		{"BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		{"SELECT TOP (2) restore_type FROM msdb.dbo.restorehistory ORDER BY restore_history_id DESC", "L; I"},
	})
}
