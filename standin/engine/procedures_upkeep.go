// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/operator/standin/sqlerr"
)

// installUpkeep registers what keeps an instance and its databases in order: sp_cycle_errorlog, sp_resetstatus, sp_procoption, sp_createstats,
// sp_refreshview and sp_refreshsqlmodule (docs/relational-databases/system-stored-procedures).
func installUpkeep(r *Registry) {
	r.Procedure(Procedure{Name: "sp_cycle_errorlog", Parameters: []Parameter{}, Run: cycleErrorLog})
	r.Procedure(Procedure{Name: "sp_resetstatus", Parameters: ParameterList("@dbname! sysname"), Run: resetStatus})
	r.Procedure(Procedure{Name: "sp_procoption", Parameters: ParameterList("@ProcName! nvarchar(776), @OptionName! varchar(35), @OptionValue! varchar(12)"), Run: setProcedureOption})
	r.TextProcedure("sp_createstats", "@indexonly char(9) = NO, @fullscan char(9) = NO, @norecompute char(12) = NO, @incremental char(12) = NO", createAllStatistics)
	r.Procedure(Procedure{Name: "sp_refreshview", Parameters: ParameterList("@viewname! nvarchar(776)"), Run: func(ctx context.Context, c *ProcCall) error { return refreshModule(ctx, c, "@viewname") }})
	r.Procedure(Procedure{Name: "sp_refreshsqlmodule", Parameters: ParameterList("@name! nvarchar(776), @namespace nvarchar(20)"), Run: func(ctx context.Context, c *ProcCall) error {
		if c.IsNull("@namespace") {
			return refreshModule(ctx, c, "@name")
		}
		return refreshScopedTrigger(ctx, c)
	}})
}

// createAllStatistics makes statistics of each column that is not the first one of any yet (of each in an index with 'indexonly').
const createAllStatistics = `IF @p1 NOT IN ('indexonly', 'NO') OR @p2 NOT IN ('fullscan', 'NO') OR @p3 NOT IN ('norecompute', 'NO') OR @p4 NOT IN ('incremental', 'NO') BEGIN RAISERROR(15600, 16, 1, 'sys.sp_createstats'); RETURN END
	IF IS_MEMBER('db_owner') = 0 BEGIN RAISERROR(15247, 16, 1); RETURN END
	DECLARE @with nvarchar(100) = STUFF(IIF(@p2 = 'fullscan', N', FULLSCAN', N'') + IIF(@p3 = 'norecompute', N', NORECOMPUTE', N'') + IIF(@p4 = 'incremental', N', INCREMENTAL = ON', N''), 1, 2, N' WITH ');
	DECLARE @t nvarchar(max) = (SELECT STRING_AGG(CAST(N'CREATE STATISTICS ' + QUOTENAME(c.name) + N' ON ' + QUOTENAME(SCHEMA_NAME(t.schema_id)) + N'.' + QUOTENAME(t.name) + N' (' + QUOTENAME(c.name) + N')' + ISNULL(@with, N'') AS nvarchar(max)), N'; ')
		FROM sys.tables t JOIN sys.columns c ON c.object_id = t.object_id
		WHERE c.is_computed = 0 AND TYPE_NAME(c.system_type_id) NOT IN ('text', 'ntext', 'image', 'xml')
			AND NOT EXISTS (SELECT 1 FROM sys.stats_columns k WHERE k.object_id = c.object_id AND k.column_id = c.column_id AND k.stats_column_id = 1)
			AND (@p1 = 'NO' OR EXISTS (SELECT 1 FROM sys.index_columns i WHERE i.object_id = c.object_id AND i.column_id = c.column_id AND i.is_included_column = 0)));
	IF @t IS NOT NULL EXEC (@t)`

// cycleErrorLog begins a new error log (docs/relational-databases/system-stored-procedures/sp-cycle-errorlog-transact-sql.md).
func cycleErrorLog(_ context.Context, c *ProcCall) error {
	inst := c.Session.inst
	if !c.Session.login.Sysadmin {
		return sqlerr.New(15247, 1)
	}
	if inst.config.CycleErrorLog == nil {
		return unsupported("sp_cycle_errorlog of a server without an error log")
	}
	if err := inst.config.CycleErrorLog(); err != nil {
		return err
	}
	inst.log.Info("The error log has been reinitialized. See the previous log for older entries.")
	return nil
}

// resetStatus is sp_resetstatus: whether a database is SUSPECT is found anew at every start, which the procedure's page asks for.
func resetStatus(_ context.Context, c *ProcCall) error {
	if !c.Session.login.Sysadmin {
		return sqlerr.New(15247, 1)
	}
	if c.Session.inst.Database(c.String("@dbname")) == nil {
		return sqlerr.New(15010, 1, c.String("@dbname"))
	}
	return nil
}

// refreshModule is sp_refreshsqlmodule: modules are bound anew whenever the metadata have changed, so that there is nothing to refresh but to
// see that it exists.
func refreshModule(ctx context.Context, c *ProcCall, parameter string) error {
	id, err := namedObject(ctx, c, parameter)
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
	scope, known := map[string]string{"database_ddl_trigger": databaseScope, "server_ddl_trigger": serverScope}[lower(c.String("@namespace"))]
	if !known {
		return sqlerr.New(15600, 1, "sys.sp_refreshsqlmodule")
	}
	db := c.Session.db.ID()
	if scope == serverScope {
		db = 1
	}
	sch, err := c.Session.schema(ctx, db)
	if err != nil {
		return err
	}
	if sch.byName[objectKey(scopedSchema(scope), splitName(c.String("@name")).name)] == nil {
		return sqlerr.New(15165, 1, c.String("@name"))
	}
	return nil
}
