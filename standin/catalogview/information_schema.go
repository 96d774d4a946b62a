// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"maps"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// informationColumns are the columns of COLUMNS and ROUTINE_COLUMNS
// (docs/relational-databases/system-information-schema-views/columns-transact-sql.md, routine-columns-transact-sql.md).
const informationColumns = "TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, COLUMN_NAME sysname, " +
	"ORDINAL_POSITION int, COLUMN_DEFAULT nvarchar(4000), IS_NULLABLE varchar(3), DATA_TYPE nvarchar(128), " +
	"CHARACTER_MAXIMUM_LENGTH int, CHARACTER_OCTET_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX " +
	"smallint, NUMERIC_SCALE int, DATETIME_PRECISION smallint, " +
	"CHARACTER_SET_CATALOG sysname, CHARACTER_SET_SCHEMA sysname, CHARACTER_SET_NAME sysname, COLLATION_CATALOG " +
	"sysname, COLLATION_SCHEMA sysname, COLLATION_NAME sysname, " +
	"DOMAIN_CATALOG sysname, DOMAIN_SCHEMA sysname, DOMAIN_NAME sysname"

func installInformationSchema(r *engine.Registry) {
	view := func(name, list string,
		rows func(ctx context.Context, s *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record) {
		r.RecordView(
			"",
			"INFORMATION_SCHEMA",
			name,
			list,
			func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
				sch, objects, err := s.VisibleObjects(ctx)
				if err != nil {
					return nil, err
				}
				return rows(ctx, s, sch, objects, s.ViewDatabase().Name()), nil
			},
		)
	}
	view(
		"SCHEMATA",
		"CATALOG_NAME sysname, SCHEMA_NAME sysname, SCHEMA_OWNER sysname, DEFAULT_CHARACTER_SET_NAME sysname",
		func(_ context.Context, _ *engine.Session, sch *metadata.Catalog, _ []*metadata.Object,
			catalog string) []engine.Record {
			var out []engine.Record
			for _, n := range sch.Schemas {
				out = append(
					out,
					engine.Record{
						"CATALOG_NAME":               catalog,
						"SCHEMA_NAME":                n.Name,
						"SCHEMA_OWNER":               "dbo",
						"DEFAULT_CHARACTER_SET_NAME": "iso_1",
					},
				)
			}
			return out
		},
	)
	view(
		"TABLES",
		"TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, TABLE_TYPE varchar(10)",
		func(_ context.Context, _ *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			var out []engine.Record
			for _, o := range objects {
				kind := map[string]string{metadata.KindTable: "BASE TABLE", metadata.KindView: "VIEW"}[o.Kind]
				if kind != "" {
					out = append(
						out,
						engine.Record{
							"TABLE_CATALOG": catalog,
							"TABLE_SCHEMA":  sch.SchemaName(o),
							"TABLE_NAME":    o.Name,
							"TABLE_TYPE":    kind,
						},
					)
				}
			}
			return out
		},
	)
	view(
		"VIEWS",
		"TABLE_CATALOG sysname, TABLE_SCHEMA sysname, TABLE_NAME sysname, VIEW_DEFINITION nvarchar(4000), CHECK_OPTION "+
			"varchar(7), IS_UPDATABLE varchar(2)",
		func(_ context.Context, s *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			var out []engine.Record
			for _, o := range objects {
				if o.Kind == metadata.KindView {
					out = append(
						out,
						engine.Record{
							"TABLE_CATALOG":   catalog,
							"TABLE_SCHEMA":    sch.SchemaName(o),
							"TABLE_NAME":      o.Name,
							"VIEW_DEFINITION": cutDefinition(s, sch, o),
							"CHECK_OPTION":    "NONE",
							"IS_UPDATABLE":    "NO",
						},
					)
				}
			}
			return out
		},
	)
	view(
		"COLUMNS",
		informationColumns,
		func(ctx context.Context, s *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			return informationColumnRecords(ctx, s, sch, objects, catalog, metadata.KindTable, metadata.KindView)
		},
	)
	view(
		"ROUTINE_COLUMNS",
		informationColumns,
		func(ctx context.Context, s *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			return informationColumnRecords(ctx, s, sch, objects, catalog, metadata.KindInline, metadata.KindTableFunction)
		},
	)
	view(
		"TABLE_CONSTRAINTS",
		"CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, TABLE_CATALOG sysname, "+
			"TABLE_SCHEMA sysname, TABLE_NAME sysname, CONSTRAINT_TYPE varchar(11), "+
			"IS_DEFERRABLE varchar(2), INITIALLY_DEFERRED varchar(2)",
		func(_ context.Context, _ *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			var out []engine.Record
			for _, o := range objects {
				kind := map[string]string{metadata.KindPrimaryKey: "PRIMARY KEY", metadata.KindUnique: "UNIQUE",
					metadata.KindForeignKey: "FOREIGN KEY", metadata.KindCheck: "CHECK"}[o.Kind]
				if parent := sch.Objects[o.Parent]; kind != "" && parent != nil {
					out = append(
						out,
						engine.Record{
							"CONSTRAINT_CATALOG": catalog,
							"CONSTRAINT_SCHEMA":  sch.SchemaName(o),
							"CONSTRAINT_NAME":    o.Name,
							"TABLE_CATALOG":      catalog,
							"TABLE_SCHEMA":       sch.SchemaName(parent),
							"TABLE_NAME":         parent.Name,
							"CONSTRAINT_TYPE":    kind,
							"IS_DEFERRABLE":      "NO",
							"INITIALLY_DEFERRED": "NO",
						},
					)
				}
			}
			return out
		},
	)
	view(
		"KEY_COLUMN_USAGE",
		"CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, TABLE_CATALOG sysname, "+
			"TABLE_SCHEMA sysname, TABLE_NAME sysname, COLUMN_NAME sysname, ORDINAL_POSITION int",
		func(_ context.Context, _ *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			var out []engine.Record
			for _, o := range objects {
				parent := sch.Objects[o.Parent]
				if parent == nil || parent.Table == nil {
					continue
				}
				for i, id := range constraintColumns(o, parent) {
					out = append(
						out,
						engine.Record{
							"CONSTRAINT_CATALOG": catalog,
							"CONSTRAINT_SCHEMA":  sch.SchemaName(o),
							"CONSTRAINT_NAME":    o.Name,
							"TABLE_CATALOG":      catalog,
							"TABLE_SCHEMA":       sch.SchemaName(parent),
							"TABLE_NAME":         parent.Name,
							"COLUMN_NAME":        parent.Table.ColumnByID(id).Name,
							"ORDINAL_POSITION":   i + 1,
						},
					)
				}
			}
			return out
		},
	)
	view(
		"REFERENTIAL_CONSTRAINTS",
		"CONSTRAINT_CATALOG sysname, CONSTRAINT_SCHEMA sysname, CONSTRAINT_NAME sysname, UNIQUE_CONSTRAINT_CATALOG "+
			"sysname, UNIQUE_CONSTRAINT_SCHEMA sysname, "+
			"UNIQUE_CONSTRAINT_NAME sysname, MATCH_OPTION varchar(7), UPDATE_RULE varchar(11), DELETE_RULE varchar(11)",
		func(_ context.Context, _ *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			var out []engine.Record
			for _, o := range objects {
				if o.ForeignKey == nil {
					continue
				}
				rec := engine.Record{
					"CONSTRAINT_CATALOG":        catalog,
					"CONSTRAINT_SCHEMA":         sch.SchemaName(o),
					"CONSTRAINT_NAME":           o.Name,
					"UNIQUE_CONSTRAINT_CATALOG": catalog,
					"MATCH_OPTION":              "SIMPLE",
					"UPDATE_RULE": strings.ReplaceAll(
						o.ForeignKey.OnUpdate,
						"_",
						" ",
					),
					"DELETE_RULE": strings.ReplaceAll(o.ForeignKey.OnDelete, "_", " "),
				}
				if ref := sch.Objects[o.ForeignKey.Referenced]; ref != nil {
					rec["UNIQUE_CONSTRAINT_SCHEMA"] = sch.SchemaName(ref)
					for _, i := range ref.Table.Indexes {
						if i.ID == o.ForeignKey.RefIndex {
							rec["UNIQUE_CONSTRAINT_NAME"] = i.Name
						}
					}
				}
				out = append(out, rec)
			}
			return out
		},
	)
	view(
		"ROUTINES",
		"SPECIFIC_CATALOG sysname, SPECIFIC_SCHEMA sysname, SPECIFIC_NAME sysname, ROUTINE_CATALOG sysname, "+
			"ROUTINE_SCHEMA sysname, ROUTINE_NAME sysname, ROUTINE_TYPE nvarchar(20), "+
			"MODULE_CATALOG sysname, MODULE_SCHEMA sysname, MODULE_NAME sysname, UDT_CATALOG sysname, UDT_SCHEMA sysname, "+
			"UDT_NAME sysname, DATA_TYPE sysname, CHARACTER_MAXIMUM_LENGTH int, CHARACTER_OCTET_LENGTH int, "+
			"COLLATION_CATALOG sysname, COLLATION_SCHEMA sysname, COLLATION_NAME sysname, CHARACTER_SET_CATALOG sysname, "+
			"CHARACTER_SET_SCHEMA sysname, CHARACTER_SET_NAME sysname, NUMERIC_PRECISION smallint, "+
			"NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE smallint, DATETIME_PRECISION smallint, INTERVAL_TYPE "+
			"nvarchar(30), INTERVAL_PRECISION smallint, TYPE_UDT_CATALOG sysname, TYPE_UDT_SCHEMA sysname, "+
			"TYPE_UDT_NAME sysname, SCOPE_CATALOG sysname, SCOPE_SCHEMA sysname, SCOPE_NAME sysname, MAXIMUM_CARDINALITY "+
			"bigint, DTD_IDENTIFIER sysname, ROUTINE_BODY nvarchar(30), ROUTINE_DEFINITION nvarchar(4000), "+
			"EXTERNAL_NAME sysname, EXTERNAL_LANGUAGE nvarchar(30), PARAMETER_STYLE nvarchar(30), IS_DETERMINISTIC "+
			"nvarchar(10), SQL_DATA_ACCESS nvarchar(30), IS_NULL_CALL nvarchar(10), SCHEMA_LEVEL_ROUTINE nvarchar(10), "+
			"MAX_DYNAMIC_RESULT_SETS smallint, IS_USER_DEFINED_CAST nvarchar(10), IS_IMPLICITLY_INVOCABLE nvarchar(10), "+
			"CREATED datetime, LAST_ALTERED datetime",
		func(_ context.Context, s *engine.Session, sch *metadata.Catalog, objects []*metadata.Object,
			catalog string) []engine.Record {
			var out []engine.Record
			for _, o := range objects {
				kind := map[string]string{metadata.KindProcedure: "PROCEDURE", metadata.KindScalar: "FUNCTION",
					metadata.KindInline: "FUNCTION", metadata.KindTableFunction: "FUNCTION"}[o.Kind]
				if kind != "" {
					rec := routineTyped(o)
					maps.Copy(
						rec,
						engine.Record{
							"SPECIFIC_CATALOG":        catalog,
							"SPECIFIC_SCHEMA":         sch.SchemaName(o),
							"SPECIFIC_NAME":           o.Name,
							"ROUTINE_CATALOG":         catalog,
							"ROUTINE_SCHEMA":          sch.SchemaName(o),
							"ROUTINE_NAME":            o.Name,
							"ROUTINE_TYPE":            kind,
							"ROUTINE_DEFINITION":      cutDefinition(s, sch, o),
							"CREATED":                 o.Created,
							"LAST_ALTERED":            o.Modified,
							"ROUTINE_BODY":            "SQL",
							"IS_DETERMINISTIC":        "NO",
							"SCHEMA_LEVEL_ROUTINE":    "YES",
							"IS_USER_DEFINED_CAST":    "NO",
							"IS_IMPLICITLY_INVOCABLE": "NO",
						},
					)
					out = append(out, rec)
				}
			}
			return out
		},
	)
}

// routineTyped is what INFORMATION_SCHEMA.ROUTINES tells of a function's result, and of what a procedure has in its
// place.
func routineTyped(o *metadata.Object) engine.Record {
	switch o.Kind {
	case metadata.KindProcedure:
		return engine.Record{"SQL_DATA_ACCESS": "MODIFIES", "MAX_DYNAMIC_RESULT_SETS": -1}
	case metadata.KindScalar:
		rec := engine.Record{
			"SQL_DATA_ACCESS":         "READS",
			"MAX_DYNAMIC_RESULT_SETS": 0,
			"IS_NULL_CALL":            map[bool]string{true: "NO", false: "YES"}[o.NullOnNull],
		}
		if t, ok := engine.ReturnType(o); ok {
			rec["DATA_TYPE"] = t.Kind.String()
			maps.Copy(rec, informationType(t))
		}
		return rec
	}
	return engine.Record{"SQL_DATA_ACCESS": "READS", "MAX_DYNAMIC_RESULT_SETS": 0, "DATA_TYPE": "TABLE"}
}

func constraintColumns(o, parent *metadata.Object) []int32 {
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

// informationColumnRecords are the columns of the objects of some kinds, as COLUMNS and ROUTINE_COLUMNS tell of them.
func informationColumnRecords(
	ctx context.Context,
	s *engine.Session,
	sch *metadata.Catalog,
	objects []*metadata.Object,
	catalog string,
	kinds ...string,
) []engine.Record {
	aliases := aliasTypes(sch)
	var out []engine.Record
	for _, o := range objects {
		if !slices.Contains(kinds, o.Kind) {
			continue
		}
		var list []*metadata.Column
		if o.Kind == metadata.KindView || o.Kind == metadata.KindInline {
			list = s.ViewShape(ctx, o)
		} else {
			list = o.Table.Columns
		}
		for i, c := range list {
			rec := informationColumn(c)
			rec["TABLE_CATALOG"], rec["TABLE_SCHEMA"], rec["TABLE_NAME"], rec["ORDINAL_POSITION"] = catalog, sch.SchemaName(
				o,
			), o.Name, i+1
			if d := sch.Objects[c.Default]; d != nil {
				rec["COLUMN_DEFAULT"] = d.Definition
			}
			if alias := aliases[c.UserTypeID]; alias != nil {
				rec["DOMAIN_CATALOG"], rec["DOMAIN_SCHEMA"], rec["DOMAIN_NAME"] = catalog, sch.SchemaName(alias), alias.TypeName()
			}
			out = append(out, rec)
		}
	}
	return out
}

// aliasTypes are the alias types of a database by their user_type_id.
func aliasTypes(sch *metadata.Catalog) map[int64]*metadata.Object {
	out := map[int64]*metadata.Object{}
	for _, o := range sch.Objects {
		if o.Kind == metadata.KindAlias {
			out[o.UserTypeID()] = o
		}
	}
	return out
}

func informationColumn(c *metadata.Column) engine.Record {
	name := c.Type.Kind.String()
	if c.Numeric {
		name = "numeric"
	}
	rec := engine.Record{
		"COLUMN_NAME": c.Name,
		"IS_NULLABLE": map[bool]string{true: "YES", false: "NO"}[c.Nullable],
		"DATA_TYPE":   name,
	}
	maps.Copy(rec, informationType(c.Type))
	if c.Type.Kind.IsCharacter() {
		rec["COLLATION_NAME"] = c.Collation
	}
	return rec
}

// informationType is how long and how precise a type's values are.
func informationType(t sqltype.Type) engine.Record {
	rec := engine.Record{}
	switch {
	case t.Kind == sqltype.XML:
		rec["CHARACTER_MAXIMUM_LENGTH"], rec["CHARACTER_OCTET_LENGTH"] = sqltype.MaxLength, sqltype.MaxLength
	case t.Kind.IsCharacter(), t.Kind.IsBinary() && t.Kind != sqltype.RowVersion:
		rec["CHARACTER_MAXIMUM_LENGTH"], rec["CHARACTER_OCTET_LENGTH"] = informationLength(t)
		if t.Kind.IsUnicode() {
			rec["CHARACTER_SET_NAME"] = "UNICODE"
		} else if t.Kind.IsCharacter() {
			rec["CHARACTER_SET_NAME"] = "iso_1"
		}
	case t.Kind.IsApproximate():
		rec["NUMERIC_PRECISION"], rec["NUMERIC_PRECISION_RADIX"] = t.DisplayPrecision(), 2
	case t.Kind.IsNumeric() && t.Kind != sqltype.Bit:
		rec["NUMERIC_PRECISION"], rec["NUMERIC_PRECISION_RADIX"], rec["NUMERIC_SCALE"] = t.DisplayPrecision(), 10,
			t.DisplayScale()
	case t.Kind.IsTemporal():
		rec["DATETIME_PRECISION"] = t.DisplayScale()
	}
	return rec
}

// informationLength is how many characters or bytes a value of a type has at most, and how many bytes: text and image
// data have what the storage takes (docs/t-sql/data-types/ntext-text-and-image-transact-sql.md), where sys.columns has
// the size of the pointer to them.
func informationLength(t sqltype.Type) (length, octets int) {
	switch t.Kind {
	case sqltype.Text, sqltype.Image:
		return 1<<31 - 1, 1<<31 - 1
	case sqltype.NText:
		return 1<<30 - 1, 1<<31 - 2
	}
	return t.Length, t.MaxBytes()
}

// cutDefinition is definitionSeen as the information schema has it.
func cutDefinition(s *engine.Session, sch *metadata.Catalog, o *metadata.Object) any {
	text, ok := s.DefinitionSeen(sch, o).(string)
	if !ok {
		return nil
	}
	return sqltype.Cut(text, 4000)
}
