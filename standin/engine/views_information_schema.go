// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/operator/standin/sqltype"
)

func installInformationSchema(r *Registry) {
	view := func(name, list string, rows func(ctx context.Context, s *Session, sch *schema, objects []*Object, catalog string) []record) {
		r.RecordView("", "INFORMATION_SCHEMA", name, list, func(ctx context.Context, s *Session) ([]record, error) {
			sch, objects, err := s.visible(ctx)
			if err != nil {
				return nil, err
			}
			return rows(ctx, s, sch, objects, s.viewDatabase().Name()), nil
		})
	}
	view("SCHEMATA", "CATALOG_NAME sysname, SCHEMA_NAME sysname, SCHEMA_OWNER sysname, DEFAULT_CHARACTER_SET_NAME sysname", func(_ context.Context, _ *Session, sch *schema, _ []*Object, catalog string) []record {
		var out []record
		for _, n := range sch.schemas {
			out = append(out, record{"CATALOG_NAME": catalog, "SCHEMA_NAME": n.Name, "SCHEMA_OWNER": "dbo", "DEFAULT_CHARACTER_SET_NAME": "iso_1"})
		}
		return out
	})
	view("TABLES", "TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, TABLE_TYPE varchar(10)", func(_ context.Context, _ *Session, sch *schema, objects []*Object, catalog string) []record {
		var out []record
		for _, o := range objects {
			kind := map[string]string{kindTable: "BASE TABLE", kindView: "VIEW"}[o.Kind]
			if kind != "" {
				out = append(out, record{"TABLE_CATALOG": catalog, "TABLE_SCHEMA": sch.schemaName(o), "TABLE_NAME": o.Name, "TABLE_TYPE": kind})
			}
		}
		return out
	})
	view("VIEWS", "TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, VIEW_DEFINITION nvarchar(4000), CHECK_OPTION varchar(7), IS_UPDATABLE varchar(2)",
		func(_ context.Context, _ *Session, sch *schema, objects []*Object, catalog string) []record {
			var out []record
			for _, o := range objects {
				if o.Kind == kindView {
					out = append(out, record{"TABLE_CATALOG": catalog, "TABLE_SCHEMA": sch.schemaName(o), "TABLE_NAME": o.Name, "VIEW_DEFINITION": o.cutDefinition(), "CHECK_OPTION": "NONE", "IS_UPDATABLE": "NO"})
				}
			}
			return out
		})
	view("COLUMNS", "TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, COLUMN_NAME sysname, ORDINAL_POSITION int, COLUMN_DEFAULT nvarchar(4000), IS_NULLABLE varchar(3), DATA_TYPE nvarchar(128), "+
		"CHARACTER_MAXIMUM_LENGTH int, CHARACTER_OCTET_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE int, DATETIME_PRECISION smallint, "+
		"CHARACTER_SET_CATALOG sysname, CHARACTER_SET_SCHEMA sysname, CHARACTER_SET_NAME sysname, COLLATION_CATALOG sysname, COLLATION_SCHEMA sysname, COLLATION_NAME sysname, "+
		"DOMAIN_CATALOG sysname, DOMAIN_SCHEMA sysname, DOMAIN_NAME sysname", func(ctx context.Context, s *Session, sch *schema, objects []*Object, catalog string) []record {
		var out []record
		for _, o := range objects {
			var list []*Column
			switch o.Kind {
			case kindTable:
				list = o.Table.Columns
			case kindView:
				list = s.viewShape(ctx, o)
			}
			for i, c := range list {
				rec := informationColumn(c)
				rec["TABLE_CATALOG"], rec["TABLE_SCHEMA"], rec["TABLE_NAME"], rec["ORDINAL_POSITION"] = catalog, sch.schemaName(o), o.Name, i+1
				if d := sch.objects[c.Default]; d != nil {
					rec["COLUMN_DEFAULT"] = d.Definition
				}
				out = append(out, rec)
			}
		}
		return out
	})
	view("TABLE_CONSTRAINTS", "CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, CONSTRAINT_TYPE varchar(11), "+
		"IS_DEFERRABLE varchar(2), INITIALLY_DEFERRED varchar(2)", func(_ context.Context, _ *Session, sch *schema, objects []*Object, catalog string) []record {
		var out []record
		for _, o := range objects {
			kind := map[string]string{kindPrimaryKey: "PRIMARY KEY", kindUnique: "UNIQUE", kindForeignKey: "FOREIGN KEY", kindCheck: "CHECK"}[o.Kind]
			if parent := sch.objects[o.Parent]; kind != "" && parent != nil {
				out = append(out, record{"CONSTRAINT_CATALOG": catalog, "CONSTRAINT_SCHEMA": sch.schemaName(o), "CONSTRAINT_NAME": o.Name, "TABLE_CATALOG": catalog, "TABLE_SCHEMA": sch.schemaName(parent),
					"TABLE_NAME": parent.Name, "CONSTRAINT_TYPE": kind, "IS_DEFERRABLE": "NO", "INITIALLY_DEFERRED": "NO"})
			}
		}
		return out
	})
	view("KEY_COLUMN_USAGE", "CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, COLUMN_NAME sysname, ORDINAL_POSITION int",
		func(_ context.Context, _ *Session, sch *schema, objects []*Object, catalog string) []record {
			var out []record
			for _, o := range objects {
				parent := sch.objects[o.Parent]
				if parent == nil || parent.Table == nil {
					continue
				}
				for i, id := range constraintColumns(o, parent) {
					out = append(out, record{"CONSTRAINT_CATALOG": catalog, "CONSTRAINT_SCHEMA": sch.schemaName(o), "CONSTRAINT_NAME": o.Name, "TABLE_CATALOG": catalog, "TABLE_SCHEMA": sch.schemaName(parent),
						"TABLE_NAME": parent.Name, "COLUMN_NAME": parent.Table.columnByID(id).Name, "ORDINAL_POSITION": i + 1})
				}
			}
			return out
		})
	view("REFERENTIAL_CONSTRAINTS", "CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, UNIQUE_CONSTRAINT_CATALOG sysname, UNIQUE_CONSTRAINT_SCHEMA sysname, "+
		"UNIQUE_CONSTRAINT_NAME sysname, MATCH_OPTION varchar(7), UPDATE_RULE varchar(11), DELETE_RULE varchar(11)", func(_ context.Context, _ *Session, sch *schema, objects []*Object, catalog string) []record {
		var out []record
		for _, o := range objects {
			if o.ForeignKey == nil {
				continue
			}
			rec := record{"CONSTRAINT_CATALOG": catalog, "CONSTRAINT_SCHEMA": sch.schemaName(o), "CONSTRAINT_NAME": o.Name, "UNIQUE_CONSTRAINT_CATALOG": catalog, "MATCH_OPTION": "SIMPLE",
				"UPDATE_RULE": strings.ReplaceAll(o.ForeignKey.OnUpdate, "_", " "), "DELETE_RULE": strings.ReplaceAll(o.ForeignKey.OnDelete, "_", " ")}
			if ref := sch.objects[o.ForeignKey.Referenced]; ref != nil {
				rec["UNIQUE_CONSTRAINT_SCHEMA"] = sch.schemaName(ref)
				for _, i := range ref.Table.Indexes {
					if i.ID == o.ForeignKey.RefIndex {
						rec["UNIQUE_CONSTRAINT_NAME"] = i.Name
					}
				}
			}
			out = append(out, rec)
		}
		return out
	})
	view("ROUTINES", "SPECIFIC_CATALOG sysname, SPECIFIC_SCHEMA sysname, SPECIFIC_NAME sysname, ROUTINE_CATALOG sysname, ROUTINE_SCHEMA sysname, ROUTINE_NAME sysname, ROUTINE_TYPE nvarchar(20), "+
		"ROUTINE_DEFINITION nvarchar(4000), CREATED datetime, LAST_ALTERED datetime", func(_ context.Context, _ *Session, sch *schema, objects []*Object, catalog string) []record {
		var out []record
		for _, o := range objects {
			kind := map[string]string{kindProcedure: "PROCEDURE", kindScalar: "FUNCTION", kindInline: "FUNCTION", kindTableFunction: "FUNCTION"}[o.Kind]
			if kind != "" {
				out = append(out, record{"SPECIFIC_CATALOG": catalog, "SPECIFIC_SCHEMA": sch.schemaName(o), "SPECIFIC_NAME": o.Name, "ROUTINE_CATALOG": catalog, "ROUTINE_SCHEMA": sch.schemaName(o),
					"ROUTINE_NAME": o.Name, "ROUTINE_TYPE": kind, "ROUTINE_DEFINITION": o.cutDefinition(), "CREATED": o.Created, "LAST_ALTERED": o.Modified})
			}
		}
		return out
	})
}

func constraintColumns(o, parent *Object) []int32 {
	if o.ForeignKey != nil {
		return o.ForeignKey.Columns
	}
	for _, i := range parent.Table.Indexes {
		if i.Constraint == o.ID {
			var out []int32
			for _, k := range i.Keys {
				out = append(out, k.Column)
			}
			return out
		}
	}
	return nil
}

func informationColumn(c *Column) record {
	name := c.Type.Kind.String()
	if c.Numeric {
		name = "numeric"
	}
	rec := record{"COLUMN_NAME": c.Name, "IS_NULLABLE": map[bool]string{true: "YES", false: "NO"}[c.Nullable], "DATA_TYPE": name}
	switch {
	case c.Type.Kind.IsCharacter():
		rec["CHARACTER_MAXIMUM_LENGTH"], rec["CHARACTER_OCTET_LENGTH"] = c.Type.Length, c.Type.MaxBytes()
		rec["CHARACTER_SET_NAME"], rec["COLLATION_NAME"] = "iso_1", c.Collation
		if c.Type.Kind.IsUnicode() {
			rec["CHARACTER_SET_NAME"] = "UNICODE"
		}
	case c.Type.Kind.IsBinary() && c.Type.Kind != sqltype.RowVersion:
		rec["CHARACTER_MAXIMUM_LENGTH"], rec["CHARACTER_OCTET_LENGTH"] = c.Type.Length, c.Type.MaxBytes()
	case c.Type.Kind.IsApproximate():
		rec["NUMERIC_PRECISION"], rec["NUMERIC_PRECISION_RADIX"] = c.Type.DisplayPrecision(), 2
	case c.Type.Kind.IsNumeric() && c.Type.Kind != sqltype.Bit:
		rec["NUMERIC_PRECISION"], rec["NUMERIC_PRECISION_RADIX"], rec["NUMERIC_SCALE"] = c.Type.DisplayPrecision(), 10, c.Type.DisplayScale()
	case c.Type.Kind.IsTemporal():
		rec["DATETIME_PRECISION"] = c.Type.DisplayScale()
	}
	return rec
}
