// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
)

// installFileViews registers the views of files and file groups
// (docs/relational-databases/system-catalog-views/sys-filegroups-transact-sql.md, sys-data-spaces-transact-sql.md,
// sys-database-files-transact-sql.md, sys-master-files-transact-sql.md).
func installFileViews(r *engine.Registry) {
	const files = "file_id int, file_guid uniqueidentifier, type tinyint, type_desc nvarchar(60), data_space_id int, " +
		"name sysname, " +
		"physical_name nvarchar(260), state tinyint, state_desc nvarchar(60), size int, max_size int, growth int, " +
		"is_media_read_only bit, is_read_only bit, is_sparse bit, " +
		"is_percent_growth bit, is_name_reserved bit, is_persistent_log_buffer bit, create_lsn numeric(25,0), drop_lsn " +
		"numeric(25,0), read_only_lsn numeric(25,0), " +
		"read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), differential_base_guid uniqueidentifier, " +
		"differential_base_time datetime, redo_start_lsn numeric(25,0), " +
		"redo_start_fork_guid uniqueidentifier, redo_target_lsn numeric(25,0), redo_target_fork_guid uniqueidentifier, " +
		"backup_lsn numeric(25,0)"
	r.RecordView(
		"",
		"sys",
		"master_files",
		"database_id int, "+files+", credential_id int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			var out []engine.Record
			for _, db := range s.Instance().Databases() {
				out = append(out, fileRecords(ctx, db, false)...)
			}
			return out, nil
		},
	)
	r.RecordView("", "sys", "database_files", files,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			return fileRecords(ctx, s.ViewDatabase(), true), nil
		})
	const space = "name sysname, data_space_id int, type char(2), type_desc nvarchar(60), is_default bit, is_system bit"
	r.RecordView(
		"",
		"sys",
		"filegroups",
		space+", filegroup_guid uniqueidentifier, log_filegroup_id int, is_read_only bit, is_autogrow_all_files bit",
		fileGroupRecords,
	)
	r.RecordView("", "sys", "data_spaces", space, func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
		out, err := fileGroupRecords(ctx, s)
		if err != nil {
			return nil, err
		}
		schemes, err := schemeRecords(ctx, s)
		return append(out, schemes...), err
	})
}

func fileGroupRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	sch, err := s.Catalog(ctx, s.ViewDatabase())
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	for _, o := range sch.FileGroups() {
		rec := engine.Record{
			"name":          o.Name,
			"data_space_id": o.FileGroup.ID,
			"type":          "FG",
			"type_desc":     "ROWS_FILEGROUP",
			"is_default":    o.FileGroup.Default,
			"is_system":     false,
			"is_read_only":  o.FileGroup.ReadOnly,
			"is_autogrow_all_files": o.FileGroup.GrowAll ||
				o.FileGroup.ID == metadata.PrimaryGroup && s.ViewDatabase().ID() == 2,
		}
		if o.FileGroup.ID != metadata.PrimaryGroup {
			rec["filegroup_guid"] = o.FileGroup.GUID
		}
		out = append(out, rec)
	}
	return out, nil
}

// fileRecords are the files of a database.
func fileRecords(ctx context.Context, db *engine.Database, effective bool) []engine.Record {
	var out []engine.Record
	info := db.Info()
	readOnly := db.IsReadOnly(ctx)
	for _, f := range db.Files(ctx) {
		kind := int64(0)
		if f.Log {
			kind = 1
		}
		path, size := f.PhysicalName, db.Pages(f)
		if effective && f.Effective != "" {
			path = f.Effective
		}
		state := int64(0)
		if db.State() == engine.Offline {
			state = 6
		}
		guid := f.GUID
		if guid == uuid.Nil {
			guid = uuid.NewSHA1(info.BrokerGUID, []byte(f.LogicalName))
		}
		out = append(
			out,
			engine.Record{
				"database_id":              info.ID,
				"file_id":                  f.ID,
				"file_guid":                guid,
				"type":                     kind,
				"type_desc":                engine.Description(kind, "ROWS", "LOG"),
				"data_space_id":            f.DataSpace(),
				"name":                     f.LogicalName,
				"physical_name":            path,
				"state":                    state,
				"state_desc":               db.State().String(),
				"size":                     size,
				"max_size":                 f.MaxSizePages,
				"growth":                   f.Growth,
				"is_media_read_only":       false,
				"is_read_only":             readOnly(f),
				"is_sparse":                false,
				"is_percent_growth":        f.PercentGrowth,
				"is_name_reserved":         false,
				"is_persistent_log_buffer": false,
			},
		)
	}
	return out
}
