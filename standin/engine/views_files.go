// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/operator/standin/metadata"
	"geosql.dev/operator/standin/sqltype"
)

// installFileViews registers the views of files and file groups
// (docs/relational-databases/system-catalog-views/sys-filegroups-transact-sql.md, sys-data-spaces-transact-sql.md,
// sys-database-files-transact-sql.md, sys-master-files-transact-sql.md).
func installFileViews(r *Registry) {
	const files = "file_id int, file_guid uniqueidentifier, type tinyint, type_desc nvarchar(60), data_space_id int, name sysname, " +
		"physical_name nvarchar(260), state tinyint, state_desc nvarchar(60), size int, max_size int, growth int, is_media_read_only bit, is_read_only bit, is_sparse bit, " +
		"is_percent_growth bit, is_name_reserved bit, is_persistent_log_buffer bit, create_lsn numeric(25,0), drop_lsn numeric(25,0), read_only_lsn numeric(25,0), " +
		"read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), differential_base_guid uniqueidentifier, differential_base_time datetime, redo_start_lsn numeric(25,0), " +
		"redo_start_fork_guid uniqueidentifier, redo_target_lsn numeric(25,0), redo_target_fork_guid uniqueidentifier, backup_lsn numeric(25,0)"
	r.RecordView("", "sys", "master_files", "database_id int, "+files+", credential_id int", func(ctx context.Context, s *Session) ([]record, error) {
		var out []record
		for _, db := range s.inst.Databases() {
			out = append(out, fileRecords(ctx, db, false)...)
		}
		return out, nil
	})
	r.RecordView("", "sys", "database_files", files,
		func(ctx context.Context, s *Session) ([]record, error) {
			return fileRecords(ctx, s.viewDatabase(), true), nil
		})
	const space = "name sysname, data_space_id int, type char(2), type_desc nvarchar(60), is_default bit, is_system bit"
	r.RecordView("", "sys", "filegroups", space+", filegroup_guid uniqueidentifier, log_filegroup_id int, is_read_only bit, is_autogrow_all_files bit", fileGroupRecords)
	r.RecordView("", "sys", "data_spaces", space, func(ctx context.Context, s *Session) ([]record, error) {
		out, err := fileGroupRecords(ctx, s)
		if err != nil {
			return nil, err
		}
		schemes, err := schemeRecords(ctx, s)
		return append(out, schemes...), err
	})
}

func fileGroupRecords(ctx context.Context, s *Session) ([]record, error) {
	sch, err := s.viewSchema(ctx)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range sch.FileGroups() {
		rec := record{"name": o.Name, "data_space_id": o.FileGroup.ID, "type": "FG", "type_desc": "ROWS_FILEGROUP", "is_default": o.FileGroup.Default, "is_system": false,
			"is_read_only": o.FileGroup.ReadOnly, "is_autogrow_all_files": o.FileGroup.GrowAll || o.FileGroup.ID == metadata.PrimaryGroup && s.viewDatabase().ID() == 2}
		if o.FileGroup.ID != metadata.PrimaryGroup {
			rec["filegroup_guid"] = o.FileGroup.GUID
		}
		out = append(out, rec)
	}
	return out, nil
}

// fileRecords are the files of a database.
func fileRecords(ctx context.Context, db *Database, effective bool) []record {
	var out []record
	info := db.Info()
	readOnly := map[int32]bool{}
	if sch := db.catalogue(ctx); sch != nil {
		for _, g := range sch.FileGroups() {
			readOnly[g.FileGroup.ID] = g.FileGroup.ReadOnly
		}
	}
	for _, f := range db.files(ctx) {
		kind := int64(0)
		if f.Log {
			kind = 1
		}
		path, size := f.PhysicalName, db.pages(f)
		if effective && f.Effective != "" {
			path = f.Effective
		}
		state := int64(0)
		if db.State() == Offline {
			state = 6
		}
		guid := f.GUID
		if guid == uuid.Nil {
			guid = uuid.NewSHA1(info.BrokerGUID, []byte(f.LogicalName))
		}
		out = append(out, record{"database_id": info.ID, "file_id": f.ID, "file_guid": guid, "type": kind, "type_desc": desc(kind, "ROWS", "LOG"),
			"data_space_id": f.DataSpace(), "name": f.LogicalName, "physical_name": path, "state": state, "state_desc": db.State().String(), "size": size, "max_size": f.MaxSizePages, "growth": f.Growth,
			"is_media_read_only": false, "is_read_only": readOnly[f.DataSpace()] || info.ReadOnly && !f.Log, "is_sparse": false, "is_percent_growth": f.PercentGrowth, "is_name_reserved": false, "is_persistent_log_buffer": false})
	}
	return out
}

// fileGroupFunctions are FILEGROUP_NAME, FILEGROUP_ID, FILEGROUPPROPERTY, FILE_ID, FILE_IDEX and FILE_NAME, of the current database
// (docs/t-sql/functions/filegroup-name-transact-sql.md and its neighbours).
func fileGroupFunctions() map[string]*builtinFunction {
	name := []sqltype.Type{nmax}
	groups := func(s *Session, found func(o *metadata.Object) bool) *metadata.Object {
		sch, err := s.schema(s.context(), s.db.ID())
		if err != nil {
			return nil
		}
		for _, o := range sch.FileGroups() {
			if found(o) {
				return o
			}
		}
		return nil
	}
	named := func(s *Session, text any) *metadata.Object {
		n, _ := text.(string)
		return groups(s, func(o *metadata.Object) bool { return strings.EqualFold(o.Name, strings.TrimRight(n, " ")) })
	}
	fileID := func(s *Session, a []any) any {
		n, _ := a[0].(string)
		for _, f := range s.db.files(s.context()) {
			if strings.EqualFold(f.LogicalName, strings.TrimRight(n, " ")) {
				return int64(f.ID)
			}
		}
		return nil
	}
	return map[string]*builtinFunction{
		"filegroup_name": systemFunction(1, 1, sqltype.NVarCharOf(128), []sqltype.Type{sqltype.IntType}, func(s *Session, a []any) any {
			if o := groups(s, func(o *metadata.Object) bool { return int64(o.FileGroup.ID) == integer(a[0]) }); o != nil {
				return o.Name
			}
			return nil
		}),
		"filegroup_id": systemFunction(1, 1, sqltype.IntType, name, func(s *Session, a []any) any {
			if o := named(s, a[0]); o != nil {
				return int64(o.FileGroup.ID)
			}
			return nil
		}),
		"filegroupproperty": systemFunction(2, 2, sqltype.IntType, []sqltype.Type{nmax, nmax}, func(s *Session, a []any) any {
			o := named(s, a[0])
			if o == nil {
				return nil
			}
			property, _ := a[1].(string)
			switch lower(property) {
			case "isreadonly":
				return asBit(o.FileGroup.ReadOnly)
			case "isuserdefinedfg":
				return asBit(o.FileGroup.ID != metadata.PrimaryGroup)
			case "isdefault":
				return asBit(o.FileGroup.Default)
			}
			return nil
		}),
		"file_id":   systemFunction(1, 1, sqltype.SmallIntType, name, fileID),
		"file_idex": systemFunction(1, 1, sqltype.IntType, name, fileID),
		"file_name": systemFunction(1, 1, sqltype.Sysname, []sqltype.Type{sqltype.IntType}, func(s *Session, a []any) any {
			for _, f := range s.db.files(s.context()) {
				if id, ok := a[0].(int64); ok && int64(f.ID) == id {
					return f.LogicalName
				}
			}
			return nil
		}),
	}
}
