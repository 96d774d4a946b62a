// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/operator/standin/sqltype"
)

// installFileFunctions registers FILEPROPERTY (docs/t-sql/functions/fileproperty-transact-sql.md), CURRENT_TIMEZONE and
// CURRENT_TIMEZONE_ID (docs/t-sql/functions/current-timezone-transact-sql.md): the server's clock is UTC.
func installFileFunctions(*Registry) {
	addBuiltins(map[string]*builtinFunction{
		"fileproperty": systemFunction(2, 2, sqltype.IntType, []sqltype.Type{nmax, nmax}, func(s *Session, a []any) any {
			name, _ := a[0].(string)
			property, _ := a[1].(string)
			for _, f := range fileRecords(s.viewDatabase(), true) {
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
		return int64(0)
	case "isprimaryfile":
		return 1 - kind
	case "islogfile":
		return kind
	case "spaceused":
		st := db.Storage()
		if kind == 0 || st == nil {
			return f["size"]
		}
		return (int64(st.Log().Bytes(st.Log().End())-st.Log().Bytes(st.Log().Oldest())) + 8191) / 8192
	}
	return nil
}
