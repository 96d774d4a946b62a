// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"sort"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/triggerevent"
)

// triggerEventColumns are those of sys.trigger_events and sys.server_trigger_events
// (docs/relational-databases/system-catalog-views/sys-trigger-events-transact-sql.md).
const triggerEventColumns = "object_id int, type int, type_desc nvarchar(60), is_first bit, is_last bit, " +
	"event_group_type int, event_group_type_desc nvarchar(60), is_trigger_event bit"

// scopedRecord is a trigger of a database or of the server in sys.triggers and sys.server_triggers.
func scopedRecord(t *metadata.Object, class int, description string) engine.Record {
	return engine.Record{
		"name":                   t.Name,
		"object_id":              t.ID,
		"parent_class":           class,
		"parent_class_desc":      description,
		"parent_id":              0,
		"type":                   "TR",
		"type_desc":              "SQL_TRIGGER",
		"create_date":            t.Created,
		"modify_date":            t.Modified,
		"is_ms_shipped":          false,
		"is_disabled":            t.Disabled,
		"is_not_for_replication": false,
		"is_instead_of_trigger":  false,
	}
}

// scopedEventRecords have a row for each event, also for those that a group stands for.
func scopedEventRecords(list []*metadata.Object) []engine.Record {
	var out []engine.Record
	for _, t := range list {
		for _, listed := range strings.Split(t.Properties[metadata.TriggerEvents], ",") {
			group := triggerevent.Types[listed]
			if group == nil {
				continue
			}
			for _, e := range group.Leaves() {
				rec := engine.Record{
					"object_id":        t.ID,
					"type":             e.Number,
					"type_desc":        e.Name,
					"is_first":         t.FiringOrder(e.Name) == 0,
					"is_last":          t.FiringOrder(e.Name) == 2,
					"is_trigger_event": true,
				}
				if group.Group {
					rec["event_group_type"], rec["event_group_type_desc"] = group.Number, group.Name
				}
				out = append(out, rec)
			}
		}
	}
	return out
}

// installScopedViews registers the catalog views of the server's triggers.
func installScopedViews(r *engine.Registry) {
	ofServer := func(ctx context.Context, s *engine.Session) ([]*metadata.Object, error) {
		sch, err := s.Catalog(ctx, s.Instance().DatabaseByID(1))
		if err != nil {
			return nil, err
		}
		list := sch.ScopedTriggers(metadata.ScopedSchema(metadata.ServerScope))
		sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
		return list, nil
	}
	r.RecordView(
		"",
		"sys",
		"server_triggers",
		"name sysname, object_id int, parent_class tinyint, parent_class_desc nvarchar(60), parent_id int, type char(2), "+
			"type_desc nvarchar(60), create_date datetime, modify_date datetime, is_ms_shipped bit, is_disabled bit",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			list, err := ofServer(ctx, s)
			var out []engine.Record
			for _, t := range list {
				out = append(out, scopedRecord(t, 100, "SERVER"))
			}
			return out, err
		},
	)
	r.RecordView(
		"",
		"sys",
		"server_trigger_events",
		triggerEventColumns,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			list, err := ofServer(ctx, s)
			return scopedEventRecords(list), err
		},
	)
	r.RecordView(
		"",
		"sys",
		"server_sql_modules",
		"object_id int, definition nvarchar(max), uses_ansi_nulls bit, uses_quoted_identifier bit, "+
			"execute_as_principal_id int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			list, err := ofServer(ctx, s)
			var out []engine.Record
			for _, t := range list {
				out = append(
					out,
					engine.Record{
						"object_id":              t.ID,
						"definition":             engine.ShownDefinition(t),
						"uses_ansi_nulls":        !t.AnsiNullsOff,
						"uses_quoted_identifier": t.QuotedIdentifier,
					},
				)
			}
			return out, err
		},
	)
}
