// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"regexp"
	"strconv"
)

// CreateDatabase creates a database if there is none of that name.
// Source: docs/t-sql/statements/create-database-transact-sql.md.
func CreateDatabase(name string) Statement {
	return new(builder).
		sql("IF DB_ID(").str(name).sql(") IS NULL\n    CREATE DATABASE ").name(name).
		done("create database " + name)
}

// CreateDatabaseWith creates a database with a collation if there is none of that name. Nothing stands around the name
// of a collation: one that has other characters than letters, digits and underscores is quoted all the same, and
// refused by the server. Source: docs/t-sql/statements/create-database-transact-sql.md.
func CreateDatabaseWith(name, collation string) Statement {
	if collation == "" {
		return CreateDatabase(name)
	}
	b := new(builder).
		sql("IF DB_ID(").str(name).sql(") IS NULL\n    CREATE DATABASE ").name(name).sql(" COLLATE ")
	if plainCollation.MatchString(collation) {
		b.sql(collation)
	} else {
		b.name(collation)
	}
	return b.done("create database " + name + " with collation " + collation)
}

var plainCollation = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// SetCompatibilityLevel sets a database's compatibility level. Queries that run finish as they were compiled.
// Source: docs/t-sql/statements/alter-database-transact-sql-compatibility-level.md.
func SetCompatibilityLevel(name string, level int) Statement {
	return new(builder).
		sql("ALTER DATABASE ").name(name).sql(" SET COMPATIBILITY_LEVEL = ", strconv.Itoa(level)).
		done("set the compatibility level of " + name)
}

// SetReadCommittedSnapshot turns row versions for READ COMMITTED on or off. The server does it only while nobody else
// has a connection to the database. Without NO_WAIT it would wait for that, and whoever connects meanwhile behind it;
// with a ROLLBACK clause it would end the others. So it is refused (5070) where anybody is.
// Source: docs/t-sql/statements/alter-database-transact-sql-set-options.md, READ_COMMITTED_SNAPSHOT and WITH
// <termination>.
func SetReadCommittedSnapshot(name string, on bool) Statement {
	b := new(builder).sql("ALTER DATABASE ").name(name).sql(" SET READ_COMMITTED_SNAPSHOT ")
	b.exclusive = true
	if on {
		return b.sql("ON WITH NO_WAIT").done("turn on READ_COMMITTED_SNAPSHOT in " + name)
	}
	return b.sql("OFF WITH NO_WAIT").done("turn off READ_COMMITTED_SNAPSHOT in " + name)
}

// SetDatabaseOwner makes a login the owner of a database, dbo there; it may not be a user of the database (15110).
// Source: docs/t-sql/statements/alter-authorization-transact-sql.md.
func SetDatabaseOwner(name, login string) Statement {
	return new(builder).
		sql("ALTER AUTHORIZATION ON DATABASE::").name(name).sql(" TO ").name(login).
		done("make " + login + " the owner of " + name)
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

// CheckDatabase has the server check that all of a database is what it should be; what it finds are errors, whose
// numbers mssql.Findings tells apart. It needs sysadmin or db_owner. Source:
// docs/t-sql/database-console-commands/dbcc-checkdb-transact-sql.md.
func CheckDatabase(name string) Statement {
	return new(builder).sql("DBCC CHECKDB (").str(name).sql(") WITH NO_INFOMSGS, ALL_ERRORMSGS").
		takesLong("DBCC CHECKDB", name).done("check database " + name)
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
