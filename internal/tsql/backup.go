// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"strconv"
)

// Transfer is how a backup is written or read: bytes that one transfer has at most, 64 KiB to 4 MiB in steps of 64 KiB,
// and how many buffers there are; 0 leaves either to the server.
// Source: docs/t-sql/statements/backup-transact-sql.md, BUFFERCOUNT and MAXTRANSFERSIZE.
type Transfer struct{ MaxTransferSize, BufferCount int }

// BackupForm is how a backup is taken.
type BackupForm struct {
	Transfer
	// Files are those over which it is striped, new ones unless Keep says so.
	Files []string
	// Keep has what the files have stay: the set comes after those that are there. Without it they are written over.
	Keep bool
	// CopyOnly keeps a full backup from becoming the base of differentials; secondary replicas take no other.
	CopyOnly bool
	// Differential takes what was changed since the base.
	Differential bool
	// Compression packs it; Checksum has each page's verified and one of the whole written.
	Compression, Checksum bool
}

// BackupDatabase takes a full or differential backup to files.
// Source: docs/t-sql/statements/backup-transact-sql.md.
func BackupDatabase(name string, f BackupForm) Statement {
	b := new(builder).sql("BACKUP DATABASE ").name(name).sql(" TO ")
	f.write(b)
	what := "take a full backup of " + name
	if f.Differential {
		what = "take a differential backup of " + name
	}
	return b.takesLong("BACKUP DATABASE", name).done(what)
}

// BackupLog takes a backup of the log to new files; CopyOnly and Differential do not go with it.
// Source: docs/t-sql/statements/backup-transact-sql.md.
func BackupLog(name string, f BackupForm) Statement {
	f.CopyOnly, f.Differential = false, false
	b := new(builder).sql("BACKUP LOG ").name(name).sql(" TO ")
	f.write(b)
	return b.takesLong("BACKUP LOG", name).done("back up the log of " + name)
}

func (f BackupForm) write(b *builder) {
	b.disks(f.Files)
	if f.Keep {
		b.sql(" WITH NOFORMAT, NOINIT")
	} else {
		b.sql(" WITH FORMAT, INIT")
	}
	for _, o := range []struct {
		set  bool
		word string
	}{{f.CopyOnly, "COPY_ONLY"}, {f.Differential, "DIFFERENTIAL"}, {f.Compression, "COMPRESSION"},
		{!f.Compression, "NO_COMPRESSION"}, {f.Checksum, "CHECKSUM"}} {
		if o.set {
			b.sql(", ", o.word)
		}
	}
	b.transfer(f.Transfer)
}

// disks lists files as devices.
func (b *builder) disks(files []string) *builder {
	for i, file := range files {
		if i > 0 {
			b.sql(", ")
		}
		b.sql("DISK = ").str(file)
	}
	return b
}

func (b *builder) transfer(t Transfer) {
	if t.BufferCount > 0 {
		b.sql(", BUFFERCOUNT = ", strconv.Itoa(t.BufferCount))
	}
	if t.MaxTransferSize > 0 {
		b.sql(", MAXTRANSFERSIZE = ", strconv.Itoa(t.MaxTransferSize))
	}
}

// BackupTaken reads what the server notes of the backup set that it wrote to a file, the first of its files: positions
// as numeric(25,0), identities as text, times in the server's own zone with how far that is from UTC in quarters of an
// hour, 127 where it is not known. The newest moment that a set restores to is noted from SQL Server 2022 on, which is
// major version 16: before that it is NULL. Sources:
// docs/relational-databases/system-tables/backupset-transact-sql.md, backupmediafamily-transact-sql.md.
func BackupTaken(file string, major int) Statement {
	until := "s.last_valid_restore_time"
	if major < 16 {
		until = "CAST(NULL AS datetime)"
	}
	return new(builder).
		sql("SELECT s.type, CONVERT(nvarchar(36), s.backup_set_uuid), s.database_name, CONVERT(nvarchar(36), "+
			"s.family_guid),\n"+
			"    CONVERT(nvarchar(30), s.first_lsn), CONVERT(nvarchar(30), s.last_lsn),\n"+
			"    COALESCE(CONVERT(nvarchar(36), s.differential_base_guid), N''),\n"+
			"    COALESCE(CONVERT(nvarchar(36), s.first_recovery_fork_guid), N''),\n"+
			"    COALESCE(CONVERT(nvarchar(36), s.last_recovery_fork_guid), N''),\n"+
			"    COALESCE(CONVERT(nvarchar(30), s.fork_point_lsn), N''), s.backup_start_date, s.backup_finish_date,\n"+
			"    "+until+", s.time_zone, CONVERT(bigint, s.backup_size), s.is_copy_only, s.is_damaged,\n"+
			"    s.has_backup_checksums, s.has_bulk_logged_data\n"+
			"FROM msdb.dbo.backupset AS s\n"+
			"JOIN msdb.dbo.backupmediafamily AS f ON f.media_set_id = s.media_set_id AND f.family_sequence_number = 1\n"+
			"WHERE f.physical_device_name = @file").
		arg("file", file).
		done("read what was backed up")
}

// BackedUpFiles reads the files that a database had when it was backed up, by the identity of the backup set: logical
// name, whether it is one of the log, as a bit, and bytes. A set with data may lack some, which are left out. Of a log
// backup all count that are not dropped: whether it is noted as having those with data is not documented.
// Source: docs/relational-databases/system-tables/backupfile-transact-sql.md.
func BackedUpFiles(set string) Statement {
	return new(builder).
		sql("SELECT COALESCE(f.logical_name, N''), CAST(CASE WHEN f.file_type = 'L' THEN 1 ELSE 0 END AS bit),\n"+
			"    COALESCE(CONVERT(bigint, f.file_size), 0)\n"+
			"FROM msdb.dbo.backupfile AS f\n"+
			"JOIN msdb.dbo.backupset AS s ON s.backup_set_id = f.backup_set_id\n"+
			"WHERE s.backup_set_uuid = CONVERT(uniqueidentifier, @set) AND (f.is_present = 1 OR s.type = 'L') "+
			"AND f.state <> 8\n"+
			"ORDER BY f.file_type, f.file_number").
		arg("set", set).
		done("list the files that were backed up")
}

// BackupSources reads what tells whether backups of a database can be taken here: its state and recovery model, its
// identity, its group with the role of the copy and whether it follows, whether the group's preference has backups
// taken at this replica, and whether there is a full backup from which the log can be backed up, as bits; a row for
// each user database. One in no group that belongs to the agent's login has none: a Restore is making it. In a group it
// is nobody's any more: a secondary's owner stays who restored it there. Sources: docs/relational-databases/
// system-catalog-views/sys-databases-transact-sql.md, sys-database-recovery-status-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-database-replica-states-transact-sql.md,
// docs/relational-databases/system-functions/sys-fn-hadr-backup-is-preferred-replica-transact-sql.md,
// docs/t-sql/functions/suser-sid-transact-sql.md.
func BackupSources(agent string) Statement {
	return new(builder).
		sql("SELECT d.name, d.state_desc, d.recovery_model_desc, COALESCE(CONVERT(nvarchar(36), f.family_guid), N''),\n"+
			"    COALESCE(g.name, N''), CAST(COALESCE(r.is_primary_replica, 0) AS bit),\n"+
			"    COALESCE(r.synchronization_state_desc, N''), CAST(sys.fn_hadr_backup_is_preferred_replica(d.name) AS bit),\n"+
			"    CAST(CASE WHEN f.last_log_backup_lsn IS NULL THEN 0 ELSE 1 END AS bit)\n"+
			"FROM sys.databases AS d\n"+
			"LEFT JOIN sys.database_recovery_status AS f ON f.database_id = d.database_id\n"+
			"LEFT JOIN sys.dm_hadr_database_replica_states AS r ON r.database_id = d.database_id AND r.is_local = 1\n"+
			"LEFT JOIN sys.availability_groups AS g ON g.group_id = r.group_id\n"+
			"WHERE d.database_id > 4 AND d.source_database_id IS NULL AND d.is_distributor = 0\n"+
			"    AND (r.group_id IS NOT NULL OR d.owner_sid IS NULL OR SUSER_SID(@agent) IS NULL "+
			"OR d.owner_sid <> SUSER_SID(@agent))").
		arg("agent", agent).
		done("ask which databases can be backed up here")
}

// BackupModels reads what decides which backups a database can have: its recovery model, and whether it is read-only,
// as a bit; a row for each user database.
// Source: docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md.
func BackupModels() Statement {
	return text("SELECT name, recovery_model_desc, is_read_only FROM sys.databases\n" +
		"WHERE database_id > 4 AND source_database_id IS NULL").Because("ask which backups databases can have")
}
