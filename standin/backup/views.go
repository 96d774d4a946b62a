// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

func bkType(k storage.BackupKind) int64 {
	switch k {
	case storage.LogBackup:
		return 2
	case storage.DifferentialBackup:
		return 5
	}
	return 1
}

// headerColumns are those of RESTORE HEADERONLY (docs/t-sql/statements/restore-statements-headeronly-transact-sql.md).
func headerColumns() []tds.Column {
	nv, small, bit := sqltype.NVarCharOf(128), sqltype.SmallIntType, sqltype.BitType
	return []tds.Column{
		engine.Column("BackupName", nv),
		engine.Column("BackupDescription", sqltype.NVarCharOf(255)),
		engine.Column("BackupType", small),
		engine.Column("ExpirationDate", sqltype.DateTimeType),
		engine.Column(
			"Compressed",
			sqltype.TinyIntType,
		),
		engine.Column("Position", small),
		engine.Column("DeviceType", sqltype.TinyIntType),
		engine.Column("UserName", nv),
		engine.Column("ServerName", nv),
		engine.Column(
			"DatabaseName",
			nv,
		),
		engine.Column("DatabaseVersion", sqltype.IntType),
		engine.Column("DatabaseCreationDate", sqltype.DateTimeType),
		engine.Column("BackupSize", sqltype.DecimalOf(20, 0)),
		engine.Column(
			"FirstLSN",
			engine.LSNType,
		),
		engine.Column("LastLSN", engine.LSNType),
		engine.Column("CheckpointLSN", engine.LSNType),
		engine.Column("DatabaseBackupLSN", engine.LSNType),
		engine.Column(
			"BackupStartDate",
			sqltype.DateTimeType,
		),
		engine.Column("BackupFinishDate", sqltype.DateTimeType),
		engine.Column("SortOrder", small),
		engine.Column("CodePage", small),
		engine.Column(
			"UnicodeLocaleId",
			sqltype.IntType,
		),
		engine.Column("UnicodeComparisonStyle", sqltype.IntType),
		engine.Column("CompatibilityLevel", sqltype.TinyIntType),
		engine.Column(
			"SoftwareVendorId",
			sqltype.IntType,
		),
		engine.Column("SoftwareVersionMajor", sqltype.IntType),
		engine.Column("SoftwareVersionMinor", sqltype.IntType),
		engine.Column(
			"SoftwareVersionBuild",
			sqltype.IntType,
		),
		engine.Column("MachineName", nv),
		engine.Column("Flags", sqltype.IntType),
		engine.Column("BindingID", sqltype.GUIDType),
		engine.Column(
			"RecoveryForkID",
			sqltype.GUIDType,
		),
		engine.Column("Collation", nv),
		engine.Column("FamilyGUID", sqltype.GUIDType),
		engine.Column("HasBulkLoggedData", bit),
		engine.Column("IsSnapshot", bit),
		engine.Column(
			"IsReadOnly",
			bit,
		),
		engine.Column("IsSingleUser", bit),
		engine.Column("HasBackupChecksums", bit),
		engine.Column("IsDamaged", bit),
		engine.Column("BeginsLogChain", bit),
		engine.Column(
			"HasIncompleteMetaData",
			bit,
		),
		engine.Column("IsForceOffline", bit),
		engine.Column("IsCopyOnly", bit),
		engine.Column("FirstRecoveryForkID", sqltype.GUIDType),
		engine.Column(
			"ForkPointLSN",
			engine.LSNType,
		),
		engine.Column("RecoveryModel", sqltype.NVarCharOf(60)),
		engine.Column("DifferentialBaseLSN", engine.LSNType),
		engine.Column("DifferentialBaseGUID", sqltype.GUIDType),
		engine.Column(
			"BackupTypeDescription",
			sqltype.NVarCharOf(60),
		),
		engine.Column("BackupSetGUID", sqltype.GUIDType),
		engine.Column("CompressedBackupSize", sqltype.BigIntType),
		engine.Column(
			"Containment",
			sqltype.TinyIntType,
		),
		engine.Column("KeyAlgorithm", sqltype.NVarCharOf(32)),
		engine.Column("EncryptorThumbprint", sqltype.VarBinaryOf(20)),
		engine.Column("EncryptorType", sqltype.NVarCharOf(32)),
	}
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

// unlimitedPages is the size in pages that a data file can grow to, 16 terabytes of pages
// (docs/sql-server/maximum-capacity-specifications-for-sql-server.md, File size (data)).
const unlimitedPages = 1 << 31

// writeFileList is RESTORE FILELISTONLY.
func writeFileList(w tds.Writer, h storage.BackupHeader, n backupNote) error {
	cols := []tds.Column{
		engine.Column("LogicalName", sqltype.Sysname),
		engine.Column("PhysicalName", sqltype.NVarCharOf(260)),
		engine.Column("Type", sqltype.Type{Kind: sqltype.Char, Length: 1}),
		engine.Column(
			"FileGroupName",
			sqltype.Sysname,
		),
		engine.Column("Size", sqltype.DecimalOf(20, 0)),
		engine.Column("MaxSize", sqltype.DecimalOf(20, 0)),
		engine.Column("FileID", sqltype.BigIntType),
		engine.Column(
			"CreateLSN",
			engine.LSNType,
		),
		engine.Column("DropLSN", engine.LSNType),
		engine.Column("UniqueID", sqltype.GUIDType),
		engine.Column("ReadOnlyLSN", engine.LSNType),
		engine.Column("ReadWriteLSN", engine.LSNType),
		engine.Column(
			"BackupSizeInBytes",
			sqltype.BigIntType,
		),
		engine.Column("SourceBlockSize", sqltype.IntType),
		engine.Column("FileGroupID", sqltype.IntType),
		engine.Column("LogGroupGUID", sqltype.GUIDType),
		engine.Column(
			"DifferentialBaseLSN",
			engine.LSNType,
		),
		engine.Column("DifferentialBaseGUID", sqltype.GUIDType),
		engine.Column("IsReadOnly", sqltype.BitType),
		engine.Column("IsPresent", sqltype.BitType),
		engine.Column("TDEThumbprint", sqltype.VarBinaryOf(32)),
		engine.Column("SnapshotURL", sqltype.NVarCharOf(360)),
	}
	var rows [][]any
	var base, baseSet any
	if h.Kind == storage.DifferentialBackup {
		base, baseSet = engine.LSNValue(h.DatabaseBackup), n.Base
	}
	for _, f := range n.Files {
		maximum := f.MaxSizePages
		if maximum < 0 {
			maximum = unlimitedPages
		}
		kind, group, size := "D", any("PRIMARY"), int64(0)
		if f.Log {
			kind, group = "L", nil
		}
		// All data is in the first file, the log in the first of its own.
		if h.Kind == storage.LogBackup && f.Log || h.Kind != storage.LogBackup && f.ID == 1 {
			size = h.Size
		}
		if name := n.Groups[f.DataSpace()]; name != "" {
			group = name
		}
		rows = append(
			rows,
			[]any{
				f.LogicalName,
				f.PhysicalName,
				kind,
				group,
				decimal.NewFromInt(f.SizePages * 8192),
				decimal.NewFromInt(maximum * 8192),
				int64(f.ID),
				decimal.Zero,
				nil,
				uuid.NewSHA1(h.Identity.Database, []byte(f.LogicalName)),
				nil,
				nil,
				size,
				int64(4096),
				int64(f.DataSpace()),
				nil,
				base,
				baseSet,
				n.ReadOnly,
				true,
				nil,
				nil,
			},
		)
	}
	return engine.WriteResult(w, cols, rows)
}

// writeLabel is RESTORE LABELONLY (docs/t-sql/statements/restore-statements-labelonly-transact-sql.md).
func writeLabel(w tds.Writer, h storage.BackupHeader, n backupNote) error {
	cols := []tds.Column{
		engine.Column("MediaName", sqltype.NVarCharOf(128)),
		engine.Column("MediaSetId", sqltype.GUIDType),
		engine.Column("FamilyCount", sqltype.IntType),
		engine.Column("FamilySequenceNumber", sqltype.IntType),
		engine.Column(
			"MediaFamilyId",
			sqltype.GUIDType,
		),
		engine.Column("MediaSequenceNumber", sqltype.IntType),
		engine.Column("MediaLabelPresent", sqltype.TinyIntType),
		engine.Column("MediaDescription", sqltype.NVarCharOf(255)),
		engine.Column(
			"SoftwareName",
			sqltype.NVarCharOf(128),
		),
		engine.Column("SoftwareVendorId", sqltype.IntType),
		engine.Column("MediaDate", sqltype.DateTimeType),
		engine.Column("Mirror_Count", sqltype.IntType),
		engine.Column("IsCompressed", sqltype.BitType),
	}
	written := n.Formatted
	if written.IsZero() {
		written = h.Started // of a set that is older than the note of it
	}
	return engine.WriteResult(
		w,
		cols,
		[][]any{
			{
				engine.TextOrNull(n.MediaName),
				n.Media,
				int64(1),
				int64(1),
				n.Media,
				int64(1),
				int64(0),
				engine.TextOrNull(n.MediaDescription),
				"geosql stand-in",
				int64(4608),
				written,
				int64(1),
				h.Compressed,
			},
		},
	)
}

// documents reads the JSON rows of an internal table of msdb.
func documents[T any](ctx context.Context, s *engine.Session, table string) ([]T, error) {
	conn, release, err := s.Conn(ctx, s.Instance().DatabaseByID(4))
	if err != nil {
		return nil, err
	}
	defer release()
	var out []T
	err = sqlitex.Execute(
		conn,
		"SELECT doc FROM "+table+" ORDER BY id",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			var v T
			if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &v); err != nil {
				return err
			}
			out = append(out, v)
			return nil
		}},
	)
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

func installViews(r *engine.Registry) {
	nv, guid, dt, bit, tiny := sqltype.NVarCharOf(
		128,
	), sqltype.GUIDType, sqltype.DateTimeType, sqltype.BitType, sqltype.TinyIntType
	r.RecordView("msdb", "dbo", "backupset", backupSetColumns, backupSetRecords)
	r.View(engine.View{Database: "msdb", Schema: "dbo", Name: "backupmediafamily", Columns: []tds.Column{
		engine.Column(
			"media_set_id",
			sqltype.IntType,
		), engine.Column("family_sequence_number", tiny), engine.Column("media_family_id", guid),
		engine.Column("media_count", sqltype.IntType),
		engine.Column(
			"logical_device_name",
			nv,
		), engine.Column("physical_device_name", sqltype.NVarCharOf(260)), engine.Column("device_type", tiny),
		engine.Column("physical_block_size", sqltype.IntType), engine.Column("mirror", tiny)},
		Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
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
	r.View(engine.View{Database: "msdb", Schema: "dbo", Name: "restorehistory", Columns: []tds.Column{
		engine.Column(
			"restore_history_id",
			sqltype.IntType,
		), engine.Column("restore_date", dt), engine.Column("destination_database_name", nv), engine.Column("user_name", nv),
		engine.Column("backup_set_id", sqltype.IntType),
		engine.Column(
			"restore_type",
			sqltype.Type{Kind: sqltype.Char, Length: 1},
		), engine.Column("replace", bit), engine.Column("recovery", bit), engine.Column("restart", bit),
		engine.Column("stop_at", dt), engine.Column("device_count", tiny),
		engine.Column("stop_at_mark_name", nv), engine.Column("stop_before", bit)},
		Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
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
				rows = append(
					rows,
					[]any{
						x.ID,
						x.At,
						x.Database,
						x.User,
						from[x.Set],
						x.Kind,
						x.Replace,
						!x.NoRecovery,
						false,
						nil,
						int64(1),
						nil,
						nil,
					},
				)
			}
			return rows, nil
		}})
	r.RecordView(
		"msdb",
		"dbo",
		"backupfile",
		"backup_set_id int, first_family_number tinyint, first_media_number smallint, filegroup_name nvarchar(128), "+
			"page_size int, file_number numeric(10,0), backed_up_page_count numeric(10,0), "+
			"file_type char(1), source_file_block_size numeric(10,0), file_size numeric(20,0), logical_name nvarchar(128), "+
			"physical_drive nvarchar(260), physical_name nvarchar(260), state tinyint, state_desc nvarchar(64), "+
			"create_lsn numeric(25,0), drop_lsn numeric(25,0), file_guid uniqueidentifier, read_only_lsn numeric(25,0), "+
			"read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), differential_base_guid uniqueidentifier, "+
			"backup_size numeric(20,0), filegroup_guid uniqueidentifier, is_readonly bit, is_present bit",
		backupFileRecords,
	)
	r.RecordView(
		"msdb",
		"dbo",
		"backupfilegroup",
		"backup_set_id int, name sysname, filegroup_id int, filegroup_guid uniqueidentifier, type char(2), type_desc "+
			"nvarchar(60), is_default bit, is_readonly bit, log_filegroup_guid uniqueidentifier",
		backupFileGroupRecords,
	)
	r.RecordView(
		"msdb",
		"dbo",
		"restorefile",
		"restore_history_id int, file_number numeric(10,0), destination_phys_drive nvarchar(260), destination_phys_name "+
			"nvarchar(260)",
		restoreFileRecords,
	)
	r.RecordView(
		"msdb",
		"dbo",
		"restorefilegroup",
		"restore_history_id int, filegroup_name nvarchar(128)",
		restoreFileGroupRecords,
	)
	sets := engine.View{
		Database: "msdb",
		Schema:   "dbo",
		Name:     "backupmediaset",
		Columns: engine.ColumnList(
			"media_set_id int, media_uuid uniqueidentifier, media_family_count tinyint, name nvarchar(128), description " +
				"nvarchar(255), software_name nvarchar(128), software_vendor_id int, MTF_major_version tinyint, " +
				"mirror_count tinyint, is_password_protected bit, is_compressed bit, is_encrypted bit",
		),
	}
	sets.Rows = func(ctx context.Context, s *engine.Session) ([][]any, error) {
		return s.RowsOf(
			ctx,
			s.ViewDatabase(),
			"SELECT media_set_id, media_family_id, CAST(1 AS tinyint), CAST(NULL AS nvarchar(128)), CAST(NULL AS "+
				"nvarchar(255)), CAST(NULL AS nvarchar(128)), CAST(NULL AS int), CAST(NULL AS tinyint), CAST(1 AS tinyint), "+
				"CAST(0 AS bit), CAST(0 AS bit), "+
				"CAST(0 AS bit) FROM msdb.dbo.backupmediafamily",
			nil,
		)
	}
	r.View(sets)
}

// backupFileGroupRecords are msdb.dbo.backupfilegroup (backupfilegroup-transact-sql.md): the file groups of those
// files.
func backupFileGroupRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	list, err := documents[backupRecord](ctx, s, "__backupset")
	var out []engine.Record
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
			out = append(
				out,
				engine.Record{
					"backup_set_id": b.ID,
					"name":          name,
					"filegroup_id":  id,
					"type":          "FG",
					"type_desc":     "ROWS_FILEGROUP",
					"is_default":    id == 1,
					"is_readonly":   false,
				},
			)
		}
	}
	return out, err
}

// restoreFileRecords are msdb.dbo.restorefile (restorefile-transact-sql.md): where the files were restored to.
func restoreFileRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	return ofRestores(
		ctx,
		s,
		func(x restoreRecord) []metadata.File { return x.Files },
		func(f metadata.File) engine.Record {
			return engine.Record{"file_number": decimal.NewFromInt(int64(f.ID)), "destination_phys_name": f.PhysicalName}
		},
	)
}

// restoreFileGroupRecords are msdb.dbo.restorefilegroup (restorefilegroup-transact-sql.md): the file groups that were
// restored.
func restoreFileGroupRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	return ofRestores(ctx, s, func(x restoreRecord) []string { return x.Groups }, func(name string) engine.Record {
		return engine.Record{"filegroup_name": name}
	})
}

// ofRestores are the records of what each restore has several of, with the restore's number.
func ofRestores[T any](
	ctx context.Context,
	s *engine.Session,
	of func(restoreRecord) []T,
	as func(T) engine.Record,
) ([]engine.Record, error) {
	list, err := documents[restoreRecord](ctx, s, "__restorehistory")
	var out []engine.Record
	for _, x := range list {
		for _, part := range of(x) {
			rec := as(part)
			rec["restore_history_id"] = x.ID
			out = append(out, rec)
		}
	}
	return out, err
}

// backupFileRecords are msdb.dbo.backupfile (docs/relational-databases/system-tables/backupfile-transact-sql.md): the
// files that a database had when it was backed up.
func backupFileRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	list, err := documents[backupRecord](ctx, s, "__backupset")
	number := decimal.NewFromInt
	var out []engine.Record
	for _, b := range list {
		for _, f := range b.Note.Files {
			kind, group := "D", engine.TextOrNull(b.Note.Groups[f.DataSpace()])
			if f.Log {
				kind, group = "L", nil
			} else if group == nil {
				group = "PRIMARY"
			}
			out = append(
				out,
				engine.Record{
					"backup_set_id":       b.ID,
					"first_family_number": 1,
					"first_media_number":  1,
					"filegroup_name":      group,
					"page_size":           8192,
					"file_number":         number(int64(f.ID)),
					"backed_up_page_count": number(
						f.SizePages,
					),
					"file_type":              kind,
					"source_file_block_size": number(4096),
					"file_size":              number(f.SizePages * 8192),
					"logical_name":           f.LogicalName,
					"physical_name":          f.PhysicalName,
					"state":                  0,
					"state_desc":             "ONLINE",
					"is_readonly":            false,
					"is_present":             true,
				},
			)
		}
	}
	return out, err
}
