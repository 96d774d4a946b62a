// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/operator/standin/sqltype"
)

// installFileFunctions registers FILEPROPERTY (docs/t-sql/functions/fileproperty-transact-sql.md), CURRENT_TIMEZONE and
// CURRENT_TIMEZONE_ID (docs/t-sql/functions/current-timezone-transact-sql.md): the server's clock is UTC.
func installFileFunctions(*Registry) {
	addBuiltins(fileGroupFunctions())
	addBuiltins(map[string]*builtinFunction{
		"fileproperty": systemFunction(2, 2, sqltype.IntType, []sqltype.Type{nmax, nmax}, func(s *Session, a []any) any {
			name, _ := a[0].(string)
			property, _ := a[1].(string)
			for _, f := range fileRecords(s.context(), s.viewDatabase(), true) {
				if logical, _ := f["name"].(string); strings.EqualFold(logical, strings.TrimRight(name, " ")) {
					return fileProperty(s.viewDatabase(), f, lower(property))
				}
			}
			return nil
		}),
		"current_timezone":    systemFunction(0, 0, sqltype.VarCharMax, nil, func(*Session, []any) any { return "(UTC) Coordinated Universal Time" }),
		"current_timezone_id": systemFunction(0, 0, sqltype.VarCharMax, nil, func(*Session, []any) any { return "UTC" }),
	})
}

func fileProperty(db *Database, f record, property string) any {
	kind, _ := f["type"].(int64)
	switch property {
	case "isreadonly":
		readOnly, _ := f["is_read_only"].(bool)
		return asBit(readOnly)
	case "isprimaryfile":
		return asBit(f["file_id"] == int32(1))
	case "islogfile":
		return kind
	case "spaceused":
		name, _ := f["name"].(string)
		for _, file := range db.Files(context.Background()) {
			if file.LogicalName == name {
				return db.usedPages(file)
			}
		}
	}
	return nil
}
