// SPDX-License-Identifier: Apache-2.0

package catalogproc

import (
	"context"
	"sort"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

const (
	tableFilter = "@table_name nvarchar(384), @table_owner nvarchar(384), @table_qualifier nvarchar(128)"

	columnColumnsODBC = "TABLE_QUALIFIER sysname, TABLE_OWNER sysname, TABLE_NAME sysname, COLUMN_NAME sysname, " +
		"DATA_TYPE smallint, TYPE_NAME sysname, PRECISION int, LENGTH int, SCALE smallint, " +
		"RADIX smallint, NULLABLE smallint, REMARKS varchar(254), COLUMN_DEF nvarchar(4000), SQL_DATA_TYPE smallint, " +
		"SQL_DATETIME_SUB smallint, CHAR_OCTET_LENGTH int, ORDINAL_POSITION int, IS_NULLABLE varchar(254)"
	columnColumns100 = ", SS_IS_SPARSE smallint, SS_IS_COLUMN_SET smallint, SS_IS_COMPUTED smallint, SS_IS_IDENTITY " +
		"smallint, SS_UDT_CATALOG_NAME sysname, SS_UDT_SCHEMA_NAME sysname, " +
		"SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(4000), SS_XML_SCHEMACOLLECTION_CATALOG_NAME sysname, " +
		"SS_XML_SCHEMACOLLECTION_SCHEMA_NAME sysname, SS_XML_SCHEMACOLLECTION_NAME sysname"
)

// installTables registers the procedures that ODBC, JDBC and ADO.NET answer metadata calls with
// (docs/relational-databases/system-stored-procedures/catalog-stored-procedures-transact-sql.md).
func installTables(r *engine.Registry) {
	columnParameters := tableFilter + ", @column_name nvarchar(384), @ODBCVer int = 2, @fUsePattern bit = 1"
	r.Procedure(
		engine.Procedure{
			Name: "sp_columns",
			Parameters: append(
				engine.ParameterList(columnParameters[:strings.Index(columnParameters, ", @fUse")]),
				engine.Parameter{Name: "@fUsePattern", Type: sqltype.BitType, Default: true},
			),
			Run: func(ctx context.Context, c *engine.ProcCall) error { return tableColumns(ctx, c, false) },
		},
	)
	for _, version := range []string{"_90", "_100"} {
		r.Procedure(
			engine.Procedure{
				Name:       "sp_columns" + version,
				Parameters: engine.ParameterList(columnParameters),
				Run:        func(ctx context.Context, c *engine.ProcCall) error { return tableColumns(ctx, c, true) },
			},
		)
	}
	keys := "@pktable_name sysname, @pktable_owner sysname, @pktable_qualifier sysname, @fktable_name sysname, " +
		"@fktable_owner sysname, @fktable_qualifier sysname"
	r.TextProcedure(
		"sp_fkeys",
		keys,
		`IF @p1 IS NULL AND @p4 IS NULL BEGIN RAISERROR('Primary key table name or foreign key table name must be given.', 16, 1); RETURN END
		SELECT DB_NAME() AS PKTABLE_QUALIFIER, SCHEMA_NAME(p.schema_id) AS PKTABLE_OWNER, p.name AS PKTABLE_NAME, COL_NAME(k.referenced_object_id, k.referenced_column_id) AS PKCOLUMN_NAME,
			DB_NAME() AS FKTABLE_QUALIFIER, SCHEMA_NAME(t.schema_id) AS FKTABLE_OWNER, t.name AS FKTABLE_NAME, COL_NAME(k.parent_object_id, k.parent_column_id) AS FKCOLUMN_NAME,
			CAST(k.constraint_column_id AS smallint) AS KEY_SEQ, CAST(CASE f.update_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE f.update_referential_action END AS smallint) AS UPDATE_RULE,
			CAST(CASE f.delete_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE f.delete_referential_action END AS smallint) AS DELETE_RULE,
			f.name AS FK_NAME, i.name AS PK_NAME, CAST(7 AS smallint) AS DEFERRABILITY
		FROM sys.foreign_keys f JOIN sys.foreign_key_columns k ON k.constraint_object_id = f.object_id JOIN sys.tables t ON t.object_id = f.parent_object_id JOIN sys.tables p ON p.object_id = f.referenced_object_id
			LEFT JOIN sys.indexes i ON i.object_id = f.referenced_object_id AND i.index_id = f.key_index_id
		WHERE (@p1 IS NULL OR p.name = @p1) AND (NULLIF(@p2, N'') IS NULL OR SCHEMA_NAME(p.schema_id) = @p2) AND (@p4 IS NULL OR t.name = @p4) AND (NULLIF(@p5, N'') IS NULL OR SCHEMA_NAME(t.schema_id) = @p5)
		ORDER BY FKTABLE_QUALIFIER, FKTABLE_OWNER, FKTABLE_NAME, KEY_SEQ`,
	)
	for _, version := range []string{"", "_90", "_100"} {
		r.TextProcedure(
			"sp_statistics"+version,
			"@table_name! sysname, @table_owner sysname, @table_qualifier sysname, @index_name sysname = %, @is_unique "+
				"char(1) = N, @accuracy char(1) = Q",
			statisticsText,
		)
		r.TextProcedure(
			"sp_special_columns"+version,
			"@table_name! sysname, @table_owner sysname, @table_qualifier sysname, @col_type char(1) = R, @scope char(1) = "+
				"T, @nullable char(1) = U, @ODBCVer int = 2",
			specialColumnsText,
		)
	}
	r.TextProcedure(
		"sp_stored_procedures",
		"@sp_name nvarchar(390), @sp_owner nvarchar(384), @sp_qualifier sysname, @fUsePattern bit = 1",
		`SELECT DB_NAME() AS PROCEDURE_QUALIFIER, SCHEMA_NAME(o.schema_id) AS PROCEDURE_OWNER,
			CAST(o.name + IIF(o.type = 'P', ';1', ';0') AS nvarchar(134)) AS PROCEDURE_NAME, CAST(-1 AS int) AS NUM_INPUT_PARAMS, CAST(-1 AS int) AS NUM_OUTPUT_PARAMS, CAST(-1 AS int) AS NUM_RESULT_SETS,
			CAST(NULL AS varchar(254)) AS REMARKS, CAST(2 AS smallint) AS PROCEDURE_TYPE
		FROM sys.all_objects o WHERE o.type IN ('P', 'FN', 'IF', 'TF', 'X', 'PC') AND (@p1 IS NULL OR o.name LIKE @p1) AND (@p2 IS NULL OR SCHEMA_NAME(o.schema_id) LIKE @p2) ORDER BY PROCEDURE_OWNER, PROCEDURE_NAME`,
	)
	r.TextProcedure(
		"sp_table_privileges",
		"@table_name! nvarchar(384), @table_owner nvarchar(384), @table_qualifier sysname, @fUsePattern bit = 1",
		`SELECT DB_NAME() AS TABLE_QUALIFIER, SCHEMA_NAME(t.schema_id) AS TABLE_OWNER, t.name AS TABLE_NAME,
			CAST('dbo' AS sysname) AS GRANTOR, CAST('dbo' AS sysname) AS GRANTEE, CAST(p.value AS varchar(32)) AS PRIVILEGE, CAST('YES' AS varchar(3)) AS IS_GRANTABLE
		FROM sys.objects t CROSS JOIN (VALUES ('DELETE'), ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) p (value) WHERE t.type IN ('U', 'V') AND t.name LIKE @p1 AND (@p2 IS NULL OR SCHEMA_NAME(t.schema_id) LIKE @p2)
		UNION ALL SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, USER_NAME(d.grantor_principal_id), g.name, CAST(d.permission_name AS varchar(32)), CAST(IIF(d.state = 'W', 'YES', 'NO') AS varchar(3))
		FROM sys.objects t JOIN sys.database_permissions d ON d.class = 1 AND d.major_id = t.object_id AND d.minor_id = 0 AND d.state IN ('G', 'W') JOIN sys.database_principals g ON g.principal_id = d.grantee_principal_id
		WHERE t.type IN ('U', 'V') AND t.name LIKE @p1 AND (@p2 IS NULL OR SCHEMA_NAME(t.schema_id) LIKE @p2) ORDER BY 1, 2, 3, 6, 5`,
	)
	r.TextProcedure(
		"sp_column_privileges",
		"@table_name! sysname, @table_owner sysname, @table_qualifier sysname, @column_name nvarchar(384)",
		`SELECT DB_NAME() AS TABLE_QUALIFIER, SCHEMA_NAME(t.schema_id) AS TABLE_OWNER, t.name AS TABLE_NAME,
			c.name AS COLUMN_NAME, CAST('dbo' AS sysname) AS GRANTOR, CAST('dbo' AS sysname) AS GRANTEE, CAST(p.value AS varchar(32)) AS PRIVILEGE, CAST('YES' AS varchar(3)) AS IS_GRANTABLE
		FROM sys.objects t JOIN sys.columns c ON c.object_id = t.object_id CROSS JOIN (VALUES ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) p (value)
		WHERE t.type IN ('U', 'V') AND t.name = @p1 AND (@p2 IS NULL OR SCHEMA_NAME(t.schema_id) = @p2) AND (@p4 IS NULL OR c.name LIKE @p4) ORDER BY COLUMN_NAME, PRIVILEGE`,
	)
	r.Procedure(
		engine.Procedure{Name: "sp_server_info", Parameters: engine.ParameterList("@attribute_id int"), Run: serverInfo},
	)
}

const statisticsText = `SELECT DB_NAME() AS TABLE_QUALIFIER, SCHEMA_NAME(t.schema_id) AS TABLE_OWNER, t.name AS TABLE_NAME, CAST(NULL AS smallint) AS NON_UNIQUE, CAST(NULL AS sysname) AS INDEX_QUALIFIER, CAST(NULL AS sysname) AS INDEX_NAME,
		CAST(0 AS smallint) AS TYPE, CAST(NULL AS smallint) AS SEQ_IN_INDEX, CAST(NULL AS sysname) AS COLUMN_NAME, CAST(NULL AS char(1)) AS COLLATION,
		CAST((SELECT SUM(row_count) FROM sys.dm_db_partition_stats s WHERE s.object_id = t.object_id AND s.index_id < 2) AS int) AS CARDINALITY,
		CAST((SELECT SUM(used_page_count) FROM sys.dm_db_partition_stats s WHERE s.object_id = t.object_id AND s.index_id < 2) AS int) AS PAGES, CAST(NULL AS varchar(128)) AS FILTER_CONDITION
	FROM sys.tables t WHERE t.name = @p1 AND (@p2 IS NULL OR SCHEMA_NAME(t.schema_id) = @p2)
	UNION ALL SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, CAST(1 - i.is_unique AS smallint), t.name, i.name, CAST(IIF(i.type = 1, 1, 3) AS smallint), CAST(c.key_ordinal AS smallint),
		COL_NAME(c.object_id, c.column_id), CAST(IIF(c.is_descending_key = 1, 'D', 'A') AS char(1)), CAST(NULL AS int), CAST(NULL AS int), CAST(i.filter_definition AS varchar(128))
	FROM sys.tables t JOIN sys.indexes i ON i.object_id = t.object_id AND i.index_id > 0 JOIN sys.index_columns c ON c.object_id = i.object_id AND c.index_id = i.index_id AND c.key_ordinal > 0
	WHERE t.name = @p1 AND (@p2 IS NULL OR SCHEMA_NAME(t.schema_id) = @p2) AND i.name LIKE @p4 AND (@p5 = 'N' OR i.is_unique = 1) ORDER BY 4, 7, 6, 8`

// specialColumnsText gives the columns of the best row identifier: the primary key, else the first unique index; with
// @col_type V the rowversion column.
const specialColumnsText = `DECLARE @table int = (SELECT object_id FROM sys.tables WHERE name = @p1 AND (@p2 IS NULL OR SCHEMA_NAME(schema_id) = @p2)), @index int;
	SELECT TOP (1) @index = i.index_id FROM sys.indexes i WHERE i.object_id = @table AND i.is_unique = 1 AND i.has_filter = 0 AND (@p6 <> 'O' OR NOT EXISTS (SELECT 1 FROM sys.index_columns k JOIN sys.columns n ON n.object_id = k.object_id
		AND n.column_id = k.column_id WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.is_included_column = 0 AND n.is_nullable = 1)) ORDER BY i.is_primary_key DESC, i.index_id;
	SELECT CAST(IIF(@p4 = 'V', NULL, IIF(@p5 = 'C', 0, 1)) AS smallint) AS SCOPE, c.name AS COLUMN_NAME, t.DATA_TYPE, CAST(TYPE_NAME(c.user_type_id) + IIF(c.is_identity = 1, ' identity', '') AS sysname) AS TYPE_NAME,
		CAST(IIF(c.precision > 0, c.precision, IIF(TYPE_NAME(c.system_type_id) LIKE 'n%char', c.max_length / 2, c.max_length)) AS int) AS PRECISION, CAST(c.max_length AS int) AS LENGTH, CAST(c.scale AS smallint) AS SCALE, CAST(1 AS smallint) AS PSEUDO_COLUMN
	FROM sys.columns c JOIN sys.index_columns x ON @p4 <> 'V' AND x.object_id = c.object_id AND x.column_id = c.column_id AND x.index_id = @index AND x.is_included_column = 0
	CROSS APPLY (SELECT CAST(CASE TYPE_NAME(c.system_type_id) WHEN 'int' THEN 4 WHEN 'bigint' THEN -5 WHEN 'smallint' THEN 5 WHEN 'tinyint' THEN -6 WHEN 'bit' THEN -7 WHEN 'varchar' THEN 12 WHEN 'char' THEN 1 WHEN 'nvarchar' THEN -9
		WHEN 'nchar' THEN -8 WHEN 'decimal' THEN 3 WHEN 'numeric' THEN 2 WHEN 'uniqueidentifier' THEN -11 WHEN 'date' THEN 91 WHEN 'time' THEN -154 WHEN 'datetime' THEN 93 WHEN 'datetime2' THEN 93 WHEN 'smalldatetime' THEN 93
		WHEN 'datetimeoffset' THEN -155 WHEN 'float' THEN 6 WHEN 'real' THEN 7 WHEN 'money' THEN 3 WHEN 'smallmoney' THEN 3 WHEN 'binary' THEN -2 WHEN 'timestamp' THEN -2 ELSE -3 END AS smallint) AS DATA_TYPE) t
	WHERE c.object_id = @table
	UNION ALL SELECT CAST(NULL AS smallint), c.name, CAST(-2 AS smallint), CAST('timestamp' AS sysname), 8, 8, CAST(NULL AS smallint), CAST(1 AS smallint) FROM sys.columns c
	WHERE @p4 = 'V' AND c.object_id = @table AND TYPE_NAME(c.system_type_id) = 'timestamp' ORDER BY 2`

// tableColumns is sp_columns; wide adds the columns of sp_columns_100.
func tableColumns(ctx context.Context, c *engine.ProcCall, wide bool) error {
	matches := "LIKE"
	if !c.Bool("@fUsePattern") {
		matches = "="
	}
	objects, err := c.Session.Query(
		ctx,
		`SELECT object_id AS id, SCHEMA_NAME(schema_id) AS owner, name FROM sys.all_objects
		WHERE type IN ('U', 'V', 'S', 'IF', 'TF') AND (@p1 IS NULL OR name `+matches+` @p1) AND (@p2 IS NULL OR SCHEMA_NAME(schema_id) `+matches+` @p2)`,
		c.Value("@table_name"),
		c.Value("@table_owner"),
	)
	if err != nil {
		return err
	}
	named, view := map[int64]int{}, "sys.columns"
	for i := range objects.Len() {
		id := objects.Int(i, "id")
		if named[id] = i; id < 0 {
			view = "sys.all_columns"
		}
	}
	found, err := c.Session.Query(
		ctx,
		`SELECT object_id AS id, name, TYPE_NAME(system_type_id) AS type, TYPE_NAME(user_type_id) AS usertype, max_length AS bytes, precision, scale, CAST(is_nullable AS int) AS nullable,
			CAST(is_identity AS int) AS is_identity, CAST(is_computed AS int) AS computed, IIF(default_object_id <> 0, OBJECT_DEFINITION(default_object_id), NULL) AS def, column_id AS ordinal
		FROM `+view+` WHERE @p1 IS NULL OR name `+matches+` @p1 ORDER BY object_id, column_id`,
		c.Value("@column_name"),
	)
	if err != nil {
		return err
	}
	list := columnColumnsODBC
	if wide {
		list += columnColumns100
	}
	var rows [][]any
	for i := range found.Len() {
		object, ok := named[found.Int(i, "id")]
		if !ok {
			continue
		}
		d := odbcColumnOf(found.String(i, "type"), found.Int(i, "bytes"), found.Int(i, "precision"), found.Int(i, "scale"))
		name := found.String(i, "usertype")
		if name == "" {
			name = d.name
		}
		if found.Int(i, "is_identity") != 0 {
			name += " identity"
		}
		nullable := found.Int(i, "nullable")
		row := []any{
			c.Session.Database(),
			objects.String(object, "owner"),
			objects.String(object, "name"),
			found.String(i, "name"),
			d.odbc,
			name,
			d.precision,
			d.length,
			d.scale,
			d.radix,
			nullable,
			nil,
			found.Value(
				i,
				"def",
			),
			d.sqlType,
			d.sub,
			d.octets,
			found.Int(i, "ordinal"),
			map[int64]string{0: "NO", 1: "YES"}[nullable],
		}
		if wide {
			row = append(
				row,
				int64(0),
				int64(0),
				found.Int(i, "computed"),
				found.Int(i, "is_identity"),
				nil,
				nil,
				nil,
				nil,
				nil,
				nil,
			)
		}
		rows = append(rows, append(row, d.own))
	}
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		if a[1] != b[1] {
			return a[1].(string) < b[1].(string)
		}
		return a[2].(string) < b[2].(string)
	})
	return c.ResultSet(engine.ColumnList(list+", SS_DATA_TYPE tinyint"), rows)
}

// serverInfo is sp_server_info; the attributes are those of its document.
func serverInfo(ctx context.Context, c *engine.ProcCall) error {
	found, err := c.Session.Query(
		ctx,
		"SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS version, CAST(SERVERPROPERTY('Collation') AS "+
			"nvarchar(128)) AS collation",
	)
	if err != nil {
		return err
	}
	version, collation := found.String(0, "version"), found.String(0, "collation")
	var rows [][]any
	for _, a := range []struct {
		id          int64
		name, value string
	}{{1, "DBMS_NAME", "Microsoft SQL Server"}, {2, "DBMS_VER", "Microsoft SQL Server - " + version},
		{10, "OWNER_TERM", "owner"}, {11, "TABLE_TERM", "table"}, {12, "MAX_OWNER_NAME_LENGTH", "128"},
		{13, "TABLE_LENGTH", "128"}, {14, "MAX_QUAL_LENGTH", "128"}, {15, "COLUMN_LENGTH", "128"},
		{16, "IDENTIFIER_CASE", "MIXED"}, {17, "TX_ISOLATION", "2"},
		{18, "COLLATION_SEQ", "charset=cp1252 collation=" + collation},
		{19, "SAVEPOINT_SUPPORT", "Y"}, {20, "MULTI_RESULT_SETS", "Y"}, {22, "ACCESSIBLE_TABLES", "Y"},
		{100, "USERID_LENGTH", "128"}, {101, "QUALIFIER_TERM", "database"}, {102, "NAMED_TRANSACTIONS", "Y"},
		{103, "SPROC_AS_LANGUAGE", "Y"}, {104, "ACCESSIBLE_SPROC", "Y"}, {105, "MAX_INDEX_COLS", "32"},
		{106, "RENAME_TABLE", "Y"}, {107, "RENAME_COLUMN", "Y"}, {108, "DROP_COLUMN", "Y"},
		{109, "INCREASE_COLUMN_LENGTH", "Y"}, {110, "DDL_IN_TRANSACTION", "Y"}, {111, "DESCENDING_INDEXES", "Y"},
		{112, "SP_RENAME", "Y"}, {113, "REMOTE_SPROC", "Y"}, {500, "SYS_SPROC_VERSION", version}} {
		if want := c.Int("@attribute_id"); want == 0 || want == a.id {
			rows = append(rows, []any{a.id, a.name, a.value})
		}
	}
	return c.ResultSet(
		engine.ColumnList("attribute_id int, attribute_name varchar(60), attribute_value varchar(255)"),
		rows,
	)
}
