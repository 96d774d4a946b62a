// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/tds"
)

// lsnType is numeric(25,0), in which backup views and the HADR views show log sequence numbers.
var lsnType = sqltype.DecimalOf(25, 0)

// lsnValue is an LSN as a value of lsnType.
func lsnValue(l storage.LSN) any {
	if l.IsZero() {
		return nil
	}
	return decimal.NewFromBigInt(l.Numeric(), 0)
}

// col makes a column of a system view.
func col(name string, t sqltype.Type) tds.Column {
	return tds.Column{Name: name, Type: t, Nullable: true}
}

func bkType(k storage.BackupKind) int64 {
	switch k {
	case storage.LogBackup:
		return 2
	case storage.DifferentialBackup:
		return 5
	}
	return 1
}

func lastFork(id storage.Identity) uuid.UUID {
	if len(id.Forks) == 0 {
		return uuid.Nil
	}
	return id.Forks[len(id.Forks)-1].ID
}

// headerColumns are those of RESTORE HEADERONLY (docs/t-sql/statements/restore-statements-headeronly-transact-sql.md).
func headerColumns() []tds.Column {
	nv, small, bit := sqltype.NVarCharOf(128), sqltype.SmallIntType, sqltype.BitType
	return []tds.Column{col("BackupName", nv), col("BackupDescription", sqltype.NVarCharOf(255)), col("BackupType", small), col("ExpirationDate", sqltype.DateTimeType),
		col("Compressed", sqltype.TinyIntType), col("Position", small), col("DeviceType", sqltype.TinyIntType), col("UserName", nv), col("ServerName", nv),
		col("DatabaseName", nv), col("DatabaseVersion", sqltype.IntType), col("DatabaseCreationDate", sqltype.DateTimeType), col("BackupSize", sqltype.BigIntType),
		col("FirstLSN", lsnType), col("LastLSN", lsnType), col("CheckpointLSN", lsnType), col("DatabaseBackupLSN", lsnType),
		col("BackupStartDate", sqltype.DateTimeType), col("BackupFinishDate", sqltype.DateTimeType), col("SortOrder", small), col("CodePage", small),
		col("UnicodeLocaleId", sqltype.IntType), col("UnicodeComparisonStyle", sqltype.IntType), col("CompatibilityLevel", sqltype.TinyIntType),
		col("SoftwareVendorId", sqltype.IntType), col("SoftwareVersionMajor", sqltype.IntType), col("SoftwareVersionMinor", sqltype.IntType),
		col("SoftwareVersionBuild", sqltype.IntType), col("MachineName", nv), col("Flags", sqltype.IntType), col("BindingID", sqltype.GUIDType),
		col("RecoveryForkID", sqltype.GUIDType), col("Collation", nv), col("FamilyGUID", sqltype.GUIDType), col("HasBulkLoggedData", bit), col("IsSnapshot", bit),
		col("IsReadOnly", bit), col("IsSingleUser", bit), col("HasBackupChecksums", bit), col("IsDamaged", bit), col("BeginsLogChain", bit),
		col("HasIncompleteMetaData", bit), col("IsForceOffline", bit), col("IsCopyOnly", bit), col("FirstRecoveryForkID", sqltype.GUIDType),
		col("ForkPointLSN", lsnType), col("RecoveryModel", sqltype.NVarCharOf(60)), col("DifferentialBaseLSN", lsnType), col("DifferentialBaseGUID", sqltype.GUIDType),
		col("BackupTypeDescription", sqltype.NVarCharOf(60)), col("BackupSetGUID", sqltype.GUIDType), col("CompressedBackupSize", sqltype.BigIntType),
		col("Containment", sqltype.TinyIntType), col("KeyAlgorithm", sqltype.NVarCharOf(32)), col("EncryptorThumbprint", sqltype.VarBinaryOf(20)), col("EncryptorType", sqltype.NVarCharOf(32))}
}

// headerRow is the row of one set.
func headerRow(set storage.BackupSet, n backupNote) []any {
	h, description := set.Header, "Database"
	var base, baseSet any
	switch h.Kind {
	case storage.LogBackup:
		description = "Transaction Log"
	case storage.DifferentialBackup:
		description, base, baseSet = "Database Differential", lsnValue(h.DatabaseBackup), n.Base
	}
	finished := any(h.Started)
	return []any{orNull(n.Name), orNull(n.Description), bkType(h.Kind), timeOrNull(n.Expires), yes(h.Compressed), int64(set.Position), int64(2), n.User, h.Server, h.Database, int64(957), n.Created,
		h.Size, lsnValue(h.First), lsnValue(h.Last), lsnValue(h.First), lsnValue(h.DatabaseBackup), h.Started, finished, int64(52), int64(0), int64(1033), int64(196609),
		int64(n.CompatibilityLevel), int64(4608), int64(16), int64(0), int64(4000), h.Server, int64(512), h.Identity.Database, lastFork(h.Identity), n.Collation, h.Identity.Family,
		false, false, n.ReadOnly, n.UserAccess == "SINGLE_USER", true, false, false, false, n.Tail, h.CopyOnly, lastFork(h.Identity), nil, recoveryDescription(h.RecoveryModel), base, baseSet,
		description, n.Set, h.Size, int64(0), nil, nil, nil}
}

// unfinishedRow is the row of a set whose backup did not come to its end.
func unfinishedRow(position int) []any {
	row := make([]any, len(headerColumns()))
	row[0], row[5] = "*** INCOMPLETE ***", int64(position)
	return row
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func recoveryDescription(m storage.RecoveryModel) string {
	switch m {
	case storage.Simple:
		return "SIMPLE"
	case storage.BulkLogged:
		return "BULK-LOGGED"
	}
	return "FULL"
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// unlimitedPages is the size in pages that a data file can grow to, 16 terabytes of pages
// (docs/sql-server/maximum-capacity-specifications-for-sql-server.md, File size (data)).
const unlimitedPages = 1 << 31

// writeFileList is RESTORE FILELISTONLY.
func writeFileList(w tds.Writer, h storage.BackupHeader, n backupNote) error {
	cols := []tds.Column{col("LogicalName", sqltype.Sysname), col("PhysicalName", sqltype.NVarCharOf(260)), col("Type", sqltype.Type{Kind: sqltype.Char, Length: 1}),
		col("FileGroupName", sqltype.Sysname), col("Size", sqltype.DecimalOf(20, 0)), col("MaxSize", sqltype.DecimalOf(20, 0)), col("FileID", sqltype.BigIntType),
		col("CreateLSN", lsnType), col("DropLSN", lsnType), col("UniqueID", sqltype.GUIDType), col("ReadOnlyLSN", lsnType), col("ReadWriteLSN", lsnType),
		col("BackupSizeInBytes", sqltype.BigIntType), col("SourceBlockSize", sqltype.IntType), col("FileGroupID", sqltype.IntType), col("LogGroupGUID", sqltype.GUIDType),
		col("DifferentialBaseLSN", lsnType), col("DifferentialBaseGUID", sqltype.GUIDType), col("IsReadOnly", sqltype.BitType), col("IsPresent", sqltype.BitType),
		col("TDEThumbprint", sqltype.VarBinaryOf(32)), col("SnapshotURL", sqltype.NVarCharOf(360))}
	var rows [][]any
	var base, baseSet any
	if h.Kind == storage.DifferentialBackup {
		base, baseSet = lsnValue(h.DatabaseBackup), n.Base
	}
	for _, f := range n.Files {
		maximum := f.MaxSizePages
		if maximum < 0 {
			maximum = unlimitedPages
		}
		kind, group, size := "D", any("PRIMARY"), h.Size
		switch {
		case f.Log:
			kind, group, size = "L", nil, 0
		case f.ID > 1:
			size = 0
		}
		if name := n.Groups[f.DataSpace()]; name != "" {
			group = name
		}
		rows = append(rows, []any{f.LogicalName, f.PhysicalName, kind, group, decimal.NewFromInt(f.SizePages * 8192), decimal.NewFromInt(maximum * 8192), int64(f.ID),
			decimal.Zero, nil, uuid.NewSHA1(h.Identity.Database, []byte(f.LogicalName)), nil, nil, size, int64(4096), int64(f.DataSpace()), nil, base, baseSet, n.ReadOnly, true, nil, nil})
	}
	return writeResult(w, cols, rows)
}

// writeLabel is RESTORE LABELONLY (docs/t-sql/statements/restore-statements-labelonly-transact-sql.md).
func writeLabel(w tds.Writer, h storage.BackupHeader, n backupNote) error {
	cols := []tds.Column{col("MediaName", sqltype.NVarCharOf(128)), col("MediaSetId", sqltype.GUIDType), col("FamilyCount", sqltype.IntType), col("FamilySequenceNumber", sqltype.IntType),
		col("MediaFamilyId", sqltype.GUIDType), col("MediaSequenceNumber", sqltype.IntType), col("MediaLabelPresent", sqltype.TinyIntType), col("MediaDescription", sqltype.NVarCharOf(255)),
		col("SoftwareName", sqltype.NVarCharOf(128)), col("SoftwareVendorId", sqltype.IntType), col("MediaDate", sqltype.DateTimeType), col("Mirror_Count", sqltype.IntType), col("IsCompressed", sqltype.BitType)}
	written := n.Formatted
	if written.IsZero() {
		written = h.Started // of a set that is older than the note of it
	}
	return writeResult(w, cols, [][]any{{orNull(n.MediaName), n.Media, int64(1), int64(1), n.Media, int64(1), int64(0), orNull(n.MediaDescription), "geosql stand-in", int64(4608), written, int64(1), h.Compressed}})
}

// documents reads the JSON rows of an internal table of msdb.
func documents[T any](ctx context.Context, s *Session, table string) ([]T, error) {
	conn, release, err := s.readConn(ctx, s.inst.DatabaseByID(4))
	if err != nil {
		return nil, err
	}
	defer release()
	var out []T
	err = sqlitex.Execute(conn, "SELECT doc FROM "+table+" ORDER BY id", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		var v T
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &v); err != nil {
			return err
		}
		out = append(out, v)
		return nil
	}})
	return out, err
}

// mediaSets are the numbers of media sets: that of the first backup set that is known of each.
func mediaSets(list []backupRecord) map[uuid.UUID]int64 {
	out := map[uuid.UUID]int64{}
	for _, b := range list {
		if _, known := out[b.Note.Media]; !known {
			out[b.Note.Media] = b.ID
		}
	}
	return out
}

func installBackupViews(r *Registry) {
	nv, guid, dt, bit, tiny := sqltype.NVarCharOf(128), sqltype.GUIDType, sqltype.DateTimeType, sqltype.BitType, sqltype.TinyIntType
	r.View(View{Database: "msdb", Schema: "dbo", Name: "backupset", Columns: []tds.Column{
		col("backup_set_id", sqltype.IntType), col("backup_set_uuid", guid), col("media_set_id", sqltype.IntType), col("first_family_number", tiny), col("last_family_number", tiny),
		col("position", sqltype.IntType), col("expiration_date", dt), col("name", nv), col("description", sqltype.NVarCharOf(255)), col("user_name", nv), col("software_major_version", tiny),
		col("software_minor_version", tiny), col("software_build_version", sqltype.SmallIntType), col("first_lsn", lsnType), col("last_lsn", lsnType), col("checkpoint_lsn", lsnType),
		col("database_backup_lsn", lsnType), col("database_creation_date", dt), col("backup_start_date", dt), col("backup_finish_date", dt),
		col("type", sqltype.Type{Kind: sqltype.Char, Length: 1}), col("compatibility_level", tiny), col("database_version", sqltype.IntType), col("backup_size", sqltype.DecimalOf(20, 0)),
		col("compressed_backup_size", sqltype.DecimalOf(20, 0)), col("database_name", nv), col("server_name", nv), col("machine_name", nv), col("flags", sqltype.IntType), col("collation_name", nv),
		col("is_copy_only", bit), col("has_backup_checksums", bit), col("is_damaged", bit), col("recovery_model", sqltype.NVarCharOf(60)), col("family_guid", guid),
		col("first_recovery_fork_guid", guid), col("last_recovery_fork_guid", guid), col("database_guid", guid), col("catalog_family_number", tiny), col("catalog_media_number", sqltype.SmallIntType), col("first_media_number", sqltype.SmallIntType),
		col("last_media_number", sqltype.SmallIntType), col("software_vendor_id", sqltype.IntType), col("time_zone", tiny), col("mtf_minor_version", tiny), col("sort_order", sqltype.SmallIntType),
		col("code_page", sqltype.SmallIntType), col("unicode_locale", sqltype.IntType), col("unicode_compare_style", sqltype.IntType), col("is_password_protected", bit), col("has_bulk_logged_data", bit),
		col("is_snapshot", bit), col("is_readonly", bit), col("is_single_user", bit), col("begins_log_chain", bit), col("has_incomplete_metadata", bit), col("is_force_offline", bit),
		col("fork_point_lsn", lsnType), col("differential_base_lsn", lsnType), col("differential_base_guid", guid), col("key_algorithm", sqltype.NVarCharOf(32)),
		col("encryptor_thumbprint", sqltype.Type{Kind: sqltype.VarBinary, Length: 20}), col("encryptor_type", sqltype.NVarCharOf(32))},
		Rows: func(ctx context.Context, s *Session) ([][]any, error) {
			list, err := documents[backupRecord](ctx, s, "__backupset")
			if err != nil {
				return nil, err
			}
			var rows [][]any
			media := mediaSets(list)
			for _, b := range list {
				h, n := b.Header, b.Note
				var base, baseSet any
				if h.Kind == storage.DifferentialBackup {
					base, baseSet = lsnValue(h.DatabaseBackup), n.Base
				}
				rows = append(rows, []any{b.ID, n.Set, media[n.Media], int64(1), int64(1), int64(max(b.Position, 1)), timeOrNull(n.Expires), orNull(n.Name), orNull(n.Description), n.User, int64(16), int64(0), int64(4000),
					lsnValue(h.First), lsnValue(h.Last), lsnValue(h.First), lsnValue(h.DatabaseBackup), n.Created, h.Started, b.Finished, string(h.Kind), int64(n.CompatibilityLevel), int64(957),
					decimal.NewFromInt(b.Bytes), decimal.NewFromInt(b.Bytes), b.Database, h.Server, h.Server, int64(512), n.Collation, h.CopyOnly, n.Checksum, false,
					recoveryDescription(h.RecoveryModel), h.Identity.Family, lastFork(h.Identity), lastFork(h.Identity), h.Identity.Database, int64(1), int64(1), int64(1), int64(1), int64(4608), int64(127), int64(0), int64(52), int64(0), int64(1033), int64(196609), false, false,
					false, n.ReadOnly, n.UserAccess == "SINGLE_USER", false, false, n.Tail, nil, base, baseSet, nil, nil, nil})
			}
			return rows, nil
		}})
	r.View(View{Database: "msdb", Schema: "dbo", Name: "backupmediafamily", Columns: []tds.Column{
		col("media_set_id", sqltype.IntType), col("family_sequence_number", tiny), col("media_family_id", guid), col("media_count", sqltype.IntType),
		col("logical_device_name", nv), col("physical_device_name", sqltype.NVarCharOf(260)), col("device_type", tiny), col("physical_block_size", sqltype.IntType), col("mirror", tiny)},
		Rows: func(ctx context.Context, s *Session) ([][]any, error) {
			list, err := documents[backupRecord](ctx, s, "__backupset")
			if err != nil {
				return nil, err
			}
			var rows [][]any
			media := mediaSets(list)
			for _, b := range list {
				if media[b.Note.Media] != b.ID {
					continue
				}
				rows = append(rows, []any{b.ID, int64(1), b.Note.Media, int64(1), nil, b.Device, int64(2), int64(4096), int64(0)})
			}
			return rows, nil
		}})
	r.View(View{Database: "msdb", Schema: "dbo", Name: "restorehistory", Columns: []tds.Column{
		col("restore_history_id", sqltype.IntType), col("restore_date", dt), col("destination_database_name", nv), col("user_name", nv), col("backup_set_id", sqltype.IntType),
		col("restore_type", sqltype.Type{Kind: sqltype.Char, Length: 1}), col("replace", bit), col("recovery", bit), col("restart", bit), col("stop_at", dt), col("device_count", tiny),
		col("stop_at_mark_name", nv), col("stop_before", bit)},
		Rows: func(ctx context.Context, s *Session) ([][]any, error) {
			list, err := documents[restoreRecord](ctx, s, "__restorehistory")
			if err != nil {
				return nil, err
			}
			var rows [][]any
			sets, err := documents[backupRecord](ctx, s, "__backupset")
			if err != nil {
				return nil, err
			}
			from := map[uuid.UUID]int64{}
			for _, b := range sets {
				from[b.Note.Set] = b.ID
			}
			for _, x := range list {
				rows = append(rows, []any{x.ID, x.At, x.Database, x.User, from[x.Set], x.Kind, x.Replace, !x.NoRecovery, false, nil, int64(1), nil, nil})
			}
			return rows, nil
		}})
	r.RecordView("msdb", "dbo", "backupfile", "backup_set_id int, first_family_number tinyint, first_media_number smallint, filegroup_name nvarchar(128), page_size int, file_number numeric(10,0), backed_up_page_count numeric(10,0), "+
		"file_type char(1), source_file_block_size numeric(10,0), file_size numeric(20,0), logical_name nvarchar(128), physical_drive nvarchar(260), physical_name nvarchar(260), state tinyint, state_desc nvarchar(64), "+
		"create_lsn numeric(25,0), drop_lsn numeric(25,0), file_guid uniqueidentifier, read_only_lsn numeric(25,0), read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), differential_base_guid uniqueidentifier, "+
		"backup_size numeric(20,0), filegroup_guid uniqueidentifier, is_readonly bit, is_present bit", backupFileRecords)
	r.RecordView("msdb", "dbo", "backupfilegroup", "backup_set_id int, name sysname, filegroup_id int, filegroup_guid uniqueidentifier, type char(2), type_desc nvarchar(60), is_default bit, is_readonly bit, log_filegroup_guid uniqueidentifier", backupFileGroupRecords)
	r.RecordView("msdb", "dbo", "restorefile", "restore_history_id int, file_number numeric(10,0), destination_phys_drive nvarchar(260), destination_phys_name nvarchar(260)", restoreFileRecords)
	r.RecordView("msdb", "dbo", "restorefilegroup", "restore_history_id int, filegroup_name nvarchar(128)", restoreFileGroupRecords)
	sets := View{Database: "msdb", Schema: "dbo", Name: "backupmediaset", Columns: columns("media_set_id int, media_uuid uniqueidentifier, media_family_count tinyint, name nvarchar(128), description nvarchar(255), software_name nvarchar(128), software_vendor_id int, MTF_major_version tinyint, " +
		"mirror_count tinyint, is_password_protected bit, is_compressed bit, is_encrypted bit")}
	sets.Rows = func(ctx context.Context, s *Session) ([][]any, error) {
		return s.rowsOf(ctx, s.viewDatabase(), "SELECT media_set_id, media_family_id, CAST(1 AS tinyint), CAST(NULL AS nvarchar(128)), CAST(NULL AS nvarchar(255)), CAST(NULL AS nvarchar(128)), CAST(NULL AS int), CAST(NULL AS tinyint), CAST(1 AS tinyint), CAST(0 AS bit), CAST(0 AS bit), "+
			"CAST(0 AS bit) FROM msdb.dbo.backupmediafamily", nil)
	}
	r.View(sets)
}

// backupFileGroupRecords are msdb.dbo.backupfilegroup (backupfilegroup-transact-sql.md): the file groups of those files.
func backupFileGroupRecords(ctx context.Context, s *Session) ([]record, error) {
	list, err := documents[backupRecord](ctx, s, "__backupset")
	var out []record
	for _, b := range list {
		seen := map[int64]bool{}
		for _, f := range b.Note.Files {
			id := int64(f.DataSpace())
			if f.Log || seen[id] {
				continue
			}
			seen[id] = true
			name := b.Note.Groups[f.DataSpace()]
			if name == "" {
				name = "PRIMARY"
			}
			out = append(out, record{"backup_set_id": b.ID, "name": name, "filegroup_id": id, "type": "FG", "type_desc": "ROWS_FILEGROUP", "is_default": id == 1, "is_readonly": false})
		}
	}
	return out, err
}

// restoreFileRecords are msdb.dbo.restorefile (restorefile-transact-sql.md): where the files were restored to.
func restoreFileRecords(ctx context.Context, s *Session) ([]record, error) {
	list, err := documents[restoreRecord](ctx, s, "__restorehistory")
	var out []record
	for _, x := range list {
		for _, f := range x.Files {
			out = append(out, record{"restore_history_id": x.ID, "file_number": decimal.NewFromInt(int64(f.ID)), "destination_phys_name": f.PhysicalName})
		}
	}
	return out, err
}

// restoreFileGroupRecords are msdb.dbo.restorefilegroup (restorefilegroup-transact-sql.md): the file groups that were restored.
func restoreFileGroupRecords(ctx context.Context, s *Session) ([]record, error) {
	list, err := documents[restoreRecord](ctx, s, "__restorehistory")
	var out []record
	for _, x := range list {
		for _, name := range x.Groups {
			out = append(out, record{"restore_history_id": x.ID, "filegroup_name": name})
		}
	}
	return out, err
}

// backupFileRecords are msdb.dbo.backupfile (docs/relational-databases/system-tables/backupfile-transact-sql.md): the files that a database had
// when it was backed up.
func backupFileRecords(ctx context.Context, s *Session) ([]record, error) {
	list, err := documents[backupRecord](ctx, s, "__backupset")
	number := decimal.NewFromInt
	var out []record
	for _, b := range list {
		for _, f := range b.Note.Files {
			kind, group := "D", orNull(b.Note.Groups[f.DataSpace()])
			if f.Log {
				kind, group = "L", nil
			} else if group == nil {
				group = "PRIMARY"
			}
			out = append(out, record{"backup_set_id": b.ID, "first_family_number": 1, "first_media_number": 1, "filegroup_name": group, "page_size": 8192, "file_number": number(int64(f.ID)),
				"backed_up_page_count": number(f.SizePages), "file_type": kind, "source_file_block_size": number(4096), "file_size": number(f.SizePages * 8192), "logical_name": f.LogicalName,
				"physical_name": f.PhysicalName, "state": 0, "state_desc": "ONLINE", "is_readonly": false, "is_present": true})
		}
	}
	return out, err
}
