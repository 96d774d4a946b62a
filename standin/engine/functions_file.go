// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// installFileFunctions registers FILEPROPERTY (docs/t-sql/functions/fileproperty-transact-sql.md), CURRENT_TIMEZONE and
// CURRENT_TIMEZONE_ID (docs/t-sql/functions/current-timezone-transact-sql.md): the server's clock is UTC.
func installFileFunctions(*Registry) {
	addBuiltins(fileGroupFunctions())
	addBuiltins(map[string]*builtinFunction{
		"fileproperty": systemFunction(2, 2, sqltype.IntType, []sqltype.Type{nmax, nmax}, func(s *Session, a []any) any {
			name, _ := a[0].(string)
			property, _ := a[1].(string)
			db := s.viewDatabase()
			for _, f := range db.Files(s.context()) {
				if strings.EqualFold(f.LogicalName, strings.TrimRight(name, " ")) {
					return fileProperty(s.context(), db, f, lower(property))
				}
			}
			return nil
		}),
		"current_timezone": systemFunction(
			0,
			0,
			sqltype.VarCharMax,
			nil,
			func(*Session, []any) any { return "(UTC) Coordinated Universal Time" },
		),
		"current_timezone_id": systemFunction(0, 0, sqltype.VarCharMax, nil, func(*Session, []any) any { return "UTC" }),
	})
}

func fileProperty(ctx context.Context, db *Database, f metadata.File, property string) any {
	switch property {
	case "isreadonly":
		return asBit(db.IsReadOnly(ctx)(f))
	case "isprimaryfile":
		return asBit(f.ID == 1)
	case "islogfile":
		return asBit(f.Log)
	case "spaceused":
		return db.UsedPages(f)
	}
	return nil
}

// fileGroupFunctions are FILEGROUP_NAME, FILEGROUP_ID, FILEGROUPPROPERTY, FILE_ID, FILE_IDEX and FILE_NAME, of the
// current database (docs/t-sql/functions/filegroup-name-transact-sql.md and its neighbours).
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
		for _, f := range s.db.Files(s.context()) {
			if strings.EqualFold(f.LogicalName, strings.TrimRight(n, " ")) {
				return int64(f.ID)
			}
		}
		return nil
	}
	return map[string]*builtinFunction{
		"filegroup_name": systemFunction(
			1,
			1,
			sqltype.NVarCharOf(128),
			[]sqltype.Type{sqltype.IntType},
			func(s *Session, a []any) any {
				if o := groups(s, func(o *metadata.Object) bool { return int64(o.FileGroup.ID) == integer(a[0]) }); o != nil {
					return o.Name
				}
				return nil
			},
		),
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
			for _, f := range s.db.Files(s.context()) {
				if id, ok := a[0].(int64); ok && int64(f.ID) == id {
					return f.LogicalName
				}
			}
			return nil
		}),
	}
}
