// SPDX-License-Identifier: Apache-2.0

package sysviews

import "geosql.dev/operator/standin/engine"

// installCompatibilityViews registers the compatibility views (docs/relational-databases/system-compatibility-views).
func installCompatibilityViews(r *engine.Registry) {
	// Parameters of modules are columns, too; what the pages call internal is 0 or NULL.
	r.TextView("sys", "syscolumns", "name sysname, id int, xtype tinyint, typestat tinyint, xusertype smallint, length smallint, xprec tinyint, xscale tinyint, colid smallint, xoffset smallint, bitpos tinyint, reserved tinyint, colstat smallint, "+
		"cdefault int, domain int, number smallint, colorder smallint, autoval varbinary(8000), offset smallint, collationid int, language int, status tinyint, type tinyint, usertype smallint, printfmt varchar(255), prec smallint, scale int, "+
		"iscomputed int, isoutparam int, isnullable int, collation sysname, tdscollation binary(5)",
		`SELECT name, object_id, system_type_id, CAST(0 AS tinyint), CAST(user_type_id AS smallint), max_length, precision, scale, CAST(column_id AS smallint), CAST(0 AS smallint), CAST(0 AS tinyint), CAST(0 AS tinyint),
				CAST(is_identity AS smallint) + 4 * CAST(is_computed AS smallint), default_object_id, rule_object_id, CAST(0 AS smallint), CAST(column_id AS smallint), CAST(NULL AS varbinary(8000)), CAST(0 AS smallint), CAST(NULL AS int), CAST(0 AS int),
				CAST(8 * CAST(is_nullable AS int) + 128 * CAST(is_identity AS int) AS tinyint), system_type_id, CAST(user_type_id AS smallint), CAST(NULL AS varchar(255)),
				CAST(COLUMNPROPERTY(object_id, name, 'Precision') AS smallint), CAST(scale AS int), CAST(is_computed AS int), 0, CAST(is_nullable AS int), collation_name, CAST(NULL AS binary(5)) FROM sys.columns
			UNION ALL SELECT name, object_id, system_type_id, CAST(0 AS tinyint), CAST(user_type_id AS smallint), max_length, precision, scale, CAST(parameter_id AS smallint), CAST(0 AS smallint), CAST(0 AS tinyint), CAST(0 AS tinyint),
				CAST(IIF(is_output = 1, 4, 0) AS smallint), 0, 0, CAST(1 AS smallint), CAST(parameter_id AS smallint), CAST(NULL AS varbinary(8000)), CAST(0 AS smallint), CAST(NULL AS int), CAST(0 AS int),
				CAST(IIF(is_output = 1, 72, 8) AS tinyint), system_type_id, CAST(user_type_id AS smallint), CAST(NULL AS varchar(255)),
				CAST(IIF(precision = 0, max_length, precision) AS smallint), CAST(scale AS int), 0, CAST(is_output AS int), 1, CAST(NULL AS sysname), CAST(NULL AS binary(5)) FROM sys.parameters`)
	r.TextView("sys", "systypes", "name sysname, xtype tinyint, status tinyint, xusertype smallint, length smallint, xprec tinyint, xscale tinyint, tdefault int, domain int, uid smallint, reserved smallint, collationid int, usertype smallint, "+
		"variable bit, allownulls bit, type tinyint, printfmt varchar(255), prec smallint, scale tinyint, collation sysname",
		`SELECT name, system_type_id, CAST(0 AS tinyint), CAST(user_type_id AS smallint), max_length, precision, scale, default_object_id, rule_object_id, CAST(schema_id AS smallint), CAST(0 AS smallint), CAST(NULL AS int), CAST(user_type_id AS smallint),
			CAST(IIF(TYPE_NAME(system_type_id) LIKE '%var%', 1, 0) AS bit), is_nullable, system_type_id, CAST(NULL AS varchar(255)), CAST(TYPEPROPERTY(name, 'Precision') AS smallint), scale, collation_name FROM sys.types`)
	r.TextView("sys", "sysusers", "uid smallint, status smallint, name sysname, sid varbinary(85), roles varbinary(2048), createdate datetime, updatedate datetime, altuid smallint, password varbinary(256), gid smallint, environ varchar(255), "+
		"hasdbaccess int, islogin int, isntname int, isntgroup int, isntuser int, issqluser int, isaliased int, issqlrole int, isapprole int",
		`SELECT CAST(principal_id AS smallint), CAST(0 AS smallint), name, sid, CAST(NULL AS varbinary(2048)), create_date, modify_date, CAST(owning_principal_id AS smallint), CAST(NULL AS varbinary(256)),
			CAST(IIF(type = 'R', principal_id, 0) AS smallint), CAST(NULL AS varchar(255)), IIF(type = 'R' OR name IN ('guest', 'sys', 'INFORMATION_SCHEMA'), 0, 1), IIF(type = 'R', 0, 1), 0, 0, 0, IIF(type = 'S', 1, 0), 0, IIF(type = 'R', 1, 0), 0
			FROM sys.database_principals WHERE principal_id < 32768`)
	r.TextView("sys", "syslogins", "sid varbinary(85), status smallint, createdate datetime, updatedate datetime, accdate datetime, totcpu int, totio int, spacelimit int, timelimit int, resultlimit int, name sysname, dbname sysname, password nvarchar(128), "+
		"language sysname, denylogin int, hasaccess int, isntname int, isntgroup int, isntuser int, sysadmin int, securityadmin int, serveradmin int, setupadmin int, processadmin int, diskadmin int, dbcreator int, bulkadmin int, loginname nvarchar(128)",
		`SELECT sid, CAST(9 AS smallint), create_date, modify_date, create_date, 0, 0, 0, 0, 0, name, default_database_name, CAST(NULL AS nvarchar(128)), default_language_name, CAST(is_disabled AS int), 1, 0, 0, 0,
			IS_SRVROLEMEMBER('sysadmin', name), IS_SRVROLEMEMBER('securityadmin', name), IS_SRVROLEMEMBER('serveradmin', name), IS_SRVROLEMEMBER('setupadmin', name), IS_SRVROLEMEMBER('processadmin', name),
			IS_SRVROLEMEMBER('diskadmin', name), IS_SRVROLEMEMBER('dbcreator', name), IS_SRVROLEMEMBER('bulkadmin', name), name FROM sys.server_principals WHERE type <> 'R'`)
	r.TextView("sys", "sysconstraints", "constid int, id int, colid smallint, spare1 tinyint, status int, actions int, error int",
		`SELECT object_id, parent_object_id, CAST(0 AS smallint), CAST(0 AS tinyint), IIF(type = 'PK', 1, 2) + 32, 0, 0 FROM sys.key_constraints
			UNION ALL SELECT object_id, parent_object_id, CAST(0 AS smallint), CAST(0 AS tinyint), 3 + 32, 0, 0 FROM sys.foreign_keys
			UNION ALL SELECT object_id, parent_object_id, CAST(parent_column_id AS smallint), CAST(0 AS tinyint), 4 + IIF(parent_column_id = 0, 32, 16), 0, 0 FROM sys.check_constraints
			UNION ALL SELECT object_id, parent_object_id, CAST(parent_column_id AS smallint), CAST(0 AS tinyint), 5 + 16, 0, 0 FROM sys.default_constraints`)
	r.TextView("sys", "sysmessages", "error int, severity tinyint, dlevel smallint, description nvarchar(255), msglangid smallint",
		"SELECT message_id, severity, CAST(IIF(is_event_logged = 1, 128, 0) AS smallint), CAST(text AS nvarchar(255)), CAST(language_id AS smallint) FROM sys.messages")
	r.TextView("sys", "sysperfinfo", "object_name nchar(128), counter_name nchar(128), instance_name nchar(128), cntr_value bigint, cntr_type int",
		"SELECT object_name, counter_name, instance_name, cntr_value, cntr_type FROM sys.dm_os_performance_counters")
	r.TextView("sys", "sysdevices", "name sysname, size int, low int, high int, status smallint, cntrltype smallint, phyname nvarchar(260)",
		"SELECT name, 0, 0, 0, CAST(16 AS smallint), CAST(type AS smallint), physical_name FROM sys.backup_devices")
	r.TextView("sys", "syscomments", "id int, number smallint, colid smallint, status smallint, ctext varbinary(8000), texttype smallint, language smallint, encrypted bit, compressed bit, text nvarchar(4000)",
		"SELECT object_id, CAST(1 AS smallint), CAST(1 AS smallint), CAST(0 AS smallint), CAST(NULL AS varbinary(8000)), CAST(2 AS smallint), CAST(0 AS smallint), CAST(IIF(definition IS NULL, 1, 0) AS bit), CAST(0 AS bit), CAST(definition AS nvarchar(4000)) FROM sys.sql_modules")
	r.TextView("sys", "sysfiles", "fileid smallint, groupid smallint, size int, maxsize int, growth int, status int, perf int, name sysname, filename nvarchar(260)",
		"SELECT CAST(file_id AS smallint), CAST(IIF(type = 0, 1, 0) AS smallint), size, max_size, growth, 0, 0, name, physical_name FROM sys.database_files")
}
