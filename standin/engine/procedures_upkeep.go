// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// installUpkeep registers what keeps modules in order: sp_procoption, sp_refreshview and sp_refreshsqlmodule
// (docs/relational-databases/system-stored-procedures).
func installUpkeep(r *Registry) {
	r.Procedure(
		Procedure{
			Name:       "sp_procoption",
			Parameters: ParameterList("@ProcName! nvarchar(776), @OptionName! varchar(35), @OptionValue! varchar(12)"),
			Run:        setProcedureOption,
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_refreshview",
			Parameters: ParameterList("@viewname! nvarchar(776)"),
			Run:        func(ctx context.Context, c *ProcCall) error { return refreshModule(ctx, c, "@viewname") },
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_refreshsqlmodule",
			Parameters: ParameterList("@name! nvarchar(776), @namespace nvarchar(20)"),
			Run: func(ctx context.Context, c *ProcCall) error {
				if c.IsNull("@namespace") {
					return refreshModule(ctx, c, "@name")
				}
				return refreshScopedTrigger(ctx, c)
			},
		},
	)
}

// refreshModule is sp_refreshsqlmodule: modules are bound anew whenever the metadata have changed, so that there is
// nothing to refresh but to see that it exists.
func refreshModule(ctx context.Context, c *ProcCall, parameter string) error {
	id, err := c.ObjectID(ctx, parameter)
	if err != nil {
		return err
	}
	if o := c.Session.objectByID(int64(id)); o == nil || o.Definition == "" {
		return sqlerr.New(15165, 1, c.String(parameter))
	}
	return nil
}

// refreshScopedTrigger does that for a DDL trigger.
func refreshScopedTrigger(ctx context.Context, c *ProcCall) error {
	scope, known := map[string]string{"database_ddl_trigger": metadata.DatabaseScope,
		"server_ddl_trigger": metadata.ServerScope}[lower(c.String("@namespace"))]
	if !known {
		return sqlerr.New(15600, 1, "sys.sp_refreshsqlmodule")
	}
	db := c.Session.db.ID()
	if scope == metadata.ServerScope {
		db = 1
	}
	sch, err := c.Session.schema(ctx, db)
	if err != nil {
		return err
	}
	if sch.Named(metadata.ScopedSchema(scope), bind.SplitName(c.String("@name")).Name) == nil {
		return sqlerr.New(15165, 1, c.String("@name"))
	}
	return nil
}
