// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"strconv"
	"time"
)

// RestoreForm is how a backup set is restored. The database is left RESTORING, so that more sets can be restored over
// it. There is no REPLACE: what the engine refuses without it is somebody else's.
type RestoreForm struct {
	// Files are those of the set, in any order.
	Files []string
	// Moves say where the database's files go: all of them with a full backup, with another set those that came since.
	Moves []FileMove
	// StopAt is the time by the clock of the server that wrote the log at which a restore of the log stops, StopBefore the
	// LSN before which it does; zero and empty restore all of the set.
	StopAt     time.Time
	StopBefore string
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
	f.StopAt, f.StopBefore = time.Time{}, ""
	b := new(builder).sql("IF EXISTS (SELECT 1 FROM sys.databases AS d JOIN sys.master_files AS f ON f.database_id = ").
		sql("d.database_id WHERE d.name = ").str(name).sql(" AND CHARINDEX(").str(own).sql(", f.physical_name) = 0)\n").
		sql("    THROW ", strconv.Itoa(ForeignDatabase), ", N'There is another database of the name.', 1;\n").
		sql("RESTORE DATABASE ").name(name).sql(" FROM ")
	f.write(b)
	return b.takesLong("RESTORE DATABASE", name).done("restore " + name)
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
	b.disks(f.Files).sql(" WITH NORECOVERY")
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
