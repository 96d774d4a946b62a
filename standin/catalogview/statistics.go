// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
)

// statisticsColumns are those of sys.stats (docs/relational-databases/system-catalog-views/sys-stats-transact-sql.md).
const statisticsColumns = "object_id int, name sysname, stats_id int, auto_created bit, user_created bit, " +
	"no_recompute bit, has_filter bit, filter_definition nvarchar(max), " +
	"is_temporary bit, is_incremental bit, has_persisted_sample bit, stats_generation_method int, " +
	"stats_generation_method_desc varchar(80), auto_drop bit"

// statisticsRecords are the statistics of all indexes and those of CREATE STATISTICS.
func statisticsRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	_, list, err := visibleTables(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	add := func(o *metadata.Object, id int32, name, filter string, more engine.Record) {
		rec := engine.Record{
			"object_id":                    o.ID,
			"name":                         name,
			"stats_id":                     id,
			"auto_created":                 false,
			"has_filter":                   filter != "",
			"is_temporary":                 false,
			"is_incremental":               false,
			"has_persisted_sample":         false,
			"stats_generation_method":      0,
			"stats_generation_method_desc": "Sort based statistics",
			"auto_drop":                    false,
		}
		if filter != "" {
			rec["filter_definition"] = filter
		}
		for k, v := range more {
			rec[k] = v
		}
		out = append(out, rec)
	}
	for _, o := range list {
		for _, i := range o.Table.Indexes {
			add(o, i.ID, i.Name, i.Filter, engine.Record{"user_created": false, "no_recompute": i.NoRecompute})
		}
		for _, st := range o.Table.Statistics {
			add(
				o,
				st.ID,
				st.Name,
				st.Filter,
				engine.Record{"user_created": true, "no_recompute": st.NoRecompute, "auto_drop": st.AutoDrop},
			)
		}
	}
	return out, nil
}

// statisticsColumnRecords are the rows of sys.stats_columns.
func statisticsColumnRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	_, list, err := visibleTables(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	add := func(o *metadata.Object, id int32, n int, column int32) {
		out = append(out, engine.Record{"object_id": o.ID, "stats_id": id, "stats_column_id": n + 1, "column_id": column})
	}
	for _, o := range list {
		for _, i := range o.Table.Indexes {
			for n, k := range i.Keys {
				add(o, i.ID, n, k.Column)
			}
		}
		for _, st := range o.Table.Statistics {
			for n, c := range st.Columns {
				add(o, st.ID, n, c)
			}
		}
	}
	return out, nil
}
