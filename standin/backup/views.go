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

func installViews(r *engine.Registry) {
	nv, dt, bit, tiny := sqltype.NVarCharOf(128), sqltype.DateTimeType, sqltype.BitType, sqltype.TinyIntType
	r.RecordView("msdb", "dbo", "backupset", backupSetColumns, backupSetRecords)
	installMediaViews(r)
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
						int64(max(len(x.Devices), 1)),
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
