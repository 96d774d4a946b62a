// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"maps"
	"slices"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// RecordView registers a view of records. list is for columns, which the catalog's documentation gives when it is
// empty.
func (r *Registry) RecordView(
	database, schema, name, list string,
	rows func(ctx context.Context, s *Session) ([]Record, error),
) {
	v := &View{Database: database, Schema: schema, Name: name}
	if list != "" {
		v.Columns = columns(list)
	}
	v.Rows = func(ctx context.Context, s *Session) ([][]any, error) {
		records, err := rows(ctx, s)
		if err != nil {
			return nil, err
		}
		return byColumns(v.Columns, records), nil
	}
	r.addView(v)
}

// SystemTable is the object_id of a table that an extension registered in the current database, such as msdb's
// dbo.backupset; false when there is none.
func (s *Session) SystemTable(schema, name string) (id int32, ok bool) {
	v := s.inst.registry.views[lower(s.db.Name()+"."+schema+"."+name)]
	if v == nil {
		return 0, false
	}
	return metadata.SystemObjectID(v.Schema + "." + v.Name), true
}

// EmptyView registers a view without rows.
func (r *Registry) EmptyView(database, schema, name, list string) {
	r.RecordView(database, schema, name, list, func(context.Context, *Session) ([]Record, error) { return nil, nil })
}

// TextFunction registers a table-valued function that is a query over views: its arguments are @p1 and the following.
func (r *Registry) TextFunction(schema, name, list, text string, parameters ...sqltype.Type) {
	r.TableFunction(
		TableFunction{
			Schema:     schema,
			Name:       name,
			Parameters: parameters,
			Columns:    columns(list),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				return s.RowsOf(ctx, s.db, text, args)
			},
		},
	)
}

// TextView registers a system view whose rows are those of a query over other views of the same database.
func (r *Registry) TextView(schema, name, list, text string) {
	r.TextViewOf("", schema, name, list, text)
}

// TextViewOf is TextView in one database.
func (r *Registry) TextViewOf(database, schema, name, list, text string) {
	v := View{Database: database, Schema: schema, Name: name, Columns: columns(list)}
	v.Rows = func(ctx context.Context, s *Session) ([][]any, error) {
		return s.RowsOf(ctx, s.viewDatabase(), text, nil)
	}
	r.View(v)
}

// RowsOf are the rows of a query of the engine's own in a database.
func (s *Session) RowsOf(ctx context.Context, db *Database, text string, args []any) ([][]any, error) {
	before, counted := s.db, s.rowCount
	s.db = db
	w := &insertTarget{Writer: &discardWriter{}}
	err := s.run(ctx, text, args, w)
	s.db, s.rowCount = before, counted
	return w.rows, err
}

// Views are the system views that are registered.
func (r *Registry) Views() []*View { return slices.Collect(maps.Values(r.views)) }

// Procedures are the system procedures that are registered.
func (r *Registry) Procedures() []*Procedure { return slices.Collect(maps.Values(r.procedures)) }
