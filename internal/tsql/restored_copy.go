// SPDX-License-Identifier: Apache-2.0

package tsql

// UserObjects selects kind and name of what people have made in the connection's database, whatever it is: objects that
// belong to no other one, types, triggers of the database, schemas, users and roles. What comes with every database is
// none of it, nor is the user of a login. Schemas 1 to 4 and principals 0 to 4 come with every database, and so do the
// schemas of the fixed roles, from 16384 on. Sources: docs/relational-databases/system-catalog-views/
// sys-objects-transact-sql.md (is_ms_shipped, parent_object_id), sys-types-transact-sql.md,
// sys-triggers-transact-sql.md, schemas-catalog-views-sys-schemas.md, sys-database-principals-transact-sql.md.
func UserObjects(login string) Statement {
	return new(builder).sql(`SELECT LOWER(o.type_desc), s.name + N'.' + o.name
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.is_ms_shipped = 0 AND o.parent_object_id = 0
UNION ALL SELECT N'type', s.name + N'.' + t.name
FROM sys.types AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE t.is_user_defined = 1
UNION ALL SELECT N'database_trigger', t.name FROM sys.triggers AS t WHERE t.parent_class = 0 AND t.is_ms_shipped = 0
UNION ALL SELECT N'schema', s.name FROM sys.schemas AS s WHERE s.schema_id > 4 AND s.schema_id < 16384
UNION ALL SELECT LOWER(p.type_desc), p.name FROM sys.database_principals AS p
WHERE p.principal_id > 4 AND p.is_fixed_role = 0
    AND (p.sid IS NULL OR p.sid <> COALESCE(SUSER_SID(@login), 0x00))`).
		arg("login", login).done("look for what people have made in the database")
}

// DropOwnOnline drops a database with its files while it is ONLINE and READ_ONLY, its log ends where LogEnd said, so
// that nothing was written since, nobody's but the caller's login's session is in it, it is in no group and published
// for nothing, and each of its files has own in its path. Any other of the name is left alone. Sources:
// docs/t-sql/statements/drop-database-transact-sql.md,
// docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md, sys-master-files-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql.md,
// sys-dm-db-log-stats-transact-sql.md (log_end_lsn).
func DropOwnOnline(name, own, end string) Statement {
	b := ifOwn(name, own, " AND d.group_database_id IS NULL AND d.is_published = 0 AND d.is_merge_published = 0").
		sql(" AND NOT EXISTS (SELECT 1 FROM sys.dm_exec_sessions AS s " +
			"WHERE s.database_id = d.database_id AND s.original_login_name <> ORIGINAL_LOGIN()) " +
			"AND EXISTS (SELECT 1 FROM sys.dm_db_log_stats(DB_ID(").str(name).sql(")) AS l WHERE l.log_end_lsn = ").
		str(end).sql("))\n    DROP DATABASE IF EXISTS ").name(name)
	b.exclusive = true
	return b.done("drop what was restored as " + name)
}

// TakeWrites lets a database be written that is ONLINE and READ_ONLY, and each of whose files has own in its path; any
// other of the name is left alone. Who reads it meanwhile loses the connection: the server changes it for nobody else.
// Sources: docs/t-sql/statements/alter-database-transact-sql-set-options.md (READ_WRITE, WITH <termination>),
// docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md, sys-master-files-transact-sql.md.
func TakeWrites(name, own string) Statement {
	// It is not exclusive: the operator's own connections end, too, and pools of the whole server stay, by which long
	// statements for others are watched.
	return ifOwn(name, own, "").sql(")\n    ALTER DATABASE ").name(name).sql(" SET READ_WRITE WITH ROLLBACK IMMEDIATE").
		done("let " + name + " be written")
}

// ifOwn begins what is done while a database is ONLINE and READ_ONLY, has own in the path of each of its files, and
// more is so of it; the caller closes the parenthesis.
func ifOwn(name, own, more string) *builder {
	const filesOf = "(SELECT 1 FROM sys.master_files AS f WHERE f.database_id = d.database_id"
	return new(builder).
		sql("IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = ").str(name).
		sql(" AND d.state_desc = N'ONLINE'", more, " AND d.is_read_only = 1 AND EXISTS ", filesOf, ") AND NOT EXISTS ",
			filesOf, " AND CHARINDEX(").str(own).sql(", f.physical_name) = 0)")
}
