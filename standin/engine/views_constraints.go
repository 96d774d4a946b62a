// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/metadata"
	"geosql.dev/operator/standin/sqltype"
)

// parameterColumns are those of sys.parameters (docs/relational-databases/system-catalog-views/sys-parameters-transact-sql.md).
const parameterColumns = "object_id int, name sysname, parameter_id int, system_type_id tinyint, user_type_id int, max_length smallint, precision tinyint, scale tinyint, " +
	"is_output bit, is_cursor_ref bit, has_default_value bit, is_xml_document bit, default_value sql_variant, xml_collection_id int, is_readonly bit, is_nullable bit"

// constraintView registers a view over the objects of one kind, with columns of its own.
func constraintView(r *Registry, name, list string, kinds string, more func(sch *metadata.Catalog, o *metadata.Object, rec record)) {
	r.RecordView("", "sys", name, objectColumns+", "+list, func(ctx context.Context, s *Session) ([]record, error) {
		sch, objects, err := s.visible(ctx)
		if err != nil {
			return nil, err
		}
		var out []record
		for _, o := range objects {
			if o.Kind == kinds || len(kinds) > 2 && (o.Kind == kinds[:2] || o.Kind == kinds[2:]) {
				rec := objectRecord(o)
				more(sch, o, rec)
				out = append(out, rec)
			}
		}
		return out, nil
	})
}

func installConstraintViews(r *Registry) {
	constraintView(r, "key_constraints", "unique_index_id int, is_system_named bit, is_enforced bit", metadata.KindPrimaryKey+metadata.KindUnique, func(sch *metadata.Catalog, o *metadata.Object, rec record) {
		rec["is_system_named"], rec["is_enforced"] = o.SystemNamed, true
		if t := sch.Objects[o.Parent]; t != nil && t.Table != nil {
			for _, i := range t.Table.Indexes {
				if i.Constraint == o.ID {
					rec["unique_index_id"] = i.ID
				}
			}
		}
	})
	constraintView(r, "check_constraints", "is_disabled bit, is_not_for_replication bit, is_not_trusted bit, parent_column_id int, definition nvarchar(max), uses_database_collation bit, is_system_named bit",
		metadata.KindCheck, func(_ *metadata.Catalog, o *metadata.Object, rec record) {
			rec["is_disabled"], rec["is_not_for_replication"], rec["is_not_trusted"], rec["parent_column_id"] = o.Disabled, o.NotForReplication, o.NotTrusted, o.Column
			rec["definition"], rec["uses_database_collation"], rec["is_system_named"] = o.Definition, true, o.SystemNamed
		})
	constraintView(r, "default_constraints", "parent_column_id int, definition nvarchar(max), is_system_named bit", metadata.KindDefault, func(_ *metadata.Catalog, o *metadata.Object, rec record) {
		rec["parent_column_id"], rec["definition"], rec["is_system_named"] = o.Column, o.Definition, o.SystemNamed
	})
	constraintView(r, "foreign_keys", "referenced_object_id int, key_index_id int, is_disabled bit, is_not_for_replication bit, is_not_trusted bit, delete_referential_action tinyint, "+
		"delete_referential_action_desc nvarchar(60), update_referential_action tinyint, update_referential_action_desc nvarchar(60), is_system_named bit", metadata.KindForeignKey,
		func(_ *metadata.Catalog, o *metadata.Object, rec record) {
			if o.ForeignKey == nil {
				return
			}
			actions := map[string]int64{"NO_ACTION": 0, "CASCADE": 1, "SET_NULL": 2, "SET_DEFAULT": 3}
			rec["referenced_object_id"], rec["key_index_id"] = o.ForeignKey.Referenced, o.ForeignKey.RefIndex
			rec["is_disabled"], rec["is_not_for_replication"], rec["is_not_trusted"], rec["is_system_named"] = o.Disabled, o.NotForReplication, o.NotTrusted, o.SystemNamed
			rec["delete_referential_action"], rec["delete_referential_action_desc"] = actions[o.ForeignKey.OnDelete], o.ForeignKey.OnDelete
			rec["update_referential_action"], rec["update_referential_action_desc"] = actions[o.ForeignKey.OnUpdate], o.ForeignKey.OnUpdate
		})
	r.RecordView("", "sys", "foreign_key_columns", "constraint_object_id int, constraint_column_id int, parent_object_id int, parent_column_id int, referenced_object_id int, referenced_column_id int",
		func(ctx context.Context, s *Session) ([]record, error) {
			_, objects, err := s.visible(ctx)
			var out []record
			for _, o := range objects {
				if o.ForeignKey == nil {
					continue
				}
				for i := range o.ForeignKey.Columns {
					out = append(out, record{"constraint_object_id": o.ID, "constraint_column_id": i + 1, "parent_object_id": o.Parent, "parent_column_id": o.ForeignKey.Columns[i],
						"referenced_object_id": o.ForeignKey.Referenced, "referenced_column_id": o.ForeignKey.RefColumns[i]})
				}
			}
			return out, err
		})
}

func installModuleViews(r *Registry) {
	modules := func(ctx context.Context, s *Session) ([]record, error) {
		sch, objects, err := s.visible(ctx)
		if err != nil {
			return nil, err
		}
		var out []record
		sight := s.sight(ctx, s.viewDatabase().ID())
		for _, o := range append(sch.ScopedTriggers(metadata.ScopedSchema(metadata.DatabaseScope)), objects...) {
			definition := shownDefinition(o)
			if sight(sch, o) != SeenThrough {
				definition = nil
			}
			switch o.Kind {
			case metadata.KindView, metadata.KindProcedure, metadata.KindScalar, metadata.KindInline, metadata.KindTableFunction, metadata.KindTrigger, metadata.KindScopedTrigger:
				out = append(out, record{"object_id": o.ID, "definition": definition, "uses_ansi_nulls": !o.AnsiNullsOff, "uses_quoted_identifier": o.QuotedIdentifier, "is_schema_bound": isSchemaBound(o),
					"uses_database_collation": false, "is_recompiled": o.Recompiled, "null_on_null_input": o.NullOnNull, "execute_as_principal_id": o.ExecuteAsPrincipal(), "uses_native_compilation": false, "inline_type": false, "is_inlineable": false})
			}
		}
		return out, err
	}
	list := "object_id int, definition nvarchar(max), uses_ansi_nulls bit, uses_quoted_identifier bit, is_schema_bound bit, uses_database_collation bit, is_recompiled bit, " +
		"null_on_null_input bit, execute_as_principal_id int, uses_native_compilation bit, inline_type bit, is_inlineable bit"
	r.RecordView("", "sys", "sql_modules", list, modules)
	r.RecordView("", "sys", "all_sql_modules", list, modules)
	r.RecordView("", "sys", "sequences", objectColumns+", start_value sql_variant, increment sql_variant, minimum_value sql_variant, maximum_value sql_variant, is_cycling bit, is_cached bit, "+
		"cache_size int, system_type_id tinyint, user_type_id int, precision tinyint, scale tinyint, current_value sql_variant, is_exhausted bit, last_used_value sql_variant", func(ctx context.Context, s *Session) ([]record, error) {
		_, objects, err := s.visible(ctx)
		var out []record
		for _, o := range objects {
			if o.Sequence == nil {
				continue
			}
			out = append(out, s.sequenceRecord(ctx, o))
		}
		return out, err
	})
	r.RecordView("", "sys", "parameters", parameterColumns, func(ctx context.Context, s *Session) ([]record, error) {
		_, objects, err := s.visible(ctx)
		before := s.db
		s.db = s.viewDatabase()
		defer func() { s.db = before }()
		var out []record
		for _, o := range objects {
			if !o.TakesParameters() {
				continue
			}
			_, node, perr := parseModule(o)
			if perr != nil {
				continue
			}
			if t, ok := returnTypeOf(o); ok {
				out = append(out, parameterRecord(o.ID, 0, "", t, true))
			}
			for i, p := range partsOf(node).parameters {
				if rec := s.parameterOfModule(ctx, o.ID, i+1, p); rec != nil {
					out = append(out, rec)
				}
			}
		}
		return out, err
	})
}

// parameterOfModule is the row of sys.parameters of a parameter, of whatever type it is; nil when its type is there no longer.
func (s *Session) parameterOfModule(ctx context.Context, object int32, number int, p *ast.ProcedureParameter) record {
	output := p.Modifier == "Output"
	if isCursorType(p.DataType) {
		rec := parameterRecord(object, number, p.VariableName.Value, sqltype.Type{}, output)
		rec["is_cursor_ref"] = true
		return rec
	}
	name := s.typeNameIn(p.DataType)
	o := s.userType(ctx, name)
	if o != nil && o.Kind == metadata.KindTableType {
		rec := parameterRecord(object, number, p.VariableName.Value, sqltype.Type{}, output)
		rec["system_type_id"], rec["user_type_id"], rec["max_length"], rec["precision"], rec["scale"], rec["is_readonly"] = 243, o.UserTypeID(), -1, 0, 0, true
		return rec
	}
	t, err := s.moduleType(ctx, p.DataType)
	if err != nil {
		return nil
	}
	rec := parameterRecord(object, number, p.VariableName.Value, t, output)
	if rec["user_type_id"] = userTypeID(&metadata.Column{Type: t, UserType: name.name}); o != nil {
		rec["user_type_id"] = o.UserTypeID()
	}
	return rec
}

// parameterRecord is a row of sys.parameters; number 0 is what a function returns. Defaults are kept there for CLR objects alone.
func parameterRecord(object int32, number int, name string, t sqltype.Type, output bool) record {
	return record{"object_id": object, "name": name, "parameter_id": number, "system_type_id": t.SystemTypeID(), "user_type_id": t.SystemTypeID(), "max_length": t.MaxBytes(),
		"precision": t.DisplayPrecision(), "scale": t.DisplayScale(), "is_output": output, "has_default_value": false, "is_xml_document": false, "xml_collection_id": 0,
		"is_cursor_ref": false, "is_readonly": false, "is_nullable": true}
}
