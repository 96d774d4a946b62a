// SPDX-License-Identifier: Apache-2.0

package catalogproc

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// installTypes registers what tells of types and of tables.
func installTypes(r *engine.Registry) {
	types := []engine.Parameter{
		{Name: "@data_type", Type: sqltype.IntType, Default: int64(0)},
		{Name: "@ODBCVer", Type: sqltype.TinyIntType, Default: int64(2)},
	}
	r.Procedure(engine.Procedure{Name: "sp_datatype_info", Parameters: types, Run: dataTypeInfo})
	r.Procedure(engine.Procedure{Name: "sp_datatype_info_100", Parameters: types, Run: dataTypeInfo})
	r.Procedure(
		engine.Procedure{
			Name: "sp_tables",
			Parameters: engine.ParameterList(
				"@table_name nvarchar(384), @table_owner nvarchar(384), @table_qualifier sysname, @table_type varchar(100), " +
					"@fUsePattern bit = 1",
			),
			Run: tables,
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_pkeys",
			Parameters: engine.ParameterList("@table_name! sysname, @table_owner sysname, @table_qualifier sysname"),
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				return c.Exec(
					ctx,
					`SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, t.name AS TABLE_NAME, c.name AS COLUMN_NAME, CAST(ic.key_ordinal AS smallint) AS KEY_SEQ, i.name AS PK_NAME
			FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id JOIN sys.indexes i ON i.object_id = t.object_id AND i.is_primary_key = 1
			JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
			WHERE t.name = @p1 AND (@p2 IS NULL OR s.name = @p2) ORDER BY KEY_SEQ`,
					c.Value("@table_name"),
					c.Value("@table_owner"),
				)
			},
		},
	)
}

// tables is sp_tables, which names no other database than the current one (15250).
func tables(ctx context.Context, c *engine.ProcCall) error {
	if q := c.String("@table_qualifier"); q != "" && q != "%" && !strings.EqualFold(q, c.Database.Name()) {
		return sqlerr.New(15250, 1)
	}
	return c.Exec(
		ctx,
		tablesText,
		c.Value("@table_name"),
		c.Value("@table_owner"),
		c.Value("@table_qualifier"),
		c.Value("@table_type"),
		c.Value("@fUsePattern"),
	)
}

// tablesText lists tables. By empty texts and one % drivers ask for the databases, the owners or the types of tables
// (SQLTables of ODBC, docs/odbc/reference/syntax/sqltables-function.md, SQL_ALL_CATALOGS, SQL_ALL_SCHEMAS and
// SQL_ALL_TABLE_TYPES).
const tablesText = `IF @p1 = '' AND @p2 = '' AND @p3 = '%'
		SELECT name AS TABLE_QUALIFIER, CAST(NULL AS sysname) AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME, CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
		FROM sys.databases ORDER BY name
	ELSE IF @p1 = '' AND @p2 = '%' AND @p3 = ''
		SELECT CAST(NULL AS sysname) AS TABLE_QUALIFIER, name AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME, CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
		FROM sys.schemas ORDER BY name
	ELSE IF @p1 = '' AND @p2 = '' AND @p3 = '' AND @p4 = '%'
		SELECT CAST(NULL AS sysname) AS TABLE_QUALIFIER, CAST(NULL AS sysname) AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME, CAST(t AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
		FROM (VALUES ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) v (t) ORDER BY t
	ELSE
		SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, CAST(IIF(o.type = 'U', 'TABLE', 'VIEW') AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
		FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id
		WHERE o.type IN ('U', 'V') AND (@p4 IS NULL OR @p4 = '%' OR @p4 LIKE IIF(o.type = 'U', '%''TABLE''%', '%''VIEW''%'))
			AND (@p1 IS NULL OR @p5 = 1 AND o.name LIKE @p1 OR o.name = @p1) AND (@p2 IS NULL OR @p5 = 1 AND s.name LIKE @p2 OR s.name = @p2)
		ORDER BY TABLE_TYPE, TABLE_OWNER, TABLE_NAME`
