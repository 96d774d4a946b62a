// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// propertyPlace is what has an extended property, as sys.extended_properties tells it
// (docs/relational-databases/system-catalog-views/extended-properties-catalog-views-sys-extended-properties.md).
type propertyPlace struct{ class, major, minor int64 }

// propertyLookup finds what a name stands for: the class of its property and a query for its number.
type propertyLookup struct {
	class int64
	query string
}

// The types of the levels 0, 1 and 2 that are no schema, object or column
// (docs/relational-databases/system-stored-procedures/sp-addextendedproperty-transact-sql.md, Arguments).
var (
	outermostProperties = map[string]propertyLookup{
		"FILEGROUP":          {20, "SELECT data_space_id FROM sys.filegroups WHERE name = @p1"},
		"PARTITION FUNCTION": {21, "SELECT function_id FROM sys.partition_functions WHERE name = @p1"},
		"PARTITION SCHEME":   {20, "SELECT data_space_id FROM sys.partition_schemes WHERE name = @p1"},
		"TRIGGER":            {1, "SELECT object_id FROM sys.triggers WHERE parent_class = 0 AND name = @p1"},
		"USER":               {4, "SELECT principal_id FROM sys.database_principals WHERE name = @p1"},
	}
	innermostProperties = map[string]propertyLookup{
		"COLUMN":    {1, "SELECT column_id FROM sys.columns WHERE object_id = @p2 AND name = @p1"},
		"PARAMETER": {2, "SELECT parameter_id FROM sys.parameters WHERE object_id = @p2 AND name = @p1"},
		"INDEX":     {7, "SELECT index_id FROM sys.indexes WHERE object_id = @p2 AND name = @p1"},
		"CONSTRAINT": {
			1,
			"SELECT object_id FROM sys.objects WHERE parent_object_id = @p2 AND name = @p1 AND type IN ('PK', 'UQ', " +
				"'F', 'C', 'D')",
		},
		"TRIGGER": {1, "SELECT object_id FROM sys.triggers WHERE parent_id = @p2 AND name = @p1"},
	}
)

// propertyPlace finds what a procedure's levels name; 15135 when there is none.
func (s *Session) propertyPlace(ctx context.Context, sch *metadata.Catalog, c *ProcCall) (propertyPlace, error) {
	outer, name := strings.ToUpper(c.String("@level0type")), c.String("@level0name")
	missing := func(name string) (propertyPlace, error) { return propertyPlace{}, sqlerr.New(15135, 8, name) }
	within := strings.ToUpper(c.String("@level1type"))
	if outer == "" {
		return propertyPlace{}, nil
	}
	if look, known := outermostProperties[outer]; known && within == "" {
		return s.propertyNamed(ctx, look, name, 0)
	}
	// USER in the place of SCHEMA is the older form for what a schema has (Remarks of the page).
	n := sch.SchemaByName(name)
	if n == nil || outer != "SCHEMA" && outer != "USER" {
		return missing(name)
	}
	inner := c.String("@level1name")
	switch within {
	case "":
		return propertyPlace{3, int64(n.ID), 0}, nil
	case "TYPE":
		return s.propertyNamed(
			ctx,
			propertyLookup{6, "SELECT user_type_id FROM sys.types WHERE schema_id = @p2 AND name = @p1"},
			inner,
			int64(n.ID),
		)
	}
	o := sch.Named(n.ID, inner)
	if o == nil {
		return missing(name + "." + inner)
	}
	last := c.String("@level2type")
	if last == "" {
		return propertyPlace{1, int64(o.ID), 0}, nil
	}
	look, known := innermostProperties[strings.ToUpper(last)]
	if !known {
		return missing(c.String("@level2name"))
	}
	found, err := s.propertyNamed(ctx, look, c.String("@level2name"), int64(o.ID))
	if err == nil && !strings.HasPrefix(look.query, "SELECT object_id") {
		found.major, found.minor = int64(o.ID), found.major
	}
	return found, err
}

// propertyNamed looks a name up in what has a number.
func (s *Session) propertyNamed(
	ctx context.Context,
	look propertyLookup,
	name string,
	in int64,
) (propertyPlace, error) {
	rows, err := s.RowsOf(ctx, s.db, look.query, []any{name, in})
	if err != nil {
		return propertyPlace{}, err
	}
	if len(rows) == 0 {
		return propertyPlace{}, sqlerr.New(15135, 8, name)
	}
	return propertyPlace{class: look.class, major: integer(rows[0][0])}, nil
}
