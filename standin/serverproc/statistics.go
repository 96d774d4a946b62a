// SPDX-License-Identifier: Apache-2.0

package serverproc

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// installStatistics registers what makes statistics of many columns and tells of them.
func installStatistics(r *engine.Registry) {
	r.TextProcedure(
		"sp_helpstats",
		"@objname! nvarchar(776), @results nvarchar(5) = STATS",
		`SELECT s.name AS statistics_name, (SELECT STRING_AGG(COL_NAME(c.object_id, c.column_id), ', ') WITHIN GROUP (ORDER BY c.key_ordinal) FROM sys.index_columns c
			WHERE c.object_id = s.object_id AND c.index_id = s.stats_id AND c.is_included_column = 0) AS statistics_keys FROM sys.stats s WHERE s.object_id = OBJECT_ID(@p1) ORDER BY s.stats_id`,
	)
	r.TextProcedure(
		"sp_autostats",
		"@tblname! nvarchar(776), @flagc varchar(10), @indname sysname",
		`IF @p2 IS NOT NULL AND @p2 <> 'ON' BEGIN RAISERROR('The stand-in keeps no statistics of its own; automatic updates cannot be switched off.', 16, 1); RETURN END
		SELECT QUOTENAME(s.name) AS [Index Name], CAST('ON' AS varchar(3)) AS [AUTOSTATS], STATS_DATE(s.object_id, s.stats_id) AS [Last Updated] FROM sys.stats s WHERE s.object_id = OBJECT_ID(@p1)`,
	)
	r.TextProcedure(
		"sp_createstats",
		"@indexonly char(9) = NO, @fullscan char(9) = NO, @norecompute char(12) = NO, @incremental char(12) = NO",
		createAllStatistics,
	)
	r.Procedure(
		engine.Procedure{
			Name: "sp_updatestats",
			Parameters: []engine.Parameter{
				{Name: "@resample", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 8}, Default: "NO"},
			},
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				return c.Exec(
					ctx,
					"IF IS_MEMBER('db_owner') = 0 BEGIN RAISERROR(15247, 16, 1); RETURN END; PRINT 'Statistics for all tables have "+
						"been updated.'",
				)
			},
		},
	)
}

// createAllStatistics makes statistics of each column that is not the first one of any yet (of each in an index with
// 'indexonly').
const createAllStatistics = `IF @p1 NOT IN ('indexonly', 'NO') OR @p2 NOT IN ('fullscan', 'NO') OR @p3 NOT IN ('norecompute', 'NO') OR @p4 NOT IN ('incremental', 'NO') BEGIN RAISERROR(15600, 16, 1, 'sys.sp_createstats'); RETURN END
	IF IS_MEMBER('db_owner') = 0 BEGIN RAISERROR(15247, 16, 1); RETURN END
	DECLARE @with nvarchar(100) = STUFF(IIF(@p2 = 'fullscan', N', FULLSCAN', N'') + IIF(@p3 = 'norecompute', N', NORECOMPUTE', N'') + IIF(@p4 = 'incremental', N', INCREMENTAL = ON', N''), 1, 2, N' WITH ');
	DECLARE @t nvarchar(max) = (SELECT STRING_AGG(CAST(N'CREATE STATISTICS ' + QUOTENAME(c.name) + N' ON ' + QUOTENAME(SCHEMA_NAME(t.schema_id)) + N'.' + QUOTENAME(t.name) + N' (' + QUOTENAME(c.name) + N')' + ISNULL(@with, N'') AS nvarchar(max)), N'; ')
		FROM sys.tables t JOIN sys.columns c ON c.object_id = t.object_id
		WHERE c.is_computed = 0 AND TYPE_NAME(c.system_type_id) NOT IN ('text', 'ntext', 'image', 'xml')
			AND NOT EXISTS (SELECT 1 FROM sys.stats_columns k WHERE k.object_id = c.object_id AND k.column_id = c.column_id AND k.stats_column_id = 1)
			AND (@p1 = 'NO' OR EXISTS (SELECT 1 FROM sys.index_columns i WHERE i.object_id = c.object_id AND i.column_id = c.column_id AND i.is_included_column = 0)));
	IF @t IS NOT NULL EXEC (@t)`
