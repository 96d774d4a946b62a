// SPDX-License-Identifier: Apache-2.0

package tsql

// CreateDatabase creates a database if there is none of that name.
// Source: docs/t-sql/statements/create-database-transact-sql.md.
func CreateDatabase(name string) Statement {
	return new(builder).
		sql("IF DB_ID(").str(name).sql(") IS NULL\n    CREATE DATABASE ").name(name).
		done("create database " + name)
}

// SetRecoveryFull puts a database into the full recovery model, which groups and their seeding need.
// Source: docs/t-sql/statements/alter-database-transact-sql-set-options.md.
func SetRecoveryFull(name string) Statement {
	return new(
		builder,
	).sql("ALTER DATABASE ").
		name(name).
		sql(" SET RECOVERY FULL").
		done("put " + name + " into full recovery")
}

// BackupDatabaseFull takes a full backup to a file: seeding needs one that is real, not one to NUL.
// Source: docs/t-sql/statements/backup-transact-sql.md.
func BackupDatabaseFull(name, path string) Statement {
	return new(builder).
		sql("BACKUP DATABASE ").name(name).sql(" TO DISK = ").str(path).sql(" WITH FORMAT, INIT, CHECKSUM, COMPRESSION").
		takesLong("BACKUP DATABASE", name).
		done("take the first full backup of " + name)
}

// DatabaseExists says whether the instance has a database of the name, as a bit. Every login sees every name unless
// VIEW ANY DATABASE was taken from public. Source: docs/relational-databases/system-catalog-views/
// sys-databases-transact-sql.md, Permissions.
func DatabaseExists(name string) Statement {
	return new(
		builder,
	).sql("SELECT CAST(COUNT(*) AS bit) FROM sys.databases WHERE name = ").
		str(name).
		done("ask whether database " + name + " exists")
}

// DatabaseCopy reads the state of a database, whether it is in a group, as a bit, the name of that group where the
// instance knows it, and another group than the given one that has a database of the name, joined or not; no row where
// the instance has no such database. It takes VIEW ANY DEFINITION. Sources: as for DatabaseExists,
// sys-availability-databases-cluster-transact-sql.md, sys-availability-groups-transact-sql.md.
func DatabaseCopy(group, name string) Statement {
	return new(builder).
		sql("SELECT d.state_desc, CAST(CASE WHEN d.group_database_id IS NULL THEN 0 ELSE 1 END AS bit), " +
			"COALESCE(g.name, N''),\n" +
			"    COALESCE((SELECT MIN(o.name) FROM sys.availability_databases_cluster AS n\n" +
			"        JOIN sys.availability_groups AS o ON o.group_id = n.group_id\n" +
			"        WHERE n.database_name = d.name AND o.name <> ").str(group).sql("), N'')\n" +
		"FROM sys.databases AS d\n" +
		"LEFT JOIN sys.availability_databases_cluster AS c ON c.group_database_id = d.group_database_id\n" +
		"LEFT JOIN sys.availability_groups AS g ON g.group_id = c.group_id\nWHERE d.name = ").str(name).
		done("ask for the state of database " + name)
}

// DropDatabase drops a database with its files. Source: docs/t-sql/statements/drop-database-transact-sql.md.
func DropDatabase(name string) Statement {
	return new(builder).sql("DROP DATABASE IF EXISTS ").name(name).done("drop database " + name)
}

// SetHADROff takes a secondary database out of its group; it stays in RESTORING state.
// Source: docs/t-sql/statements/alter-database-transact-sql-set-hadr.md.
func SetHADROff(name string) Statement {
	return new(builder).sql("ALTER DATABASE ").name(name).sql(" SET HADR OFF").done("take " + name + " out of its group")
}

// SetHADRResume resumes data movement of a database.
// Source: docs/t-sql/statements/alter-database-transact-sql-set-hadr.md.
func SetHADRResume(name string) Statement {
	return new(builder).sql("ALTER DATABASE ").name(name).sql(" SET HADR RESUME").done("resume data movement of " + name)
}
