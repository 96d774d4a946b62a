// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/backupmedia"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

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
	family, families := h.Place()
	return engine.WriteResult(
		w,
		cols,
		[][]any{
			{
				engine.TextOrNull(n.MediaName),
				n.Media,
				int64(families),
				int64(family),
				backupmedia.FamilyID(n.Media, family),
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
