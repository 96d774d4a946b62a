// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"strconv"
	"time"
)

// RestoreForm is how a backup set is restored. Unless Recover says so the database is left RESTORING, so that more sets
// can be restored over it. There is no REPLACE: what the engine refuses without it is somebody else's.
type RestoreForm struct {
	// Files are those of the set, in any order.
	Files []string
	// Position of the set in its files, from 1; 0 for the only one.
	Position int
	// Moves say where the database's files go: all of them with a full backup, with another set those that came since.
	Moves []FileMove
	// StopAt is the time by the clock of the server that wrote the log at which a restore of the log stops, StopBefore the
	// LSN before which it does; zero and empty restore all of the set.
	StopAt     time.Time
	StopBefore string
	// Recover has the database be ONLINE in the end: no other set is restored over it.
	Recover bool
}

// FileMove is where a file of a database goes, by its logical name.
type FileMove struct{ Name, To string }

// stopForm is a time as datetime takes it whatever the session's language is, with the milliseconds that it has.
const stopForm = "2006-01-02T15:04:05.000"

// RestoreDatabase restores a full or differential backup set; without a database of the name a full one makes it.
// Source: docs/t-sql/statements/restore-statements-transact-sql.md.
func RestoreDatabase(name string, f RestoreForm) Statement {
	f.StopAt, f.StopBefore = time.Time{}, ""
	b := new(builder).sql("RESTORE DATABASE ").name(name).sql(" FROM ")
	f.write(b)
	return b.takesLong("RESTORE DATABASE", name).done("restore " + name)
}

// ForeignDatabase is the error of RestoreFirst where there is another database of the name.
const ForeignDatabase = 50003

// RestoreFirst restores a full backup set, unless there is a database of the name any of whose files is without own in
// its name: the engine would restore over one of the same family that is RESTORING or in simple recovery.
// Sources: docs/t-sql/statements/restore-statements-transact-sql.md,
// docs/relational-databases/system-catalog-views/sys-master-files-transact-sql.md.
func RestoreFirst(name, own string, f RestoreForm) Statement {
	return restoreFirst(name, own, f).takesLong("RESTORE DATABASE", name).done("restore " + name)
}

// RestoreReadOnly is RestoreFirst to its end, and has the database take no writes then, of whoever connects first
// either: what such a writer has begun is rolled back. A restore that fails changes nothing of what is there.
// Sources: docs/t-sql/statements/restore-statements-transact-sql.md, docs/t-sql/functions/error-transact-sql.md,
// docs/t-sql/statements/alter-database-transact-sql-set-options.md (READ_ONLY, WITH <termination>).
func RestoreReadOnly(name, own string, f RestoreForm) Statement {
	f.Recover = true
	return restoreFirst(name, own, f).
		sql(";\nIF @@ERROR = 0\n    ALTER DATABASE ").name(name).sql(" SET READ_ONLY WITH ROLLBACK IMMEDIATE").
		takesLong("RESTORE DATABASE", name).done("restore " + name)
}

func restoreFirst(name, own string, f RestoreForm) *builder {
	f.StopAt, f.StopBefore = time.Time{}, ""
	b := new(builder).sql("IF EXISTS (SELECT 1 FROM sys.databases AS d JOIN sys.master_files AS f ON f.database_id = ").
		sql("d.database_id WHERE d.name = ").str(name).sql(" AND CHARINDEX(").str(own).sql(", f.physical_name) = 0)\n").
		sql("    THROW ", strconv.Itoa(ForeignDatabase), ", N'There is another database of the name.', 1;\n").
		sql("RESTORE DATABASE ").name(name).sql(" FROM ")
	f.write(b)
	return b
}

// RestoreLog restores a backup set of the log over a database that is RESTORING. Where to stop is named with each set
// of a restore, in the same words. Source: docs/t-sql/statements/restore-statements-arguments-transact-sql.md.
func RestoreLog(name string, f RestoreForm) Statement {
	b := new(builder).sql("RESTORE LOG ").name(name).sql(" FROM ")
	f.write(b)
	return b.takesLong("RESTORE LOG", name).done("restore the log of " + name)
}

// RecoverDatabase ends a restore: transactions that did not commit are undone, and the database comes ONLINE.
// Source: docs/t-sql/statements/restore-statements-transact-sql.md.
func RecoverDatabase(name string) Statement {
	return new(builder).sql("RESTORE DATABASE ").name(name).sql(" WITH RECOVERY").
		takesLong("RESTORE DATABASE", name).done("recover " + name)
}

func (f RestoreForm) write(b *builder) {
	b.disks(f.Files)
	if f.Recover {
		b.sql(" WITH RECOVERY")
	} else {
		b.sql(" WITH NORECOVERY")
	}
	if f.Position > 0 {
		b.sql(", FILE = ", strconv.Itoa(f.Position))
	}
	for _, m := range f.Moves {
		b.sql(", MOVE ").str(m.Name).sql(" TO ").str(m.To)
	}
	switch {
	case f.StopBefore != "":
		b.sql(", STOPBEFOREMARK = ").str("lsn:" + f.StopBefore)
	case !f.StopAt.IsZero():
		b.sql(", STOPAT = ").str(f.StopAt.Format(stopForm))
	}
}

// BackupLabel reads what a file of backups says of itself: of which media set it is, and which of its families.
// Source: docs/t-sql/statements/restore-statements-labelonly-transact-sql.md.
func BackupLabel(file string) Statement {
	return new(builder).sql("RESTORE LABELONLY FROM ").disks([]string{file}).
		takesLong("RESTORE LABELONLY", file).done("ask which file of backups this is")
}

// BackupHeaders reads the header of each backup set in a file, a row for each; versions have different columns.
// Source: docs/t-sql/statements/restore-statements-headeronly-transact-sql.md.
func BackupHeaders(file string) Statement {
	return new(builder).sql("RESTORE HEADERONLY FROM ").disks([]string{file}).
		takesLong("RESTORE HEADERONLY", file).done("ask which backups a file has")
}

// BackupFileList reads the files of the database whose backup set is at a position of a file, from 1.
// Source: docs/t-sql/statements/restore-statements-filelistonly-transact-sql.md.
func BackupFileList(file string, position int) Statement {
	return new(builder).sql("RESTORE FILELISTONLY FROM ").disks([]string{file}).
		sql(" WITH FILE = ", strconv.Itoa(position)).takesLong("RESTORE FILELISTONLY", file).
		done("ask which files a backup has")
}

// CertificateThumbprints reads the thumbprints of the certificates in the connection's database: backups and database
// encryption keys name by them what opens them.
// Source: docs/relational-databases/system-catalog-views/sys-certificates-transact-sql.md.
func CertificateThumbprints() Statement {
	return text("SELECT thumbprint FROM sys.certificates").Because("ask which certificates are there")
}

// Errors by which the engine tells that a file has no backups that it can read: no media family (3241), no backup at
// all (3242), of another format (3243), empty (3254), or damaged (3189). IncompatibleBackup is that of a database
// of a newer version, NoEncryptor that the certificate or key is not there which opens it, NoBackupDevice that the file
// does not open: there is none, or the engine may not.
// Source: docs/relational-databases/errors-events/database-engine-events-and-errors-3000-to-3999.md.
var (
	NoBackupFile       = []int32{3241, 3242, 3243, 3254, 3189}
	NoBackupDevice     = int32(3201)
	IncompatibleBackup = int32(3169)
	NoEncryptor        = int32(33111)
)

// LogTooEarly is the error by which the engine tells that the log of a set ends before the position of a database: all
// of it is there already.
const LogTooEarly = 4326

// DatabasePlaces reads the state of a database, and where its files are; no row where there is none of the name.
// Sources: docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md, sys-master-files-transact-sql.md.
func DatabasePlaces(name string) Statement {
	return new(builder).
		sql("SELECT d.state_desc, COALESCE(f.physical_name, N'')\n"+
			"FROM sys.databases AS d\nLEFT JOIN sys.master_files AS f ON f.database_id = d.database_id\n"+
			"WHERE d.name = @name").
		arg("name", name).
		done("ask for the state and the files of " + name)
}
