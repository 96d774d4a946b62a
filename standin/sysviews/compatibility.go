// SPDX-License-Identifier: Apache-2.0

package sysviews

import "geosql.dev/standin/engine"

// installCompatibilityViews registers the compatibility views (docs/relational-databases/system-compatibility-views).
func installCompatibilityViews(r *engine.Registry) {
	r.TextView(
		"sys",
		"syscolumns",
		"name sysname, id int, xtype tinyint, typestat tinyint, xusertype smallint, length smallint, xprec tinyint, "+
			"xscale tinyint, colid smallint, xoffset smallint, bitpos tinyint, reserved tinyint, "+
			"colstat smallint, cdefault int, domain int, number smallint, colorder smallint, autoval varbinary(8000), offset "+
			"smallint, collationid int, status tinyint, type tinyint, usertype smallint, printfmt varchar(255), prec smallint, "+
			"scale int, iscomputed int, isoutparam int, isnullable int, collation sysname",
		oldColumns(
			"column_id",
			"default_object_id",
			"0",
			"is_nullable",
			"is_identity",
			"is_computed",
			"0",
			"collation_name",
		)+" FROM sys.columns UNION ALL "+
			oldColumns(
				"parameter_id",
				"0",
				"IIF(OBJECTPROPERTY(object_id, 'IsProcedure') = 1, 1, 0)",
				"1",
				"0",
				"0",
				"is_output",
				"CAST(NULL AS sysname)",
			)+" FROM sys.parameters",
	)
	r.TextView(
		"sys",
		"systypes",
		"name sysname, xtype tinyint, status tinyint, xusertype smallint, length smallint, xprec tinyint, xscale tinyint, "+
			"tdefault int, domain int, uid smallint, reserved smallint, collationid int, usertype smallint, "+
			"variable bit, allownulls bit, type tinyint, printfmt varchar(255), prec smallint, scale tinyint, collation sysname",
		`SELECT name, system_type_id, CAST(0 AS tinyint), CAST(user_type_id AS smallint), max_length, precision, scale, default_object_id, rule_object_id, CAST(schema_id AS smallint), CAST(0 AS smallint),
			CAST(COLLATIONPROPERTY(collation_name, 'CollationID') AS int), CAST(user_type_id AS smallint), CAST(IIF(system_type_id IN (165, 167, 231), 1, 0) AS bit), is_nullable, system_type_id, CAST(NULL AS varchar(255)),
			`+oldPrecision+`, CAST(IIF(precision = 0, NULL, scale) AS tinyint), collation_name FROM sys.types`,
	)
	r.TextView(
		"sys",
		"sysusers",
		"uid smallint, status smallint, name sysname, sid varbinary(85), roles varbinary(2048), createdate datetime, "+
			"updatedate datetime, altuid smallint, password varbinary(256), gid smallint, environ varchar(255), "+
			"hasdbaccess int, islogin int, isntname int, isntgroup int, isntuser int, issqluser int, isaliased int, "+
			"issqlrole int, isapprole int",
		`SELECT CAST(principal_id AS smallint), CAST(0 AS smallint), name, sid, CAST(NULL AS varbinary(2048)), create_date, modify_date, CAST(NULL AS smallint), CAST(NULL AS varbinary(256)),
			CAST(IIF(type = 'R', principal_id, 0) AS smallint), CAST(NULL AS varchar(255)),
			IIF(principal_id = 1 OR EXISTS (SELECT 1 FROM sys.database_permissions p WHERE p.class = 0 AND p.grantee_principal_id = d.principal_id AND p.type = 'CO' AND p.state IN ('G', 'W')), 1, 0),
			IIF(type = 'R', 0, 1), 0, 0, 0, IIF(type = 'S', 1, 0), 0, IIF(type = 'R', 1, 0), 0 FROM sys.database_principals d WHERE principal_id < 32768`,
	)
	r.TextView(
		"sys",
		"syslogins",
		"sid varbinary(85), status smallint, createdate datetime, updatedate datetime, accdate datetime, totcpu int, "+
			"totio int, spacelimit int, timelimit int, resultlimit int, name sysname, dbname sysname, "+
			"password nvarchar(128), language sysname, denylogin int, hasaccess int, isntname int, isntgroup int, isntuser "+
			"int, sysadmin int, securityadmin int, serveradmin int, setupadmin int, processadmin int, diskadmin int, "+
			"dbcreator int, "+
			"bulkadmin int, loginname nvarchar(128)",
		`SELECT sid, CAST(9 AS smallint), create_date, modify_date, create_date, 0, 0, 0, 0, 0, name, default_database_name, CAST(NULL AS nvarchar(128)), default_language_name, CAST(is_disabled AS int), 1, 0, 0, 0, `+
			memberOf(
				"sysadmin",
				"securityadmin",
				"serveradmin",
				"setupadmin",
				"processadmin",
				"diskadmin",
				"dbcreator",
				"bulkadmin",
			)+` CAST(name AS nvarchar(128)) FROM sys.server_principals WHERE type <> 'R'`,
	)
	r.TextView(
		"sys",
		"sysmessages",
		"error int, severity smallint, dlevel smallint, description nvarchar(255), msglangid smallint",
		"SELECT message_id, CAST(severity AS smallint), CAST(IIF(is_event_logged = 1, 128, 0) AS smallint), CAST(text AS "+
			"nvarchar(255)), language_id FROM sys.messages",
	)
	r.TextView(
		"sys",
		"sysconstraints",
		"constid int, id int, colid smallint, spare1 tinyint, status int, actions int, error int",
		// Bits above those of the page, which clients read as well: 512 and 1024 of clustered and other keys, 2048 of what is
		// never deferred, 16384 disabled, 131072 named by the system, 2097152 not for replication.
		`SELECT k.object_id, k.parent_object_id, CAST(0 AS smallint), CAST(0 AS tinyint), IIF(k.type = 'PK', 1, 2) + 32 + IIF(i.type = 1, 512, 1024) + 2048 + k.is_system_named * 131072, 4096, 0
				FROM sys.key_constraints k JOIN sys.indexes i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id
			UNION ALL SELECT object_id, parent_object_id, CAST(0 AS smallint), CAST(0 AS tinyint), 3 + 32 + 2048 + is_disabled * 16384 + is_system_named * 131072 + is_not_for_replication * 2097152, 4096, 0 FROM sys.foreign_keys
			UNION ALL SELECT object_id, parent_object_id, CAST(parent_column_id AS smallint), CAST(0 AS tinyint), 4 + IIF(parent_column_id > 0, 16, 32) + 2048 + is_disabled * 16384 + is_system_named * 131072 + is_not_for_replication * 2097152, 4096, 0
				FROM sys.check_constraints
			UNION ALL SELECT object_id, parent_object_id, CAST(parent_column_id AS smallint), CAST(0 AS tinyint), 5 + 16 + 2048 + is_system_named * 131072, 4096, 0 FROM sys.default_constraints`,
	)
	r.TextView(
		"sys",
		"sysdepends",
		"id int, depid int, number smallint, depnumber smallint, status smallint, deptype tinyint, depdbid smallint, "+
			"depsiteid smallint, selall bit, resultobj bit, readobj bit",
		`SELECT object_id, referenced_major_id, CAST(1 AS smallint), CAST(referenced_minor_id AS smallint), CAST(is_selected * 8 + is_updated * 4 AS smallint), class, CAST(0 AS smallint), CAST(0 AS smallint), is_select_all, is_updated, is_selected
			FROM sys.sql_dependencies`,
	)
	r.TextView(
		"sys",
		"sysdevices",
		"name sysname, size int, low int, high int, status smallint, cntrltype smallint, phyname nvarchar(260)",
		"SELECT name, 0, 0, 0, CAST(16 AS smallint), CAST(type AS smallint), physical_name FROM sys.backup_devices",
	)
	r.TextView(
		"sys",
		"sysperfinfo",
		"object_name nchar(128), counter_name nchar(128), instance_name nchar(128), cntr_value bigint, cntr_type int",
		"SELECT object_name, counter_name, instance_name, cntr_value, cntr_type FROM sys.dm_os_performance_counters",
	)
	r.TextView(
		"sys",
		"sysprotects",
		"id int, uid smallint, action tinyint, protecttype tinyint, columns varbinary(8000), grantor smallint",
		`SELECT major_id, CAST(grantee_principal_id AS smallint), CAST(CASE RTRIM(type) WHEN 'RF' THEN 26 WHEN 'CRFN' THEN 178 WHEN 'SL' THEN 193 WHEN 'IN' THEN 195 WHEN 'DL' THEN 196 WHEN 'UP' THEN 197 WHEN 'CRTB' THEN 198
			WHEN 'CRDB' THEN 203 WHEN 'CRVW' THEN 207 WHEN 'CRPR' THEN 222 WHEN 'EX' THEN 224 WHEN 'BADB' THEN 228 WHEN 'CRDF' THEN 233 WHEN 'BALO' THEN 235 WHEN 'CRRU' THEN 236 END AS tinyint),
			CAST(CASE state WHEN 'W' THEN 204 WHEN 'D' THEN 206 ELSE 205 END AS tinyint), CAST(0x01 AS varbinary(8000)), CAST(grantor_principal_id AS smallint) FROM sys.database_permissions
			WHERE class IN (0, 1) AND RTRIM(type) IN ('RF', 'CRFN', 'SL', 'IN', 'DL', 'UP', 'CRTB', 'CRDB', 'CRVW', 'CRPR', 'EX', 'BADB', 'CRDF', 'BALO', 'CRRU')`,
	)
	r.TextView(
		"sys",
		"syscomments",
		"id int, number smallint, colid smallint, status smallint, ctext varbinary(8000), texttype smallint, language "+
			"smallint, encrypted bit, compressed bit, text nvarchar(4000)",
		// A row for each 4,000 characters of a definition, numbered by colid; constraints and defaults have theirs, too.
		`SELECT m.object_id, m.number, CAST(v.number + 1 AS smallint), CAST(0 AS smallint), CAST(NULL AS varbinary(8000)), CAST(2 AS smallint), CAST(0 AS smallint), CAST(IIF(m.definition IS NULL, 1, 0) AS bit), CAST(0 AS bit),
				CAST(SUBSTRING(m.definition, v.number * 4000 + 1, 4000) AS nvarchar(4000))
			FROM (SELECT object_id, CAST(OBJECTPROPERTY(object_id, 'IsProcedure') AS smallint) AS number, definition FROM sys.sql_modules
				UNION ALL SELECT object_id, CAST(0 AS smallint), definition FROM sys.check_constraints UNION ALL SELECT object_id, CAST(0 AS smallint), definition FROM sys.default_constraints) AS m
			JOIN master.dbo.spt_values AS v ON v.type = 'P' AND v.number * 8000 < ISNULL(NULLIF(DATALENGTH(m.definition), 0), 1)`,
	)
	r.TextView(
		"sys",
		"sysfiles",
		"fileid smallint, groupid smallint, size int, maxsize int, growth int, status int, perf int, name sysname, "+
			"filename nvarchar(260)",
		"SELECT CAST(file_id AS smallint), CAST(IIF(type = 0, 1, 0) AS smallint), size, max_size, growth, 0, 0, name, "+
			"physical_name FROM sys.database_files",
	)
}

// oldPrecision is prec of syscolumns and systypes: digits, or the length in characters, -1 for large values.
const oldPrecision = "CAST(CASE WHEN precision > 0 THEN precision WHEN max_length < 0 THEN -1 WHEN system_type_id " +
	"IN (231, 239) THEN max_length / 2 ELSE max_length END AS smallint)"

// oldColumns is the select list of sys.syscolumns over a view of columns or parameters. status has 0x08 for what may be
// NULL, 0x40 for what a procedure gives back, and 0x80 for an identity
// (docs/relational-databases/system-compatibility-views/sys-syscolumns-transact-sql.md).
func oldColumns(id, standard, number, nullable, identity, computed, output, collation string) string {
	return "SELECT name, object_id, system_type_id, CAST(0 AS tinyint), CAST(user_type_id AS smallint), max_length, " +
		"precision, scale, CAST(" + id + " AS smallint), CAST(0 AS smallint), CAST(0 AS tinyint), CAST(0 AS tinyint), " +
		"CAST(" + identity + " AS smallint), " + standard + ", 0, CAST(" + number + " AS smallint), CAST(" + id +
		" AS smallint), CAST(NULL AS varbinary(8000)), CAST(0 AS smallint), " +
		"CAST(COLLATIONPROPERTY(" + collation + ", 'CollationID') AS int), CAST(8 * " + nullable + " + 64 * " + output +
		" + 128 * " + identity + " AS tinyint), system_type_id, CAST(user_type_id AS smallint), " +
		"CAST(NULL AS varchar(255)), " + oldPrecision + ", CAST(IIF(precision = 0, NULL, scale) AS int), CAST(" + computed +
		" AS int), CAST(" + output + " AS int), CAST(" + nullable + " AS int), " + collation
}

// memberOf are columns that tell whether a login is a member of server roles, with a comma behind each.
func memberOf(roles ...string) string {
	text := ""
	for _, role := range roles {
		text += "IS_SRVROLEMEMBER('" + role + "', name), "
	}
	return text
}
