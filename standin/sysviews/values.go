// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
)

// installResourceViews registers the two pools and groups that every server has
// (docs/relational-databases/system-catalog-views/ sys-resource-governor-resource-pools-transact-sql.md,
// sys-resource-governor-workload-groups-transact-sql.md).
func installResourceViews(r *engine.Registry) {
	r.TextView(
		"sys",
		"resource_governor_resource_pools",
		"pool_id int, name sysname, min_cpu_percent int, max_cpu_percent int, min_memory_percent int, max_memory_percent "+
			"int, cap_cpu_percent int, min_iops_per_volume int, max_iops_per_volume int",
		"SELECT id, name, 0, 100, 0, 100, 100, 0, 0 FROM (VALUES (1, N'internal'), (2, N'default')) v (id, name)",
	)
	r.TextView(
		"sys",
		"resource_governor_workload_groups",
		"group_id int, name sysname, importance sysname, request_max_memory_grant_percent int, request_max_cpu_time_sec "+
			"int, request_memory_grant_timeout_sec int, max_dop int, "+
			"group_max_requests int, pool_id int, external_pool_id int, request_max_memory_grant_percent_numeric float",
		"SELECT id, name, N'Medium', 25, 0, 0, 0, 0, id, 2, CAST(25 AS float) FROM (VALUES (1, N'internal'), (2, "+
			"N'default')) v (id, name)",
	)
}

// installSptValues registers spt_values, a table of master that no page describes and that scripts use for the numbers
// from 0 to 2047 (type P). Of its other types, those are here whose values pages tell: the modes, resources and states
// of locks (docs/relational-databases/system-compatibility-views/sys-syslockinfo-transact-sql.md), each a number higher
// than the page's where the procedures of old add 1, and the size of a page, which tools of management read (type E).
func installSptValues(r *engine.Registry) {
	var rows []engine.Record
	add := func(kind string, number int, name, low, high any) {
		rows = append(
			rows,
			engine.Record{
				"name":   name,
				"number": number,
				"type":   fmt.Sprintf("%-3s", kind),
				"low":    low,
				"high":   high,
				"status": 0,
			},
		)
	}
	for n := range 2048 {
		add("P", n, nil, n/8+1, 1<<(n%8))
	}
	add("E", 1, "WINDOWS/NT", 8192, nil)
	for kind, names := range map[string][]string{
		"L": {"NULL", "Sch-S", "Sch-M", "S", "U", "X", "IS", "IU", "IX", "SIU", "SIX", "UIX", "BU", "RangeS-S", "RangeS-U",
			"RangeIn-Null", "RangeIn-S", "RangeIn-U", "RangeIn-X",
			"RangeX-S", "RangeX-U", "RangeX-X"},
		"LR": {"NUL", "DB", "FIL", "IDX", "TAB", "PAG", "KEY", "EXT", "RID", "APP"},
		"LS": {"GRANT", "CNVT", "WAIT"},
	} {
		for i, name := range names {
			add(kind, i+1, name, nil, nil)
		}
	}
	r.RecordView(
		"master",
		"dbo",
		"spt_values",
		"name nvarchar(35), number int, type nchar(3), low int, high int, status int",
		func(context.Context, *engine.Session) ([]engine.Record, error) { return rows, nil },
	)
}
