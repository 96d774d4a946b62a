// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestBackupSetsOfOneFile: a database and its log in one file, as
// docs/relational-databases/backup-restore/back-up-a-transaction-log-sql-server.md,
// restore-a-transaction-log-backup-sql-server.md (NORECOVERY, then the log FILE = 2) and
// docs/t-sql/statements/restore-statements-arguments-transact-sql.md, "Specifying a Backup Set", have it.
func TestBackupSetsOfOneFile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	header := func(text string) (out [][]any) {
		for _, row := range query(t, db, text) {
			out = append(out, []any{row[0], row[2], row[5], row[9]})
		}
		return out
	}
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	converse(t, db, []say{
		{
			"BACKUP DATABASE works TO DISK = '/var/opt/mssql/data/works.bak' WITH FORMAT, NAME = N'full', " +
				"COMPRESSION, STATS = 10",
			"ok",
		},
		{"INSERT works.dbo.t VALUES (2)", "ok"},
		{
			"DECLARE @n nvarchar(128) = N'log 1'; BACKUP LOG works TO DISK = '/var/opt/mssql/data/works.bak' WITH NOFORMAT, " +
				"NOINIT, NAME = @n, SKIP, NOREWIND, NOUNLOAD, STATS = 10",
			"ok",
		},
		{"INSERT works.dbo.t VALUES (3)", "ok"},
		{"BACKUP LOG works TO DISK = '/var/opt/mssql/data/works.bak'", "ok"},
		{"INSERT works.dbo.t VALUES (4)", "ok"},
		{
			"BACKUP DATABASE works TO DISK = '/var/opt/mssql/data/works.bak' WITH COPY_ONLY, CHECKSUM, DESCRIPTION = " +
				"'all of it'",
			"ok",
		},
		{
			"SELECT type, position, name FROM msdb.dbo.backupset ORDER BY backup_set_id",
			"D 1 full; L 2 log 1; L 3 NULL; D 4 NULL",
		},
		{"SELECT COUNT(DISTINCT media_set_id) FROM msdb.dbo.backupset", "1"},
		{"SELECT COUNT(*) FROM msdb.dbo.backupmediafamily", "1"},
		{"RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 3", "ok"},
		{
			"DECLARE @s int = 4; RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = @s, " +
				"NOUNLOAD, NOREWIND",
			"ok",
		},
		{"RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 5", "!4038/16"},
		{"RESTORE HEADERONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 5", "!4038/16"},
		{"RESTORE LABELONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 1", "!156/15"},
		{"RESTORE LOG works FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 2, NORECOVERY", "!3117/16"},
	})
	const all = "RESTORE HEADERONLY FROM DISK = '/var/opt/mssql/data/works.bak'"
	g.Expect(header(all)).
		To(Equal([][]any{{"full", int64(1), int64(1), "works"}, {"log 1", int64(2), int64(2), "works"},
			{nil, int64(2), int64(3), "works"}, {nil, int64(1), int64(4), "works"}}))
	g.Expect(header(all + " WITH FILE = 2")).To(Equal([][]any{{"log 1", int64(2), int64(2), "works"}}))
	g.Expect(query(t, db, "RESTORE FILELISTONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 4")).To(HaveLen(2))
	converse(t, db, []say{
		{"DROP DATABASE works", "ok"},
		{"RESTORE DATABASE works FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 2, NORECOVERY", "!3118/16"},
		{"RESTORE DATABASE works FROM DISK = '/var/opt/mssql/data/works.bak' WITH NORECOVERY", "ok"},
		{"RESTORE LOG works FROM DISK = '/var/opt/mssql/data/works.bak' WITH NORECOVERY", "!3135/16"},
		{"RESTORE LOG works FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 3, NORECOVERY", "!4305/16"},
		{"RESTORE LOG works FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 2, NORECOVERY", "ok"},
		{"RESTORE LOG works FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 3, NORECOVERY", "ok"},
		{"RESTORE DATABASE works WITH RECOVERY", "ok"},
		{"SELECT a FROM works.dbo.t ORDER BY a", "1; 2; 3"},
		{
			"SELECT h.restore_type, s.position, h.recovery FROM msdb.dbo.restorehistory AS h JOIN msdb.dbo.backupset AS s ON " +
				"s.backup_set_id = h.backup_set_id ORDER BY h.restore_history_id",
			"D 1 false; L 2 false; L 3 false",
		},
		{"RESTORE DATABASE works FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 4, REPLACE, RECOVERY", "ok"},
		{"SELECT COUNT(*) FROM works.dbo.t", "4"},
	})
}

// TestMediaIsWrittenOver: docs/t-sql/statements/backup-transact-sql.md, "Interaction of SKIP, NOSKIP, INIT, and
// NOINIT", EXPIREDATE and RETAINDAYS, and the NUL device of its arguments.
func TestMediaIsWrittenOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "USE master")
	media := func() any { return query(t, db, "RESTORE LABELONLY FROM DISK = 'm.bak'")[0][1] }
	positions := func() int { return len(query(t, db, "RESTORE HEADERONLY FROM DISK = 'm.bak'")) }
	mustExec(t, db, "BACKUP DATABASE works TO DISK = 'm.bak' WITH MEDIANAME = 'first'")
	one := media()
	converse(t, db, []say{
		{"BACKUP DATABASE works TO DISK = 'm.bak' WITH MEDIANAME = 'second'", "!4037/16"},
		{"BACKUP DATABASE works TO DISK = 'm.bak' WITH INIT, MEDIANAME = 'second'", "!4037/16"},
		{"BACKUP DATABASE works TO DISK = 'm.bak' WITH SKIP, MEDIANAME = 'second'", "ok"},
		{"RESTORE VERIFYONLY FROM DISK = 'm.bak' WITH FILE = 2, MEDIANAME = 'second'", "!4037/16"},
		{"RESTORE VERIFYONLY FROM DISK = 'm.bak' WITH FILE = 2, MEDIANAME = 'first'", "ok"},
		{"BACKUP DATABASE works TO DISK = 'm.bak' WITH INIT, NAME = 'again', RETAINDAYS = 3", "ok"},
	})
	g.Expect(positions()).To(Equal(1))
	g.Expect(media()).To(Equal(one), "INIT keeps the media header")
	g.Expect(messagesOf(t, i.open(t, ""), "BACKUP DATABASE works TO DISK = 'm.bak' WITH INIT")).
		To(ContainElement("BACKUP DATABASE is terminating abnormally."))
	converse(t, db, []say{
		{"BACKUP DATABASE works TO DISK = 'm.bak'", "ok"},
		{"SELECT COUNT(*) FROM msdb.dbo.backupset WHERE expiration_date > DATEADD(day, 2, GETDATE())", "1"},
		{"BACKUP DATABASE works TO DISK = 'm.bak' WITH INIT, SKIP, EXPIREDATE = '2001-02-03'", "ok"},
		{"DECLARE @d datetime = '2101-02-03'; BACKUP DATABASE works TO DISK = 'm.bak' WITH INIT, EXPIREDATE = @d", "ok"},
		{"BACKUP DATABASE works TO DISK = 'm.bak' WITH INIT", "!3013/16"},
		{"BACKUP DATABASE works TO DISK = 'm.bak' WITH FORMAT", "ok"},
		{"BACKUP DATABASE works TO DISK = 'NUL'", "ok"},
		{"BACKUP DATABASE works TO DISK = 'NUL' WITH COPY_ONLY", "ok"},
	})
	g.Expect(positions()).To(Equal(1))
	g.Expect(media()).NotTo(Equal(one), "FORMAT makes another one")
}

// TestUnfinishedSetIsToldAndCut: what a crash leaves of a set that was appended does not touch those before it.
func TestUnfinishedSetIsToldAndCut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	path := filepath.Join(i.root, "data", "works.bak")
	append0 := func(data []byte) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = f.Write(data)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Close()).To(Succeed())
	}
	mustExec(
		t,
		db,
		"USE master; BACKUP DATABASE works TO DISK = '/var/opt/mssql/data/works.bak'; BACKUP LOG works TO DISK = "+
			"'/var/opt/mssql/data/works.bak'",
	)
	const headers = "RESTORE HEADERONLY FROM DISK = '/var/opt/mssql/data/works.bak'"
	append0(append(make([]byte, 8), "what a crash left of a set"...))
	rows := query(t, db, headers)
	g.Expect(rows).To(HaveLen(3))
	g.Expect(rows[2][0]).To(Equal("*** INCOMPLETE ***"))
	g.Expect(rows[2][5]).To(BeEquivalentTo(3))
	converse(t, db, []say{
		{"RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 2", "ok"},
		{"RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 3", "!4038/16"},
		{"BACKUP LOG works TO DISK = '/var/opt/mssql/data/works.bak'", "ok"},
		{"RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 3", "ok"},
	})
	g.Expect(query(t, db, headers)).To(HaveLen(3))

	// What was damaged later is not cut: nobody is to lose sets behind it.
	append0([]byte("no set at all"))
	converse(t, db, []say{
		{"RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 3", "ok"},
		{"RESTORE VERIFYONLY FROM DISK = '/var/opt/mssql/data/works.bak' WITH FILE = 4", "!3241/16"},
		{"BACKUP LOG works TO DISK = '/var/opt/mssql/data/works.bak'", "!3241/16"},
		{"BACKUP DATABASE works TO DISK = '/var/opt/mssql/data/works.bak' WITH INIT", "ok"},
	})
	g.Expect(query(t, db, headers)).To(HaveLen(1))
}
