// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// parameterColumns are those of sys.parameters
// (docs/relational-databases/system-catalog-views/sys-parameters-transact-sql.md).
const parameterColumns = "object_id int, name sysname, parameter_id int, system_type_id tinyint, user_type_id int, " +
	"max_length smallint, precision tinyint, scale tinyint, " +
	"is_output bit, is_cursor_ref bit, has_default_value bit, is_xml_document bit, default_value sql_variant, " +
	"xml_collection_id int, is_readonly bit, is_nullable bit"

// constraintView registers a view over the objects of one kind, with columns of its own.
func constraintView(
	r *engine.Registry,
	name, list string,
	kinds string,
	more func(sch *metadata.Catalog, o *metadata.Object, rec engine.Record),
) {
	r.RecordView(
		"",
		"sys",
		name,
		objectColumns+", "+list,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			sch, objects, err := s.VisibleObjects(ctx)
			if err != nil {
				return nil, err
			}
			var out []engine.Record
			for _, o := range objects {
				if o.Kind == kinds || len(kinds) > 2 && (o.Kind == kinds[:2] || o.Kind == kinds[2:]) {
					rec := objectRecord(o)
					more(sch, o, rec)
					out = append(out, rec)
				}
			}
			return out, nil
		},
	)
}

func installConstraintViews(r *engine.Registry) {
	constraintView(
		r,
		"key_constraints",
		"unique_index_id int, is_system_named bit, is_enforced bit",
		metadata.KindPrimaryKey+metadata.KindUnique,
		func(sch *metadata.Catalog, o *metadata.Object, rec engine.Record) {
			rec["is_system_named"], rec["is_enforced"] = o.SystemNamed, true
			if t := sch.Objects[o.Parent]; t != nil && t.Table != nil {
				for _, i := range t.Table.Indexes {
					if i.Constraint == o.ID {
						rec["unique_index_id"] = i.ID
					}
				}
			}
		},
	)
	constraintView(
		r,
		"check_constraints",
		"is_disabled bit, is_not_for_replication bit, is_not_trusted bit, parent_column_id int, definition nvarchar(max), "+
			"uses_database_collation bit, is_system_named bit",
		metadata.KindCheck,
		func(_ *metadata.Catalog, o *metadata.Object, rec engine.Record) {
			rec["is_disabled"], rec["is_not_for_replication"], rec["is_not_trusted"], rec["parent_column_id"] = o.Disabled,
				o.NotForReplication, o.NotTrusted, o.Column
			rec["definition"], rec["uses_database_collation"], rec["is_system_named"] = o.Definition, true, o.SystemNamed
		},
	)
	constraintView(
		r,
		"default_constraints",
		"parent_column_id int, definition nvarchar(max), is_system_named bit",
		metadata.KindDefault,
		func(_ *metadata.Catalog, o *metadata.Object, rec engine.Record) {
			rec["parent_column_id"], rec["definition"], rec["is_system_named"] = o.Column, o.Definition, o.SystemNamed
		},
	)
	constraintView(
		r,
		"foreign_keys",
		"referenced_object_id int, key_index_id int, is_disabled bit, is_not_for_replication bit, is_not_trusted bit, "+
			"delete_referential_action tinyint, "+
			"delete_referential_action_desc nvarchar(60), update_referential_action tinyint, update_referential_action_desc "+
			"nvarchar(60), is_system_named bit",
		metadata.KindForeignKey,
		func(_ *metadata.Catalog, o *metadata.Object, rec engine.Record) {
			if o.ForeignKey == nil {
				return
			}
			actions := map[string]int64{"NO_ACTION": 0, "CASCADE": 1, "SET_NULL": 2, "SET_DEFAULT": 3}
			rec["referenced_object_id"], rec["key_index_id"] = o.ForeignKey.Referenced, o.ForeignKey.RefIndex
			rec["is_disabled"], rec["is_not_for_replication"], rec["is_not_trusted"], rec["is_system_named"] = o.Disabled,
				o.NotForReplication, o.NotTrusted, o.SystemNamed
			rec["delete_referential_action"], rec["delete_referential_action_desc"] = actions[o.ForeignKey.OnDelete],
				o.ForeignKey.OnDelete
			rec["update_referential_action"], rec["update_referential_action_desc"] = actions[o.ForeignKey.OnUpdate],
				o.ForeignKey.OnUpdate
		},
	)
	r.RecordView(
		"",
		"sys",
		"foreign_key_columns",
		"constraint_object_id int, constraint_column_id int, parent_object_id int, parent_column_id int, "+
			"referenced_object_id int, referenced_column_id int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			_, objects, err := s.VisibleObjects(ctx)
			var out []engine.Record
			for _, o := range objects {
				if o.ForeignKey == nil {
					continue
				}
				for i := range o.ForeignKey.Columns {
					out = append(
						out,
						engine.Record{
							"constraint_object_id": o.ID,
							"constraint_column_id": i + 1,
							"parent_object_id":     o.Parent,
							"parent_column_id":     o.ForeignKey.Columns[i],
							"referenced_object_id": o.ForeignKey.Referenced,
							"referenced_column_id": o.ForeignKey.RefColumns[i],
						},
					)
				}
			}
			return out, err
		},
	)
}

func installModuleViews(r *engine.Registry) {
	modules := func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
		sch, objects, err := s.VisibleObjects(ctx)
		if err != nil {
			return nil, err
		}
		var out []engine.Record
		sight := s.Sight(ctx, s.ViewDatabase().ID())
		for _, o := range append(sch.ScopedTriggers(metadata.ScopedSchema(metadata.DatabaseScope)), objects...) {
			definition := engine.ShownDefinition(o)
			if sight(sch, o) != engine.SeenThrough {
				definition = nil
			}
			switch o.Kind {
			case metadata.KindView,
				metadata.KindProcedure,
				metadata.KindScalar,
				metadata.KindInline,
				metadata.KindTableFunction,
				metadata.KindTrigger,
				metadata.KindScopedTrigger:
				out = append(
					out,
					engine.Record{
						"object_id":               o.ID,
						"definition":              definition,
						"uses_ansi_nulls":         !o.AnsiNullsOff,
						"uses_quoted_identifier":  o.QuotedIdentifier,
						"is_schema_bound":         engine.IsSchemaBound(o),
						"uses_database_collation": false,
						"is_recompiled":           o.Recompiled,
						"null_on_null_input":      o.NullOnNull,
						"execute_as_principal_id": o.ExecuteAsPrincipal(),
						"uses_native_compilation": false,
						"inline_type":             false,
						"is_inlineable":           false,
					},
				)
			}
		}
		return out, err
	}
	list := "object_id int, definition nvarchar(max), uses_ansi_nulls bit, uses_quoted_identifier bit, is_schema_bound " +
		"bit, uses_database_collation bit, is_recompiled bit, " +
		"null_on_null_input bit, execute_as_principal_id int, uses_native_compilation bit, inline_type bit, is_inlineable bit"
	r.RecordView("", "sys", "sql_modules", list, modules)
	r.RecordView("", "sys", "all_sql_modules", list, modules)
	r.RecordView(
		"",
		"sys",
		"sequences",
		objectColumns+", start_value sql_variant, increment sql_variant, minimum_value sql_variant, maximum_value "+
			"sql_variant, is_cycling bit, is_cached bit, "+
			"cache_size int, system_type_id tinyint, user_type_id int, precision tinyint, scale tinyint, current_value "+
			"sql_variant, is_exhausted bit, last_used_value sql_variant",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			_, objects, err := s.VisibleObjects(ctx)
			var out []engine.Record
			for _, o := range objects {
				if o.Sequence == nil {
					continue
				}
				out = append(out, sequenceRecord(ctx, s, o))
			}
			return out, err
		},
	)
	r.RecordView(
		"",
		"sys",
		"parameters",
		parameterColumns,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			_, objects, err := s.VisibleObjects(ctx)
			var out []engine.Record
			for _, o := range objects {
				if !o.TakesParameters() {
					continue
				}
				if t, ok := engine.ReturnType(o); ok {
					out = append(out, parameterRecord(o.ID, 0, "", t, true))
				}
				for _, p := range s.ModuleParameters(ctx, o) {
					out = append(out, parameterOfModule(o.ID, p))
				}
			}
			return out, err
		},
	)
}

// parameterOfModule is the row of sys.parameters of a parameter, of whatever type it is.
func parameterOfModule(object int32, p engine.ModuleParameter) engine.Record {
	rec := parameterRecord(object, p.Number, p.Name, p.Type, p.Output)
	switch {
	case p.Cursor:
		rec["is_cursor_ref"] = true
	case p.UserType != nil && p.UserType.Kind == metadata.KindTableType:
		rec["system_type_id"], rec["user_type_id"], rec["max_length"], rec["precision"], rec["scale"],
			rec["is_readonly"] = 243, p.UserType.UserTypeID(), -1, 0, 0, true
	case p.UserType != nil:
		rec["user_type_id"] = p.UserType.UserTypeID()
	default:
		rec["user_type_id"] = userTypeID(&metadata.Column{Type: p.Type, UserType: p.TypeName})
	}
	return rec
}

// parameterRecord is a row of sys.parameters; number 0 is what a function returns. Defaults are kept there for CLR
// objects alone.
func parameterRecord(object int32, number int, name string, t sqltype.Type, output bool) engine.Record {
	return engine.Record{
		"object_id":         object,
		"name":              name,
		"parameter_id":      number,
		"system_type_id":    t.SystemTypeID(),
		"user_type_id":      t.SystemTypeID(),
		"max_length":        t.MaxBytes(),
		"precision":         t.DisplayPrecision(),
		"scale":             t.DisplayScale(),
		"is_output":         output,
		"has_default_value": false,
		"is_xml_document":   false,
		"xml_collection_id": 0,
		"is_cursor_ref":     false,
		"is_readonly":       false,
		"is_nullable":       true,
	}
}

// sequenceRecord tells of a sequence in sys.sequences
// (docs/relational-databases/system-catalog-views/sys-sequences-transact-sql.md).
func sequenceRecord(ctx context.Context, s *engine.Session, o *metadata.Object) engine.Record {
	q := o.Sequence
	rec := objectRecord(o)
	rec["start_value"], rec["increment"], rec["minimum_value"], rec["maximum_value"] = engine.SequenceVariant(q, q.Start),
		engine.SequenceVariant(q, q.Increment), engine.SequenceVariant(q, q.Min), engine.SequenceVariant(q, q.Max)
	rec["is_cycling"], rec["is_cached"] = q.Cycle, !q.NoCache
	rec["system_type_id"], rec["user_type_id"], rec["precision"], rec["scale"] = q.Type.SystemTypeID(),
		q.Type.SystemTypeID(), q.Type.DisplayPrecision(), 0
	if q.CacheSize > 0 {
		rec["cache_size"] = q.CacheSize
	}
	last, used, err := s.LastSequenceValue(ctx, o)
	if err != nil {
		return rec
	}
	_, _, more := q.Next(last, used)
	if rec["is_exhausted"], rec["current_value"] = !more, engine.SequenceVariant(q, q.First()); used {
		rec["current_value"], rec["last_used_value"] = engine.SequenceVariant(q, last), engine.SequenceVariant(q, last)
	}
	return rec
}
