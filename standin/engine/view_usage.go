// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
)

// viewColumnRecords is INFORMATION_SCHEMA.VIEW_COLUMN_USAGE: the columns that the queries of views name
// (docs/relational-databases/system-information-schema-views/view-column-usage-transact-sql.md). A view that can't be
// bound any more has none.
func viewColumnRecords(ctx context.Context, s *Session) ([]record, error) {
	sch, err := s.Catalog(ctx, s.viewDatabase())
	if err != nil {
		return nil, err
	}
	before := s.db
	s.db = s.viewDatabase()
	defer func() { s.db = before }()
	sight := s.Sight(ctx, s.db.ID())
	var out []record
	for _, v := range sch.Sorted() {
		if v.Kind != metadata.KindView || sight(sch, v) != SeenThrough {
			continue
		}
		def, _ := bind.ViewDefinition(v)
		if def == nil {
			continue
		}
		type column struct {
			object *metadata.Object
			name   string
		}
		seen := map[column]bool{}
		var columns []column
		b := newBinder(ctx, s, s.db.ID())
		b.Usage = func(o *metadata.Object, name string) {
			if c := (column{o, name}); !seen[c] {
				seen[c] = true
				columns = append(columns, c)
			}
		}
		if bind.Safely(func() {
			b.With(def.WithCtesAndXmlNamespaces)
			b.Query(&bind.Scope{}, def.QueryExpression, bind.QueryOptions{})
		}) != nil {
			continue
		}
		for _, c := range columns {
			out = append(out, record{"VIEW_CATALOG": s.db.Name(), "VIEW_SCHEMA": sch.SchemaName(v), "VIEW_NAME": v.Name,
				"TABLE_CATALOG": s.db.Name(), "TABLE_SCHEMA": sch.SchemaName(c.object), "TABLE_NAME": c.object.Name,
				"COLUMN_NAME": c.name})
		}
	}
	return out, nil
}
