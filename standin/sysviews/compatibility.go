// SPDX-License-Identifier: Apache-2.0

package sysviews

import "geosql.dev/operator/standin/engine"

// installCompatibilityViews registers the compatibility views (docs/relational-databases/system-compatibility-views).
func installCompatibilityViews(r *engine.Registry) {
	r.TextView("sys", "syscolumns", "name sysname, id int, xtype tinyint, xusertype smallint, length smallint, colid smallint, prec smallint, scale int, iscomputed int, isnullable int, collation sysname",
		"SELECT name, object_id, system_type_id, CAST(user_type_id AS smallint), max_length, CAST(column_id AS smallint), CAST(precision AS smallint), CAST(scale AS int), CAST(is_computed AS int), CAST(is_nullable AS int), collation_name FROM sys.columns")
	r.TextView("sys", "systypes", "name sysname, xtype tinyint, status tinyint, xusertype smallint, length smallint, xprec tinyint, xscale tinyint, uid smallint, collation sysname",
		"SELECT name, system_type_id, CAST(0 AS tinyint), CAST(user_type_id AS smallint), max_length, precision, scale, CAST(schema_id AS smallint), collation_name FROM sys.types")
	r.TextView("sys", "sysusers", "uid smallint, name sysname, sid varbinary(85), createdate datetime, updatedate datetime, islogin int, issqluser int, issqlrole int",
		"SELECT CAST(principal_id AS smallint), name, sid, create_date, modify_date, IIF(type = 'R', 0, 1), IIF(type = 'S', 1, 0), IIF(type = 'R', 1, 0) FROM sys.database_principals WHERE principal_id < 32768")
	r.TextView("sys", "syslogins", "sid varbinary(85), createdate datetime, updatedate datetime, name sysname, dbname sysname, language sysname, denylogin int, hasaccess int, isntname int, sysadmin int, loginname sysname",
		"SELECT sid, create_date, modify_date, name, default_database_name, default_language_name, CAST(is_disabled AS int), 1, 0, IS_SRVROLEMEMBER('sysadmin', name), name FROM sys.server_principals WHERE type <> 'R'")
	r.TextView("sys", "syscomments", "id int, number smallint, colid smallint, status smallint, ctext varbinary(8000), texttype smallint, language smallint, encrypted bit, compressed bit, text nvarchar(4000)",
		"SELECT object_id, CAST(1 AS smallint), CAST(1 AS smallint), CAST(0 AS smallint), CAST(NULL AS varbinary(8000)), CAST(2 AS smallint), CAST(0 AS smallint), CAST(IIF(definition IS NULL, 1, 0) AS bit), CAST(0 AS bit), CAST(definition AS nvarchar(4000)) FROM sys.sql_modules")
	r.TextView("sys", "sysfiles", "fileid smallint, groupid smallint, size int, maxsize int, growth int, status int, perf int, name sysname, filename nvarchar(260)",
		"SELECT CAST(file_id AS smallint), CAST(IIF(type = 0, 1, 0) AS smallint), size, max_size, growth, 0, 0, name, physical_name FROM sys.database_files")
}
