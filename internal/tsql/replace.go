// SPDX-License-Identifier: Apache-2.0

package tsql

// RenameDatabase gives a database that is ONLINE another name, while nobody else is connected to it: other connections
// are ended, and what they had not committed is undone. Where there is no database of the former name, or one of the
// new name already, it does nothing. Everybody may connect once it has the name, or when it could not be renamed: it is
// left to one user alone only where the server ends within. AUTO_UPDATE_STATISTICS_ASYNC may take the one connection
// (5030); it is sent again then. It takes ALTER on the database, and is refused for a database of a group (1468) or one
// that is published (18855). Sources: docs/relational-databases/databases/rename-a-database.md,
// docs/t-sql/statements/alter-database-transact-sql.md (MODIFY NAME),
// docs/t-sql/statements/alter-database-transact-sql-set-options.md (SINGLE_USER).
func RenameDatabase(from, to string) Statement {
	return new(builder).
		sql("IF DB_ID(").str(from).sql(") IS NOT NULL AND DB_ID(").str(to).sql(") IS NULL\nBEGIN\n").
		sql("    BEGIN TRY\n        ALTER DATABASE ").name(from).sql(" SET SINGLE_USER WITH ROLLBACK IMMEDIATE;\n").
		sql("        ALTER DATABASE ").name(from).sql(" MODIFY NAME = ").name(to).sql(";\n").
		sql("        ALTER DATABASE ").name(to).sql(" SET MULTI_USER;\n    END TRY\n    BEGIN CATCH\n        IF DB_ID(").
		str(from).sql(") IS NOT NULL\n            ALTER DATABASE ").name(from).sql(" SET MULTI_USER;\n").
		sql("        THROW;\n    END CATCH\nEND").
		done("rename database " + from + " to " + to)
}

// SetMultiUser lets everybody connect to a database again.
// Source: docs/t-sql/statements/alter-database-transact-sql-set-options.md.
func SetMultiUser(name string) Statement {
	return new(builder).sql("ALTER DATABASE ").name(name).sql(" SET MULTI_USER").
		done("let everybody connect to " + name)
}

// forkOf is the recovery fork of the database d: of one that is ONLINE the one on which it is active, of one that is
// RESTORING the one whose log comes next.
const forkOf = "COALESCE(CONVERT(nvarchar(36), (SELECT r.recovery_fork_guid FROM sys.database_recovery_status AS r " +
	"WHERE r.database_id = d.database_id)), CONVERT(nvarchar(36), (SELECT " +
	"f.redo_start_fork_guid FROM sys.master_files AS f WHERE f.database_id = d.database_id AND " +
	"f.file_id = 1)), N'')"

// DropRestoringCopy drops a database with its files while it is RESTORING, in no group, and on a recovery fork: a copy
// that waits for the log of another, to which nobody has written. Any other of the name is left alone.
// Sources: docs/t-sql/statements/drop-database-transact-sql.md,
// docs/relational-databases/system-catalog-views/sys-database-recovery-status-transact-sql.md,
// sys-master-files-transact-sql.md (redo_start_fork_guid).
func DropRestoringCopy(name, fork string) Statement {
	return new(builder).
		sql("IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = ").str(name).
		sql(" AND d.state_desc = N'RESTORING' AND d.group_database_id IS NULL AND ", forkOf, " = ").str(fork).
		sql(")\n    DROP DATABASE IF EXISTS ").name(name).done("drop the copy of " + name + " that waits for log")
}

// DropOwnRestoring drops a database with its files while it is RESTORING, in no group, and each of its files has own in
// its path: what a restore of the caller's own has left, to which nobody has written. Any other of the name is left
// alone. Sources: docs/t-sql/statements/drop-database-transact-sql.md,
// docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md, sys-master-files-transact-sql.md.
func DropOwnRestoring(name, own string) Statement {
	const filesOf = "(SELECT 1 FROM sys.master_files AS f WHERE f.database_id = d.database_id"
	return new(builder).
		sql("IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = ").str(name).
		sql(" AND d.state_desc = N'RESTORING' AND d.group_database_id IS NULL AND EXISTS ", filesOf).
		sql(") AND NOT EXISTS ", filesOf, " AND CHARINDEX(").str(own).
		sql(", f.physical_name) = 0))\n    DROP DATABASE IF EXISTS ").name(name).
		done("drop what a restore has left of " + name)
}

// DatabaseStandings reads of the databases of these names: state, who may connect, the owner's login, the group that
// has it, empty where the instance knows of none, and, as bits, whether it is in one, whether it is published or a
// distribution database, and whether each of its files has own in its name; then its recovery fork, empty where it is
// not known. Sources: docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md,
// sys-master-files-transact-sql.md, sys-database-recovery-status-transact-sql.md,
// sys-availability-databases-cluster-transact-sql.md.
func DatabaseStandings(own string, names ...string) Statement {
	b := new(builder).
		sql("SELECT d.name, d.state_desc, d.user_access_desc, COALESCE(SUSER_SNAME(d.owner_sid), N''),\n"+
			"    COALESCE(g.name, N''), CAST(CASE WHEN d.group_database_id IS NULL THEN 0 ELSE 1 END AS bit),\n"+
			"    CAST(CASE WHEN d.is_published = 1 OR d.is_merge_published = 1 OR d.is_distributor = 1 THEN 1\n"+
			"        ELSE 0 END AS bit),\n    CAST(CASE WHEN EXISTS\n"+
			"        (SELECT 1 FROM sys.master_files AS f WHERE f.database_id = d.database_id) AND NOT EXISTS\n"+
			"        (SELECT 1 FROM sys.master_files AS f WHERE f.database_id = d.database_id AND CHARINDEX(").str(own).
		sql(", f.physical_name) = 0)\n        THEN 1 ELSE 0 END AS bit),\n    ", forkOf, "\nFROM sys.databases AS d\n",
			"LEFT JOIN sys.availability_databases_cluster AS c ON c.group_database_id = d.group_database_id\n",
			"LEFT JOIN sys.availability_groups AS g ON g.group_id = c.group_id\nWHERE d.name IN (")
	for n, name := range names {
		if n > 0 {
			b.sql(", ")
		}
		b.str(name)
	}
	return b.sql(")").done("ask what stands under the names of a restore")
}
