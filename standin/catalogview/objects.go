// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

const objectColumns = "name sysname, object_id int, principal_id int, schema_id int, parent_object_id int, type " +
	"char(2), type_desc nvarchar(60), create_date datetime, " +
	"modify_date datetime, is_ms_shipped bit, is_published bit, is_schema_published bit"

var kindDescriptions = map[string]string{
	metadata.KindTable:         "USER_TABLE",
	metadata.KindView:          "VIEW",
	metadata.KindProcedure:     "SQL_STORED_PROCEDURE",
	metadata.KindScalar:        "SQL_SCALAR_FUNCTION",
	metadata.KindInline:        "SQL_INLINE_TABLE_VALUED_FUNCTION",
	metadata.KindPrimaryKey:    "PRIMARY_KEY_CONSTRAINT",
	metadata.KindUnique:        "UNIQUE_CONSTRAINT",
	metadata.KindForeignKey:    "FOREIGN_KEY_CONSTRAINT",
	metadata.KindCheck:         "CHECK_CONSTRAINT",
	metadata.KindDefault:       "DEFAULT_CONSTRAINT",
	metadata.KindSequence:      "SEQUENCE_OBJECT",
	metadata.KindSynonym:       "SYNONYM",
	metadata.KindTrigger:       "SQL_TRIGGER",
	metadata.KindTableType:     "TYPE_TABLE",
	metadata.KindTableFunction: "SQL_TABLE_VALUED_FUNCTION",
}

// viewColumns are what sys.views has besides the columns of every object.
const viewColumns = ", is_replicated bit, has_replication_filter bit, has_opaque_metadata bit, " +
	"has_unchecked_assembly_data bit, with_check_option bit, is_date_correlation_view bit, is_tracked_by_cdc bit, " +
	"ledger_view_type tinyint, ledger_view_type_desc nvarchar(60), is_dropped_ledger_view bit"

func objectRecord(o *metadata.Object) engine.Record {
	replicated := o.ExecutionPublished || o.Table != nil && o.Table.Replicated
	return engine.Record{
		"name":                      o.Name,
		"object_id":                 o.ID,
		"schema_id":                 o.Schema,
		"parent_object_id":          o.Parent,
		"type":                      fmt.Sprintf("%-2s", o.Kind),
		"type_desc":                 kindDescriptions[o.Kind],
		"create_date":               o.Created,
		"modify_date":               o.Modified,
		"is_ms_shipped":             o.Shipped,
		"is_published":              replicated,
		"is_schema_published":       o.SchemaPublished,
		"is_execution_replicated":   o.ExecutionPublished,
		"is_repl_serializable_only": o.SerializableOnly,
		"is_auto_executed":          o.Properties[metadata.StartupOption] != "",
	}
}

// typeColumns are those of sys.types.
const typeColumns = "name sysname, system_type_id tinyint, user_type_id int, schema_id int, principal_id int, " +
	"max_length smallint, precision tinyint, scale tinyint, " +
	"collation_name sysname, is_nullable bit, is_user_defined bit, is_assembly_type bit, default_object_id int, " +
	"rule_object_id int, is_table_type bit"

func installObjectViews(r *engine.Registry) {
	all := func(kinds ...string) func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
		return func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			_, list, err := s.VisibleObjects(ctx)
			if err != nil {
				return nil, err
			}
			var out []engine.Record
			for _, o := range list {
				for _, k := range kinds {
					if o.Kind == k {
						out = append(out, objectRecord(o))
					}
				}
				if len(kinds) == 0 {
					out = append(out, objectRecord(o))
				}
			}
			return out, nil
		}
	}
	r.RecordView(
		"",
		"sys",
		"objects",
		objectColumns,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			out, err := all()(ctx, s)
			return append(out, systemTables(r, s.ViewDatabase().Name())...), err
		},
	)
	r.RecordView(
		"",
		"sys",
		"all_objects",
		objectColumns,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			out, err := all()(ctx, s)
			if err != nil {
				return nil, err
			}
			return append(append(out, systemTables(r, s.ViewDatabase().Name())...), systemObjects(r)...), nil
		},
	)
	r.RecordView(
		"",
		"sys",
		"system_objects",
		objectColumns,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) { return systemObjects(r), nil },
	)
	r.RecordView(
		"",
		"sys",
		"tables",
		objectColumns+", lob_data_space_id int, filestream_data_space_id int, max_column_id_used int, lock_on_bulk_load "+
			"bit, uses_ansi_nulls bit, "+
			"is_replicated bit, has_replication_filter bit, is_merge_published bit, is_sync_tran_subscribed bit, "+
			"has_unchecked_assembly_data bit, text_in_row_limit int, "+
			"large_value_types_out_of_row bit, is_tracked_by_cdc bit, lock_escalation tinyint, lock_escalation_desc "+
			"nvarchar(60), is_filetable bit, is_memory_optimized bit, durability tinyint, "+
			"durability_desc nvarchar(60), temporal_type tinyint, temporal_type_desc nvarchar(60), history_table_id int, "+
			"is_remote_data_archive_enabled bit, is_external bit, history_retention_period int, "+
			"history_retention_period_unit int, history_retention_period_unit_desc nvarchar(10), "+
			"is_node bit, is_edge bit, data_retention_period int, data_retention_period_unit int, "+
			"data_retention_period_unit_desc nvarchar(10), ledger_type tinyint, ledger_type_desc nvarchar(60), "+
			"ledger_view_id int, is_dropped_ledger_table bit",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			_, list, err := visibleTables(ctx, s)
			if err != nil {
				return nil, err
			}
			var out []engine.Record
			for _, o := range list {
				rec := objectRecord(o)
				for k, v := range (engine.Record{"lob_data_space_id": o.Table.LOBDataSpace(),
					"max_column_id_used": o.Table.NextColumn - 1, "lock_on_bulk_load": o.Table.BulkLock,
					"uses_ansi_nulls": !o.Table.AnsiNullsOff, "is_replicated": o.Table.Replicated,
					"has_replication_filter": false, "is_merge_published": false, "is_sync_tran_subscribed": false,
					"has_unchecked_assembly_data": false, "text_in_row_limit": o.Table.TextInRow,
					"large_value_types_out_of_row": o.Table.OutOfRow, "is_tracked_by_cdc": false,
					"lock_escalation":      o.Table.LockEscalation,
					"lock_escalation_desc": metadata.LockEscalations[o.Table.LockEscalation], "is_filetable": false,
					"is_memory_optimized": false,
					"durability":          0, "durability_desc": "SCHEMA_AND_DATA", "temporal_type": 0,
					"temporal_type_desc": "NON_TEMPORAL_TABLE", "is_remote_data_archive_enabled": false,
					"is_external": false, "is_node": false, "is_edge": false, "ledger_type": 0, "ledger_type_desc": "NON_LEDGER_TABLE",
					"is_dropped_ledger_table": false}) {
					rec[k] = v
				}
				out = append(out, rec)
			}
			return out, nil
		},
	)
	r.RecordView(
		"",
		"sys",
		"procedures",
		objectColumns+", is_auto_executed bit, is_execution_replicated bit, is_repl_serializable_only bit, "+
			"skips_repl_constraints bit",
		all(metadata.KindProcedure),
	)
	r.RecordView("", "sys", "views", objectColumns+viewColumns, viewRecords(all(metadata.KindView)))
	r.RecordView(
		"",
		"sys",
		"triggers",
		objectColumns+", parent_class tinyint, parent_class_desc nvarchar(60), parent_id int, is_disabled bit, "+
			"is_not_for_replication bit, is_instead_of_trigger bit",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			out, err := all(metadata.KindTrigger)(ctx, s)
			sch, e := s.Catalog(ctx, s.ViewDatabase())
			if err != nil || e != nil {
				return nil, errors.Join(err, e)
			}
			for _, rec := range out {
				t := sch.Objects[rec["object_id"].(int32)]
				rec["parent_class"], rec["parent_class_desc"], rec["parent_id"] = 1, "OBJECT_OR_COLUMN", t.Parent
				rec["is_disabled"], rec["is_not_for_replication"], rec["is_instead_of_trigger"] = t.Disabled, t.NotForReplication,
					t.Properties[metadata.InsteadOf] != ""
			}
			for _, t := range sch.ScopedTriggers(metadata.ScopedSchema(metadata.DatabaseScope)) {
				out = append(out, scopedRecord(t, 0, "DATABASE"))
			}
			return out, nil
		},
	)
	const ofSystem = "SELECT *, CAST(0 AS bit), CAST(0 AS bit), CAST(0 AS bit), CAST(0 AS bit), CAST(0 AS bit), CAST(0 " +
		"AS bit), CAST(0 AS bit), CAST(0 AS tinyint), N'NON_LEDGER_VIEW', CAST(0 AS bit) FROM sys.system_objects " +
		"WHERE type = 'V'"
	r.TextView("sys", "system_views", objectColumns+viewColumns, ofSystem)
	r.TextView("sys", "all_views", objectColumns+viewColumns, "SELECT * FROM sys.views UNION ALL "+ofSystem)
	r.TextView("sys", "system_columns", columnColumns, "SELECT * FROM sys.all_columns WHERE object_id < 0")
	r.TextView("sys", "all_parameters", parameterColumns, "SELECT * FROM sys.parameters")
	r.EmptyView(
		"",
		"sys",
		"internal_tables",
		objectColumns+", internal_type tinyint, internal_type_desc nvarchar(60), parent_id int, parent_minor_id int, "+
			"lob_data_space_id int, filestream_data_space_id int",
	)
	installEventTypes(r)
	installScopedViews(r)
	r.RecordView(
		"",
		"sys",
		"trigger_events",
		triggerEventColumns,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			sch, list, err := s.VisibleObjects(ctx)
			if err != nil {
				return nil, err
			}
			out := scopedEventRecords(sch.ScopedTriggers(metadata.ScopedSchema(metadata.DatabaseScope)))
			for _, o := range list {
				if o.Kind != metadata.KindTrigger {
					continue
				}
				for i, word := range []string{"INSERT", "UPDATE", "DELETE"} {
					if strings.Contains(o.Properties[metadata.TriggerEvents], word) {
						out = append(
							out,
							engine.Record{
								"object_id":        o.ID,
								"type":             i + 1,
								"type_desc":        word,
								"is_first":         o.FiringOrder(word) == 0,
								"is_last":          o.FiringOrder(word) == 2,
								"is_trigger_event": true,
							},
						)
					}
				}
			}
			return out, err
		},
	)
	r.RecordView(
		"",
		"sys",
		"synonyms",
		objectColumns+", base_object_name nvarchar(1035)",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			_, list, err := s.VisibleObjects(ctx)
			var out []engine.Record
			for _, o := range list {
				if o.Kind == metadata.KindSynonym {
					rec := objectRecord(o)
					rec["base_object_name"] = o.Target
					out = append(out, rec)
				}
			}
			return out, err
		},
	)
	r.RecordView(
		"",
		"sys",
		"schemas",
		"name sysname, schema_id int, principal_id int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			sch, err := s.Catalog(ctx, s.ViewDatabase())
			if err != nil {
				return nil, err
			}
			var out []engine.Record
			for _, n := range sch.Schemas {
				out = append(out, engine.Record{"name": n.Name, "schema_id": n.ID, "principal_id": n.Principal})
			}
			sort.Slice(out, func(i, j int) bool { return out[i]["schema_id"].(int32) < out[j]["schema_id"].(int32) })
			return out, nil
		},
	)
	r.RecordView("", "sys", "types", typeColumns, typeRecords)
	r.RecordView(
		"",
		"sys",
		"table_types",
		typeColumns+", type_table_object_id int, is_memory_optimized bit",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			return userTypeRecords(ctx, s, metadata.KindTableType)
		},
	)
	r.RecordView("", "sys", "partitions", "", partitionRecords)
	r.RecordView(
		"",
		"sys",
		"dm_db_partition_stats",
		"partition_id bigint, object_id int, index_id int, partition_number int, in_row_data_page_count bigint, "+
			"in_row_used_page_count bigint, "+
			"in_row_reserved_page_count bigint, lob_used_page_count bigint, lob_reserved_page_count bigint, "+
			"row_overflow_used_page_count bigint, row_overflow_reserved_page_count bigint, "+
			"used_page_count bigint, reserved_page_count bigint, row_count bigint",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			list, err := partitionRecords(ctx, s)
			for _, rec := range list {
				rec["row_count"], rec["used_page_count"], rec["reserved_page_count"], rec["in_row_data_page_count"] = rec["rows"],
					int64(
						1,
					), int64(
						1,
					), int64(
						1,
					)
				rec["in_row_used_page_count"], rec["in_row_reserved_page_count"] = int64(1), int64(1)
				for _, elsewhere := range []string{"lob_used_page_count", "lob_reserved_page_count", "row_overflow_used_page_count",
					"row_overflow_reserved_page_count"} {
					rec[elsewhere] = int64(0)
				}
			}
			return list, err
		},
	)
	r.RecordView(
		"",
		"sys",
		"allocation_units",
		"allocation_unit_id bigint, type tinyint, type_desc nvarchar(60), container_id bigint, data_space_id int, "+
			"total_pages bigint, used_pages bigint, data_pages bigint",
		allocationUnits,
	)
	r.RecordView("", "sys", "sysobjects", sysobjectsColumns, sysobjects(all()))
	r.RecordView(
		"",
		"sys",
		"extended_properties",
		"class tinyint, class_desc nvarchar(60), major_id int, minor_id int, name sysname, value sql_variant",
		propertyRecords,
	)
}

// systemSchemas are the ids of the schemas of system views.
var systemSchemas = map[string]int{"INFORMATION_SCHEMA": 3, "sys": 4}

// systemObjects are the system views and procedures that are registered.
func systemObjects(r *engine.Registry) []engine.Record {
	var out []engine.Record
	started := r.Instance().StartTime()
	for _, v := range r.Views() {
		if v.Database == "" {
			out = append(out, shipped(v.Schema, v.Name, systemSchemas[v.Schema], "V ", "VIEW", started))
		}
	}
	for _, p := range r.Procedures() {
		if p.Schema == "sys" {
			out = append(out, shipped(p.Schema, p.Name, systemSchemas[p.Schema], "P ", "SQL_STORED_PROCEDURE", started))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i]["object_id"].(int32) < out[j]["object_id"].(int32) })
	return out
}

// systemTables are the tables of dbo that a system database comes with, such as msdb's backupset.
func systemTables(r *engine.Registry, database string) []engine.Record {
	var out []engine.Record
	for _, v := range r.Views() {
		if v.Schema == "dbo" && v.Database != "" && strings.EqualFold(v.Database, database) {
			out = append(out, shipped(v.Schema, v.Name, 1, "U ", "USER_TABLE", r.Instance().StartTime()))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i]["object_id"].(int32) < out[j]["object_id"].(int32) })
	return out
}

// shipped is an object that comes with the engine.
func shipped(schema, name string, schemaID int, kind, description string, started time.Time) engine.Record {
	return engine.Record{
		"name":                name,
		"object_id":           metadata.SystemObjectID(schema + "." + name),
		"schema_id":           schemaID,
		"parent_object_id":    0,
		"type":                kind,
		"type_desc":           description,
		"create_date":         started,
		"modify_date":         started,
		"is_ms_shipped":       true,
		"is_published":        false,
		"is_schema_published": false,
	}
}

func typeRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	var out []engine.Record
	for _, i := range sqltype.Infos {
		t := sqltype.Type{Kind: i.Kind}
		switch i.Kind {
		case sqltype.Binary, sqltype.VarBinary, sqltype.Char, sqltype.VarChar:
			t.Length = 8000
		case sqltype.NChar, sqltype.NVarChar:
			t.Length = 4000
		case sqltype.Decimal:
			t.Precision, t.Scale = 38, 38
		case sqltype.Time, sqltype.DateTime2, sqltype.DateTimeOffset:
			t.Scale = 7
		}
		if i.Name == "sysname" {
			t.Length = 128
		}
		rec := engine.Record{
			"name":              i.Name,
			"system_type_id":    i.SystemTypeID,
			"user_type_id":      i.UserTypeID,
			"schema_id":         4,
			"max_length":        t.MaxBytes(),
			"precision":         t.DisplayPrecision(),
			"scale":             t.DisplayScale(),
			"is_nullable":       i.Name != "sysname" && i.Kind != sqltype.RowVersion,
			"is_user_defined":   false,
			"is_assembly_type":  false,
			"default_object_id": 0,
			"rule_object_id":    0,
			"is_table_type":     false,
		}
		if i.Kind.IsCharacter() {
			rec["collation_name"] = sqltype.DefaultCollation
		}
		out = append(out, rec)
	}
	user, err := userTypeRecords(ctx, s, metadata.KindAlias, metadata.KindTableType)
	return append(out, user...), err
}

// userTypeRecords are the types that CREATE TYPE has made.
func userTypeRecords(ctx context.Context, s *engine.Session, kinds ...string) ([]engine.Record, error) {
	sch, err := s.Catalog(ctx, s.ViewDatabase())
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	for _, o := range sch.Sorted() {
		if !slices.Contains(kinds, o.Kind) {
			continue
		}
		rec := engine.Record{
			"name":                o.TypeName(),
			"user_type_id":        o.UserTypeID(),
			"schema_id":           o.Schema,
			"is_user_defined":     true,
			"is_assembly_type":    false,
			"default_object_id":   0,
			"rule_object_id":      0,
			"is_table_type":       o.Kind == metadata.KindTableType,
			"is_memory_optimized": false,
		}
		if o.Kind == metadata.KindTableType {
			rec["system_type_id"], rec["max_length"], rec["precision"], rec["scale"], rec["is_nullable"] = 243, -1, 0, 0, false
			rec["type_table_object_id"] = o.ID
		} else {
			c := o.Table.Columns[0]
			rec["system_type_id"], rec["max_length"], rec["precision"], rec["scale"], rec["is_nullable"] = systemTypeID(c),
				c.Type.MaxBytes(), c.Type.DisplayPrecision(), c.Type.DisplayScale(), c.Nullable
			if c.Type.Kind.IsCharacter() {
				rec["collation_name"] = sqltype.DefaultCollation
			}
		}
		out = append(out, rec)
	}
	return out, nil
}

func propertyRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	conn, release, err := s.Conn(ctx, s.ViewDatabase())
	if err != nil {
		return nil, err
	}
	defer release()
	var out []engine.Record
	err = sqlitex.Execute(
		conn,
		"SELECT class, major, minor, name, value FROM __properties ORDER BY id",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			v, err := sqltype.Decode(sqltype.VariantType, storage.ColumnValue(stmt, 4))
			if err != nil {
				return err
			}
			class := stmt.ColumnInt64(0)
			out = append(
				out,
				engine.Record{
					"class":      class,
					"class_desc": propertyClasses[class],
					"major_id":   stmt.ColumnInt64(1),
					"minor_id":   stmt.ColumnInt64(2),
					"name":       stmt.ColumnText(3),
					"value":      v,
				},
			)
			return nil
		}},
	)
	return out, err
}

// viewRecords adds what sys.views tells of each view beside what objects have.
func viewRecords(
	objects func(context.Context, *engine.Session) ([]engine.Record, error),
) func(context.Context, *engine.Session) ([]engine.Record, error) {
	return func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
		out, err := objects(ctx, s)
		if err != nil {
			return nil, err
		}
		sch, err := s.Catalog(ctx, s.ViewDatabase())
		if err != nil {
			return nil, err
		}
		for _, rec := range out {
			rec["with_check_option"] = false
			if o := sch.Objects[rec["object_id"].(int32)]; o != nil && strings.Contains(strings.ToUpper(o.Definition), "CHECK") {
				rec["with_check_option"] = bind.HasCheckOption(o)
			}
			for _, name := range []string{"is_replicated", "has_replication_filter", "has_opaque_metadata",
				"has_unchecked_assembly_data", "is_date_correlation_view", "is_tracked_by_cdc", "is_dropped_ledger_view"} {
				if rec[name] == nil {
					rec[name] = false
				}
			}
			rec["ledger_view_type"], rec["ledger_view_type_desc"] = 0, "NON_LEDGER_VIEW"
		}
		return out, nil
	}
}
