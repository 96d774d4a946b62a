// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestBackupAndRestore goes by docs/t-sql/statements/backup-transact-sql.md,
// docs/t-sql/statements/restore-statements-transact-sql.md.
func TestBackupAndRestore(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	admin := shared.open(t, "")
	name := value(t, db, "SELECT DB_NAME()").(string)
	full, log := name+".bak", name+".trn"
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY, v varbinary(max))")
	mustExec(t, db, "INSERT t VALUES (1, 0x0102), (2, NULL)")
	g.Expect(failure(t, admin, "BACKUP LOG ["+name+"] TO DISK = N'"+log+"'").Number).
		To(Equal(int32(4214)), "no full backup yet")
	mustExec(t, admin, "BACKUP DATABASE ["+name+"] TO DISK = N'"+full+"' WITH INIT, CHECKSUM")
	mustExec(t, db, "INSERT t VALUES (3, 0x03)")
	mustExec(t, admin, "BACKUP LOG ["+name+"] TO DISK = N'"+log+"' WITH INIT")
	mustExec(t, db, "DELETE t")
	g.Expect(query(t, admin, "SELECT type FROM msdb.dbo.backupset WHERE database_name = @p1 ORDER BY backup_set_id",
		name)).
		To(Equal([][]any{{"D"}, {"L"}}))
	g.Expect(query(t, admin, "RESTORE HEADERONLY FROM DISK = N'"+full+"'")).To(HaveLen(1))
	g.Expect(len(query(t, admin, "RESTORE FILELISTONLY FROM DISK = N'"+full+"'"))).To(BeNumerically(">=", 2))
	mustExec(t, admin, "RESTORE VERIFYONLY FROM DISK = N'"+full+"'")

	db.Close()
	mustExec(t, admin, "ALTER DATABASE ["+name+"] SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
	mustExec(t, admin, "RESTORE DATABASE ["+name+"] FROM DISK = N'"+full+"' WITH REPLACE, NORECOVERY")
	g.Expect(value(t, admin, "SELECT state_desc FROM sys.databases WHERE name = @p1", name)).To(Equal("RESTORING"))
	mustExec(t, admin, "RESTORE LOG ["+name+"] FROM DISK = N'"+log+"' WITH RECOVERY")
	mustExec(t, admin, "ALTER DATABASE ["+name+"] SET MULTI_USER")
	again := shared.open(t, name)
	g.Expect(query(t, again, "SELECT id, v FROM t ORDER BY id")).
		To(Equal([][]any{{int64(1), []byte{1, 2}}, {int64(2), nil}, {int64(3), []byte{3}}}))
	again.Close()
}

// TestBackupErrors goes by docs/t-sql/statements/restore-statements-transact-sql.md,
// docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func TestBackupErrors(t *testing.T) {
	g := NewWithT(t)
	admin := shared.open(t, "")
	g.Expect(failure(t, admin, "BACKUP DATABASE nosuchdatabase TO DISK = N'x.bak'").Number).To(Equal(int32(911)))
	g.Expect(failure(t, admin, "RESTORE HEADERONLY FROM DISK = N'no_such_file.bak'").Number).To(Equal(int32(3201)))
	db := newDatabase(t)
	name := value(t, db, "SELECT DB_NAME()").(string)
	mustExec(t, db, "ALTER DATABASE CURRENT SET RECOVERY SIMPLE")
	mustExec(t, admin, "BACKUP DATABASE ["+name+"] TO DISK = N'"+name+".bak'")
	g.Expect(failure(t, admin, "BACKUP LOG ["+name+"] TO DISK = N'"+name+".trn'").Number).To(Equal(int32(4208)))
}
