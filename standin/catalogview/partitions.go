// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// installPartitionViews registers the views of partition functions and schemes
// (docs/relational-databases/system-catalog-views/sys-partition-functions-transact-sql.md and its neighbours).
func installPartitionViews(r *engine.Registry) {
	r.RecordView(
		"",
		"sys",
		"partition_functions",
		"name sysname, function_id int, type char(2), type_desc nvarchar(60), fanout int, boundary_value_on_right bit, "+
			"is_system bit, create_date datetime, modify_date datetime",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			return placementRecords(
				ctx,
				s,
				metadata.KindPartitionFunction,
				func(_ *metadata.Catalog, o *metadata.Object) []engine.Record {
					return []engine.Record{
						{
							"name":                    o.Name,
							"function_id":             o.Function.ID,
							"type":                    "R",
							"type_desc":               "RANGE",
							"fanout":                  o.Function.Fanout(),
							"boundary_value_on_right": o.Function.Right,
							"is_system":               false,
							"create_date":             o.Created,
							"modify_date":             o.Modified,
						},
					}
				},
			)
		},
	)
	r.RecordView(
		"",
		"sys",
		"partition_parameters",
		"function_id int, parameter_id int, system_type_id tinyint, max_length smallint, precision tinyint, scale "+
			"tinyint, collation_name sysname, user_type_id int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			return placementRecords(
				ctx,
				s,
				metadata.KindPartitionFunction,
				func(_ *metadata.Catalog, o *metadata.Object) []engine.Record {
					t := o.Function.Type
					c := &metadata.Column{Type: t}
					rec := engine.Record{
						"function_id":    o.Function.ID,
						"parameter_id":   1,
						"system_type_id": systemTypeID(c),
						"user_type_id":   userTypeID(c),
						"max_length":     t.MaxBytes(),
						"precision":      t.DisplayPrecision(),
						"scale":          t.DisplayScale(),
					}
					if t.Kind.IsCharacter() {
						rec["collation_name"] = o.Function.Collation
					}
					return []engine.Record{rec}
				},
			)
		},
	)
	r.RecordView(
		"",
		"sys",
		"partition_range_values",
		"function_id int, boundary_id int, parameter_id int, value sql_variant",
		rangeValueRecords,
	)
	r.RecordView(
		"",
		"sys",
		"partition_schemes",
		"name sysname, data_space_id int, type char(2), type_desc nvarchar(60), is_default bit, is_system bit, "+
			"function_id int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) { return schemeRecords(ctx, s) },
	)
	r.RecordView("", "sys", "destination_data_spaces", "partition_scheme_id int, destination_id int, data_space_id int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			return placementRecords(
				ctx,
				s,
				metadata.KindPartitionScheme,
				func(_ *metadata.Catalog, o *metadata.Object) []engine.Record {
					groups := o.Scheme.Groups
					if o.Scheme.Next != 0 {
						groups = append(groups[:len(groups):len(groups)], o.Scheme.Next)
					}
					var out []engine.Record
					for i, g := range groups {
						out = append(out, engine.Record{"partition_scheme_id": o.Scheme.ID, "destination_id": i + 1, "data_space_id": g})
					}
					return out
				},
			)
		})
}

func placementRecords(
	ctx context.Context,
	s *engine.Session,
	kind string,
	of func(sch *metadata.Catalog, o *metadata.Object) []engine.Record,
) ([]engine.Record, error) {
	sch, err := s.Catalog(ctx, s.ViewDatabase())
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	for _, o := range sch.Placed(kind) {
		out = append(out, of(sch, o)...)
	}
	return out, nil
}

func schemeRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	return placementRecords(
		ctx,
		s,
		metadata.KindPartitionScheme,
		func(_ *metadata.Catalog, o *metadata.Object) []engine.Record {
			return []engine.Record{
				{
					"name":          o.Name,
					"data_space_id": o.Scheme.ID,
					"type":          "PS",
					"type_desc":     "PARTITION_SCHEME",
					"is_default":    false,
					"is_system":     false,
					"function_id":   o.Scheme.Function,
				},
			}
		},
	)
}

// rangeValueRecords are the boundary values as values of their type.
func rangeValueRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	conn, release, err := s.Conn(ctx, s.ViewDatabase())
	if err != nil {
		return nil, err
	}
	defer release()
	var failed error
	out, err := placementRecords(
		ctx,
		s,
		metadata.KindPartitionFunction,
		func(_ *metadata.Catalog, o *metadata.Object) []engine.Record {
			var list []engine.Record
			for i, text := range o.Function.Values {
				rec := engine.Record{"function_id": o.Function.ID, "boundary_id": i + 1, "parameter_id": 1}
				e := sqlitex.ExecuteTransient(conn, "SELECT "+text, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
					v, err := sqltype.Decode(o.Function.Type, storage.ColumnValue(stmt, 0))
					if v != nil {
						rec["value"] = sqltype.Variant{Type: o.Function.Type, Value: v}
					}
					return err
				}})
				if e != nil {
					failed = e
				}
				list = append(list, rec)
			}
			return list
		},
	)
	if err == nil {
		err = failed
	}
	return out, err
}
