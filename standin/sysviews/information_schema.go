// SPDX-License-Identifier: Apache-2.0

package sysviews

import "geosql.dev/standin/engine"

// installInformationSchema registers the views of INFORMATION_SCHEMA that are catalog views in another form
// (docs/relational-databases/system-information-schema-views).
func installInformationSchema(r *engine.Registry) {
	const name = "nvarchar(128)"
	r.TextView(
		"INFORMATION_SCHEMA",
		"CHECK_CONSTRAINTS",
		"CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname, CHECK_CLAUSE nvarchar(4000)",
		"SELECT DB_NAME(), SCHEMA_NAME(schema_id), name, CAST(definition AS nvarchar(4000)) FROM sys.check_constraints",
	)
	constraints := `(SELECT k.object_id, k.name, k.schema_id, k.parent_object_id, ic.column_id FROM sys.key_constraints k JOIN sys.index_columns ic ON ic.object_id = k.parent_object_id AND ic.index_id = k.unique_index_id
		UNION ALL SELECT f.object_id, f.name, f.schema_id, f.parent_object_id, c.parent_column_id FROM sys.foreign_keys f JOIN sys.foreign_key_columns c ON c.constraint_object_id = f.object_id
		UNION ALL SELECT k.object_id, k.name, k.schema_id, k.parent_object_id, c.column_id FROM sys.check_constraints k JOIN sys.columns c ON c.object_id = k.parent_object_id
			AND (c.column_id = k.parent_column_id OR k.parent_column_id = 0 AND k.definition LIKE '%[^a-z0-9_@#$]' + REPLACE(REPLACE(c.name, '[', '[[]'), '_', '[_]') + '[^a-z0-9_@#$]%'))`
	r.TextView(
		"INFORMATION_SCHEMA",
		"CONSTRAINT_COLUMN_USAGE",
		"TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, COLUMN_NAME sysname, "+
			"CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname",
		"SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, COL_NAME(x.parent_object_id, x.column_id), DB_NAME(), "+
			"SCHEMA_NAME(x.schema_id), x.name FROM "+constraints+" x JOIN sys.objects t ON t.object_id = x.parent_object_id "+
			"WHERE x.column_id > 0",
	)
	r.TextView(
		"INFORMATION_SCHEMA",
		"CONSTRAINT_TABLE_USAGE",
		"TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, "+
			"CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname",
		"SELECT DISTINCT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, DB_NAME(), SCHEMA_NAME(x.schema_id), "+
			"x.name FROM "+constraints+" x JOIN sys.objects t ON t.object_id = x.parent_object_id",
	)
	r.TextView(
		"INFORMATION_SCHEMA",
		"PARAMETERS",
		"SPECIFIC_CATALOG "+name+", SPECIFIC_SCHEMA "+name+", SPECIFIC_NAME sysname, ORDINAL_POSITION int, PARAMETER_MODE "+
			"nvarchar(10), IS_RESULT nvarchar(10), AS_LOCATOR nvarchar(10), "+
			"PARAMETER_NAME "+name+", DATA_TYPE "+name+", CHARACTER_MAXIMUM_LENGTH int, NUMERIC_PRECISION tinyint, "+
			"NUMERIC_SCALE int",
		`SELECT DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, p.parameter_id, CASE WHEN p.parameter_id = 0 THEN 'OUT' WHEN p.is_output = 1 THEN 'INOUT' ELSE 'IN' END, IIF(p.parameter_id = 0, 'YES', 'NO'), 'NO', p.name, TYPE_NAME(p.user_type_id),
			CASE WHEN TYPE_NAME(p.user_type_id) IN ('nvarchar', 'nchar') AND p.max_length > 0 THEN p.max_length / 2 WHEN TYPE_NAME(p.user_type_id) LIKE '%char' OR TYPE_NAME(p.user_type_id) LIKE '%binary' THEN p.max_length END,
			NULLIF(p.precision, 0), IIF(p.precision = 0, NULL, CAST(p.scale AS int)) FROM sys.parameters p JOIN sys.objects o ON o.object_id = p.object_id`,
	)
	r.TextView(
		"INFORMATION_SCHEMA",
		"SEQUENCES",
		"SEQUENCE_CATALOG "+name+", SEQUENCE_SCHEMA "+name+", SEQUENCE_NAME sysname, DATA_TYPE nvarchar(128), "+
			"NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE int, "+
			"START_VALUE bigint, MINIMUM_VALUE bigint, MAXIMUM_VALUE bigint, INCREMENT bigint, CYCLE_OPTION bit",
		`SELECT DB_NAME(), SCHEMA_NAME(schema_id), name, TYPE_NAME(user_type_id), precision, CAST(10 AS smallint), CAST(scale AS int), CAST(start_value AS bigint), CAST(minimum_value AS bigint), CAST(maximum_value AS bigint),
			CAST(increment AS bigint), is_cycling FROM sys.sequences`,
	)
	r.TextView(
		"INFORMATION_SCHEMA",
		"TABLE_PRIVILEGES",
		"GRANTOR "+name+", GRANTEE "+name+", TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, "+
			"PRIVILEGE_TYPE varchar(10), IS_GRANTABLE varchar(3)",
		"SELECT USER_NAME(d.grantor_principal_id), g.name, DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, "+
			"CAST(d.permission_name AS varchar(10)), CAST(IIF(d.state = 'W', 'YES', 'NO') AS varchar(3)) FROM sys.objects t "+
			"JOIN sys.database_permissions d "+
			"ON d.class = 1 AND d.major_id = t.object_id AND d.minor_id = 0 AND d.state IN ('G', 'W') JOIN "+
			"sys.database_principals g ON g.principal_id = d.grantee_principal_id WHERE t.type IN ('U', 'V')",
	)
	r.EmptyView(
		"",
		"INFORMATION_SCHEMA",
		"DOMAINS",
		"DOMAIN_CATALOG "+name+", DOMAIN_SCHEMA "+name+", DOMAIN_NAME sysname, DATA_TYPE sysname, "+
			"CHARACTER_MAXIMUM_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_SCALE tinyint, DOMAIN_DEFAULT nvarchar(4000)",
	)
}

// installUsageViews registers INFORMATION_SCHEMA's views of which object uses what.
func installUsageViews(r *engine.Registry) {
	const name = "nvarchar(128)"
	r.TextView(
		"INFORMATION_SCHEMA",
		"COLUMN_DOMAIN_USAGE",
		"DOMAIN_CATALOG "+name+", DOMAIN_SCHEMA "+name+", DOMAIN_NAME sysname, "+
			"TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, COLUMN_NAME sysname",
		"SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, c.name FROM "+
			"sys.columns c JOIN sys.objects o ON o.object_id = c.object_id JOIN sys.types t ON t.user_type_id = "+
			"c.user_type_id WHERE t.is_user_defined = 1",
	)
	r.TextView(
		"INFORMATION_SCHEMA",
		"COLUMN_PRIVILEGES",
		"GRANTOR "+name+", GRANTEE "+name+", TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, "+
			"COLUMN_NAME sysname, PRIVILEGE_TYPE varchar(10), IS_GRANTABLE varchar(3)",
		"SELECT USER_NAME(d.grantor_principal_id), USER_NAME(d.grantee_principal_id), DB_NAME(), "+
			"SCHEMA_NAME(t.schema_id), t.name, c.name, CAST(d.permission_name AS varchar(10)), CAST(IIF(d.state = 'W', "+
			"'YES', 'NO') AS varchar(3)) FROM sys.database_permissions d "+
			"JOIN sys.objects t ON t.object_id = d.major_id JOIN sys.columns c ON c.object_id = t.object_id AND (d.minor_id "+
			"= 0 OR d.minor_id = c.column_id) WHERE d.class = 1 AND d.state IN ('G', 'W') AND d.permission_name IN "+
			"('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')",
	)
	r.EmptyView(
		"",
		"INFORMATION_SCHEMA",
		"DOMAIN_CONSTRAINTS",
		"CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname, "+
			"DOMAIN_CATALOG "+name+", DOMAIN_SCHEMA "+name+", DOMAIN_NAME sysname, IS_DEFERRABLE varchar(2), "+
			"INITIALLY_DEFERRED varchar(2)",
	)
	r.TextView(
		"INFORMATION_SCHEMA",
		"VIEW_TABLE_USAGE",
		"VIEW_CATALOG "+name+", VIEW_SCHEMA "+name+", VIEW_NAME sysname, "+
			"TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname",
		"SELECT DB_NAME(), SCHEMA_NAME(v.schema_id), v.name, DB_NAME(), SCHEMA_NAME(o.schema_id), o.name FROM "+
			"sys.sql_expression_dependencies d JOIN sys.views v ON v.object_id = d.referencing_id JOIN sys.objects o ON "+
			"o.object_id = d.referenced_id WHERE o.type IN ('U', 'V')",
	)
}
