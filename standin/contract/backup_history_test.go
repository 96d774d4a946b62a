// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestLogicalBackupDevices: docs/relational-databases/system-stored-procedures/sp-addumpdevice-transact-sql.md, example
// D, with sp-dropdevice-transact-sql.md and RESTORE from the device.
func TestLogicalBackupDevices(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	converse(t, db, []say{
		{"BACKUP DATABASE works TO AdvWorksData WITH FORMAT", "!3206/16"},
		{"EXEC sp_addumpdevice 'disk', 'AdvWorksData', '/var/opt/mssql/data/AdvWorksData.bak'", "ok"},
		{"EXEC sp_addumpdevice 'disk', 'AdvWorksData', '/var/opt/mssql/data/other.bak'", "!15026/16"},
		{"EXEC sp_addumpdevice 'disk', 'other', '/var/opt/mssql/data/AdvWorksData.bak'", "!15061/16"},
		{"EXEC sp_addumpdevice 'tape', 'tapedump1', '\\\\.\\tape0'", "!40517"},
		{"BEGIN TRANSACTION; EXEC sp_dropdevice 'AdvWorksData'", "!15002/16"},
		{"WHILE @@TRANCOUNT > 0 ROLLBACK", "ok"},
		{
			"SELECT name, type, type_desc, physical_name FROM sys.backup_devices",
			"AdvWorksData 2 DISK /var/opt/mssql/data/AdvWorksData.bak",
		},
		{"BACKUP DATABASE works TO AdvWorksData WITH FORMAT", "ok"},
		{"DECLARE @d sysname = 'AdvWorksData'; RESTORE VERIFYONLY FROM @d", "ok"},
		{"DROP DATABASE works", "ok"},
		{"RESTORE DATABASE works FROM AdvWorksData WITH RECOVERY", "ok"},
		{"SELECT a FROM works.dbo.t", "1"},
		{"RESTORE FILELISTONLY FROM nope", "!3206/16"},
		{"EXEC sp_dropdevice 'AdvWorksData', 'delfile'", "ok"},
		{"EXEC sp_dropdevice 'AdvWorksData'", "!15012/16"},
		{"SELECT COUNT(*) FROM sys.backup_devices", "0"},
	})
	g.Expect(failure(t, db, "RESTORE HEADERONLY FROM DISK = '/var/opt/mssql/data/AdvWorksData.bak'").Number).
		To(BeEquivalentTo(3201), "the file went with the device")
}

// TestBackupHistoryIsRemoved: sp-delete-backuphistory-transact-sql.md and
// sp-delete-database-backuphistory-transact-sql.md.
func TestBackupHistoryIsRemoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.open(t, "msdb"))
	for _, name := range []string{"one", "two"} {
		mustExec(t, db, `CREATE DATABASE `+name)
		mustExec(t, db, `BACKUP DATABASE `+name+` TO DISK = N'`+name+`.bak'`)
	}
	mustExec(
		t,
		db,
		`RESTORE DATABASE copy FROM DISK = N'one.bak' WITH MOVE 'one' TO '`+i.root+`/data/copy.mdf', MOVE 'one_log' TO '`+i.root+`/data/copy.ldf'`,
	)
	names := `SELECT database_name FROM dbo.backupset UNION ALL SELECT destination_database_name FROM dbo.restorehistory ORDER BY 1`
	g.Expect(query(t, db, names)).To(Equal([][]any{{"copy"}, {"one"}, {"two"}}))
	mustExec(t, db, `EXEC sp_delete_backuphistory @oldest_date = '01/14/2010'`)
	g.Expect(query(t, db, names)).To(HaveLen(3))
	mustExec(t, db, `EXEC sp_delete_database_backuphistory @database_name = 'two'`)
	g.Expect(query(t, db, names)).To(Equal([][]any{{"copy"}, {"one"}}))
	mustExec(t, db, `DECLARE @d datetime = DATEADD(DAY, 1, GETDATE()); EXEC sp_delete_backuphistory @oldest_date = @d`)
	g.Expect(query(t, db, names)).To(BeEmpty())
	g.Expect(query(t, db, `RESTORE HEADERONLY FROM DISK = N'one.bak'`)).To(HaveLen(1), "the file stays")
}
