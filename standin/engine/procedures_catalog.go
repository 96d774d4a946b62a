// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// odbcTypes are the rows of sp_datatype_info: name, ODBC data type, column size, literal prefix and suffix, create
// parameters, searchable, scale range (docs/relational-databases/system-stored-procedures/sp-datatype-info-transact-sql.md).
var odbcTypes = []struct {
	name               string
	odbc, size         int64
	prefix, suffix     string
	params             string
	search             int64
	minScale, maxScale any
	sqlType, radix     any
}{
	{"datetimeoffset", -155, 34, "'", "'", "scale", 3, int64(0), int64(7), int64(-155), nil},
	{"time", -154, 16, "'", "'", "scale", 3, int64(0), int64(7), int64(-154), nil},
	{"xml", -152, 0, "N'", "'", "", 0, nil, nil, int64(-152), nil},
	{"sql_variant", -150, 8000, "", "", "", 2, int64(0), int64(0), int64(-150), nil},
	{"uniqueidentifier", -11, 36, "'", "'", "", 2, nil, nil, int64(-11), nil},
	{"ntext", -10, 1073741823, "N'", "'", "", 1, nil, nil, int64(-10), nil},
	{"nvarchar", -9, 4000, "N'", "'", "max length", 3, nil, nil, int64(-9), nil},
	{"sysname", -9, 128, "N'", "'", "", 3, nil, nil, int64(-9), nil},
	{"nchar", -8, 4000, "N'", "'", "length", 3, nil, nil, int64(-8), nil},
	{"bit", -7, 1, "", "", "", 2, int64(0), int64(0), int64(-7), nil},
	{"tinyint", -6, 3, "", "", "", 2, int64(0), int64(0), int64(-6), int64(10)},
	{"bigint", -5, 19, "", "", "", 2, int64(0), int64(0), int64(-5), int64(10)},
	{"image", -4, 2147483647, "0x", "", "", 0, nil, nil, int64(-4), nil},
	{"varbinary", -3, 8000, "0x", "", "max length", 2, nil, nil, int64(-3), nil},
	{"binary", -2, 8000, "0x", "", "length", 2, nil, nil, int64(-2), nil},
	{"timestamp", -2, 8, "0x", "", "", 2, nil, nil, int64(-2), nil},
	{"text", -1, 2147483647, "'", "'", "", 1, nil, nil, int64(-1), nil},
	{"char", 1, 8000, "'", "'", "length", 3, nil, nil, int64(1), nil},
	{"numeric", 2, 38, "", "", "precision,scale", 2, int64(0), int64(38), int64(2), int64(10)},
	{"decimal", 3, 38, "", "", "precision,scale", 2, int64(0), int64(38), int64(3), int64(10)},
	{"money", 3, 19, "$", "", "", 2, int64(4), int64(4), int64(3), int64(10)},
	{"smallmoney", 3, 10, "$", "", "", 2, int64(4), int64(4), int64(3), int64(10)},
	{"int", 4, 10, "", "", "", 2, int64(0), int64(0), int64(4), int64(10)},
	{"smallint", 5, 5, "", "", "", 2, int64(0), int64(0), int64(5), int64(10)},
	{"float", 6, 53, "", "", "", 2, nil, nil, int64(6), int64(2)},
	{"real", 7, 24, "", "", "", 2, nil, nil, int64(7), int64(2)},
	{"varchar", 12, 8000, "'", "'", "max length", 3, nil, nil, int64(12), nil},
	{"date", 91, 10, "'", "'", "", 3, nil, nil, int64(9), nil},
	{"datetime2", 93, 27, "'", "'", "scale", 3, int64(0), int64(7), int64(9), nil},
	{"datetime", 93, 23, "'", "'", "", 3, int64(3), int64(3), int64(9), nil},
	{"smalldatetime", 93, 16, "'", "'", "", 3, int64(0), int64(0), int64(9), nil},
}

func dataTypeInfo(ctx context.Context, c *ProcCall) error {
	cols := columns("TYPE_NAME sysname, DATA_TYPE smallint, PRECISION int, LITERAL_PREFIX varchar(32), LITERAL_SUFFIX varchar(32), CREATE_PARAMS varchar(32), NULLABLE smallint, " +
		"CASE_SENSITIVE smallint, SEARCHABLE smallint, UNSIGNED_ATTRIBUTE smallint, MONEY smallint, AUTO_INCREMENT smallint, LOCAL_TYPE_NAME sysname, MINIMUM_SCALE smallint, " +
		"MAXIMUM_SCALE smallint, SQL_DATA_TYPE smallint, SQL_DATETIME_SUB smallint, NUM_PREC_RADIX int, INTERVAL_PRECISION smallint, USERTYPE smallint")
	var rows [][]any
	for _, t := range odbcTypes {
		if want := c.Int("@data_type"); want != 0 && want != t.odbc {
			continue
		}
		unsigned, money, auto := any(nil), int64(0), any(nil)
		if t.radix != nil || t.name == "bit" {
			unsigned, auto = yes(t.name == "tinyint"), int64(0)
		}
		if t.name == "money" || t.name == "smallmoney" {
			money = 1
		}
		sub := any(nil)
		if t.odbc >= 91 && t.odbc <= 93 {
			sub = t.odbc - 90
		}
		rows = append(rows, []any{t.name, t.odbc, t.size, orNull(t.prefix), orNull(t.suffix), orNull(t.params), int64(1), int64(0), t.search, unsigned, money, auto, t.name, t.minScale, t.maxScale,
			t.sqlType, sub, t.radix, nil, int64(0)})
	}
	return c.ResultSet(cols, rows)
}

func installCatalogProcedures(r *Registry) {
	name := func(n string, length int) Parameter { return Parameter{Name: n, Type: sqltype.NVarCharOf(length)} }
	r.Procedure(Procedure{Name: "sp_tables", Parameters: parameterList("@table_name nvarchar(384), @table_owner nvarchar(384), @table_qualifier sysname, @table_type varchar(100), @fUsePattern bit = 1"), Run: tables})
	r.Procedure(Procedure{Name: "sp_pkeys", Parameters: []Parameter{name("@table_name", 128), name("@table_owner", 128), name("@table_qualifier", 128)}, Run: func(ctx context.Context, c *ProcCall) error {
		return c.Exec(ctx, `SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, t.name AS TABLE_NAME, c.name AS COLUMN_NAME, CAST(ic.key_ordinal AS smallint) AS KEY_SEQ, i.name AS PK_NAME
			FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id JOIN sys.indexes i ON i.object_id = t.object_id AND i.is_primary_key = 1
			JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
			WHERE t.name = @p1 AND (@p2 IS NULL OR s.name = @p2) ORDER BY KEY_SEQ`, c.Value("@table_name"), c.Value("@table_owner"))
	}})
	installDriverProcedures(r)
}

// tables is sp_tables, which names no other database than the current one (15250).
func tables(ctx context.Context, c *ProcCall) error {
	if q := c.String("@table_qualifier"); q != "" && q != "%" && !strings.EqualFold(q, c.Database.Name()) {
		return sqlerr.New(15250, 1)
	}
	return c.Exec(ctx, tablesText, c.Value("@table_name"), c.Value("@table_owner"), c.Value("@table_qualifier"), c.Value("@table_type"), c.Value("@fUsePattern"))
}

// tablesText lists tables. By empty texts and one % drivers ask for the databases, the owners or the types of tables (SQLTables of ODBC,
// docs/odbc/reference/syntax/sqltables-function.md, SQL_ALL_CATALOGS, SQL_ALL_SCHEMAS and SQL_ALL_TABLE_TYPES).
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
