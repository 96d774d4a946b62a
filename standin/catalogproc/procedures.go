// SPDX-License-Identifier: Apache-2.0

package catalogproc

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// installProcedures registers the procedures that drivers call by themselves: for the types of parameters, for
// parameters by name and before bulk loads.
func installProcedures(r *engine.Registry) {
	name := func(n string, length int) engine.Parameter {
		return engine.Parameter{Name: n, Type: sqltype.NVarCharOf(length)}
	}
	collations := []engine.Parameter{{Name: "@object", Type: sqltype.NVarCharOf(4000), Required: true}}
	for _, version := range []string{"", "_90", "_100"} {
		r.Procedure(engine.Procedure{Name: "sp_tablecollations" + version, Parameters: collations, Run: tableCollations})
	}
	columns := []engine.Parameter{
		name("@procedure_name", 390),
		name("@procedure_owner", 384),
		name("@procedure_qualifier", 128),
		name("@column_name", 384),
		{
			Name:    "@ODBCVer",
			Type:    sqltype.IntType,
			Default: int64(2),
		},
		{Name: "@fUsePattern", Type: sqltype.BitType, Default: true},
	}
	r.Procedure(
		engine.Procedure{
			Name:       "sp_sproc_columns",
			Parameters: columns,
			Run:        func(ctx context.Context, c *engine.ProcCall) error { return procedureColumns(ctx, c, false) },
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_sproc_columns_100",
			Parameters: columns,
			Run:        func(ctx context.Context, c *engine.ProcCall) error { return procedureColumns(ctx, c, true) },
		},
	)
}

// tableCollations is what clients ask before a bulk load; the procedure itself is not documented. A name may leave out
// the schema as ".[name]".
func tableCollations(ctx context.Context, c *engine.ProcCall) error {
	object := strings.TrimLeft(c.String("@object"), ".")
	if strings.HasPrefix(strings.Trim(object, "["), "#") {
		object = "tempdb.." + object
	}
	return c.Exec(
		ctx,
		`SELECT column_id AS colid, name, CAST(IIF(collation_name IS NULL, NULL, 0x0904D00034) AS binary(5)) AS tds_collation_100, collation_name AS collation_100
		FROM sys.columns WHERE object_id = OBJECT_ID(@p1) ORDER BY column_id`,
		object,
	)
}

const procedureColumnColumns = "PROCEDURE_QUALIFIER sysname, PROCEDURE_OWNER sysname, PROCEDURE_NAME nvarchar(134), " +
	"COLUMN_NAME sysname, COLUMN_TYPE smallint, DATA_TYPE smallint, " +
	"TYPE_NAME sysname, PRECISION int, LENGTH int, SCALE smallint, RADIX smallint, NULLABLE smallint, REMARKS " +
	"varchar(254), COLUMN_DEF nvarchar(4000), SQL_DATA_TYPE smallint, " +
	"SQL_DATETIME_SUB smallint, CHAR_OCTET_LENGTH int, ORDINAL_POSITION int, IS_NULLABLE varchar(254)"

// procedureColumns100 are what sp_sproc_columns_100 has before SS_DATA_TYPE, by which drivers find the type of a
// table-valued parameter (docs/relational-databases/native-client-odbc-api/sqlprocedurecolumns.md).
const procedureColumns100 = ", SS_TYPE_CATALOG_NAME sysname, SS_TYPE_SCHEMA_NAME sysname, SS_UDT_CATALOG_NAME " +
	"sysname, SS_UDT_SCHEMA_NAME sysname, SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(4000), " +
	"SS_XML_SCHEMACOLLECTION_CATALOG_NAME sysname, SS_XML_SCHEMACOLLECTION_SCHEMA_NAME sysname, " +
	"SS_XML_SCHEMACOLLECTION_NAME sysname"

// odbcTable is SQL_SS_TABLE of msodbcsql.h, the type of table-valued parameters.
const odbcTable int64 = -153

// procedureColumns is sp_sproc_columns, with wide sp_sproc_columns_100: the return value and the parameters of
// procedures.
func procedureColumns(ctx context.Context, c *engine.ProcCall, wide bool) error {
	matches := "LIKE"
	if !c.Bool("@fUsePattern") {
		matches = "="
	}
	found, err := c.Session.Query(
		ctx,
		`SELECT s.name AS owner, o.name AS name, p.name AS parameter, p.parameter_id AS ordinal, TYPE_NAME(p.system_type_id) AS type, IIF(p.is_readonly = 1, u.name, NULL) AS table_type, SCHEMA_NAME(u.schema_id) AS table_schema,
			(SELECT COUNT(*) FROM sys.table_types k JOIN sys.columns c ON c.object_id = k.type_table_object_id WHERE k.user_type_id = u.user_type_id) AS table_columns, p.max_length AS bytes,
			p.precision AS precision, p.scale AS scale, p.is_output AS is_output
		FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id LEFT JOIN sys.parameters p ON p.object_id = o.object_id
			LEFT JOIN sys.types u ON u.user_type_id = p.user_type_id
		WHERE o.type = 'P' AND (@p1 IS NULL OR o.name `+matches+` @p1) AND (@p2 IS NULL OR s.name `+matches+` @p2) ORDER BY s.name, o.name, p.parameter_id`,
		c.Value("@procedure_name"),
		c.Value("@procedure_owner"),
	)
	if err != nil {
		return err
	}
	var rows [][]any
	before := ""
	add := func(i int, column string, kind, ordinal int64, d odbcColumn) {
		if want := c.String("@column_name"); want != "" && want != "%" && !strings.EqualFold(want, column) {
			return
		}
		row := []any{
			c.Session.Database(),
			found.String(i, "owner"),
			found.String(i, "name") + ";1",
			column,
			kind,
			d.odbc,
			d.name,
			d.precision,
			d.length,
			d.scale,
			d.radix,
			d.nullable,
			nil,
			nil,
			d.sqlType,
			d.sub,
			d.octets,
			ordinal,
			map[int64]string{0: "NO", 1: "YES"}[d.nullable],
		}
		typed := make([]any, 8)
		if table := found.Value(i, "table_type"); table != nil && ordinal > 0 {
			row[5], row[6], row[7], row[8], row[9], row[14] = odbcTable, table, nil, int64(0), found.Int(i, "table_columns"),
				odbcTable
			typed[0], typed[1] = c.Session.Database(), found.Value(i, "table_schema")
		}
		if wide {
			row = append(row, typed...)
		}
		rows = append(rows, append(row, d.own))
	}
	for i := range found.Len() {
		if full := found.String(i, "owner") + "." + found.String(i, "name"); full != before {
			before = full
			status := odbcColumnOf("int", 4, 10, 0)
			status.nullable = 0
			add(i, "@RETURN_VALUE", 5, 0, status)
		}
		if found.Value(i, "parameter") == nil {
			continue
		}
		kind := int64(1)
		if found.Int(i, "is_output") != 0 {
			kind = 2
		}
		add(i, found.String(i, "parameter"), kind, found.Int(i, "ordinal"),
			odbcColumnOf(found.String(i, "type"), found.Int(i, "bytes"), found.Int(i, "precision"), found.Int(i, "scale")))
	}
	list := procedureColumnColumns
	if wide {
		list += procedureColumns100
	}
	return c.ResultSet(engine.ColumnList(list+", SS_DATA_TYPE tinyint"), rows)
}
