// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestBackupsOfSystemDatabases: of master full backups alone
// (docs/relational-databases/backup-restore/back-up-and-restore-of-system-databases-sql-server.md), of tempdb neither
// backups nor restores.
func TestBackupsOfSystemDatabases(t *testing.T) {
	t.Parallel()
	db := connection(t, newInstance(t).open(t, ""))
	converse(t, db, []say{
		{"BACKUP DATABASE master TO DISK = N'master.bak'", "ok"},
		{"BACKUP DATABASE master TO DISK = N'master.bak' WITH DIFFERENTIAL", "!3024/16"},
		{"BACKUP LOG master TO DISK = N'master.bak'", "!4212/16"},
		{"BACKUP DATABASE model TO DISK = N'model.bak'", "ok"},
		{"BACKUP DATABASE msdb TO DISK = N'msdb.bak'", "ok"},
		{"BACKUP DATABASE tempdb TO DISK = N'tempdb.bak'", "!3147/16"},
		{"BACKUP LOG tempdb TO DISK = N'tempdb.bak'", "!3147/16"},
		{"RESTORE DATABASE tempdb FROM DISK = N'model.bak' WITH REPLACE", "!3147/16"},
		{"RESTORE DATABASE tempdb FROM DISK = N'nowhere.bak'", "!3147/16"},
		{"RESTORE LOG tempdb FROM DISK = N'model.bak'", "!3147/16"},
		{"RESTORE DATABASE master FROM DISK = N'master.bak' WITH REPLACE", "!3108/16"},
	})
}

// TestRestoredDatabaseHasItsOptions: those that are the database's own come with the backup, what master has of it does
// not (docs/relational-databases/databases/database-detach-and-attach-sql-server.md has the same of databases that are
// attached).
func TestRestoredDatabaseHasItsOptions(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(
		t,
		db,
		"USE master; ALTER DATABASE works SET COMPATIBILITY_LEVEL = 140; ALTER DATABASE works SET READ_COMMITTED_SNAPSHOT "+
			"ON; ALTER DATABASE works SET PAGE_VERIFY NONE; ALTER DATABASE works SET TRUSTWORTHY ON",
	)
	mustExec(t, db, "BACKUP DATABASE works TO DISK = N'works.bak'")
	const shown = "SELECT compatibility_level, is_read_committed_snapshot_on, page_verify_option_desc, " +
		"is_trustworthy_on FROM sys.databases WHERE name = 'works'"
	converse(t, db, []say{
		{"DROP DATABASE works", "ok"},
		{"RESTORE DATABASE works FROM DISK = N'works.bak'", "ok"},
		{shown, "140 true NONE false"},
		{"ALTER DATABASE works SET COMPATIBILITY_LEVEL = 160", "ok"},
		{"RESTORE DATABASE works FROM DISK = N'works.bak' WITH REPLACE", "ok"},
		{shown, "140 true NONE false"},
	})
}
