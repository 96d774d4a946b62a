// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"sort"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/triggerevent"
)

// installEventTypes registers sys.trigger_event_types
// (docs/relational-databases/system-catalog-views/sys-trigger-event-types-transact-sql.md).
func installEventTypes(r *engine.Registry) {
	r.RecordView(
		"",
		"sys",
		"trigger_event_types",
		"type int, type_name nvarchar(64), parent_type int",
		func(context.Context, *engine.Session) ([]engine.Record, error) {
			out := []engine.Record{
				{"type": 1, "type_name": "INSERT"},
				{"type": 2, "type_name": "UPDATE"},
				{"type": 3, "type_name": "DELETE"},
			}
			for _, t := range triggerevent.Types {
				rec := engine.Record{"type": t.Number, "type_name": t.Name}
				if t.Parent != nil {
					rec["parent_type"] = t.Parent.Number
				}
				out = append(out, rec)
			}
			sort.Slice(out[3:], func(i, j int) bool { return out[3+i]["type"].(int32) < out[3+j]["type"].(int32) })
			return out, nil
		},
	)
}
