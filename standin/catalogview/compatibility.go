// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"

	"geosql.dev/standin/engine"
)

// sysobjectsColumns are those of sys.sysobjects
// (docs/relational-databases/system-compatibility-views/sys-sysobjects-transact-sql.md).
const sysobjectsColumns = "name sysname, id int, xtype char(2), uid smallint, info smallint, status int, " +
	"base_schema_ver int, replinfo int, parent_obj int, crdate datetime, " +
	"ftcatid smallint, schema_ver int, stats_schema_ver int, type char(2), userstat smallint, sysstat smallint, " +
	"indexdel smallint, refdate datetime, version int, deltrig int, " +
	"instrig int, updtrig int, seltrig int, category int, cache smallint"

// sysstatKinds are the lower four bits of sysstat, by which scripts of long ago tell tables (3) from views (2) and
// procedures (4): the page calls the column internal.
var sysstatKinds = map[string]int{"S ": 1, "V ": 2, "U ": 3, "P ": 4, "D ": 6, "TR": 8}

// sysobjects are the rows of sys.sysobjects, from those of sys.objects.
func sysobjects(
	objects func(context.Context, *engine.Session) ([]engine.Record, error),
) func(context.Context, *engine.Session) ([]engine.Record, error) {
	return func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
		out, err := objects(ctx, s)
		for _, rec := range out {
			kind, _ := rec["type"].(string)
			rec["id"], rec["xtype"], rec["uid"], rec["parent_obj"] = rec["object_id"], kind, rec["schema_id"],
				rec["parent_object_id"]
			rec["crdate"], rec["refdate"], rec["sysstat"] = rec["create_date"], rec["create_date"], sysstatKinds[kind]
			if kind == "PK" || kind == "UQ" {
				rec["type"] = "K "
			}
			for _, internal := range []string{"info", "status", "base_schema_ver", "replinfo", "ftcatid", "schema_ver",
				"stats_schema_ver", "userstat", "indexdel", "version",
				"deltrig", "instrig", "updtrig", "seltrig", "category", "cache"} {
				rec[internal] = 0
			}
		}
		return out, err
	}
}
